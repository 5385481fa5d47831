"""Where things stand, in inches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform

GAP = 0.06  # inches between a panel and what stands beside it


@dataclass(frozen=True)
class PanelSize:
    """Where a panel is drawn: its size in inches, and whether its axes are somebody's own.

    ``scale`` is the share of their size that points, lines and words have where a panel without axes is drawn
    smaller than it was planned.
    """

    width: float
    height: float
    given: bool = False
    scale: float = 1.0


def right_of(ax: Axes) -> Transform:
    """Return where things stand so many inches to the right of axes, and at a share of their height."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    inches = ax.figure.dpi_scale_trans + ScaledTranslation(1, 0, ax.transAxes)  # type: ignore[arg-type]
    return blended_transform_factory(inches, ax.transAxes)


def above(ax: Axes) -> Transform:
    """Return where things stand so many inches above axes, and at a share of their width."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    inches = ax.figure.dpi_scale_trans + ScaledTranslation(0, 1, ax.transAxes)  # type: ignore[arg-type]
    return blended_transform_factory(ax.transAxes, inches)
