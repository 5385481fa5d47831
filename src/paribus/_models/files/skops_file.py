"""skops files: read by skops, of types that the user names, with trees checked before they predict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from paribus._models.files.json_text import parsed_json
from paribus._models.files.reading_bound import check_room
from paribus._models.files.sklearn_check import check_sklearn_trees
from paribus._models.files.skops_trees import array_header, check_tree_arguments
from paribus.errors import ModelFileError, OptionError

MOST_MEMBERS = 1_000_000
MOST_TIMES, SPARE = 50, 16_000_000  # of its size, where it is compressed, which skops does not do by itself
COPIES = 3  # of an array: as it lies in the file, and while it is read
BOOSTERS = ("xgboost", "lightgbm", "catboost")  # whose loaders run over what they are given without checks
SHOWN = 20  # types, in a message
SAFE = ("numpy.dtype",)  # the type of numpy that skops does not trust; making one runs no code of a file


def read_skops(content: bytes, trusted: Sequence[str]) -> Any:
    """Return the model in a skops file."""
    names = (*_named_types(trusted), *SAFE)
    _check_members(content)
    try:
        from skops import io as skops
    except ImportError as error:
        raise ModelFileError("skops is needed to read it; pip install 'paribus[skops]'") from error
    unnamed = [one for one in skops.get_untrusted_types(data=content) if one not in names]
    boosters = [one for one in (*unnamed, *names) if one.split(".")[0] in BOOSTERS]
    if boosters:
        raise ModelFileError(
            f"it holds {boosters[0]}, whose library reads it without checks; if you trust who wrote it, load "
            "it by skops.io.load and pass the object, which may be a pipeline, to paribus; a model without a "
            "pipeline can also be saved by save_model of its library and read from there"
        )
    if unnamed:
        more = f" and {len(unnamed) - SHOWN} more" if len(unnamed) > SHOWN else ""
        raise ModelFileError(
            f"it holds types that skops does not trust: {', '.join(unnamed[:SHOWN])}{more}; if "
            f"you trust who wrote it, pass trusted={unnamed[:SHOWN]!r}, on the command line --trust "
            f"{' --trust '.join(unnamed[:SHOWN])}"
        )
    model = skops.loads(content, trusted=list(names))
    check_sklearn_trees(model)
    return model


def _named_types(trusted: Any) -> tuple[str, ...]:
    """Return the types the user trusts, which are text."""
    if isinstance(trusted, str) or not isinstance(trusted, Iterable):
        raise OptionError(f"trusted={trusted!r} must be a list of types, such as ['sklearn.tree._tree.Tree']")
    names = tuple(trusted)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(f"trusted={trusted!r} must be a list of names of types, as text")
    return names


def _check_members(content: bytes) -> None:
    """Refuse an archive that is no skops file, or whose members become too large when they are read."""
    with _archive(content) as archive:
        members = archive.infolist()
        if len(members) > MOST_MEMBERS or "schema.json" not in archive.namelist():
            raise ModelFileError("it is a zip file without the schema.json of skops")
        size = sum(member.file_size for member in members)
        check_room(COPIES * size)
        if size > MOST_TIMES * len(content) + SPARE:
            raise ModelFileError(
                f"it would become {size / len(content):,.0f} times as large, and no model becomes more than "
                f"{MOST_TIMES} times"
            )
        check_tree_arguments(parsed_json(archive.read("schema.json")), archive)
        for member in members:
            if member.filename.endswith(".npy"):
                _check_array(archive, member)
            elif member.filename.endswith(".npz"):
                with _archive(archive.read(member)) as inner:
                    check_room(COPIES * sum(one.file_size for one in inner.infolist()))
                    for one in inner.infolist():
                        _check_array(inner, one)


def _archive(content: bytes) -> ZipFile:
    try:
        return ZipFile(BytesIO(content))
    except BadZipFile as error:
        raise ModelFileError(f"it is a damaged zip file: {error}") from error


def _check_array(archive: ZipFile, member: ZipInfo) -> None:
    """Refuse an array that announces more numbers than there are bytes."""
    shape, dtype = array_header(archive, member)
    size = dtype.itemsize
    for length in shape:
        size *= length
    if dtype.hasobject or not 0 <= size <= member.file_size:
        raise ModelFileError(f"its array {member.filename[:60]!r} is larger than it is, or holds objects")
