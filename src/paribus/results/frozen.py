"""Records whose arrays cannot be written to."""

from __future__ import annotations

from dataclasses import fields
from typing import ClassVar

import numpy as np

from paribus.notes import Note


def read_only(array: object) -> None:
    """Freeze an array in place; what is none stays as it is."""
    if isinstance(array, np.ndarray):
        array.setflags(write=False)


class Frozen:
    """A frozen dataclass whose arrays, alone or in tuples, are read-only, and whose notes are `Note`.

    ``shapes`` names the fields of each shape, which is spelled in letters that stand for one size each:
    ``g`` for the shape of the grid, ``s`` for that of the steps between its values, ``c`` for that of its
    cells, ``d`` for the number of axes. What is loaded is held to them, and to `_check`.
    """

    shapes: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            for part in value if isinstance(value, tuple) else (value,):
                read_only(part)
                if field.name == "notes" and not isinstance(part, Note):
                    raise TypeError(f"notes are of type Note, not {type(part).__name__}: {part!r}")

    def _check(self) -> None:
        """Refuse parts that do not belong together."""
