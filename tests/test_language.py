"""The language rule of CONTRIBUTING.md, in all text that users and contributors see."""

import argparse
import ast
import inspect
import re
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

from paribus._command.entry import parser

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import public_names  # noqa: E402

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ROWS = re.findall(r"^\| (`.*`) \| .* \|$", CONTRIBUTING.split("## Language\n")[1].split("\n## ")[0], re.M)
FORBIDDEN = [phrase for row in ROWS for phrase in re.findall(r"`([^`]+)`", row)]
PHRASE = re.compile(rf"\b(?:{'|'.join(map(re.escape, FORBIDDEN))})\b", re.IGNORECASE)
PERMITTED = re.compile(r"\bthere (?:is|are) no\b|\b(?:is|are) no longer\b", re.IGNORECASE)
GENERATED = ("docs/auto_examples/", "docs/reference/generated/", "docs/reference/examples/")
PAGES = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))),
]
PAGES = [page for page in PAGES if not page.startswith(GENERATED)]
SOURCES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("src/paribus", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
BLOCK = re.compile(r"^ *(```+).*?^ *\1", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
MOST_WORDS = 30


def forbidden(text):
    """Return the forbidden phrases of a text, with the words around them."""
    plain = PERMITTED.sub("…", " ".join(text.split()))
    return [plain[max(0, found.start() - 40) : found.end() + 40] for found in PHRASE.finditer(plain)]


def strings(source):
    """Yield the line and the text of each literal, docstring and formatted string of a module."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            texts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield node.lineno, "".join(texts)


def commands():
    """Return every parser by the name of its command."""
    top = parser()
    groups = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    return {"paribus": top} | {name: one for group in groups for name, one in group.choices.items()}


def options():
    """Return the help of each argument of each command."""
    named = ((name, action) for name, one in commands().items() for action in one._actions)
    return {
        (name, "/".join(action.option_strings) or action.dest): action.help
        for name, action in named
        if action.help and not isinstance(action, argparse._HelpAction | argparse._VersionAction)
    }


def descriptions():
    """Yield the public name, the parameter and its description, of every documented parameter."""
    for name in [*public_names.NAMES, *public_names.PARTS]:
        item = public_names.found(name)
        documents = {name: FunctionDoc(item)} if inspect.isfunction(item) else {}
        if inspect.isclass(item):
            documents[name] = ClassDoc(item, config={"show_class_members": False})
            for method in public_names.members(name)["methods"]:
                documents[f"{name}.{method}"] = FunctionDoc(inspect.unwrap(getattr(item, method)))
        for place, document in documents.items():
            for entry in [*document["Parameters"], *document.get("Attributes", [])]:
                yield place, entry.name, " ".join(entry.desc)


@pytest.mark.parametrize("page", PAGES)
def test_headings_of_pages_do_not_start_with_what_or_of(page):
    headings = HEADING.findall(BLOCK.sub("", (ROOT / page).read_text("utf-8")))
    assert [heading for heading in headings if re.match(r"(?:What|Of)\b", heading, re.IGNORECASE)] == []


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_no_forbidden_phrase(page):
    text = (ROOT / page).read_text("utf-8")
    if page == "CONTRIBUTING.md":
        text = re.sub(r"^\| `.*` \| .* \|$", "", text, flags=re.MULTILINE)  # the list itself
    assert forbidden(text) == []


@pytest.mark.parametrize("path", SOURCES)
def test_literals_and_docstrings_have_no_forbidden_phrase(path):
    source = (ROOT / path).read_text("utf-8")
    found = [(line, phrase) for line, text in strings(source) for phrase in forbidden(text)]
    if path.startswith("examples/"):  # whose comments are the text of the page
        comments = " ".join(line[1:].strip() for line in source.splitlines() if line.startswith("#"))
        found += [(0, phrase) for phrase in forbidden(comments)]
    assert found == []


@pytest.mark.parametrize("name", list(commands()))
def test_help_as_printed_has_no_forbidden_phrase(name):
    assert forbidden(commands()[name].format_help()) == []


def test_help_of_options_is_a_noun_phrase():
    first = {place: text.split()[0].strip(":,;") for place, text in options().items()}
    assert len(first) > 40
    assert {
        place: word for place, word in first.items() if re.fullmatch(r"(?i)what|of|with|where|also", word)
    } == {}
    nouns = ("bounds", "changes", "features", "tracebacks", "explanations")
    verbs = {place: word for place, word in first.items() if word.endswith("s") and word not in nouns}
    assert verbs == {}  # such as shows, writes, sets


def test_descriptions_of_public_parameters_are_short():
    found = list(descriptions())
    assert len(found) > 600
    assert [(*one, len(one[2].split())) for one in found if len(one[2].split()) > MOST_WORDS] == []


@pytest.mark.parametrize("text", ["a sum, which is\n  no mean", "Besides, it runs", "the same to the bit"])
def test_forbidden_phrases_are_found_across_lines_and_cases(text):
    assert len(forbidden(text)) == 1
    assert forbidden("there is no file, and it is no longer read") == []
    assert len(FORBIDDEN) >= 18


def test_formatted_strings_are_read():
    source = 'x = f"{name} is no {kind}"\n\ndef f():\n    """Is no docstring."""\n'
    assert [line for line, text in strings(source) if forbidden(text)] == [1, 4]
