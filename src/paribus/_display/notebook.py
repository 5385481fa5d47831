"""Results in a notebook: their text, and a picture in the page itself."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.util import find_spec
from typing import Any

from paribus._display.text_width import printable
from paribus.errors import DrawingError
from paribus.results.effect_mapping import EffectMapping

PANELS = 9  # of many effects, the strongest; a notebook is scrolled, not turned over
DPI = 110


def bundle(result: Any) -> dict[str, Any]:
    """Return a result as text, as a page and as a picture, if it has one that can be drawn here."""
    text = repr(result)
    written = escape(printable(text), quote=True)
    page = f"<pre>{written}</pre>"
    shown: dict[str, Any] = {"text/plain": text, "text/html": page}
    picture = _png(result)
    if picture is not None:
        data = b64encode(picture).decode()
        image = f'<img alt="{written.splitlines()[0]}" src="data:image/png;base64,{data}">'
        shown |= {"text/html": image + page, "image/png": picture}
    return shown


def _png(result: Any) -> bytes | None:
    """Return the picture; None where matplotlib is not installed, or a picture needs options."""
    if find_spec("matplotlib") is None:
        return None
    try:
        figure = result.figure(k=PANELS) if isinstance(result, EffectMapping) else result.figure()
    except DrawingError:  # such as three features at once, or several outputs of which none was chosen
        return None
    from paribus._display.matplotlib import png

    return png(figure, DPI)
