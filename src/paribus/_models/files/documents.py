"""Parsers of JSON and UBJSON in untrusted files, with bounds on depth and memory."""

from __future__ import annotations

import json
import re
import struct
from typing import Any

import numpy as np

from paribus._budget import memory
from paribus._contracts import Array
from paribus.errors import ModelFileError

NODE_BYTES = 250  # upper bound per node while trees are read and checked
LEAF_BYTES = 32  # per number in leaves with several numbers


def check_room(needed: float) -> None:
    """Refuse a file that may need more than half of the free memory."""
    bound = memory(None)
    if needed > bound:
        raise ModelFileError(
            f"reading it may take {needed / 1e9:.1f} GB of memory, and half of what is free are "
            f"{bound / 1e9:.1f} GB; free some, or read it on a larger machine"
        )


def decoded(content: bytes) -> str:
    """Return the text of a UTF-8 file, with line feeds as line ends.

    The memory must suffice for four copies: text, lines, values and joined numbers. In a text with
    characters beyond ASCII, each character may take four bytes.
    """
    check_room(len(content) * (1 + 4 * (1 if content.isascii() else 4)))
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"it is not text in UTF-8 at byte {error.start:,}") from error
    return text.replace("\r\n", "\n") if "\r\n" in text else text


DEEPEST_UBJ = 64  # nested lists and objects; XGBoost writes ten
MOST_VALUES = 5_000_000  # lists, objects, texts, and numbers outside typed lists; XGBoost writes 25 per tree
LEAST_BYTES = 8  # per value with its key and size; XGBoost writes at least 16
SPARE_BYTES = 100_000
NUMBERS: dict[int, np.dtype[Any]] = {
    ord("i"): np.dtype("i1"),
    ord("U"): np.dtype("u1"),
    ord("I"): np.dtype(">i2"),
    ord("l"): np.dtype(">i4"),
    ord("L"): np.dtype(">i8"),
    ord("d"): np.dtype(">f4"),
    ord("D"): np.dtype(">f8"),
}
UNPACKED = dict(zip(NUMBERS, (struct.Struct(f">{code}") for code in "bBhiqfd"), strict=True))
CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
SIZES = b"iUIlL"
OPEN, CLOSE, OPEN_OBJECT, CLOSE_OBJECT = b"[]{}"
TYPE, COUNT, TEXT_MARK, CHARACTER = b"$#SC"


def parsed_ubj(content: bytes) -> Any:
    r"""Return the value of a UBJSON document. Typed lists become arrays.

    >>> parsed_ubj(b"{i\x01a[$i#i\x02\x05\x06}")
    {'a': array([5, 6], dtype=int8)}
    """
    reader = _Reader(content)
    value = reader.value(reader.byte(), 0)
    if reader.at != len(content):
        raise ModelFileError(f"{len(content) - reader.at:,} bytes follow its end")
    return value


class _Reader:
    """Parser at a position in the content, which only moves forward."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at, self.values = content, 0, 0

    def byte(self) -> int:
        """Return the next byte."""
        return self.take(1)[0]

    def take(self, size: int) -> bytes:
        """Return the next bytes, or refuse a size beyond the end."""
        left = len(self.content) - self.at
        if size > left:
            raise ModelFileError(f"{size:,} bytes are announced at byte {self.at:,}, and {left:,} follow")
        self.at += size
        return self.content[self.at - size : self.at]

    def peek(self) -> int:
        """Return the next byte without moving, -1 at the end."""
        return self.content[self.at] if self.at < len(self.content) else -1

    def number(self, kind: int) -> Any:
        """Return the next number, of a given type."""
        return UNPACKED[kind].unpack(self.take(NUMBERS[kind].itemsize))[0]

    def size(self) -> int:
        """Return the size of the following bytes or values."""
        kind = self.byte()
        size: int = self.number(kind) if kind in SIZES else -1
        if size < 0:
            raise ModelFileError(f"there is no size before byte {self.at:,}")
        return size

    def value(self, kind: int, depth: int) -> Any:
        """Return the next value, of a given type."""
        self.values += 1
        if depth > DEEPEST_UBJ:
            raise ModelFileError(f"it is nested more than {DEEPEST_UBJ} deep, which no model is")
        if self.values > MOST_VALUES or LEAST_BYTES * self.values > self.at + SPARE_BYTES:
            raise ModelFileError(f"it has {self.values:,} values in {self.at:,} bytes, more than any model")
        if kind in NUMBERS:
            return self.number(kind)
        if kind in CONSTANTS:
            return CONSTANTS[kind]
        if kind == TEXT_MARK:
            return self.take(self.size()).decode()
        if kind == CHARACTER:
            return chr(self.byte())
        if kind == OPEN:
            return self.items(depth + 1)
        if kind == OPEN_OBJECT:
            return self.object(depth + 1)
        raise ModelFileError(f"byte {self.at - 1:,} is not a type of a value")

    def items(self, depth: int) -> Any:
        """Return a list, or an array for a typed list."""
        if self.peek() == TYPE:
            return self.array()
        found = []
        for _ in self.members(CLOSE):
            found.append(self.value(self.byte(), depth))
        return found

    def array(self) -> Array:
        """Return the numbers of a typed list. Refuse other types, whose items may need no bytes."""
        self.take(1)
        kind = self.byte()
        if kind not in NUMBERS or self.byte() != COUNT:
            raise ModelFileError(
                f"the list at byte {self.at:,} is of a type without numbers or without a size"
            )
        dtype = NUMBERS[kind]
        taken = self.take(self.size() * dtype.itemsize)
        return np.frombuffer(taken, dtype).astype(dtype.newbyteorder("="))

    def object(self, depth: int) -> dict[str, Any]:
        """Return an object as a dictionary."""
        found: dict[str, Any] = {}
        for _ in self.members(CLOSE_OBJECT):
            key = self.take(self.size()).decode()
            if key in found:
                raise ModelFileError(f"the key {key!r:.60} stands twice in an object, at byte {self.at:,}")
            found[key] = self.value(self.byte(), depth)
        return found

    def members(self, close: int) -> Any:
        """Yield once per member: as many as the size announces, or up to the closing byte."""
        if self.peek() == COUNT:
            self.take(1)
            yield from range(self.size())
            return
        while self.peek() != close:
            yield
        self.take(1)


DEEPEST = 500  # nested lists and objects; nested trees have as many as their depth
MOST_ESCAPES = 1_000_000
MOST_KEYS = 100_000  # distinct keys; models have fewer than 100
MOST_DIGITS = 300  # in a row; numbers of models have 20
MOST_TIMES, SPARE = 20, 16_000_000  # memory relative to size; XGBoost and CatBoost need 8 to 13 times
CHUNK = 2**20
# Largest memory in bytes of a list, an object, an item, and half a text in Python 3.11.
COSTS = {b"[": 104, b"{": 240, b",": 40, b'"': 32}
KEPT = b'[]{}"'
OPENING = np.frombuffer(b"[{", np.uint8)
DELETED = bytes(set(range(256)) - set(KEPT))
ESCAPE, TEXT = re.compile(rb"\\.", re.DOTALL), re.compile(rb'"[^"]*"')
KEY = re.compile(rb'("[^"]*")\s*:')
# Translates digits to zeros, and other bytes to spaces.
DIGITS = bytes(b"0"[0] if 48 <= byte < 58 else 32 for byte in range(256))
LONG = b"0" * (MOST_DIGITS + 1)


def parsed_json(content: bytes) -> Any:
    """Return the value of a JSON text. Refuse one that needs too much memory or is nested too deeply."""
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
    except ValueError as error:  # also for integers with too many digits for Python
        raise ModelFileError(f"it is not JSON: {error!s:.200}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as a dictionary. Refuse duplicate keys, which libraries resolve differently."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("an object in it has the same key twice")
    return found


def parsed_bytes(content: bytes) -> int:
    """Return an upper bound of the memory of a parsed JSON text.

    The text is in memory three times: as bytes, as decoded text and as values. Decoded characters take four
    bytes in a text with characters beyond ASCII.
    """
    text = len(content) * (3 if content.isascii() else 6)
    return text + sum(cost * content.count(character) for character, cost in COSTS.items())


def _check_digits(content: bytes) -> None:
    """Refuse long numbers, because the time to parse them grows with the square of their digits."""
    for start in range(0, len(content), CHUNK):
        if LONG in content[start : start + CHUNK + MOST_DIGITS].translate(DIGITS):
            raise ModelFileError(
                f"it has more than {MOST_DIGITS} digits in a row, which no number of a model has"
            )


def _check_keys(content: bytes) -> None:
    """Refuse too many distinct keys. A new key takes ten times the memory of a repeated one."""
    known: set[bytes] = set()
    for start in range(0, len(content), CHUNK):
        known.update(KEY.findall(content, start, start + CHUNK))
        if len(known) > MOST_KEYS:
            raise ModelFileError(
                f"its objects have more than {MOST_KEYS:,} different keys, which no model has"
            )


def _check_depth(content: bytes) -> None:
    """Refuse lists and objects that are nested too deeply."""
    depth, within_text = 0, b""
    for start in range(0, len(content), CHUNK):
        marks = within_text + content[start : start + CHUNK].translate(None, DELETED)
        brackets = TEXT.sub(b"", marks)
        within_text = b'"' if b'"' in brackets else b""  # a text that continues in the next chunk
        brackets = brackets.partition(b'"')[0]
        opens = np.isin(np.frombuffer(brackets, np.uint8), OPENING)
        steps = np.cumsum(np.where(opens, 1, -1))
        if depth + steps.max(initial=0) > DEEPEST:
            raise ModelFileError(f"it is nested more than {DEEPEST} deep, which no model is")
        depth += int(steps[-1]) if len(steps) else 0
