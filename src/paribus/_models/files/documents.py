"""JSON and UBJSON of untrusted files, read within bounds on depth and memory."""

from __future__ import annotations

import json
import re
import struct
from typing import Any

import numpy as np

from paribus._budget import memory
from paribus._contracts import Array
from paribus.errors import ModelFileError

NODE_BYTES = 250  # of a node of a tree, at most, while trees are read and checked
LEAF_BYTES = 32  # of a number in a leaf that has several


def check_room(needed: float) -> None:
    """Refuse what may take more than half of the memory that is free."""
    bound = memory(None)
    if needed > bound:
        raise ModelFileError(
            f"reading it may take {needed / 1e9:.1f} GB of memory, and half of what is free are "
            f"{bound / 1e9:.1f} GB; free some, or read it on a larger machine"
        )


def decoded(content: bytes) -> str:
    """Return text, of which every character may take four bytes where one is beyond ASCII.

    There is room for four copies: the text, one of its lines, what that says, and its numbers without spaces.
    """
    check_room(len(content) * (1 + 4 * (1 if content.isascii() else 4)))
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"it is no text in UTF-8 at byte {error.start:,}") from error
    return text.replace("\r\n", "\n") if "\r\n" in text else text


DEEPEST_UBJ = 64  # nested lists and objects; those of XGBoost have ten
MOST_VALUES = 5_000_000  # lists, objects, texts and numbers outside of typed lists, 25 to a tree
LEAST_BYTES = 8  # of a value with its key and its size; those of XGBoost have 16 and more
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
        if depth > DEEPEST_UBJ:
            raise ModelFileError(f"it is nested more than {DEEPEST} deep, which no model is")
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
