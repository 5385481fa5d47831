"""A figure as a standalone SVG: text for a page, without scripts, the same to the byte each time."""

from __future__ import annotations

import re
import warnings
from hashlib import sha256
from importlib.util import find_spec
from io import StringIO
from threading import Lock
from typing import Any
from xml.etree import ElementTree

from paribus._display.alt_text import figure_description, figure_title
from paribus._display.figure import Figure
from paribus.errors import DrawingError, OptionError

NAMESPACE = "http://www.w3.org/2000/svg"
IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
REFERENCE = re.compile(r"(?<=url\(#)[^)]+(?=\))|(?<=^#).+")  # how attributes refer to ids
FONTS = ["DejaVu Sans", "Verdana"]  # the one that the layout is made for, and one that is as wide
STYLE: Any = {"svg.fonttype": "none", "timezone": "UTC", "font.sans-serif": FONTS}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))  # which have versions and dates in them
LOCK = Lock()  # matplotlib's settings belong to all threads


def render_svg(figure: Figure, *, dark: bool = False, id_prefix: str | None = None) -> str:
    """Render a figure as a standalone SVG, in matplotlib's default style whatever the user has set.

    Parameters
    ----------
    figure : Figure
        What is to be seen.
    dark : bool
        Whether to draw light marks on a dark ground.
    id_prefix : str, optional
        What the ids in it begin with, so that several SVGs can stand in one page; derived from what is drawn
        by default.

    Returns
    -------
    str
        An ``<svg>`` element with a title and a description.
    """
    if find_spec("matplotlib") is None:
        raise DrawingError("matplotlib is not installed; pip install 'paribus[plot]'")
    if id_prefix is not None and not IDENTIFIER.fullmatch(id_prefix):
        raise OptionError(
            f"id_prefix={id_prefix!r} cannot begin an id; use a letter, then letters, digits, '-', '_' or '.'"
        )
    texts = {"title": figure_title(figure), "desc": figure_description(figure)}
    written = _drawn(figure, dark)
    if id_prefix is None:
        digest = sha256(_standalone(written, texts, "").encode()).hexdigest()
        id_prefix = f"paribus-{digest[:12]}"
    return _standalone(written, texts, id_prefix)


def _drawn(figure: Figure, dark: bool) -> str:
    """Return what matplotlib writes, in a fixed style."""
    import matplotlib.style

    from paribus._display.matplotlib import page_of

    written = StringIO()
    with LOCK, warnings.catch_warnings(), matplotlib.rc_context():
        # Text stays text: the page has the glyphs that the font of the layout has not.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        matplotlib.style.use(["default", "dark_background"] if dark else "default")
        matplotlib.rcParams.update(STYLE)
        page_of(figure).savefig(written, format="svg", metadata=NO_METADATA)
    return written.getvalue()


def _standalone(written: str, texts: dict[str, str], prefix: str) -> str:
    """Return an SVG with texts for screen readers, whose ids are its own and whose style stays inside it.

    Ids are numbered, as some of matplotlib's are made of addresses in memory.
    """
    root = ElementTree.fromstring(written)
    elements = list(root.iter())
    values = [value for element in elements for value in element.attrib.values()]
    used = {name for value in values for name in REFERENCE.findall(value)}
    known = [element.get("id", "") for element in elements if element.get("id") in used]
    names = {name: f"{prefix}-{number}" for number, name in enumerate(known, start=1)}
    for element in elements:
        identifier = names.get(element.attrib.pop("id", ""))
        element.tag = _local(element.tag)
        element.attrib = ({} if identifier is None else {"id": identifier}) | {
            _local(key): REFERENCE.sub(lambda found: names.get(found[0], found[0]), value)
            for key, value in element.attrib.items()
        }
    for place, (tag, text) in enumerate(texts.items()):
        element = ElementTree.Element(tag, {"id": f"{prefix}-{tag}"})
        element.text = text
        root.insert(place, element)
    _keep_style_inside(root)
    labels = " ".join(f"{prefix}-{tag}" for tag in texts)
    root.attrib = {"xmlns": NAMESPACE, "role": "img", "aria-labelledby": labels} | root.attrib
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    """Return a name without its namespace: that of the root is all that an SVG in a page needs."""
    return name.rpartition("}")[2]


def _keep_style_inside(root: ElementTree.Element) -> None:
    """Let elements inherit the style that matplotlib gives all of them, which would be all of a page."""
    for part in root.findall("defs"):
        for style in part.findall("style"):
            root.set("style", (style.text or "").strip("*{} \n"))
            part.remove(style)
