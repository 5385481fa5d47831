"""Formats of model files, recognized by their content; an extension may say anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

HEAD = 4_096  # bytes at the beginning by which a format is recognized

READS = "XGBoost JSON or UBJ, LightGBM text, CatBoost JSON or skops"
LOAD_YOURSELF = "load it in Python, if you trust who wrote it, and pass the object to paribus"


class FileFormat(StrEnum):
    """Formats that are read."""

    JSON = "JSON"
    UBJ = "XGBoost UBJ"
    LIGHTGBM = "LightGBM text"
    ZIP = "skops"


@dataclass(frozen=True)
class Unread:
    """A format that is not read: how it begins, what it is, and the way out."""

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
    # Written before version 3.1: parameters in binary, and soon the names of the booster and the objective.
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
    r"""Return the format that a file begins as, None for one that nobody knows here.

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
