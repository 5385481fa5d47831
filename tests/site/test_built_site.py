"""The site as `make site` has built it: its links, its reference, its gallery; and every page in a browser."""

import contextlib
import functools
import http.server
import json
import os
import re
import threading
import zlib
from pathlib import Path

import pytest

import axe
import browser
import devtools
import gallery_order
import links
import public_names
import site_files

ROOT = Path(__file__).parents[2]

if "PARIBUS_SITE" not in os.environ:
    pytest.skip("make site builds the site, and runs this", allow_module_level=True)

SITE = (ROOT / os.environ["PARIBUS_SITE"]).resolve()
PAGES = [path.relative_to(SITE).as_posix() for path in sorted(SITE.rglob("*.html"))]
PAGES = [page for page in PAGES if not page.startswith(("_", "genindex", "search", "sample-report"))]
PAGES = [page for page in PAGES if page.removesuffix(".html") not in site_files.MOVED]
EXAMPLES = [f"{group}/plot_{name}" for group, names in gallery_order.GROUPS.items() for name in names]
MAIN = [
    "index.html",
    "guide.html",
    "effects.html",
    "exact.html",
    "auto_examples/index.html",
    f"auto_examples/{EXAMPLES[0]}.html",
    "reference/index.html",
    "reference/generated/paribus.h_statistic.html",
    "reference/generated/paribus.Explanation.html",
]
TABS = 4  # pages that are loaded at once
DESKTOP, PHONE = 1280, 390  # pixels
# What reaches over the right edge and cannot be scrolled by itself, without the rest of the page.
OVER_THE_EDGE = """(() => {
  const width = document.documentElement.clientWidth;
  const page = document.querySelector('.bd-article-container');
  const held = node => node && node !== page && node !== document.body && (
    ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(node).overflowX) || held(node.parentElement));
  const over = [...document.querySelectorAll('.bd-main *')].filter(node =>
    node.getBoundingClientRect().right > width + 1 && !held(node));
  const aside = Math.max(document.documentElement.scrollWidth - width, page.scrollWidth - page.clientWidth);
  return [aside, over.slice(0, 3).map(node => node.outerHTML.slice(0, 150))];
})()"""
# Whether a search finds a page, as soon as it does or has finished.
FINDS = """new Promise(finds => {
  const look = () => {
    const links = [...document.querySelectorAll('#search-results li a')];
    if (links.some(link => link.href.includes('PAGE'))) finds(true);
    else if (document.querySelector('.search-summary')?.innerText.includes('finished')) finds(false);
    else setTimeout(look, 50);
  };
  look();
})"""


def test_no_link_is_broken_and_nothing_comes_from_elsewhere():
    found = links.broken_in_site(SITE)
    assert not found, "\n".join(found)


def test_former_pages_redirect_and_are_not_pages():
    for page, target in site_files.MOVED.items():
        assert not (ROOT / "docs" / f"{page}.md").exists()
        text = (SITE / f"{page}.html").read_text(encoding="utf-8")
        assert f'content="0; url={target}"' in text
        assert f'<a href="{target}">' in text  # whose target the test of links looks for


def test_llms_txt_describes_every_page_of_the_guide():
    text = (SITE / "llms.txt").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^- \[.+\]\((.+)\.html\): (.{20,})$", text, re.MULTILINE))
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")
    }
    made = ("auto_examples/", "reference/generated/", "reference/examples/")
    assert {page for page in pages if not page.startswith(made)} - {"index"} <= listed.keys()


def test_every_public_name_and_member_is_in_the_reference():
    packed = (SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]
    places = {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines() if " py:" in line}
    names = [*public_names.NAMES, *public_names.PARTS]
    assert set(names) <= places
    for name in names:
        if not isinstance(public_names.found(name), type):
            continue
        of = public_names.members(name)
        own = of["methods"] + of["properties"] + [value for value, _, _ in of["values"]]
        assert {f"{name}.{one}" for one in own} <= places
        page = (SITE / "reference" / "generated" / f"{name}.html").read_text(encoding="utf-8")
        text = re.sub(r"<[^>]+>", " ", page)
        assert [one for one in of["fields"] if not re.search(rf"\b{one}\b", text)] == []


def test_every_example_has_a_picture_and_a_notebook():
    found = sorted(path.relative_to(ROOT / "examples") for path in (ROOT / "examples").glob("*/plot_*.py"))
    assert sorted(EXAMPLES) == [path.with_suffix("").as_posix() for path in found]
    gallery = (SITE / "auto_examples" / "index.html").read_text(encoding="utf-8")
    places = [gallery.index(f"{name}.html") for name in EXAMPLES]
    assert places == sorted(places)
    for example in EXAMPLES:
        name = example.rpartition("/")[2]
        assert f"sphx_glr_{name}_thumb" in gallery
        path = SITE / "auto_examples" / f"{example}.html"
        page = path.read_text(encoding="utf-8")
        (address,) = set(re.findall(rf'href="([^"]+/{name}\.ipynb)"', page))
        notebook = json.loads((path.parent / address).read_text(encoding="utf-8"))
        assert notebook["nbformat"] == 4
        assert any(cell["cell_type"] == "code" for cell in notebook["cells"])


@pytest.fixture(scope="module")
def address():
    """The site, served on this machine as any host would."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """Keep the terminal to the tests."""

        def copyfile(self, source, outputfile):
            with contextlib.suppress(ConnectionError):  # a browser that leaves a page does not wait for it
                super().copyfile(source, outputfile)

    handler = functools.partial(Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def chrome():
    try:
        browser.browser()
    except browser.NoBrowser as reason:
        pytest.skip(str(reason))
    with devtools.Chrome() as chrome:
        yield chrome


@pytest.fixture(scope="module")
def tabs(chrome):
    return [chrome.tab() for _ in range(TABS)]


def faults(tab, address):
    """Return errors of the console, requests that failed, and those that left the site."""
    found = []
    for event in tab.events:
        method, said = event["method"], event["params"]
        if method == "Network.requestWillBeSent":
            url = said["request"]["url"]
            found += [f"requests {url}"] * (not url.startswith((address, "data:")))
        elif method == "Network.responseReceived" and said["response"]["status"] >= 400:
            found.append(f"gets {said['response']['status']} for {said['response']['url']}")
        elif method == "Network.loadingFailed" and not said.get("canceled"):
            found.append(f"fails to load: {said['errorText']}")
        elif method == "Runtime.exceptionThrown":
            found.append(f"throws {json.dumps(said)[:300]}")
        elif method == "Log.entryAdded" and said["entry"]["level"] == "error":
            found.append(f"logs {said['entry']['text']}")
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "assert"):
            found.append(f"writes {json.dumps(said['args'])[:300]}")
    return found


def loaded(tabs, addresses):
    """Load pages side by side, and wait for all of them."""
    for tab, address in zip(tabs, addresses, strict=False):
        tab.resize(DESKTOP, 900)
        tab.events.clear()
        tab.call("Page.navigate", url=address)
    for tab, _ in zip(tabs, addresses, strict=False):
        tab.chrome.wait(lambda tab=tab: any(event["method"] == "Page.loadEventFired" for event in tab.events))


@pytest.mark.nightly
@pytest.mark.browser
def test_every_page_fits_desktop_and_phone_and_requests_only_the_site(tabs, address):
    found = []
    for first in range(0, len(PAGES), TABS):
        pages = PAGES[first : first + TABS]
        loaded(tabs, [address + page for page in pages])
        for tab, page in zip(tabs, pages, strict=False):
            for width in (DESKTOP, PHONE):
                tab.resize(width, 900)
                aside, over = tab.run(OVER_THE_EDGE)
                found += [f"{page} at {width}: {aside} pixels too wide, {over}"] * bool(aside > 0 or over)
            found += [f"{page} {fault}" for fault in faults(tab, address)]
    assert not found, "\n".join(found)


@pytest.mark.nightly
@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_main_pages_are_accessible(tabs, address, dark):
    found = []
    for page in MAIN:
        tabs[0].open(address + page, dark=dark)
        tabs[0].run(axe.source())
        # Between light and dark only colors differ.
        run = (
            axe.RUN.replace("{resultTypes", "{runOnly: ['color-contrast'], resultTypes") if dark else axe.RUN
        )
        for impact, rule, nodes in json.loads(tabs[0].run(run)):
            if impact in ("serious", "critical"):
                found.append(f"{page}: {impact} {rule} {nodes}")
    assert not found, "\n".join(found)


@pytest.mark.nightly
@pytest.mark.browser
def test_search_finds_functions_and_words(tabs, address):
    tab = tabs[0]
    for words, page in (("h_statistic", "paribus.h_statistic.html"), ("extrapolation", "interpret.html")):
        tab.open(f"{address}search.html?q={words}")
        assert tab.run(FINDS.replace("PAGE", page)), words
        assert faults(tab, address) == []
