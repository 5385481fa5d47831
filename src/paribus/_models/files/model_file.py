"""Reader of model files, which recognizes formats by content and runs no code of the file."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from paribus._data.scan.listing import names_store, without_secret
from paribus._models.files.booster_files import read_catboost, read_lightgbm, read_xgboost
from paribus._models.files.documents import check_room, parsed_json, parsed_ubj
from paribus._models.files.skops_file import read_skops
from paribus.errors import ModelFileError, OptionError, ParibusError

HEAD = 4_096  # first bytes, by which a format is recognized

READS = "XGBoost JSON or UBJ, LightGBM text, CatBoost JSON or skops"
LOAD_YOURSELF = "load it in Python, if you trust who wrote it, and pass the object to paribus"


class FileFormat(StrEnum):
    """Supported formats."""

    JSON = "JSON"
    UBJ = "XGBoost UBJ"
    LIGHTGBM = "LightGBM text"
    ZIP = "skops"


@dataclass(frozen=True)
class Unread:
    """An unsupported format: its first bytes, its description, and an alternative."""

    begins: re.Pattern[bytes]
    what: str
    instead: str


PICKLE = (
    "a pickle, as pickle, joblib and cloudpickle write it, which can run any code when it is loaded",
    f"save the model with skops.io.dump or with save_model of its library, or {LOAD_YOURSELF}",
)
COMPRESSED = (
    "compressed, as joblib compresses pickles, which can run any code when they are loaded",
    f"decompress it if it is a model file ({READS}); of a pickle save the model with skops.io.dump, or "
    f"{LOAD_YOURSELF}",
)
UNREAD = (
    Unread(re.compile(rb"\x80[\x02-\x05]"), *PICKLE),
    Unread(re.compile(rb"\x1f\x8b|\x78[\x01\x5e\x9c\xda]|BZh|\xfd7zXZ\x00|\x5d\x00\x00"), *COMPRESSED),
    Unread(re.compile(rb"\x04\x22\x4d\x18|\x28\xb5\x2f\xfd|ZF0x"), *COMPRESSED),
    Unread(
        re.compile(rb"CBM1"),
        "CatBoost's binary format",
        'save it by model.save_model("m.json", format="json")',
    ),
    # Written before version 3.1: binary parameters, followed by the names of the booster and the objective.
    Unread(
        re.compile(rb"binf|bs64|(?![{\[\s])(?s:.){0,400}?[\x00-\x08](?s:.){0,16}?(gbtree|gblinear|dart)"),
        "XGBoost's deprecated binary format",
        'load it with the version that wrote it, and save it by model.save_model("m.json")',
    ),
    Unread(
        re.compile(rb"\s*\["),
        "a JSON list, such as XGBoost's dump_model writes, which has no base score",
        'save an XGBoost model by model.save_model("m.json")',
    ),
    # A pickle of the protocols 0 and 1 is text without a header.
    Unread(re.compile(rb"c[\w.]+\n[\w.]+\n|[(\]}]+[.lpdtcIFSVq]"), *PICKLE),
)


def recognized(head: bytes) -> FileFormat | Unread | None:
    r"""Return the format of a file by its first bytes, None if it is unknown.

    >>> recognized(b"tree\nversion=v4\n"), recognized(b"\x80\x04\x95").what[:8]
    (<FileFormat.LIGHTGBM: 'LightGBM text'>, 'a pickle')
    """
    if re.match(rb"tree\r?\n", head):
        return FileFormat.LIGHTGBM
    if head.startswith(b"PK\x03\x04"):
        return FileFormat.ZIP
    if re.match(rb"\{[iUIlL]", head):
        return FileFormat.UBJ
    if re.match(rb"\s*\{\s*[\"}]", head):
        return FileFormat.JSON
    return next((one for one in UNREAD if one.begins.match(head)), None)


UBJ_COPIES = 3  # copies of a list: in the file, and while its numbers are converted
# Name and SHA-256 of the file of each model that was read, for the records of results.
FILES: WeakKeyDictionary[Any, tuple[str, str]] = WeakKeyDictionary()
MOST_BYTES = 2**30  # of a file; larger ones need more memory than most machines have


def read_model(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a fitted model from a file, without the library that wrote it and without running any code.

    The format is recognized by the content of the file, whatever its extension. Files of XGBoost (JSON and
    UBJ), LightGBM (text) and CatBoost (JSON) are parsed by paribus, which checks every node and predicts
    from the trees. These libraries need not be installed, and their loaders are never called. A skops file is
    read by skops. Pickles and joblib files are refused.

    >>> import tempfile, lightgbm, paribus
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> booster = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y).booster_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     booster = booster.save_model(f"{folder}/model.txt")
    ...     model = paribus.read_model(f"{folder}/model.txt")
    >>> model
    FileModel(LightGBM text, objective='regression', 5 trees, 10 columns)

    Parameters
    ----------
    path : str or path
        The file.
    trusted : sequence of str
        Types of a skops file that skops does not trust by default, such as ``"sklearn.tree._tree.Tree"``.
        Review the list in the error before you pass them. ``numpy.dtype`` need not be named.

    Returns
    -------
    model
        A model for `effects` and the other functions. Its ``predict`` equals that of the library on
        the scale of the objective: ``Booster.predict`` for XGBoost and LightGBM; for CatBoost the
        probability of a classifier and the prediction of a regressor. A classifier also has
        ``predict_proba`` and ``decision_function``. For a skops file, the model is the object in the file.

    Examples
    --------
    >>> effect = paribus.partial_dependence(model, X, "bmi")
    >>> effect.provenance.structure
    'FileModel: 5 trees; read from a file (LightGBM text), and not compared with its library'
    """
    file = Path(path)
    head = _first_bytes(file)
    kind = recognized(head)
    if kind is None:
        raise ModelFileError(
            f"path={str(path)!r} is not a supported model file, such as {READS}; of another model "
            "pass the object itself, or a function"
        )
    if not isinstance(kind, FileFormat):
        raise ModelFileError(f"path={str(path)!r} is {kind.what}, and is refused; {kind.instead}")
    with _reader_errors_refused(path, kind):
        content = _checked_content(file)
        model = _model_in(content, kind, trusted)
    FILES[model] = file.name, hashlib.sha256(content).hexdigest()
    return model


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file. Refuse folders, missing, empty and too large files."""
    try:
        if not path.is_file():
            if names_store(path):
                raise ModelFileError(
                    f"path={without_secret(str(path))!r} is an address, and model files are read from a "
                    "disk; copy it first by pyarrow.fs.copy_files(address, path)"
                )
            what = "is a folder" if path.is_dir() else "does not exist"
            raise ModelFileError(f"path={str(path)!r} {what}; pass a file of {READS}")
        size = path.stat().st_size
        if size == 0:
            raise ModelFileError(f"path={str(path)!r} is an empty file; pass a file of {READS}")
        if size > MOST_BYTES:
            raise ModelFileError(
                f"path={str(path)!r} has {size:,} bytes, more than the {MOST_BYTES:,} that are read; "
                "pass the object itself"
            )
        with path.open("rb") as file:
            return file.read(HEAD)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        if isinstance(error, ParibusError):
            raise
        raise ModelFileError(f"path={str(path)!r} cannot be read: {error}") from error


def _checked_content(path: Path) -> bytes:
    """Return the content of a file, or refuse if it grew since its size was checked."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size  # read allocates memory for its argument
        content = file.read(min(size, MOST_BYTES) + 1)
    if len(content) > min(size, MOST_BYTES):
        raise ModelFileError(
            f"path={str(path)!r} has more than {min(size, MOST_BYTES):,} bytes, or is growing"
        )
    return content


@contextmanager
def _reader_errors_refused(path: Any, kind: FileFormat) -> Iterator[None]:
    """Convert any error of a reader to one that names the file. Damaged files may cause any error."""
    try:
        with np.errstate(all="ignore"):
            yield
    except OptionError:  # about an argument, not about the file
        raise
    except ModelFileError as error:
        raise ModelFileError(f"path={str(path)!r} ({kind.value}): {error}") from error
    except Exception as error:
        text = str(error) if isinstance(error, ParibusError) else f"{type(error).__name__}: {error}"
        text = " ".join(text.split())[:400]  # messages of other libraries may have several lines
        raise ModelFileError(
            f"path={str(path)!r} begins as {kind.value}, but its model cannot be read: {text}"
        ) from error


def _model_in(content: bytes, kind: FileFormat, trusted: Sequence[str]) -> Any:
    """Return the model in the content of a file. The keys of a JSON identify its library."""
    if kind is FileFormat.ZIP:
        return read_skops(content, trusted)
    if kind is FileFormat.LIGHTGBM:
        return read_lightgbm(content)
    if kind is FileFormat.UBJ:
        check_room(UBJ_COPIES * len(content))
        return read_xgboost(parsed_ubj(content), "XGBoost UBJ")
    document = parsed_json(content)
    if "learner" in document:
        return read_xgboost(document, "XGBoost JSON")
    if "oblivious_trees" in document or ("trees" in document and "features_info" in document):
        return read_catboost(document, "CatBoost JSON")
    if "tree_info" in document:
        raise ModelFileError("it is LightGBM's dump_model; save the model by booster.save_model('m.txt')")
    raise ModelFileError(
        "it is not a model of XGBoost or CatBoost, whose JSON has 'learner' or 'features_info'"
    )
