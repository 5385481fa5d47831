"""Every public name and member is documented, and has its place in the API reference."""

import inspect
import re
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

import public_names

DOCS = Path(__file__).parents[2] / "docs"

LISTED = re.findall(r"^   ~?([\w.]+)$", (DOCS / "reference" / "index.md").read_text("utf-8"), re.MULTILINE)
ALL = [*public_names.NAMES, *public_names.PARTS]
CLASSES = [name for name in ALL if inspect.isclass(public_names.found(name))]
FUNCTIONS = [name for name in ALL if inspect.isfunction(public_names.found(name))]
# Codes of numpydoc: a docstring, every parameter and no other, what is returned, an example.
OF_FUNCTIONS = {"GL08", "PR01", "PR02", "PR07", "RT01", "SS03", "SS05", "EX01"}
OF_METHODS = {"GL08", "PR02", "PR07", "SS03", "SS05"}


def found_by_numpydoc(name, codes):
    return [f"{code}: {text}" for code, text in validate(name)["errors"] if code in codes]


def test_every_name_is_in_the_reference_once():
    assert sorted(f"paribus.{name}" for name in LISTED) == sorted(ALL)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_documented(name):
    assert found_by_numpydoc(name, OF_FUNCTIONS) == []


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_documented(name):
    members = public_names.members(name)
    assert inspect.getdoc(public_names.found(name))
    for member in members["methods"] + members["properties"]:
        assert found_by_numpydoc(f"{name}.{member}", OF_METHODS) == [], member
    described = set(public_names.attributes(name))
    assert set(members["fields"]) <= described | parameters(name)
    ours = set(members["fields"] + members["properties"])
    assert described <= ours or name == "paribus.PartialDependenceDisplay"  # which has scikit-learn's as well
    assert all(text for _, _, text in members["values"])


def parameters(name):
    document = ClassDoc(public_names.found(name), config={"show_class_members": False})
    return {one for entry in document["Parameters"] for one in entry.name.split(", ")}


def test_types_of_attributes_have_a_page():
    own = {name.rpartition(".")[2] for name in ALL} | {"None", "Bunch"}  # scikit-learn's
    for name in CLASSES:
        document = ClassDoc(public_names.found(name), config={"show_class_members": False})
        for entry in document["Attributes"]:
            assert set(re.findall(r"\b[A-Z]\w+", entry.type)) <= own, (name, entry.name, entry.type)


def test_what_is_not_documented_is_found(monkeypatch):
    import paribus

    def undocumented(X, unknown):
        """Compute something.

        Parameters
        ----------
        X : table
            The data.
        """
        return X

    monkeypatch.setattr(paribus, "undocumented", undocumented, raising=False)
    codes = [said[:4] for said in found_by_numpydoc("paribus.undocumented", OF_FUNCTIONS)]
    assert set(codes) == {"PR01", "RT01", "EX01"}


def test_every_option_of_the_command_line_is_on_its_page():
    from paribus._command.entry import parser

    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    commands = next(action.choices for action in parser()._actions if action.choices)
    for name, command in commands.items():
        assert f"paribus {name}" in page
        for action in command._actions:
            longest = max(action.option_strings, key=len, default="--help")
            assert longest in ("--help", "--output") or longest in page, (name, longest)
