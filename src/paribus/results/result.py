"""Base class of results of one effect: fields are attributes and keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paribus.errors import InputError, did_you_mean
from paribus.results.plot_mixin import PlotMixin


class Result(PlotMixin, Mapping[str, Any]):
    """A record whose fields are keys as well.

    Those that are optional come first, and are absent where they were not requested, which is where they are
    None.
    """

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(f"there is no {key!r}{did_you_mean(str(key), self)}")
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in list(self)

    def __iter__(self) -> Iterator[str]:
        optional = [name for name, declared in self.declared.items() if declared.optional]
        yield from (name for name in optional if getattr(self, name) is not None)
        yield from (name for name in self.__dataclass_fields__ if name not in optional)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _check(self) -> None:
        """Refuse a missing point that has other numbers than the curve, or is of several features."""
        missing = getattr(self, "missing", None)
        if missing is not None and len(self["grid_values"]) != 1:
            raise InputError("missing is of several features together; leave it out")
        for name in () if missing is None else missing.declared:
            if (getattr(self, name) is None) != (getattr(missing, name) is None):
                raise InputError(f"{name} and missing.{name} need each other; pass both or none")
        for name, declared in self.declared.items():
            part = getattr(self, name)
            if declared.nested and hasattr(part, "missing") and (part.missing is None) != (missing is None):
                raise InputError(f"{name}.missing and missing need each other; pass both or none")
