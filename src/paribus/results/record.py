"""What the results of one effect share: attributes that are keys, and a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any, ClassVar

from paribus.results.pictured import Pictured


class Record(Pictured, Mapping[str, Any]):
    """A frozen dataclass whose fields are keys as well.

    Those in ``asked`` come first, and are absent where they were not asked for, which is where they are None.
    """

    asked: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(key)
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in list(self)

    def __iter__(self) -> Iterator[str]:
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        yield from (name for name in self.asked if getattr(self, name) is not None)
        yield from (name for name in names if name not in self.asked)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        """Tell whether two results are the same bit for bit, provenance included."""
        from paribus.results.storage import same

        return isinstance(other, type(self)) and same(self, other)  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a versioned JSON file that `paribus.load` reads back bit for bit."""
        from paribus.results.storage import save

        save(self, path)  # type: ignore[arg-type]
