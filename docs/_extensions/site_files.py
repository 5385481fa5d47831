"""Files next to the pages: redirects from pages that have moved, and llms.txt, a list of the pages."""

from pathlib import Path

from docutils import nodes

MOVED = {  # former pages, and where their text is now
    "about": "guide.html",
    "architecture": "contributing.html",
    "cite": "how-it-works.html#references",
    "compatibility": "stability.html",
    "explain": "report.html#explain-a-model",
    "explainer": "large-data.html#shared-passes-with-explainer",
    "extending": "contributing.html#extending-paribus",
    "format": "stability.html#file-format",
    "groups": "report.html#groups",
    "meaning": "effects.html",
    "notes": "faq.html#note-codes",
    "performance": "report.html#performance",
    "pictures": "plots.html",
    "pipelines": "models.html#pipelines",
    "questions": "choose.html",
    "recipes": "command-line.html#recipes",
    "scale": "large-data.html",
    "security": "stability.html#security",
    "start": "quickstart.html",
    "tour": "quickstart.html",
    "trees": "models.html#trees",
    "trust": "interpret.html",
}
LIBRARIES = [
    "index",
    "scikit-learn",
    "alibi",
    "pdpbox",
    "shap",
    "hstats",
    "h2o",
    "dalex",
    "marginaleffects",
    "effector",
]
MOVED |= {f"coming-from/{name}": f"../migrate/{name}.html" for name in LIBRARIES}
REDIRECT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Moved</title>
<meta http-equiv="refresh" content="0; url={to}">
<p>This page has moved to <a href="{to}">{to}</a>.</p></html>
"""


def _first_sentence(document):
    texts = (node for node in document.findall(nodes.paragraph) if isinstance(node.parent, nodes.section))
    return " ".join(next(texts).astext().split()).partition(". ")[0].rstrip(".:")


def _listed(app):
    """Yield the title, address and first sentence of every page of the guide, in its order."""
    pages, todo = [], [app.config.root_doc]
    while todo:
        page = todo.pop(0)
        if page not in pages and "/plot_" not in page and not page.startswith("reference/generated"):
            pages.append(page)
            todo = [*app.env.toctree_includes.get(page, []), *todo]
    for page in pages:
        title = app.env.titles[page].astext()
        yield f"- [{title}]({page}.html): {_first_sentence(app.env.get_doctree(page))}"


def _write(app, exception):
    if exception or app.builder.name != "html":
        return
    site = Path(app.outdir)
    for page, to in MOVED.items():
        path = site / f"{page}.html"
        path.parent.mkdir(exist_ok=True)
        path.write_text(REDIRECT.format(to=to), encoding="utf-8")
    home, *pages = _listed(app)
    summary = home.partition(": ")[2]
    lines = [f"# {app.config.project}", "", f"> {summary}.", "", "## Pages", "", *pages]
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app):
    """Write the files when the pages are built."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
