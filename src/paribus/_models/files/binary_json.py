"""Universal Binary JSON, as XGBoost writes it: every size is compared with the bytes that are left."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from paribus._contracts import Array
from paribus.errors import ModelFileError

DEEPEST = 64  # nested lists and objects; those of XGBoost have ten
MOST_VALUES = 5_000_000  # lists, objects, texts and numbers outside of typed lists, 25 to a tree
LEAST_BYTES, SPARE = 8, 100_000  # of a value with its key and its size; those of XGBoost have 16 and more
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
TYPE, COUNT, TEXT, CHARACTER = b"$#SC"


def parsed_ubj(content: bytes) -> Any:
    r"""Return what a binary JSON says; a list whose numbers have one type is an array.

    >>> parsed_ubj(b"{i\x01a[$i#i\x02\x05\x06}")
    {'a': array([5, 6], dtype=int8)}
    """
    reader = _Reader(content)
    value = reader.value(reader.byte(), 0)
    if reader.at != len(content):
        raise ModelFileError(f"{len(content) - reader.at:,} bytes follow its end")
    return value


class _Reader:
    """A position in the content, which only moves forward."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at, self.values = content, 0, 0

    def byte(self) -> int:
        """Return the next byte."""
        return self.take(1)[0]

    def take(self, size: int) -> bytes:
        """Return some bytes, or refuse more than there are."""
        left = len(self.content) - self.at
        if size > left:
            raise ModelFileError(f"{size:,} bytes are announced at byte {self.at:,}, and {left:,} follow")
        self.at += size
        return self.content[self.at - size : self.at]

    def peek(self) -> int:
        """Return the next byte and stay before it; -1 at the end."""
        return self.content[self.at] if self.at < len(self.content) else -1

    def number(self, kind: int) -> Any:
        """Return a number of a type."""
        return UNPACKED[kind].unpack(self.take(NUMBERS[kind].itemsize))[0]

    def size(self) -> int:
        """Return how many bytes or values follow."""
        kind = self.byte()
        size: int = self.number(kind) if kind in SIZES else -1
        if size < 0:
            raise ModelFileError(f"there is no size before byte {self.at:,}")
        return size

    def value(self, kind: int, depth: int) -> Any:
        """Return the value of a type that begins here."""
        self.values += 1
        if depth > DEEPEST:
            raise ModelFileError(f"it is nested more than {DEEPEST} deep, which no model is")
        if self.values > MOST_VALUES or LEAST_BYTES * self.values > self.at + SPARE:
            raise ModelFileError(f"it has {self.values:,} values in {self.at:,} bytes, more than any model")
        if kind in NUMBERS:
            return self.number(kind)
        if kind in CONSTANTS:
            return CONSTANTS[kind]
        if kind == TEXT:
            return self.take(self.size()).decode()
        if kind == CHARACTER:
            return chr(self.byte())
        if kind == OPEN:
            return self.items(depth + 1)
        if kind == OPEN_OBJECT:
            return self.object(depth + 1)
        raise ModelFileError(f"byte {self.at - 1:,} is no type of a value")

    def items(self, depth: int) -> Any:
        """Return a list, or an array where all its numbers have one type."""
        if self.peek() == TYPE:
            return self.array()
        found = []
        for _ in self.members(CLOSE):
            found.append(self.value(self.byte(), depth))
        return found

    def array(self) -> Array:
        """Return the numbers of a list of one type; other types need no bytes, so they are refused."""
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
        """Return an object by its keys."""
        found: dict[str, Any] = {}
        for _ in self.members(CLOSE_OBJECT):
            key = self.take(self.size()).decode()
            if key in found:
                raise ModelFileError(f"the key {key!r:.60} stands twice in an object, at byte {self.at:,}")
            found[key] = self.value(self.byte(), depth)
        return found

    def members(self, close: int) -> Any:
        """Yield once for each member: as many as are announced, or until the end."""
        if self.peek() == COUNT:
            self.take(1)
            yield from range(self.size())
            return
        while self.peek() != close:
            yield
        self.take(1)
