"""Calls within the sentences and tables of the pages have arguments that exist: blocks are run, these are not."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import paribus

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("docs/**/*.md")))]
PAGES = [page for page in PAGES if not page.startswith(("docs/auto_examples/", "docs/reference/"))]
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
FUNCTIONS = {name for name in paribus.__all__ if inspect.isfunction(getattr(paribus, name))}


def calls(text):
    """Yield the name, arguments and source of each call of paribus within backticks."""
    for code in re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)):
        try:
            tree = ast.parse(code)
        except SyntaxError:  # words, or a part of a call
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            if isinstance(function, ast.Name) and function.id in FUNCTIONS:
                yield getattr(paribus, function.id), node, code
            elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                owner = {"paribus": paribus, "explainer": paribus.Explainer}.get(function.value.id)
                if owner is not None:
                    yield getattr(owner, function.attr), node, code


def wrong(function, node):
    """Return why a call cannot be made; a call that is shortened, as f(...) or f(kind="both"), names options."""
    given = [one for one in node.args if not (isinstance(one, ast.Constant) and one.value is Ellipsis)]
    named = {keyword.arg: None for keyword in node.keywords}
    first = [None] if node.func.__class__ is ast.Attribute and node.func.value.id == "explainer" else []
    bind = inspect.signature(function).bind_partial
    try:
        bind(*first, *given, **named)
    except TypeError as error:
        return str(error)
    return None


@pytest.mark.parametrize("page", PAGES)
def test_calls_in_sentences_have_arguments_that_exist(page):
    text = (ROOT / page).read_text()
    if "migrate" in page:  # whose tables begin with calls of others
        text = re.sub(r"^\|[^|]*\|", "|", text, flags=re.MULTILINE)
    found = [(code, wrong(function, node)) for function, node, code in calls(text)]
    assert [one for one in found if one[1]] == []


def test_a_call_that_cannot_be_made_is_found():
    text = "`load(first, second)`, `effects(m, X, grid=3)` and `paribus.explain(m, X, y=y)`, `explainer.effects()`"
    assert [wrong(function, node) for function, node, _ in calls(text)] == [
        "too many positional arguments",
        "got an unexpected keyword argument 'grid'",
        None,
        None,
    ]
