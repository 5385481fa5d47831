"""Numbers along an axis. Imported by functions that draw, as it needs matplotlib itself."""

from __future__ import annotations

from matplotlib.ticker import ScalarFormatter


class WholeNumbers(ScalarFormatter):
    """Write each number in full, large and small ones with their power of ten.

    matplotlib writes a power once at the end of the axis, where panels stand beside ours.
    """

    def __init__(self) -> None:
        super().__init__(useOffset=False, useMathText=False)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return a number as it stands at its tick."""
        text, power = super().__call__(x, pos), super().get_offset()
        if not power or not text:
            return text
        return f"{text}{power.removeprefix('1')}" if x else "0"

    def get_offset(self) -> str:
        """Return what stands at the end of the axis: nothing."""
        return ""
