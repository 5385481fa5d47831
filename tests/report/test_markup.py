"""Elements: text cannot become markup, and what the policy forbids cannot be written."""

import pytest

from paribus._report.markup import (
    Markup,
    element,
    full_name,
    joined,
    long_text,
    name_of,
    row,
    shortened,
    table,
    text,
)
from paribus.errors import ParibusError


def test_text_is_escaped_wherever_it_stands():
    hostile = "<b onclick='x'>&\""
    made = element("p", hostile, [hostile, (hostile,)], title=hostile, data_name=hostile)
    assert made.count("<") == 2
    assert made.count("&lt;b onclick=&#x27;x&#x27;&gt;&amp;&quot;") == 5
    assert row([hostile, hostile]).count("<") == 3
    assert joined(None, 3, "<") == "3&lt;"
    assert "<b" not in table(hostile, [hostile], [[hostile]])


def test_markup_passes_as_it_is():
    assert element("p", element("b", "x")) == "<p><b>x</b></p>"
    assert isinstance(joined("a"), Markup)


@pytest.mark.parametrize("attribute", ["style", "onclick", "src", "href"])
def test_attributes_that_the_policy_forbids_are_refused(attribute):
    with pytest.raises(ParibusError, match="without requests"):
        element("a", **{attribute: "javascript:alert(1)"})


def test_attributes_are_left_out_or_bare():
    assert element("details", open=True, id=None, hidden=False) == "<details open></details>"


def test_what_cannot_be_seen_is_spelled_out():
    assert text("a\u202eb\x00\ud800") == "a\\u202eb\\u0000\\ud800"
    assert text("é 漢 👩‍👧") == "é 漢 👩‍👧"


def test_long_names_are_short_and_can_be_read_in_full():
    long = "x" * 10_000
    assert len(shortened(long)) == 60
    assert len(name_of(long)) < 1500
    assert long in full_name(long)
    assert long in long_text(long)
    assert shortened(" \n ") == "(empty)"


def test_first_cell_of_a_row_of_a_table_is_its_head():
    plain = table("Sizes", ["Name", "Size"], [["a", "1"], ["b", "2"]])
    assert plain.count("scope=row") == 2
    assert table("Sizes", ["Name", "Size"], [["a", "1"]], row_heads=2).count("scope=row") == 2
