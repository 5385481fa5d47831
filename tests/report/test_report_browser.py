"""The page in a real browser: without scripts and with them, by keyboard, narrow, dark, printed, and with hostile names."""

import base64
import io
import json

import pypdf
import pytest

import axe
import browser
import devtools
from report_examples import HOSTILE, complete, hostile, ten_features
from selection import nightly

pytestmark = pytest.mark.browser

SECTIONS = ["summary", "before", "model", "features", "pairs", "performance", "record"]


@pytest.fixture(scope="module")
def tab():
    """One browser behind a proxy that records every request."""
    try:
        browser.browser()
    except browser.NoBrowser as reason:
        pytest.skip(str(reason))
    with browser.recorder() as (port, requests):
        options = (f"--proxy-server=127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>")
        with devtools.Chrome(*options) as chrome:
            tab = chrome.tab()
            tab.requests = requests
            requests.clear()  # what a browser requests as it starts is not what a page does
            yield tab


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    complete().report(path, title="Motor liability", about={"owner": "the pricing team"})
    return path.as_uri()


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    hostile().report(path, title=HOSTILE[1], about=dict.fromkeys(HOSTILE, HOSTILE[0]))
    return path.as_uri()


def tree_of(tab):
    """Return the text of what assistive technology is given, without a script of the page."""
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if "role" in node
    ]


@pytest.mark.parametrize("scripts", [False, True], ids=["without scripts", "with scripts"])
def test_page_requests_nothing_and_complains_of_nothing(tab, page, scripts):
    tab.open(page, scripts=scripts)
    assert tab.complaints() == []
    assert [line for line in tab.requests if not any(own in line for own in browser.ITS_OWN)] == []
    requested = [event for event in tab.events if event["method"] == "Network.requestWillBeSent"]
    assert [event["params"]["request"]["url"] for event in requested] == [page]
    buttons = [name for role, name in tree_of(tab) if role == "button"]
    assert ("Open all" in buttons) is scripts  # what a script adds is there only if it runs


def test_every_section_is_reached_by_keyboard_without_scripts(tab, page):
    tab.open(page, scripts=False)
    document = tab.call("DOM.getDocument")["root"]["nodeId"]
    headings = [name for role, name in tree_of(tab) if role == "heading"]
    wanted = ["Summary", "Before you rely on this", "All features", "Curves", "Interactions", "Record"]
    assert [name for name in headings if name in wanted] == wanted
    seen = []
    for _ in range(400):
        tab.press("Tab", 9)
        focused = tab.call("DOM.querySelector", nodeId=document, selector=":focus")["nodeId"]
        if not focused:
            break
        html = tab.call("DOM.getOuterHTML", nodeId=focused)["outerHTML"]
        seen.append(html[:60])
        inside = tab.call("DOM.querySelectorAll", nodeId=document, selector="section:focus-within")["nodeIds"]
        if inside:
            attributes = tab.call("DOM.getAttributes", nodeId=inside[0])["attributes"]
            seen.append(dict(zip(attributes[::2], attributes[1::2], strict=True))["id"])
    assert 'class="skip"' in seen[0]
    assert [name for name in SECTIONS if name not in seen] == []
    assert sum(text.startswith("<summary") for text in seen) > 10  # closed panels can be opened by keyboard


def test_links_open_the_panel_they_lead_to(tab, page):
    tab.open(page, scripts=False)
    tab.call("Page.navigate", url=f"{page}#feature-3")
    names = [name for role, name in tree_of(tab) if role == "image"]
    assert any(name.startswith("Partial dependence") or complete().feature_names[2] in name for name in names)


@pytest.mark.parametrize("width", [390, *nightly(320)])
def test_narrow_windows_do_not_scroll_sideways(tab, page, hostile_page, width):
    for address in (page, hostile_page):
        tab.open(address, width=width)
        tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        wide, window = tab.run("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= window


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, *nightly(True)], ids=["light", "dark"])
def test_axe_finds_nothing_serious(tab, page, dark):
    try:
        source = axe.source()
    except browser.NoBrowser as reason:
        pytest.skip(str(reason))
    tab.open(page, dark=dark)
    tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    tab.run(source)
    found = json.loads(tab.run(axe.RUN))
    assert [one for one in found if one[0] in ("serious", "critical")] == []


FIRST_SCREEN = """(() => {
  const seen = (selector) => Array.from(document.querySelectorAll(selector)).filter((one) => {
    const box = one.getBoundingClientRect();
    return one.checkVisibility() && box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
  });
  return {
    lead: seen(".lead").map((one) => one.textContent),
    sentences: seen(".sentences li").map((one) => one.textContent),
    curves: seen(".curves svg").length,
    captions: seen(".curves figcaption").length,
    title: seen("h1").length,
    lines: document.querySelectorAll("#before > details").length,
    opened: document.querySelectorAll("#before > details[open]").length,
  };
})()"""


def test_first_screen_has_score_sentences_and_six_curves(tab, tmp_path):
    path = tmp_path / "report.html"
    ten_features().report(path, about={"purpose": "Predict claims.", "data_role": "held-out rows"})
    tab.open(path.as_uri(), scripts=False, width=1280, height=900)
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    found = tab.run(FIRST_SCREEN)
    predicted, fit = found["lead"]
    score = ten_features().performance["R²"].value
    assert "on average" in predicted
    assert f"R² is {score:.3g}" in fit
    assert [*found["lead"], *found["sentences"]] == [one.text for one in ten_features().sentences]
    assert (found["title"], found["curves"], found["captions"]) == (1, 6, 6)
    assert (found["lines"], found["opened"]) == (3, 0)


def printed(tab, address):
    """Return the pages of a report on paper."""
    tab.open(address, scripts=False)
    data = tab.call("Page.printToPDF", printBackground=True, transferMode="ReturnAsBase64")["data"]
    return pypdf.PdfReader(io.BytesIO(base64.b64decode(data))).pages


def text_of(pages):
    return " ".join(" ".join(page.extract_text() for page in pages).split())


@pytest.mark.nightly
def test_printed_report_is_short_and_has_tables_on_request(tab, tmp_path):
    short, long = tmp_path / "short.html", tmp_path / "long.html"
    ten_features().report(short)
    ten_features().report(long, tables=True)
    pages, more = printed(tab, short.as_uri()), printed(tab, long.as_uri())
    assert len(pages) <= 6
    text, tables = text_of(pages), text_of(more)
    for name in ten_features().feature_names:
        assert f"{ten_features().feature_names.index(name) + 1}. {name}" in text
    for words in ("Before you rely on this", "Not shown on this page", "Calibration", "SHA-256"):
        assert words in text
        assert words in tables
    for words in ("weight of the data", "Hyperparameters", "Definitions"):
        assert words not in text
        assert words in tables


def test_names_are_text_and_nothing_is_executed(tab, hostile_page):
    tab.open(hostile_page)
    assert tab.complaints() == []
    assert not [event for event in tab.events if event["method"] == "Page.javascriptDialogOpening"]
    assert (
        tab.run("document.images.length + document.querySelectorAll('iframe, object, embed, link').length")
        == 0
    )
    assert tab.run("document.scripts.length") == 1
    assert tab.run("document.querySelector('h1').textContent") == HOSTILE[1]
    assert tab.run(f"document.body.textContent.includes({json.dumps(HOSTILE[0])})")
    assert tab.run(
        f"document.body.textContent.includes({json.dumps(HOSTILE[4].strip())})"
    )  # in full somewhere


def test_tables_can_be_sorted_and_features_filtered_where_scripts_run(tab, page):
    tab.open(page)
    order = "Array.from(document.querySelectorAll('.overview tbody tr'), row => row.cells[1].textContent)"
    assert tab.run(order) == list(complete().feature_names)
    tab.run("document.querySelectorAll('.overview .sort')[1].click()")
    assert tab.run(order) == sorted(complete().feature_names)
    assert tab.run("document.querySelectorAll('.overview th')[1].getAttribute('aria-sort')") == "ascending"
    tab.run(
        "(() => { const box = document.querySelector('.tools input'); box.value = 'inc'; box.dispatchEvent(new Event('input')); })()"
    )
    assert tab.run("document.querySelectorAll('#features > .panel:not([hidden])').length") == 1
