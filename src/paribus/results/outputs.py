"""Outputs by name or position."""

from __future__ import annotations

from paribus.errors import OptionError, did_you_mean


def chosen(names: tuple[str, ...], output: str | int | None) -> list[int]:
    """Return the selected outputs: all of them, or one by name or position."""
    if output is None:
        return list(range(len(names)))
    if isinstance(output, str):
        if output not in names:
            raise OptionError(f"output={output!r} is not an output{did_you_mean(output, names)}")
        return [names.index(output)]
    if not 0 <= output < len(names):
        raise OptionError(f"output={output} is not one of the outputs 0 to {len(names) - 1}")
    return [int(output)]
