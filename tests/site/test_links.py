"""Links of the Markdown files, as a code host shows them; and that the checks find what is broken."""

from pathlib import Path

import links

ROOT = Path(__file__).parents[2]


def test_no_link_of_a_markdown_file_is_broken():
    assert len(list(links.sources(ROOT))) > 20
    assert links.broken_in_markdown(ROOT) == []


def test_broken_links_of_markdown_are_found(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(
        "# One `two`\n\n## One two\n\n[x](b.md) [y](a.md#one-two-1) [z](#three) [w](../docs)\n\n"
        "`[code](no.md)`\n\n```python\nf[0](no.md)\n# No heading\n```\n\n[v](#no-heading) ![p](p.png)\n"
        "[elsewhere](https://example.org/x.md)\n",
        encoding="utf-8",
    )
    assert links.broken_in_markdown(tmp_path) == [
        "docs/a.md: b.md is no file",
        "docs/a.md: #three is no heading",
        "docs/a.md: #no-heading is no heading",
        "docs/a.md: p.png is no file",
    ]


def test_broken_links_and_foreign_requests_of_a_site_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<link rel="stylesheet" href="s.css"><script src="https://example.org/x.js"></script>'
        "<style>@import 'https://example.org/y.css';</style>"
        '<a href="b.html#here">1</a><a href="b.html#there">2</a><a href="c.html">3</a><a href="#top">4</a>'
        '<a href="https://example.org">5</a><img src="data:," srcset="//example.org/p.png 2x" id="top">',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text('<p id="here">', encoding="utf-8")
    (tmp_path / "s.css").write_text("@font-face {src: url(//example.org/f.woff)}", encoding="utf-8")
    assert links.broken_in_site(tmp_path) == [
        "a.html: https://example.org/x.js is elsewhere",
        "a.html: https://example.org/y.css is elsewhere",
        "a.html: //example.org/p.png is elsewhere",
        "a.html: b.html#there is no place on that page",
        "a.html: c.html is no file",
        "s.css: //example.org/f.woff is elsewhere",
    ]
