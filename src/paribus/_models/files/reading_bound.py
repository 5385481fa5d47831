"""How much memory reading a file may take, known before it is taken."""

from __future__ import annotations

from paribus._budget import memory
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
