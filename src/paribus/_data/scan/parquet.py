"""Parquet files: their footers, and reading of rows by number."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import sleep
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import xxhash

from paribus._data.scan.listing import is_final, is_local, keys_of, listed, store_reason, version_of
from paribus._data.scan.source import (
    BATCH_BYTES,
    BATCH_ROWS,
    conformed,
    fits,
    normal_type,
    selected_schema,
    shown_library,
)
from paribus._text import count
from paribus.errors import ParibusError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa

HASHED_AT_ONCE, HASHED_BYTES = 4, 2**22  # files digested in parallel, and bytes read at a time
FOOTERS_AT_ONCE = 16  # read in parallel, because object stores respond slowly
TRIES, PAUSE = 3, 0.2  # attempts to read, and seconds before the second, then doubled
WAY_OUT = "; Explainer(..., on_error='skip') leaves such files out, and says so"
HEAD_GROUPS, HEAD_ROWS = 8, 256  # row groups of the head, and rows of each


@dataclass(frozen=True, eq=False)
class File:
    """A Parquet file. ``groups`` are the numbers of rows of its row groups.

    ``keys`` are the columns with one value for all rows, such as those from folder names. ``footer`` is a
    digest of the footer. ``version`` changes if the file is rewritten. ``stamp`` is a digest of these.

    A file of a table format has the ``schema`` of the table. Then ``names`` are the names in the file of the
    columns that are read from it, and ``deleted`` the sorted numbers of rows that the table has removed.
    """

    path: str
    groups: tuple[int, ...]
    keys: tuple[tuple[str, Any], ...]
    schema: Any
    footer: str
    version: str
    stamp: str = ""
    names: Mapping[str, str] | None = None
    deleted: Any = None

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.groups)

    @cached_property
    def kind(self) -> tuple[Any, ...]:
        """The schema and the types of keys, which are equal for files of the same columns."""
        return (self.schema, *((name, type(value)) for name, value in self.keys))

    def without_rows(self, deleted: Any) -> Self:
        """Return the file without the rows of these sorted numbers."""
        places = np.searchsorted(deleted, np.cumsum([0, *self.groups]))
        groups = np.array(self.groups, dtype=np.int64) - np.diff(places)
        return replace(self, groups=tuple(groups.tolist()), deleted=deleted)

    def digested(self) -> Self:
        """Return the file with its ``stamp``."""
        parts: tuple[Any, ...] = (self.footer, self.version, self.keys)
        if self.names is not None:
            rows = None if self.deleted is None else self.deleted.tobytes()
            parts = (*parts, dict(self.names), str(self.schema), rows)
        return replace(self, stamp=xxhash.xxh3_128_hexdigest(repr(parts).encode()))


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Files of one schema, in order. ``start`` is the number of the first row of the first file.

    ``table`` is the version of the table of Delta Lake or Iceberg whose files these are.
    """

    filesystem: Any
    files: tuple[File, ...]
    schema: pa.Schema
    skipped: tuple[str, ...] = ()
    start: int = 0
    library: str = field(default_factory=shown_library)
    heads: dict[tuple[str, ...], Any] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)  # digests of the bytes of local files
    table: str = ""
    shippable: ClassVar[bool] = True  # other processes read the same filesystem

    @property
    def label(self) -> str:
        """Version of a table, path of the first file, and numbers of files and row groups."""
        groups = count(sum(len(file.groups) for file in self.files), "row group")
        files = count(len(self.files), "Parquet file") if self.table or len(self.files) > 1 else ""
        source = " of ".join(filter(None, (files, self.table)))
        return f"{source}{' from ' * bool(source)}{self.files[0].path}, {groups}"

    @cached_property
    def unit_rows(self) -> int:
        """Number of rows of the largest row group."""
        return max((max(file.groups, default=0) for file in self.files), default=0)

    @cached_property
    def rows(self) -> int:
        """Number of rows, from the footers."""
        return sum(file.rows for file in self.files)

    @property
    def stamp(self) -> str:
        """A digest of all footers and versions, and of every byte of local files.

        A file may change without a change of its size, time and footer. Reading bytes is much faster than
        decoding and evaluating them. In an object store it would transfer all data, but entity tags change.
        """
        parts = [file.stamp for file in self.files]
        if is_local(self.filesystem):
            new = [file.path for file in self.files if file.path not in self.contents]
            with ThreadPoolExecutor(HASHED_AT_ONCE) as pool:
                self.contents.update(zip(new, pool.map(self._content, new), strict=True))
            parts += [self.contents[file.path] for file in self.files]
        return xxhash.xxh3_128_hexdigest(repr(parts).encode())

    def _content(self, path: str) -> str:
        """Return a digest of the bytes of a file; a file that cannot be read raises an error in the pass."""
        digest = xxhash.xxh3_128()
        try:
            with self.filesystem.open_input_stream(path) as handle:
                while chunk := handle.read(HASHED_BYTES):
                    digest.update(chunk)
        except OSError as error:
            return str(error)
        return str(digest.hexdigest())

    @cached_property
    def _starts(self) -> Any:
        return np.cumsum([self.start, *(file.rows for file in self.files)])

    def project(self, columns: tuple[str, ...], on_error: str) -> Self:
        """Return the same files for some columns; a file with another schema is an error or skipped."""
        wanted = _common_schema(self.files, columns)
        problems = {
            kind: _schema_difference(files[0], wanted) for kind, files in _by_kind(self.files).items()
        }
        kept, skipped = [], list(self.skipped)
        for file in self.files:
            problem = problems[file.kind]
            if problem is None:
                kept.append(file)
            elif on_error == "skip":
                skipped.append(f"{file.path} {problem}")
            else:
                raise SourceError(f"{file.path} {problem}; rewrite it like the others, or remove it{WAY_OUT}")
        return replace(self, files=tuple(kept), schema=wanted, skipped=tuple(skipped), heads={})

    def without(self, problems: Iterable[tuple[str, str]]) -> Self:
        """Return the source without the files in ``problems``, pairs of a path and its problem."""
        wrong = dict(problems)
        files = tuple(file for file in self.files if file.path not in wrong)
        if not files:
            none = f"none of {count(len(self.files), 'file')} can be read"
            raise SourceError(f"{none}: {next(iter(wrong.values()))}")
        return replace(self, files=files, skipped=(*self.skipped, *wrong.values()), heads={})

    def part(self, first: int, stop: int) -> Self:
        """Return the source with only the files that hold these rows."""
        low = max(0, int(np.searchsorted(self._starts, first, side="right")) - 1)
        high = int(np.searchsorted(self._starts, stop, side="left"))
        return replace(self, files=self.files[low:high], start=int(self._starts[low]), skipped=(), heads={})

    def batches(self, columns: tuple[str, ...], first: int, stop: int | None) -> Iterator[pa.Table]:
        """Yield the rows from ``first`` to ``stop``, read row group by row group."""
        stop = self.start + self.rows if stop is None else stop
        for file, begin in zip(self.files, self._starts.tolist(), strict=False):
            low, high = max(first - begin, 0), min(stop - begin, file.rows)
            if low < high:
                yield from self._rows(file, columns, low, high)

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return the first rows of a few row groups across all files, read once."""
        if columns not in self.heads:
            self.heads[columns] = self._head(columns)
        return self.heads[columns]

    def _head(self, columns: tuple[str, ...]) -> pa.Table:
        import pyarrow as pa

        starts = [
            begin + within
            for file, begin in zip(self.files, self._starts.tolist(), strict=False)
            for within, rows in zip(np.cumsum([0, *file.groups]).tolist(), file.groups, strict=False)
            if rows
        ]
        positions = np.linspace(0, len(starts) - 1, HEAD_GROUPS if starts else 0)
        parts: list[pa.Table] = []
        for position in np.unique(positions.astype(int)):
            parts += self.batches(
                columns, starts[position], min(starts[position] + HEAD_ROWS, self.start + self.rows)
            )
        return pa.concat_tables(parts) if parts else selected_schema(self.schema, columns).empty_table()

    def damaged(self, columns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield the path and the problem of each file that cannot be read completely."""
        for file in self.files:
            try:
                for _ in self._rows(file, columns, 0, file.rows):
                    pass
            except SourceError as error:
                yield file.path, _file_problem(error)

    def _rows(self, file: File, columns: tuple[str, ...], first: int, stop: int) -> Iterator[pa.Table]:
        """Yield rows of one file; a failed read is repeated from the first missing row."""
        done, tries = first, 0
        while done < stop:
            try:
                for table in self._read(file, columns, done, stop):
                    yield table
                    done, tries = done + len(table), 0
            except (ParibusError, MemoryError):
                raise
            except Exception as error:  # a filesystem in Python may raise any error
                tries += 1
                if tries >= TRIES or is_final(self.filesystem, error):
                    what = f"rows {done} to {stop - 1}"
                    raise _unreadable(self.filesystem, file.path, error, what) from error
                sleep(PAUSE * 2 ** (tries - 1))
            else:
                if done < stop:
                    rows = count(file.rows, "row")
                    raise SourceError(f"{file.path} ended after {done} of {rows}; was it changed?")

    def _read(self, file: File, columns: tuple[str, ...], first: int, stop: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        ends = np.cumsum(file.groups)
        low, high = np.searchsorted(ends, [first, stop - 1], side="right").tolist()
        skip, left = first - (int(ends[low - 1]) if low else 0), stop - first
        schema = selected_schema(self.schema, columns)
        keys = dict(file.keys)
        inside = [name for name in columns if name not in keys]
        own = inside if file.names is None else [file.names[name] for name in inside]
        with self._opened(file) as opened:
            place = sum(opened.metadata.row_group(g).num_rows for g in range(low))
            row_bytes = sum(
                opened.metadata.row_group(g).total_byte_size for g in range(low, high + 1)
            ) // max(1, sum(file.groups[low : high + 1]))
            size = max(1024, min(BATCH_ROWS, BATCH_BYTES // max(1, row_bytes)))
            for batch in self._row_groups(opened, low, high + 1, size, own):
                live = batch if file.deleted is None else _live_rows(batch, place, file.deleted)
                place += batch.num_rows
                rows = live.slice(skip, left)
                skip, left = max(0, skip - live.num_rows), left - rows.num_rows
                if rows.num_rows:
                    table = pa.Table.from_batches([rows])
                    if inside and file.names is not None:  # selecting no columns would lose the rows
                        typed = selected_schema(file.schema, inside)
                        table = table.select(own).rename_columns(inside).cast(typed)
                    table = _with_keys(table, keys, schema, rows.num_rows)
                    yield conformed(table, schema, file.path)
                if not left:  # else the rest of the row group would be read too
                    break

    @contextmanager
    def _opened(self, file: File) -> Iterator[Any]:
        """Open a file; raise `SourceError` if it changes between reading its footer and closing it."""
        import pyarrow.parquet as pq

        options = {"pre_buffer": not is_local(self.filesystem), "page_checksum_verification": True}
        with self.filesystem.open_input_file(file.path) as handle:
            self._check_version(file, handle)
            with closing(pq.ParquetFile(handle, **options)) as opened:
                if _footer_digest(opened.metadata) != file.footer:
                    raise _changed_file_error(file)
                yield opened
        with self.filesystem.open_input_file(file.path) as handle:
            self._check_version(file, handle)

    def _check_version(self, file: File, handle: Any) -> None:
        if version_of(self.filesystem, file.path, handle) != file.version:
            raise _changed_file_error(file)

    def _row_groups(self, opened: Any, first: int, stop: int, size: int, columns: list[str]) -> Iterator[Any]:
        """Yield batches; object stores get few requests, each for the columns of one row group."""
        step = stop - first if is_local(self.filesystem) else 1  # requested row groups are kept in memory
        for begin in range(first, stop, step):
            groups = list(range(begin, begin + step))
            yield from opened.iter_batches(size, row_groups=groups, columns=columns, use_threads=False)


def _changed_file_error(file: File) -> SourceError:
    return SourceError(
        f"{file.path} is not the file whose footer was read before: it was written anew, or a worker has "
        "another copy of it, so that nothing is returned. Run again when nothing writes to it; workers need "
        "one shared file, or copies that keep its time (cp --preserve)"
    )


def parquet_files(X: Any, on_error: str) -> ParquetFiles:
    """Read the footers of the files of a path, a folder, a pattern or a list of these."""
    filesystem, paths, base = listed(X)
    return files_of(filesystem, paths, on_error, folder_columns(base))


def folder_columns(base: str, only: set[str] | None = None) -> Callable[[File], File]:
    """Return a function that adds the keys of folder names below ``base`` to a file, or ``only`` some."""

    def described(file: File) -> File:
        found = keys_of(file.path, base)
        return replace(file, keys=tuple(one for one in found if only is None or one[0] in only))

    return described


def files_of(
    filesystem: Any, paths: list[str], on_error: str, described: Callable[[File], File]
) -> ParquetFiles:
    """Read footers; a file without one is an error or skipped. ``described`` adds columns to a file."""
    stopping = on_error != "skip" and not is_local(
        filesystem
    )  # a store that does not respond fails for every file
    found: list[File | SourceError] = []
    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
        for one in pool.map(lambda path: _read_file(filesystem, path, described), paths):
            found.append(one)
            if stopping and isinstance(one, SourceError):
                pool.shutdown(cancel_futures=True)
                break
    wrong = [one for one in found if isinstance(one, SourceError)]
    if wrong and on_error != "skip":
        more = f" (and {count(len(wrong) - 1, 'more file')} cannot be read)" if len(wrong) > 1 else ""
        raise SourceError(f"{_file_problem(wrong[0])}{more}{WAY_OUT}") from wrong[0]
    files = _typed_keys([one for one in found if isinstance(one, File)])
    if not files:
        raise SourceError(
            f"none of {count(len(paths), 'file')} can be read as Parquet: {_file_problem(wrong[0])}"
        )
    common = max(_by_kind(tuple(files)).values(), key=len)[0]  # a file with the schema of most files
    names = (*common.schema.names, *(name for name, _ in common.keys if name not in common.schema.names))
    return ParquetFiles(
        filesystem, tuple(files), _common_schema(tuple(files), names), tuple(map(_file_problem, wrong))
    )


def _read_file(filesystem: Any, path: str, described: Callable[[File], File]) -> File | SourceError:
    """Return the file with its footer, or the error of the last attempt."""
    for number in range(TRIES):
        try:
            return described(_read_footer(filesystem, path)).digested()
        except (ParibusError, MemoryError):
            raise
        except Exception as error:  # a filesystem in Python may raise any error
            if is_final(filesystem, error) or number + 1 == TRIES:
                return _unreadable(filesystem, path, error, "its footer")
            sleep(PAUSE * 2**number)
    raise AssertionError("the last attempt returns")


def _read_footer(filesystem: Any, path: str) -> File:
    import pyarrow.parquet as pq

    with filesystem.open_input_file(path) as handle:
        version = version_of(filesystem, path, handle)
        with closing(pq.ParquetFile(handle)) as opened:
            footer, schema = opened.metadata, without_index(opened.schema_arrow)
            groups = tuple(footer.row_group(g).num_rows for g in range(footer.num_row_groups))
    return File(path, groups, (), schema.remove_metadata(), _footer_digest(footer), version)


def _footer_digest(metadata: Any) -> str:
    """Return a digest of a footer, which has the sizes and extremes of every column."""
    return xxhash.xxh3_128_hexdigest(pickle.dumps(metadata))


def without_index(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the index columns of pandas, which are not features."""
    labels = (schema.pandas_metadata or {}).get("index_columns", [])
    for name in labels:
        position = schema.get_field_index(name) if isinstance(name, str) else -1
        schema = schema.remove(position) if position >= 0 else schema
    return schema


def _unreadable(filesystem: Any, path: str, error: Exception, what: str) -> SourceError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if not is_local(filesystem):
        reason = store_reason(error)
    return SourceError(f"{path} cannot be read ({what}): {reason}{WAY_OUT}")


def _file_problem(error: SourceError) -> str:
    """Return the problem of a file, without the suggestion to skip it."""
    return str(error).removesuffix(WAY_OUT)


def _typed_keys(files: list[File]) -> list[File]:
    """Return files with keys as integers if all values of a key are integers, else as text.

    Keys of table formats have types already.
    """
    if any(file.names is not None for file in files):
        return files
    said: dict[str, list[Any]] = {}
    for file in files:
        for name, value in file.keys:
            said.setdefault(name, []).append(value)
    whole = {
        name
        for name, values in said.items()
        if all(v is None or re.fullmatch("-?[0-9]{1,18}", v) for v in values)
    }
    return [
        replace(
            file,
            keys=tuple(
                (name, int(value) if name in whole and value is not None else value)
                for name, value in file.keys
                if name not in file.schema.names
            ),
        )
        for file in files
    ]


def _type_of(file: File, name: str) -> Any | None:
    """Return the type of a column of a file or of its keys; None if there is no such column."""
    import pyarrow as pa

    position = file.schema.get_field_index(name)
    if position >= 0:
        return file.schema.field(position).type
    keys = dict(file.keys)
    if name not in keys:
        return None
    return pa.int64() if isinstance(keys[name], int) else pa.null() if keys[name] is None else pa.string()


def _by_kind(files: tuple[File, ...]) -> dict[tuple[Any, ...], list[File]]:
    """Return files grouped by kind, because thousands of files often share one schema."""
    alike: dict[tuple[Any, ...], list[File]] = {}
    for file in files:
        alike.setdefault(file.kind, []).append(file)
    return alike


def _common_schema(files: tuple[File, ...], columns: tuple[str, ...]) -> pa.Schema:
    """Return the most frequent type of each column in the files; null types do not count."""
    import pyarrow as pa

    fields = []
    alike = _by_kind(files).values()
    for name in columns:
        types: Counter[Any] = Counter()
        for some in alike:
            types[_type_of(some[0], name)] += len(some)
        types.pop(None, None)
        found = [kind for kind, _ in types.most_common() if not pa.types.is_null(kind)]
        fields.append(pa.field(name, normal_type(found[0]) if found else pa.float64()))
    return pa.schema(fields)


def _schema_difference(file: File, wanted: pa.Schema) -> str | None:
    """Return the first difference of a file from a schema in words, None if there is none."""
    for one in wanted:
        found = _type_of(file, one.name)
        if found is None:
            return f"has no column {one.name!r}, which other files have"
        if not fits(found, one.type):
            return f"has {one.name!r} as {found}, and other files have {one.type}"
    return None


def _live_rows(batch: Any, place: int, deleted: Any) -> Any:
    """Return a batch without deleted rows; ``place`` is the number of its first row in the file."""
    first, stop = np.searchsorted(deleted, [place, place + batch.num_rows])
    return batch.take(np.delete(np.arange(batch.num_rows), deleted[first:stop] - place))


def _with_keys(table: pa.Table, keys: dict[str, Any], schema: pa.Schema, rows: int) -> pa.Table:
    import pyarrow as pa

    for name, value in keys.items():
        if name in schema.names:
            constant = pa.repeat(pa.scalar(value, schema.field(name).type), rows)
            table = table.append_column(name, constant)
    return table
