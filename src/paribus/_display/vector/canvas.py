"""Elements, paths, texts and colors of SVG."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from math import asin, atan2, hypot, remainder, tau
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.axis import short
from paribus._display.mark_helpers import (
    DARK,
    DATA,
    DIVERGING,
    FAINT,
    GRAY,
    GRID,
    INK,
    LIGHT,
    PALETTE,
    PAPER,
    SEQUENTIAL,
)
from paribus._display.text_width import text_width, wide
from paribus.errors import DrawingError

ROOT = "paribus"  # class of every image, which scopes all other classes
# Evenly spaced anchor colors of color maps, between which colors are interpolated.
MAPS = {
    SEQUENTIAL: ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"),
    DIVERGING: ("#1a3f73", "#3d7eb8", "#9cc4de", "#f4f4f2", "#f2b094", "#cb5a4c", "#7d1226"),
}
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])  # of red, green and blue light
SHADES = 120  # colors of a color map
# Conversions between linear RGB and Oklab, in which distances are perceptually uniform.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_SEEN = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


ROLES = {color: f"c{number}" for number, color in enumerate(PALETTE, start=1)}
ROLES |= {INK: "ink", GRAY.lower(): DATA} | {role: role for role in (PAPER, FAINT, GRID, DATA)}


def css() -> str:
    """Return the style sheet of images in a page: light, or dark if the reader prefers it on screen.

    It defines variables such as ``--paribus-c1`` for elements of class ``paribus``, and classes of marks in
    them. ``f-c1`` fills with that color, ``s-c1`` strokes with it, and ``o-20`` has an opacity of 20 %.
    """
    classes = "".join(
        f".{ROOT} .f-{name}{{fill:var(--{ROOT}-{name})}}.{ROOT} .s-{name}{{stroke:var(--{ROOT}-{name})}}\n"
        for name in LIGHT.colors()
    )
    parts = {part: f"{in_dark(part / 100):.2g}" for part in range(5, 100, 5)}
    pale = "".join(
        f".{ROOT} .o-{part}{{fill-opacity:{more};stroke-opacity:{more}}}" for part, more in parts.items()
    )
    light, dark = (
        ";".join(f"--{ROOT}-{name}:{color}" for name, color in theme.colors().items())
        for theme in (LIGHT, DARK)
    )
    return (
        f".{ROOT}{{{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{.{ROOT}{{{dark}}}{pale}}}\n"
        f"@media print{{.{ROOT}{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}}}\n"
        f".{ROOT}{{fill:var(--{ROOT}-ink);max-width:100%;height:auto}}\n{classes}"
    )


def in_dark(alpha: float) -> float:
    """Return the opacity on a dark background that corresponds to one on white."""
    return 1 - float((1 - alpha) ** 1.7)


def legible(ground: str) -> str:
    """Return black or white, whichever has more contrast to a color; the contrast is at least 4.5."""
    light = float(_linear_rgb(ground) @ LUMINANCE)
    return "#000000" if (light + 0.05) ** 2 > 0.05 * 1.05 else "#ffffff"


def _linear_rgb(color: str) -> Floats:
    """Return the linear red, green and blue components of a color, between 0 and 1."""
    parts = np.array([*bytes.fromhex(color[1:])]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def shades(colors: str | Sequence[str]) -> tuple[str, ...]:
    """Return the `SHADES` colors of a color map from low to high, by its name or its anchor colors."""
    if isinstance(colors, str) and colors not in MAPS:
        raise DrawingError(f"colors={colors!r} is not a color map of this renderer; use {', '.join(MAPS)}")
    return _interpolated_colors(MAPS[colors] if isinstance(colors, str) else tuple(colors))


@cache
def _interpolated_colors(anchors: tuple[str, ...]) -> tuple[str, ...]:
    """Return `SHADES` perceptually even colors between anchor colors."""
    seen = np.cbrt(np.array([_linear_rgb(anchor) for anchor in anchors]) @ TO_CONES.T) @ TO_SEEN.T
    at, known = np.linspace(0, 1, SHADES), np.linspace(0, 1, len(anchors))
    between = np.column_stack([np.interp(at, known, side) for side in seen.T])
    cones = np.linalg.solve(TO_SEEN, between.T) ** 3
    linear = np.clip(np.linalg.solve(TO_CONES, cones).T, 0.0, 1.0)
    parts = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return tuple(f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in np.rint(255 * parts).astype(int))


def shade_numbers(values: Floats, low: float, high: float) -> Floats:
    """Return the index of the shade of each value between two limits; NaN stays NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        share = (values / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5 + 0.0 * values
    return np.rint(np.clip(share, 0.0, 1.0) * (SHADES - 1))


Align: TypeAlias = Literal["left", "center", "right"]
Upright: TypeAlias = Literal["bottom", "center", "top"]
ThemeName: TypeAlias = Literal["page", "light", "dark"]
Places: TypeAlias = list[tuple[int, int]]  # in tenths of a pixel

ANCHORS = {"left": "start", "center": "middle", "right": "end"}
LONGEST = 300  # characters of the full text of a shortened one
NARROW = 0.36  # em of the narrowest character
BOLDER = 1.1  # width of bold text relative to other text
NO_MORE: Mapping[str, str] = MappingProxyType({})  # no further attributes
BOLD = {"font-weight": "600"}
LEADING = 1.25  # line height, as a multiple of the font size
FARTHEST = 1e5  # pixels to which coordinates are clipped, because some browsers fail beyond
WITHIN = 1.0  # largest distance of a line to omitted points, in tenths of a pixel


def units(tenths: int) -> str:
    """Return a number of tenths as text in as few characters as possible.

    >>> units(5), units(-25), units(120)
    ('.5', '-2.5', '12')
    """
    whole, part = divmod(abs(tenths), 10)
    sign = "-" if tenths < 0 else ""
    return f"{sign}{whole or ''}.{part}" if part else f"{sign}{whole}"


def pixels(value: float) -> str:
    """Return a length in pixels as text, rounded to tenths."""
    return units(_tenths(value))


def _tenths(value: float) -> int:
    return round(10 * min(max(value, -FARTHEST), FARTHEST))


def share(value: float) -> str:
    """Return a number, such as an opacity, as text with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".").removeprefix("0") or "0"


def tenths(x: Floats, y: Floats) -> Places:
    """Return positions in pixels as integers in tenths of a pixel."""
    both = np.column_stack([x, y])
    return [*map(tuple, np.rint(10 * np.clip(both, -FARTHEST, FARTHEST)).astype(np.int64).tolist())]


def simplified(points: Places) -> Places:
    """Return points without those that a straight line passes within a tenth of a pixel.

    From each kept point, the range of directions that pass all following points is narrowed point by point.
    When the next point is outside of this range, the previous point is kept.
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
    """Return a path through points in relative coordinates."""
    (x, y), *others = points
    written, before = [f"M{_coordinate_pair(x, y)}"], "M"
    for next_x, next_y in others:
        across, down = next_x - x, next_y - y
        x, y = next_x, next_y
        if not down:
            command, ways = "h", units(across)
        elif not across:
            command, ways = "v", units(down)
        else:
            command, ways = "l", _coordinate_pair(across, down)
        if command == before == "l":
            written.append(ways if ways.startswith("-") else f" {ways}")
        else:
            written.append(command + ways)
        before = command
    return "".join(written) + "z" * close


def _coordinate_pair(x: int, y: int) -> str:
    second = units(y)
    return units(x) + (second if second.startswith("-") else f" {second}")


def line_path(x: Floats, y: Floats, *, close: bool = False) -> str:
    """Return the simplified path of a line through positions in pixels."""
    return route(simplified(tenths(x, y)), close=close)


def segment_path(x0: float, y0: float, x1: float, y1: float) -> str:
    """Return the path from one position in pixels to another."""
    return route([(_tenths(x0), _tenths(y0)), (_tenths(x1), _tenths(y1))])


def rectangle_path(left: float, top: float, right: float, bottom: float) -> str:
    """Return the path around a rectangle in pixels."""
    x0, y0, x1, y1 = map(_tenths, (left, top, right, bottom))
    return f"M{_coordinate_pair(x0, y0)}h{units(x1 - x0)}v{units(y1 - y0)}h{units(x0 - x1)}z"


def written(text: str) -> str:
    """Return text escaped for SVG."""
    return escape(text, quote=True)


def fitted(text: str, length: float, size: float) -> str:
    """Return a line of text of at most ``length`` pixels; a longer one keeps both ends around an ellipsis."""
    if len(text) < 2 or size * text_width(text) <= length:
        return text
    room = length / size - wide("…")
    tail = _leading_characters(text[::-1], 0.4 * room)[::-1]
    return f"{_leading_characters(text, 0.6 * room)}…{tail}"


def _leading_characters(text: str, em: float) -> str:
    """Return the beginning of a text that fits into some em, at least one character."""
    taken = 0.0
    for number, character in enumerate(text):
        taken += wide(character)
        if taken > em:
            return text[: max(number, 1)]
    return text


def fitted_lines(text: str, length: float, size: float, most: int) -> str:
    """Break text into at most ``most`` lines of ``length`` pixels, and shorten what does not fit."""
    room = max(length, 4 * size)
    surely = int(most * room / (NARROW * size)) + 1  # more characters never fit
    text = text if len(text) <= 2 * surely else text[:surely] + text[-surely:]
    lines = [part for line in text.split("\n") for part in _broken_line(line, room, size)]
    if len(lines) > most:
        lines = [*lines[: most - 1], fitted(" ".join(lines[most - 1 :]), room, size)]
    return "\n".join(fitted(line, room, size) for line in lines)


def _broken_line(line: str, length: float, size: float) -> list[str]:
    """Break a line between words and after "_", ".", "/" and "-"."""
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
    """Return the height of a text in pixels."""
    return LEADING * size * (text.count("\n") + 1) if text else 0.0


@dataclass(frozen=True)
class PlacedText:
    """Text at a position in pixels; ``full`` is the full text if it is shortened."""

    x: float
    y: float
    text: str
    full: str | None = None


@dataclass
class Canvas:
    """An SVG image under construction: its elements as text, and the definitions they refer to.

    With the theme "page", colors have classes and attributes, so that the style sheet can change them.
    """

    prefix: str
    theme: ThemeName = "page"
    hover: bool = False
    parts: list[str] = field(default_factory=list)
    defs: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)

    def paint(self, alpha: float = 1.0, **colors: str) -> str:
        """Return the attributes for ``fill`` and ``stroke`` colors, with classes in the theme "page"."""
        theme, classes, written = DARK if self.theme == "dark" else LIGHT, [], []
        for way, color in colors.items():
            role = ROLES.get(color.lower())
            if role is not None and self.theme == "page":
                classes.append(f"{way[0]}-{role}")
            written.append(f' {way}="{color if role is None else theme.colors()[role]}"')
        if alpha < 1:
            alpha = max(round(20 * alpha), 1) / 20  # opacities with a class
            classes += [f"o-{100 * alpha:.0f}"] if classes and alpha < 1 else []
            shown = share(in_dark(alpha) if self.theme == "dark" else alpha)
            written += [f' {way}-opacity="{shown}"' for way in colors]
        named = f' class="{" ".join(classes)}"' if classes else ""
        return named + "".join(written)

    def add(self, element: str) -> None:
        """Add an element to the image."""
        self.parts.append(element)

    def define(self, element: str) -> str:
        """Add a definition, unless it exists, and return the reference to it."""
        if element not in self.ids:
            name = self.ids[element] = f"{self.prefix}-{len(self.ids) + 1}"
            tag, _, rest = element.partition(" ")
            self.defs.append(f'{tag} id="{name}" {rest}')
        return f"url(#{self.ids[element]})"

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
        """Fill the area that a path encloses."""
        if path:
            self.add(f'<path{self.paint(alpha, fill=color)}{attributes(more)} d="{path}"/>')

    def target(self, path: str, text: str) -> None:
        """Add an invisible area with a hover text."""
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
        """Add texts of one style; ``align`` and ``upright`` name the side of a text at its position."""
        drawn = [_text_element(word, size, upright, turn) for word in words if word.text]
        if drawn:
            look = self.paint(fill=color) if color is not None else ""
            anchor = {} if align == "left" else {"text-anchor": ANCHORS[align]}
            look += attributes({"font-size": share(size), **anchor, **more})
            if len(drawn) == 1:
                self.add(drawn[0].replace("<text", f"<text{look}", 1))
            else:
                self.add(f"<g{look}>{''.join(drawn)}</g>")


def attributes(values: Mapping[str, str]) -> str:
    """Return the attributes of an element as text."""
    return "".join(f' {name}="{value}"' for name, value in values.items())


def _text_element(word: PlacedText, size: float, upright: Upright, turn: float) -> str:
    """Return the element of a text, with a line height that is independent of the font."""
    lines = word.text.split("\n")
    rise = {"top": 0.0, "center": (len(lines) - 1) / 2, "bottom": len(lines) - 1}[upright] * LEADING
    down = size * ({"top": 0.8, "center": 0.35, "bottom": -0.2}[upright] - rise)
    x, y = (word.x, word.y + down) if not turn else (0.0, down)
    where = f' x="{pixels(x)}" y="{pixels(y)}"'
    if turn:
        where = f' y="{pixels(y)}" transform="translate({pixels(word.x)} {pixels(word.y)})'
        where += f'rotate({share(-turn)})"'
    content = ""
    if word.full is not None and word.full != word.text:
        content = f"<title>{written(short(word.full, LONGEST))}</title>"
    if len(lines) == 1:
        return f"<text{where}>{content}{written(word.text)}</text>"
    below = 0  # lines below the previous element; an empty line adds to the distance of the next
    for number, line in enumerate(lines):
        below += number > 0
        if line:
            drop = f' dy="{pixels(LEADING * size * below)}"' if below else ""
            content += f'<tspan x="{pixels(x)}"{drop}>{written(line)}</tspan>'
            below = 0
    return f"<text{where}>{content}</text>"
