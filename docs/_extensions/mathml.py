"""Formulas become MathML when the site is built: a browser shows them without a script."""

from docutils import nodes
from docutils.utils.math import MathError, unichar2tex
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _mathml(node, *, block):
    """Return a formula as MathML; what cannot be converted is a warning, and so ends the build."""
    code = node.astext().translate(unichar2tex.uni2tex_table)
    try:
        # Few fonts have the sign of a set difference, and all have a backslash.
        return tex2mathml(code, as_block=block).replace("\u29f5", "\\")
    except MathError as error:
        logger.warning("cannot convert %r to MathML: %s", node.astext(), error, location=node)
        return nodes.Text(code).astext()


def _inline(translator, node):
    translator.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _displayed(translator, node):
    # A wide formula scrolls by itself, so whoever has no pointer must be able to reach it.
    translator.body.append(
        translator.starttag(
            node, "div", CLASS="math", tabindex="0", role="group", **{"aria-label": "formula"}
        )
    )
    translator.body.append(_mathml(node, block=True))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({node["number"]})</span>')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer, which `html_math_renderer` names."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
