"""Alternative texts of figures for screen readers: title and description."""

from __future__ import annotations

from collections.abc import Iterator

from paribus._display.compose.axis import short
from paribus._display.figure import Contours, Figure, Heat, Panel, Text

LONGEST = 120  # characters of a title, or of a label
SHOWN = 2_000  # characters of the description of a panel, which may name many features
NOTE = 500  # characters of a note


def figure_title(figure: Figure) -> str:
    """Return the title of a figure in one line, by default the description of its first panel."""
    first, *more = [figure.title] if figure.title is not None else _panel_descriptions(figure)
    title = short(_one_line(first), LONGEST)
    return f"{title}, and {len(more)} more" if more else title


def figure_description(figure: Figure) -> str:
    """Return a description of the panels, the legend and the notes of a figure."""
    shown = list(_panel_descriptions(figure))
    marks = [mark for panel in figure.panels for mark in panel.marks]
    labels = dict.fromkeys(short(label, LONGEST) for mark in marks if (label := getattr(mark, "label", None)))
    lines = [f"{len(shown)} panels: {'; '.join(shown)}" if len(shown) > 1 else shown[0]]
    if labels:
        title = "" if figure.legend_title is None else f" ({figure.legend_title})"
        lines.append(f"Legend{title}: {', '.join(labels)}")
    notes = [short(note, NOTE) for note in figure.notes]
    return "\n".join(f"{_one_line(line)}." for line in [*lines, *notes])


def _panel_descriptions(figure: Figure) -> Iterator[str]:
    """Yield a description of each panel; one without numbers along y has the y-label of the previous one."""
    height = ""
    for panel in figure.panels:
        height = panel.y.label if panel.y.label or panel.y.numbers else height
        title = "" if panel.title is None else f"{panel.title}: "
        yield short(_one_line(title + _panel_content(panel, height)), SHOWN)


def _panel_content(panel: Panel, height: str) -> str:
    """Return what a panel measures and the features it depends on; ``height`` is the label of its y-axis."""
    units = [mark.unit for mark in panel.marks if isinstance(mark, Heat | Contours) and mark.unit]
    features = [panel.x.label]
    if units:
        height, features = " and ".join(units), [panel.x.label, panel.y.label]
    elif panel.y.scale == "category":
        return f"{panel.x.label}: {', '.join(label for _, label in panel.y.ticks or ())}"
    elif panel.legend == "panel" and panel.legend_title is not None:
        features.append(panel.legend_title)
    elif panel.x.scale == "none":
        return ", ".join(mark.text for mark in panel.marks if isinstance(mark, Text)) or "no data"
    by = " and ".join(filter(None, features))
    return f"{height} by {by}" if by else height or "unlabeled"


def _one_line(text: str) -> str:
    return " ".join(text.split())
