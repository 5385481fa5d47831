"""Links between files of the repository work on a code host; here they are led to the pages of the site."""

import os.path
import re
from pathlib import PurePosixPath

PAGES = {  # files and folders at the root, and the page that shows each of them
    "README.md": "docs/index.md",
    "ARCHITECTURE.md": "docs/contributing.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "CHANGELOG.md": "docs/changelog.md",
    "SECURITY.md": "docs/stability.md",
    "examples": "docs/auto_examples/index.rst",
}
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)(?P<path>[^)#\s]+)")


def led(text, source, page):
    """Return Markdown of the folder `source` with the links of a page in the folder `page`."""

    def here(link):
        path = os.path.normpath(os.path.join(source, link["path"]))
        path = PAGES.get(path, path)
        if path.startswith("examples/"):
            path = f"docs/auto_{PurePosixPath(path).with_suffix('.rst')}"
        return os.path.relpath(path, page)

    return LINK.sub(here, text)


def _folder(docname):
    return os.path.join("docs", os.path.dirname(docname))


def _page(app, docname, source):
    if app.env.doc2path(docname).suffix == ".md":
        source[0] = led(source[0], _folder(docname), _folder(docname))


def _included(app, path, docname, content):
    source = os.path.normpath(os.path.join("docs", os.path.dirname(path)))
    content[0] = led(content[0], source, _folder(docname))


def setup(app):
    """Connect what rewrites pages, and what rewrites files that pages include."""
    app.connect("source-read", _page)
    app.connect("include-read", _included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
