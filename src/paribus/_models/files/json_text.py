"""JSON of anybody's making: how deep and how large it becomes is known before it is parsed."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from paribus._models.files.reading_bound import check_room
from paribus.errors import ModelFileError

DEEPEST = 500  # nested lists and objects; trees of trees have as many as they have levels
MOST_ESCAPES = 1_000_000
MOST_KEYS = 100_000  # different ones; models have fewer than 100
MOST_DIGITS = 300  # in a row; numbers of models have 20
MOST_TIMES, SPARE = 20, 16_000_000  # of its size; models of XGBoost and CatBoost take 8 to 13 times theirs
CHUNK = 2**20
# Bytes that Python takes at most for a list, an object, an item of one, and half a text; of version 3.11.
COSTS = {b"[": 104, b"{": 240, b",": 40, b'"': 32}
KEPT = b'[]{}"'
OPENING = np.frombuffer(b"[{", np.uint8)
DELETED = bytes(set(range(256)) - set(KEPT))
ESCAPE, TEXT = re.compile(rb"\\.", re.DOTALL), re.compile(rb'"[^"]*"')
KEY = re.compile(rb'("[^"]*")\s*:')
DIGITS = bytes(
    b"0"[0] if 48 <= byte < 58 else 32 for byte in range(256)
)  # each digit as a zero, the rest as a space
LONG = b"0" * (MOST_DIGITS + 1)


def parsed_json(content: bytes) -> Any:
    """Return what a JSON text says, or refuse one that takes too much memory or is nested too deeply."""
    needed = parsed_bytes(content)
    if needed > MOST_TIMES * len(content) + SPARE:
        raise ModelFileError(
            f"it would take {needed / len(content):.0f} times its size in memory, and no model takes more "
            f"than {MOST_TIMES} times"
        )
    check_room(needed)
    if content.count(b"\\") > MOST_ESCAPES:
        raise ModelFileError(f"its text has more than {MOST_ESCAPES:,} escaped characters")
    _check_digits(content)
    _check_keys(content)
    _check_depth(ESCAPE.sub(b"", content) if b"\\" in content else content)
    try:
        return json.loads(content, object_pairs_hook=_object)
    except ModelFileError:
        raise
    except ValueError as error:  # also of a number with more digits than Python reads
        raise ModelFileError(f"it is no JSON: {error!s:.200}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or refuse one with a key twice: some libraries take the first, others the last."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("an object in it has the same key twice")
    return found


def parsed_bytes(content: bytes) -> int:
    """Return the memory that a parsed JSON text takes at most.

    The text is there three times: as bytes, decoded, where a character takes four bytes if one is beyond
    ASCII, and in what it says.
    """
    text = len(content) * (3 if content.isascii() else 6)
    return text + sum(cost * content.count(character) for character, cost in COSTS.items())


def _check_digits(content: bytes) -> None:
    """Refuse numbers that take long to be read, in time that grows by the square of their digits."""
    for start in range(0, len(content), CHUNK):
        if LONG in content[start : start + CHUNK + MOST_DIGITS].translate(DIGITS):
            raise ModelFileError(
                f"it has more than {MOST_DIGITS} digits in a row, which no number of a model has"
            )


def _check_keys(content: bytes) -> None:
    """Refuse more different keys than models have: each takes ten times the memory of one that was seen."""
    known: set[bytes] = set()
    for start in range(0, len(content), CHUNK):
        known.update(KEY.findall(content, start, start + CHUNK))
        if len(known) > MOST_KEYS:
            raise ModelFileError(
                f"its objects have more than {MOST_KEYS:,} different keys, which no model has"
            )


def _check_depth(content: bytes) -> None:
    """Refuse lists and objects that are nested too deeply, as soon as they are."""
    depth, within_text = 0, b""
    for start in range(0, len(content), CHUNK):
        marks = within_text + content[start : start + CHUNK].translate(None, DELETED)
        brackets = TEXT.sub(b"", marks)
        within_text = b'"' if b'"' in brackets else b""  # a text that goes on in the next chunk
        brackets = brackets.partition(b'"')[0]
        opens = np.isin(np.frombuffer(brackets, np.uint8), OPENING)
        steps = np.cumsum(np.where(opens, 1, -1))
        if depth + steps.max(initial=0) > DEEPEST:
            raise ModelFileError(f"it is nested more than {DEEPEST} deep, which no model is")
        depth += int(steps[-1]) if len(steps) else 0
