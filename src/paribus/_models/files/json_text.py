"""JSON of anybody's making: how deep and how large it becomes is known before it is parsed."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from paribus._models.files.reading_bound import check_room
from paribus.errors import ModelFileError

DEEPEST = 500  # nested lists and objects; trees of trees have as many as they have levels
MOST_ESCAPES = 10_000_000
# Bytes that Python takes for a list, an object, an item of one, and a text, at most; measured on version 3.11.
COSTS = {b"[": 104, b"{": 240, b",": 40, b'"': 32}
KEPT = b'[]{}"'
DELETED = bytes(set(range(256)) - set(KEPT))
ESCAPE, TEXT = re.compile(rb"\\.", re.DOTALL), re.compile(rb'"[^"]*"')


def parsed_json(content: bytes) -> Any:
    """Return what a JSON text says, or refuse one that takes too much memory or is nested too deeply."""
    check_room(parsed_bytes(content))
    if content.count(b"\\") > MOST_ESCAPES:
        raise ModelFileError(f"its text has more than {MOST_ESCAPES:,} escaped characters")
    depth = _depth(content)
    if depth > DEEPEST:
        raise ModelFileError(f"it is nested {depth:,} deep, and no model is deeper than {DEEPEST}")
    try:
        return json.loads(content)
    except ValueError as error:  # also of a number with more digits than Python reads
        raise ModelFileError(f"it is no JSON: {error!s:.200}") from error


def parsed_bytes(content: bytes) -> int:
    """Return the memory that a parsed JSON text takes at most, the text included."""
    text = len(content) * (2 if content.isascii() else 5)
    return text + sum(cost * content.count(character) for character, cost in COSTS.items())


def _depth(content: bytes) -> int:
    """Return how deep lists and objects are nested."""
    if b"\\" in content:
        content = ESCAPE.sub(b"", content)
    brackets = TEXT.sub(b"", content.translate(None, DELETED))
    deepest, before, chunk = 0, 0, 2**24
    for start in range(0, len(brackets), chunk):
        codes = np.frombuffer(brackets, np.uint8, min(chunk, len(brackets) - start), start)
        opens = (codes == ord("[")) | (codes == ord("{"))
        depth = before + np.cumsum(np.where(opens, 1, -1), dtype=np.int64)
        deepest, before = max(deepest, int(depth.max())), int(depth[-1])
    return deepest
