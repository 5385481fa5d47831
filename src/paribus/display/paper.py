"""What every picture needs: new axes, labels as they are written, legends, small print."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from paribus.results import Provenance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL = 22  # letters of a label that are shown
LETTERS = 20  # of small print in an inch
NOTES = 3  # that are written below a picture


def new_axes(width: float = 6.4, height: float = 4.4, *, square: bool = False) -> Axes:
    """Return the axes of a new figure of this many inches; on ``square`` ones both units are as long."""
    import matplotlib.pyplot as plt

    # The constrained layout cuts labels off axes whose shape is fixed, the compressed one does not.
    _, ax = plt.subplots(figsize=(width, height), layout="compressed" if square else "constrained")
    return ax


def inches(ax: Axes) -> tuple[float, float]:
    """Return the width and height of axes."""
    box = ax.get_window_extent()
    return float(box.width / ax.figure.dpi), float(box.height / ax.figure.dpi)


def written(label: object, most: int = LABEL) -> str:
    """Return a label as it is written, not as a formula, and not longer than can be read."""
    text = str(label)
    if len(text) > most:  # the ends tell similar names apart
        text = text[: most // 2] + "…" + text[-(most // 2 - 1) :]
    return text.replace("$", r"\$")


def unit_of(scale: str, output: str) -> str:
    """Return the unit of an axis: the scale of the prediction, and of which output."""
    name = written(output)
    if name == "prediction":
        return scale
    return f"{scale} of {name}" if scale == "probability" else f"{scale} ({name})"


def legend(ax: Axes, title: str | None) -> None:
    """Explain colours where they hide least."""
    ax.legend(title=title, fontsize="small", title_fontsize="small", framealpha=0.75, edgecolor="none")


def small_print(ax: Axes, lines: list[str]) -> None:
    """Write lines below everything else on the x-axis, whatever its labels' height."""
    if lines:
        ax.annotate(
            "\n".join(lines),
            (0.5, 0),
            (0, -4),
            xycoords=ax.xaxis.label,
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize="x-small",
            color="0.35",
            annotation_clip=False,
        )


def panels_of(count: int, columns: int) -> tuple[Figure, list[Axes]]:
    """Return a new figure with so many panels, at most ``columns`` beside each other."""
    import matplotlib.pyplot as plt

    columns = max(1, min(columns, count))
    rows = -(-count // columns)
    figure = plt.figure(figsize=(4.2 * columns, 3.2 * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(count)]


def notes_below(ax: Axes, notes: tuple[str, ...]) -> None:
    """Write what the data cannot carry below the picture it is about."""
    small_print(ax, note_lines(ax, notes))


def note_lines(ax: Axes, notes: tuple[str, ...]) -> list[str]:
    """Return the first notes as lines no longer than the picture is wide."""
    wide = max(30, int(LETTERS * inches(ax)[0]))
    lines = [line for note in notes[:NOTES] for line in wrap(note.replace("$", r"\$"), wide)]
    more = len(notes) - NOTES
    return [*lines, f"and {more} more in .notes"] if more > 0 else lines


def told_of(ax: Axes, provenance: Provenance, notes: tuple[str, ...]) -> list[str]:
    """Return the line that says when not every row was used, and the other notes."""
    if provenance.sampled_rows is None:
        return note_lines(ax, notes)
    drawn = f"{provenance.sampled_rows:,} of {provenance.rows:,} rows"
    return [drawn, *note_lines(ax, tuple(note for note in notes if drawn not in note))]
