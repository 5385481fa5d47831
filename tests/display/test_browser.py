"""Pages written from figures, opened in a real browser: what is seen, what a pointer is told, what is requested."""

import html
import re
import urllib.error
import urllib.request

import matplotlib.image
import numpy as np
import pytest

import browser
from paribus._display import style
from paribus._display.figure import Band, Figure, Heat, Line, Panel, PanelAxis, Points, Rule, Strip, Text
from paribus._display.plotly import draw

pytestmark = [pytest.mark.alone, pytest.mark.browser]

X = np.arange(6.0)
LABEL = "curve & <more> of $x$ and $y$"
TOLD = "value 0\neffect <3> $4$ and $5$"
# Puts a pointer on the middle of a point, then of a bar of the strip, as a person would, and notes what is told.
POINTER = """
const told = [];
async function visit(thing) {
    const box = thing.getBoundingClientRect();
    const place = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};
    document.querySelector('.nsewdrag').dispatchEvent(new MouseEvent('mousemove', place));
    await new Promise(done => setTimeout(done, 300));
    told.push(document.querySelector('.hoverlayer').textContent);
}
(async () => {
    await visit(document.querySelector('path.point'));
    await visit(document.querySelector('.barlayer .point path'));
    document.body.setAttribute('data-told', told.join('|'));
})();
"""


@pytest.fixture(autouse=True, scope="module")
def _installed():
    try:
        browser.browser()
    except browser.NoBrowser as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def figure():
    marks = (
        Strip(X, X + 1, np.full(6, 0.9), 6.0, hover=tuple(f"share {n}" for n in range(6))),
        Band(X, X - 1, X + 1, style.PALETTE[0]),
        Line(X, X, style.PALETTE[0], LABEL, strength=X / 5),
        Points(X[:1], X[:1] + 3, style.PALETTE[1], "observed", hover=(TOLD,)),
        Rule(2.0),
        Text(3.0, 5.0, "$a$ & $b$"),
    )
    axes = PanelAxis("feature", low=-1.0, high=6.0), PanelAxis("effect", low=-4.0, high=7.0)
    return draw(Figure((Panel(marks, *axes),), notes=("a note",)))


def seen(page):
    """Return a page without its scripts, which hold every word whether it is shown or not."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.S)


def words(page):
    return {
        html.unescape(re.sub(r"<[^>]*>", "", text)) for text in re.findall(r"<text.*?</text>", page, re.S)
    }


def test_a_page_shows_its_figure_and_asks_for_nothing(figure, tmp_path):
    written = tmp_path / "page.html"
    figure.write_html(written, post_script=POINTER)
    whole, requests = browser.opened(written)
    page = seen(whole)
    assert requests == []
    assert page.count('class="trace scatter') == len(figure.data) - 1
    assert page.count('class="js-fill"') == 1
    assert page.count('class="js-line"') >= 3  # the line in its strengths
    assert page.count('class="point"') == 1 + len(X)  # what was observed, and the strip
    assert {LABEL, "observed", "feature", "effect", "a note", "$a$ & $b$"} <= words(page)
    (told,) = re.findall(r'data-told="([^"]*)"', page)
    assert html.unescape(told).split("|") == [TOLD.replace("\n", ""), "share 0"]


def test_a_page_that_does_ask_is_caught(figure, tmp_path):
    written = tmp_path / "page.html"
    figure.write_html(written, include_plotlyjs="cdn")
    page, requests = browser.opened(written)
    assert any("plot.ly" in request for request in requests)
    assert 'class="js-line"' not in seen(page)


def test_many_figures_are_cut_from_one_screenshot(figure, tmp_path):
    cells = Heat(X, X, np.full((5, 5), 1.0), ("#ff0000", "#ff0000"), 0.0, 2.0, None)
    bare = PanelAxis(scale="none")
    red = draw(Figure((Panel((cells,), bare, bare),), size=(3.0, 2.0)))
    dark = draw(Figure((Panel((), bare, bare),), size=(4.0, 1.0))).update_layout(template="plotly_dark")
    files = browser.crops({"curve": figure, "red": red, "dark": dark}, tmp_path / "pictures")
    assert [path.name for path in files.values()] == ["curve.png", "red.png", "dark.png"]
    pixels = {name: matplotlib.image.imread(path)[..., :3] for name, path in files.items()}
    assert [picture.shape[:2] for picture in pixels.values()] == [(422, 614), (192, 288), (96, 384)]
    np.testing.assert_allclose(pixels["red"][96, 144], [1, 0, 0], atol=0.02)
    np.testing.assert_allclose(pixels["red"][2, 2], 1, atol=0.02)  # its own margin, not its neighbor
    np.testing.assert_allclose(pixels["dark"], 17 / 255, atol=0.02)
    blue = np.abs(pixels["curve"] - [0, 114 / 255, 178 / 255]).max(axis=2) < 0.1
    assert blue.sum() > 50


def test_figures_that_are_too_tall_together_are_photographed_apart(figure, monkeypatch):
    monkeypatch.setattr(browser, "TALLEST", 2 * figure.layout.height)
    sheets = browser.sheets(dict.fromkeys("abcde", figure))
    assert list(sheets) == [["a", "b"], ["c", "d"], ["e"]]


def test_the_recorder_hears_every_kind_of_request():
    with browser.recorder() as (port, requests):
        for method in ("GET", "POST"):
            asked = urllib.request.Request(f"http://127.0.0.1:{port}/some/thing", method=method)
            with pytest.raises(urllib.error.HTTPError, match="502") as refused:
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked)
            refused.value.close()
    assert requests == ["GET /some/thing HTTP/1.1", "POST /some/thing HTTP/1.1"]
