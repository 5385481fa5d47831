"""Base class of results of one effect: fields are attributes and keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from paribus.errors import did_you_mean
from paribus.results.plot_mixin import PlotMixin


class Result(PlotMixin, Mapping[str, Any]):
    """A frozen dataclass whose fields are keys as well.

    Those in ``optional_keys`` come first, and are absent where they were not requested, which is where they
    are None.
    """

    optional_keys: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(f"there is no {key!r}{did_you_mean(str(key), self)}")
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in list(self)

    def __iter__(self) -> Iterator[str]:
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        yield from (name for name in self.optional_keys if getattr(self, name) is not None)
        yield from (name for name in names if name not in self.optional_keys)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _check_missing(self, missing: object, names: tuple[str, ...], parts: tuple[str, ...] = ()) -> None:
        """Refuse a missing point that has other numbers than the curve, or lies on an axis of two features.

        ``parts`` are fields that have an array ``missing`` where there is that point.
        """
        if missing is not None and len(self["grid_values"]) != 1:
            raise ValueError("a missing point of several features together")
        for name in names if missing is not None else ():
            if (getattr(self, name) is None) != (getattr(missing, name) is None):
                raise ValueError(
                    f"{name} of the missing point without that of others, or the other way round"
                )
        for name in parts:
            part = getattr(self, name)
            if part is not None and (part.missing is None) != (missing is None):
                raise ValueError(f"{name} at missing without that point, or the other way round")
