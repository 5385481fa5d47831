"""Pages written from figures, opened in a real browser: what is seen, what a pointer is told, what is requested."""

import html
import re
import urllib.error
import urllib.request
from base64 import b64encode
from hashlib import sha256

import matplotlib.image
import numpy as np
import pytest

import browser
from paribus._display import mark_helpers, vector
from paribus._display.figure import Band, Figure, Heat, Line, Panel, PanelAxis, Points, Rule, Strip, Text
from paribus._display.plotly import draw

pytestmark = [pytest.mark.nightly, pytest.mark.browser]

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
# Notes which texts of images reach beyond these, or lie over each other, as the fonts of this machine have them.
TOUCHING = """
const found = [];
for (const image of document.querySelectorAll('svg')) {
    const whole = image.getBoundingClientRect();
    const texts = [...image.querySelectorAll('text')];
    const boxes = texts.map(text => text.getBoundingClientRect());
    boxes.forEach((one, place) => {
        if (one.left < whole.left - 1 || one.right > whole.right + 1 || one.bottom > whole.bottom + 1)
            found.push('beyond: ' + texts[place].textContent);
        boxes.slice(place + 1).forEach((two, next) => {
            const wide = Math.min(one.right, two.right) - Math.max(one.left, two.left);
            const high = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
            if (wide > 1 && high > 4)
                found.push('over each other: ' + texts[place].textContent + ', ' + texts[place + 1 + next].textContent);
        });
    });
}
document.body.setAttribute('data-found', found.length + ':' + found.slice(0, 5).join('|'));
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
        Band(X, X - 1, X + 1, mark_helpers.PALETTE[0]),
        Line(X, X, mark_helpers.PALETTE[0], LABEL),
        Points(X[:1], X[:1] + 3, mark_helpers.PALETTE[1], "observed", hover=(TOLD,)),
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


def crowded(name, count):
    """Return a figure with words on all sides of its panels."""
    at, edges = np.arange(float(count)), np.arange(float(count + 1)) - 0.5
    ticks = tuple((place, f"{name} {place:.0f}") for place in at)
    panels = (
        Panel((Points(at, at, "ink", name),), PanelAxis(name, "category", ticks), PanelAxis(name), name),
        Panel((Line(18_000 + 41 * at, 1e5 * at, "ink"),), PanelAxis(name, "date"), PanelAxis(name)),
        Panel(
            (Heat(edges, edges, np.add.outer(at, at), "viridis", 0.0, 9.0, name),), y=PanelAxis(ticks=ticks)
        ),
        Panel((Line(at, at, "ink", "one"),), PanelAxis(name), legend="panel", legend_title=name),
    )
    return Figure(panels, 2, (9.0, 7.0), name, (name,))


def test_words_of_svg_do_not_touch_in_a_real_font(tmp_path):
    names = ("a", "Annual_income_of_the_household (thousands)", "WWWWWWWW MMMM", "年齢")
    figures = [crowded(name, count) for name in names for count in (4, 25)]
    images = [
        vector.render(figure, id_prefix=f"i{number}-{width}", width=width)
        for number, figure in enumerate(figures)
        for width in (480, 900)
    ]
    body = "".join(f"<div>{image}</div>" for image in images)
    page = tmp_path / "page.html"
    script = f"<script>{TOUCHING}</script>"
    page.write_text(f'<!doctype html><meta charset="utf-8"><body>{body}{script}</body>', encoding="utf-8")
    whole, requests = browser.opened(page)
    assert requests == []
    (found,) = re.findall(r'data-found="([^"]*)"', whole)
    assert html.unescape(found) == "0:"


def test_svg_is_drawn_in_a_page_that_permits_one_style_sheet_alone(tmp_path):
    cells = Heat(X, X, np.full((5, 5), 1.0), ("#ff0000", "#ff0000"), 0.0, 2.0, None)
    bare = PanelAxis(scale="none", low=0.0, high=5.0)
    panel = Panel((cells, Line(X, X, mark_helpers.PALETTE[1], width=12.0)), bare, bare)
    image = vector.render(Figure((panel,), size=(3.0, 3.0)), id_prefix="a")
    sheet = vector.css().replace(vector.LIGHT.series[1], "#00ff00") + "body{margin:0}"
    digest = b64encode(sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html>{head}<style>{sheet}</style>{image}", encoding="utf-8")
    taken = browser.screenshot(page, tmp_path / "page.png", 288, 288)
    pixels = matplotlib.image.imread(taken)[..., :3]
    np.testing.assert_allclose(pixels[60, 60], [1, 0, 0], atol=0.02)
    np.testing.assert_allclose(pixels[144, 144], [0, 1, 0], atol=0.02)  # as the sheet says
