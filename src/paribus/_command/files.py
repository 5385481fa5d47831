"""Data files and saved explanations that commands read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from paribus._data.scan.listing import WILD, split_options, without_secret
from paribus._loading import check_pyarrow
from paribus.errors import InputError, SourceError, TableError, did_you_mean
from paribus.results import Explanation
from paribus.results.storage import load

DELIMITERS = (",", ";", "\t", "|")
MOST_BYTES = 2**31 - 1  # of a CSV file, which is parsed as one block so that all rows determine the types
CSV = (".csv", ".tsv", ".txt")
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
PARQUET = b"PAR1"  # first bytes of a file


class Data(NamedTuple):
    """Arguments ``X``, ``y`` and ``sample_weight`` of the functions of paribus.

    ``rows`` is the number of rows of a file that was read into memory, None for Parquet.
    """

    X: Any
    y: Any
    sample_weight: Any
    rows: int | None


def read_data(
    path: str,
    target: str | None = None,
    weight: str | None = None,
    *,
    model: Any = None,
    on_error: str = "raise",
) -> Data:
    """Open a file, or Parquet by folder or pattern; target and weight stay in X if the model uses them."""
    place = Path(path)
    if not (place.exists() or "://" in path or WILD.search(path)):
        raise SourceError(f"there is no file or folder {path}; give DATA as Parquet or CSV")
    check_pyarrow(f"DATA {without_secret(path)}")
    if not (place.is_file() and _is_csv(place)):
        from paribus._data.read import source_of

        if place.is_dir() and not any(place.rglob("*.parq*")):
            raise SourceError(
                f"DATA {path} is a folder without Parquet files (*.parquet); give one with some, or a file"
            )
        source = source_of(path, on_error)  # reads the footers once
        _check_target_and_weight(tuple(source.schema.names), target, weight)
        return Data(source, target, weight, None)
    from paribus._models.columns import fitted_on

    try:
        table = _csv(place)
    except (OSError, ValueError) as error:  # base classes of the errors of Arrow
        raise SourceError(f"DATA {path} cannot be read: {error}") from error
    names = tuple(table.column_names)
    _check_target_and_weight(names, target, weight)
    fitted = fitted_on(model)
    places = (None if fitted is None else fitted.places(names)) or ()
    features = {names[place] for place in places if place is not None}
    y, weights = (
        None if name is None else table.column(name).combine_chunks().to_numpy(zero_copy_only=False)
        for name in (target, weight)
    )
    apart = [name for name in {target, weight} if name is not None and name not in features]
    return Data(table.drop_columns(apart) if apart else table, y, weights, len(table))


def _is_csv(place: Path) -> bool:
    """Return whether a file is CSV by its suffix; raise if it is neither that nor Parquet."""
    with place.open("rb") as file:
        if file.read(len(PARQUET)) == PARQUET:
            return False
    suffixes = [suffix.lower() for suffix in place.suffixes[-2:]]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if suffixes and suffixes[-1] in CSV:
        return True
    raise SourceError(f"DATA {place} does not begin as a Parquet file, and a CSV is named {', '.join(CSV)}")


def _csv(place: Path) -> Any:
    """Read CSV with inferred types; empty fields and NA are missing values."""
    from pyarrow import csv, input_stream

    with input_stream(str(place)) as stream:
        content = stream.read()
    if len(content) > MOST_BYTES:
        raise SourceError(f"DATA {place} is larger than 2 GB as CSV; write it as Parquet, which is streamed")
    from pyarrow import BufferReader

    first = content.split(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = max(DELIMITERS, key=first.count)
    return csv.read_csv(
        BufferReader(content),
        read_options=csv.ReadOptions(block_size=max(len(content), 1)),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(strings_can_be_null=True),
    )


def _check_target_and_weight(names: tuple[str, ...], target: str | None, weight: str | None) -> None:
    """Raise if the target or the weight is not a column."""
    for option, name in (("--target", target), ("--weight", weight)):
        if name is not None and name not in names:
            raise TableError(f"{option} {name} is not a column of DATA{did_you_mean(name, names)}")


def name_of(path: str) -> str:
    """Return the last part of a path or an address, without options and credentials."""
    return Path(split_options(without_secret(path))[0]).name


def read_explanation(path: str) -> Explanation:
    """Return the explanation of a saved result or report."""
    result = load(path)
    if not isinstance(result, Explanation):
        raise InputError(
            f"{path} holds a {type(result).__name__}; pass .json or .html that paribus explain wrote"
        )
    return result
