"""Elements of an SVG as text: numbers in few digits, paths, words, and colors by class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import asin, atan2, hypot, remainder, tau
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.axis import short
from paribus._display.text_width import text_width, wide
from paribus._display.vector.colors import DARK, LIGHT, ROLES, in_dark

Align: TypeAlias = Literal["left", "center", "right"]
Upright: TypeAlias = Literal["bottom", "center", "top"]
ThemeName: TypeAlias = Literal["page", "light", "dark"]
Places: TypeAlias = list[tuple[int, int]]  # in tenths of a pixel

ANCHORS = {"left": "start", "center": "middle", "right": "end"}
LONGEST = 300  # characters of what a shortened text is short for
NARROW = 0.36  # em of the narrowest characters
BOLDER = 1.1  # times as wide as other text
NO_MORE: Mapping[str, str] = MappingProxyType({})  # attributes
BOLD = {"font-weight": "600"}
LEADING = 1.25  # height of a line of text
FARTHEST = 1e5  # pixels: what lies beyond cannot be seen, and some browsers count no further
WITHIN = 1.0  # tenths of a pixel that a line may be off a point that is left out


def units(tenths: int) -> str:
    """Write a number of tenths in as few characters as possible.

    >>> units(5), units(-25), units(120)
    ('.5', '-2.5', '12')
    """
    whole, part = divmod(abs(tenths), 10)
    sign = "-" if tenths < 0 else ""
    return f"{sign}{whole or ''}.{part}" if part else f"{sign}{whole}"


def pixels(value: float) -> str:
    """Write a length in pixels."""
    return units(_tenths(value))


def _tenths(value: float) -> int:
    return round(10 * min(max(value, -FARTHEST), FARTHEST))


def share(value: float) -> str:
    """Write a share, such as an opacity, in two digits."""
    return f"{value:.2f}".rstrip("0").rstrip(".").removeprefix("0") or "0"


def tenths(x: Floats, y: Floats) -> Places:
    """Return positions in pixels as tenths of them."""
    both = np.column_stack([x, y])
    return [*map(tuple, np.rint(10 * np.clip(both, -FARTHEST, FARTHEST)).astype(np.int64).tolist())]


def simplified(points: Places) -> Places:
    """Leave out the points that a line passes within a tenth of a pixel.

    From a point that is kept, the line may lead where it passes all points since; the one before it would
    not is the next that is kept.
    """
    kept = [points[0]]
    anchor = before = points[0]
    heading, low, high, far = 0.0, 0.0, 0.0, 0.0
    for point in points[1:]:
        while True:
            across, down = point[0] - anchor[0], point[1] - anchor[1]
            away = hypot(across, down)
            if not away and before == anchor:
                break
            if not far:
                heading, far = atan2(down, across), away
                low, high = -asin(WITHIN / away), asin(WITHIN / away)
                break
            angle = remainder(atan2(down, across) - heading, tau)
            if away >= far and low <= angle <= high:
                slack, far = asin(WITHIN / away), away
                low, high = max(low, angle - slack), min(high, angle + slack)
                break
            kept.append(before)
            anchor, far = before, 0.0
        before = point
    return [*kept, before] if before != kept[-1] or len(kept) == 1 else kept


def route(points: Places, *, close: bool = False) -> str:
    """Return a path through points, each given by its way from the one before."""
    (x, y), *others = points
    written, before = [f"M{_pair(x, y)}"], "M"
    for next_x, next_y in others:
        across, down = next_x - x, next_y - y
        x, y = next_x, next_y
        if not down:
            command, ways = "h", units(across)
        elif not across:
            command, ways = "v", units(down)
        else:
            command, ways = "l", _pair(across, down)
        if command == before == "l":
            written.append(ways if ways.startswith("-") else f" {ways}")
        else:
            written.append(command + ways)
        before = command
    return "".join(written) + "z" * close


def _pair(x: int, y: int) -> str:
    second = units(y)
    return units(x) + (second if second.startswith("-") else f" {second}")


def line_path(x: Floats, y: Floats, *, close: bool = False) -> str:
    """Return the path of a line through positions in pixels."""
    return route(simplified(tenths(x, y)), close=close)


def segment_path(x0: float, y0: float, x1: float, y1: float) -> str:
    """Return the path from one position in pixels to another."""
    return route([(_tenths(x0), _tenths(y0)), (_tenths(x1), _tenths(y1))])


def rectangle_path(left: float, top: float, right: float, bottom: float) -> str:
    """Return the path around a rectangle in pixels."""
    x0, y0, x1, y1 = map(_tenths, (left, top, right, bottom))
    return f"M{_pair(x0, y0)}h{units(x1 - x0)}v{units(y1 - y0)}h{units(x0 - x1)}z"


def written(text: str) -> str:
    """Return text as an SVG has to contain it, to be read as it is."""
    return escape(text, quote=True)


def fitted(text: str, length: float, size: float) -> str:
    """Return a line of text no wider than so many pixels: both its ends, as they distinguish names."""
    if len(text) < 2 or size * text_width(text) <= length:
        return text
    room = length / size - wide("…")
    tail = _within(text[::-1], 0.4 * room)[::-1]
    return f"{_within(text, 0.6 * room)}…{tail}"


def _within(text: str, em: float) -> str:
    """Return as much of the beginning of a text as fits into some em, and no less than one character."""
    taken = 0.0
    for number, character in enumerate(text):
        taken += wide(character)
        if taken > em:
            return text[: max(number, 1)]
    return text


def fitted_lines(text: str, length: float, size: float, most: int) -> str:
    """Break text into at most so many lines of some pixels, and shorten what has no room there."""
    room = max(length, 4 * size)
    surely = int(most * room / (NARROW * size)) + 1  # characters that do not fit any more
    text = text if len(text) <= 2 * surely else text[:surely] + text[-surely:]
    lines = [part for line in text.split("\n") for part in _broken(line, room, size)]
    if len(lines) > most:
        lines = [*lines[: most - 1], fitted(" ".join(lines[most - 1 :]), room, size)]
    return "\n".join(fitted(line, room, size) for line in lines)


def _broken(line: str, length: float, size: float) -> list[str]:
    """Break a line between words, and behind signs that join the parts of a name."""
    if size * text_width(line) <= length:
        return [line]
    lines, taken = [""], 0.0
    for part in re.findall(r"[^\s_./-]*[_./-]?\s*", line)[:-1]:  # the last one is always empty
        if lines[-1] and taken + size * text_width(part.rstrip()) > length:
            lines.append("")
            taken = 0.0
        lines[-1] += part
        taken += size * text_width(part)
    return [line.rstrip() for line in lines]


def text_height(text: str, size: float) -> float:
    """Return how many pixels the lines of a text take."""
    return LEADING * size * (text.count("\n") + 1) if text else 0.0


@dataclass(frozen=True)
class PlacedText:
    """Text at a position in pixels, by one of its sides; ``full`` is what it is short for."""

    x: float
    y: float
    text: str
    full: str | None = None


@dataclass
class Canvas:
    """An image while it is drawn: its elements as text, and what they refer to.

    Colors have classes where a page decides on the theme, and are attributes alone where that is known.
    """

    prefix: str
    theme: ThemeName = "page"
    hover: bool = False
    parts: list[str] = field(default_factory=list)
    defs: list[str] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)

    def paint(self, alpha: float = 1.0, **colors: str) -> str:
        """Return attributes for ``fill`` and ``stroke``, by class and as the color of a theme."""
        theme, classes, written = DARK if self.theme == "dark" else LIGHT, [], []
        for way, color in colors.items():
            role = ROLES.get(color.lower())
            if role is not None and self.theme == "page":
                classes.append(f"{way[0]}-{role}")
            written.append(f' {way}="{color if role is None else theme.colors()[role]}"')
        if alpha < 1:
            alpha = max(round(20 * alpha), 1) / 20  # steps of opacity that have a class
            classes += [f"o-{100 * alpha:.0f}"] if classes and alpha < 1 else []
            shown = share(in_dark(alpha) if self.theme == "dark" else alpha)
            written += [f' {way}-opacity="{shown}"' for way in colors]
        named = f' class="{" ".join(classes)}"' if classes else ""
        return named + "".join(written)

    def add(self, element: str) -> None:
        """Add an element to the image."""
        self.parts.append(element)

    def define(self, element: str) -> str:
        """Define what elements refer to, each once, and return its address."""
        if element not in self.known:
            name = self.known[element] = f"{self.prefix}-{len(self.known) + 1}"
            tag, _, rest = element.partition(" ")
            self.defs.append(f'{tag} id="{name}" {rest}')
        return f"url(#{self.known[element]})"

    def stroke(
        self, path: str, color: str, width: float, alpha: float = 1.0, more: Mapping[str, str] = NO_MORE
    ) -> None:
        """Draw a line along a path."""
        if path:
            self.add(
                f'<path{self.paint(alpha, stroke=color)} fill="none" stroke-width="{share(width)}"'
                f'{attributes(more)} d="{path}"/>'
            )

    def fill(self, path: str, color: str, alpha: float = 1.0, more: Mapping[str, str] = NO_MORE) -> None:
        """Fill what a path encloses."""
        if path:
            self.add(f'<path{self.paint(alpha, fill=color)}{attributes(more)} d="{path}"/>')

    def target(self, path: str, text: str) -> None:
        """Let a pointer find a text somewhere, without anything to be seen there."""
        self.add(f'<path fill="none" pointer-events="all" d="{path}"><title>{written(text)}</title></path>')

    def words(
        self,
        words: Iterable[PlacedText],
        size: float,
        align: Align = "center",
        upright: Upright = "center",
        *,
        turn: float = 0.0,
        color: str | None = None,
        more: Mapping[str, str] = NO_MORE,
    ) -> None:
        """Write texts of one look, which stand by one of their sides."""
        drawn = [_text(word, size, upright, turn) for word in words if word.text]
        if drawn:
            look = self.paint(fill=color) if color is not None else ""
            anchor = {} if align == "left" else {"text-anchor": ANCHORS[align]}
            look += attributes({"font-size": share(size), **anchor, **more})
            if len(drawn) == 1:
                self.add(drawn[0].replace("<text", f"<text{look}", 1))
            else:
                self.add(f"<g{look}>{''.join(drawn)}</g>")


def attributes(values: Mapping[str, str]) -> str:
    """Write attributes of an element."""
    return "".join(f' {name}="{value}"' for name, value in values.items())


def _text(word: PlacedText, size: float, upright: Upright, turn: float) -> str:
    """Write a text; its lines have one distance whatever the font."""
    lines = word.text.split("\n")
    rise = {"top": 0.0, "center": (len(lines) - 1) / 2, "bottom": len(lines) - 1}[upright] * LEADING
    down = size * ({"top": 0.8, "center": 0.35, "bottom": -0.2}[upright] - rise)
    x, y = (word.x, word.y + down) if not turn else (0.0, down)
    where = f' x="{pixels(x)}" y="{pixels(y)}"'
    if turn:
        where = f' y="{pixels(y)}" transform="translate({pixels(word.x)} {pixels(word.y)})'
        where += f'rotate({share(-turn)})"'
    differs = word.full is not None and word.full != word.text
    full = f"<title>{written(short(word.full or '', LONGEST))}</title>" if differs else ""
    return f"<text{where}>{full}{_lines(lines, x, size)}</text>"


def _lines(lines: Sequence[str], x: float, size: float) -> str:
    """Return the lines of a text, each below the one before it; an empty one only takes room."""
    if len(lines) == 1:
        return written(lines[0])
    parts, down = [], 0
    for number, line in enumerate(lines):
        down += number > 0
        if line:
            drop = f' dy="{pixels(LEADING * size * down)}"' if down else ""
            parts.append(f'<tspan x="{pixels(x)}"{drop}>{written(line)}</tspan>')
            down = 0
    return "".join(parts)
