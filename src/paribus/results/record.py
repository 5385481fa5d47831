"""What the results of one effect share: attributes that are keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from paribus.errors import did_you_mean
from paribus.results.pictured import Pictured


class Record(Pictured, Mapping[str, Any]):
    """A frozen dataclass whose fields are keys as well.

    Those in ``asked`` come first, and are absent where they were not asked for, which is where they are None.
    ``shapes`` names the fields of each shape, which is spelled in letters that stand for one size each:
    ``g`` for the shape of the grid, ``s`` for that of the steps between its values, ``c`` for that of its
    cells, ``d`` for the number of axes. What is loaded is held to them.
    """

    asked: ClassVar[tuple[str, ...]] = ()
    shapes: ClassVar[dict[str, str]] = {}

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(f"there is no {key!r}{did_you_mean(str(key), self)}")
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in list(self)

    def __iter__(self) -> Iterator[str]:
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        yield from (name for name in self.asked if getattr(self, name) is not None)
        yield from (name for name in names if name not in self.asked)

    def __len__(self) -> int:
        return sum(1 for _ in self)
