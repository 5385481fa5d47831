"""The explanation as Markdown: tables that stay tables, whatever names contain."""

import re

import pytest

import paribus
from paribus._report.pages import plain
from report_examples import HOSTILE, complete, hostile, of_classes


def test_markdown_has_verdict_features_pairs_and_metrics():
    text = complete().to_markdown(title="Ours")
    assert text.startswith("# Ours\n")
    for words in (
        "## Verdict",
        "**Issue PAR",
        "| income |",
        "| root mean squared error |",
        "| Constant prediction |",
    ):
        assert words in text
    assert complete().to_markdown() == complete().to_markdown()
    assert "## Interactions" in of_classes().to_markdown()


def test_hostile_names_stay_in_their_cells():
    text = hostile().to_markdown(title=HOSTILE[2])
    lines = text.splitlines()
    assert "<" not in text
    assert len(text) < 30_000
    start = next(place for place, line in enumerate(lines) if line.startswith("| Feature"))
    for line in lines[start : start + 2 + len(HOSTILE)]:
        assert len(re.findall(r"(?<!\\)\|", line)) == 8


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("[a](b)", r"\[a\](b)"),
        ("https://a.b", r"https\://a\.b"),
        ("`a` *b* _c_ $d$", r"\`a\` \*b\* \_c\_ \$d\$"),
        ("# a", r"\# a"),
        ("1. a", r"1\. a"),
        ("0.25", "0.25"),
        ("a\nb", "a b"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("@all", "@\u2060all"),
    ],
)
def test_text_of_markdown_is_escaped(name, shown):
    assert plain(name) == shown


def test_title_of_another_type_is_refused():
    with pytest.raises(paribus.errors.OptionError, match="title=3 must be text"):
        complete().to_markdown(title=3)
