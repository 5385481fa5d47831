"""Links of Markdown files, as a code host resolves them, and of built pages: what leads nowhere."""

import os.path
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

MADE = ("build", "dist", "auto_examples", "generated", "node_modules")  # folders that are no source
FENCE = re.compile(r"^(?P<marks>`{3,}|~{3,})[^\n]*\n.*?^(?P=marks)`*[ \t]*$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?([^'\")\s]+)")


def sources(root):
    """Yield the Markdown files of a repository."""
    for path in sorted(Path(root).rglob("*.md")):
        parts = path.relative_to(root).parts[:-1]
        if not any(part in MADE or (part[0] == "." and part != ".github") for part in parts):
            yield path


@cache
def anchors(path):
    """Return the anchors of the headings of a Markdown file."""
    seen = Counter()
    found = set()
    for heading in HEADING.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def broken_in_markdown(root):
    """Return what links of a repository's Markdown files do not lead anywhere, as sentences."""
    root = Path(root).resolve()
    broken = []
    for path in sources(root):
        text = INLINE.sub("", FENCE.sub("", path.read_text(encoding="utf-8")))
        for link in LINK.findall(text):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            where = f"{path.relative_to(root)}: {link}"
            if not target.exists():
                broken.append(f"{where} is no file")
            elif parts.fragment and target.suffix == ".md" and parts.fragment not in anchors(target):
                broken.append(f"{where} is no heading")
    return broken


class Page(NamedTuple):
    """What a built page has: places to go to, links, and what a browser requests to show it."""

    ids: set
    links: list
    requests: list


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.page = Page(set(), [], [])
        self.in_style = False

    def handle_starttag(self, tag, attributes):
        has = dict(attributes)
        self.page.ids.update(has[name] for name in ("id", "name") if has.get(name))
        self.in_style = tag == "style"
        if tag == "a" and has.get("href"):
            self.page.links.append(has["href"])
        elif tag == "link" and has.get("href"):
            self.page.requests.append(has["href"])
        self.page.requests.extend(has[name] for name in ("src", "poster", "data") if has.get(name))
        for candidate in (has.get("srcset") or "").split(","):
            self.page.requests.extend(candidate.split()[:1])
        self.page.requests.extend(IN_STYLE.findall(has.get("style") or ""))

    def handle_data(self, data):
        if self.in_style:
            self.page.requests.extend(IN_STYLE.findall(data))
            self.in_style = False


def read(path):
    """Return what a built page has."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


def broken_in_site(folder):
    """Return what does not lead anywhere in a built site, and what its pages would request from elsewhere."""
    folder = Path(folder).resolve()
    pages = {path: read(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    broken = [
        f"{path.relative_to(folder)}: {said}"
        for path, page in pages.items()
        for said in _of_page(path, pages)
    ]
    for style in sorted(folder.rglob("*.css")):
        for address in IN_STYLE.findall(style.read_text(encoding="utf-8")):
            if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
                broken.append(f"{style.relative_to(folder)}: {address} is elsewhere")
    return broken


def _of_page(path, pages):
    page = pages[path]
    for address in dict.fromkeys(page.requests + page.links):
        parts = urlsplit(address)
        if parts.scheme == "data":
            continue
        if parts.scheme or parts.netloc:
            if address in page.requests:
                yield f"{address} is elsewhere"
            continue
        target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
        if not target.is_file():
            yield f"{address} is no file"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
            yield f"{address} is no place on that page"
