"""What the API reference has: public names, the parts of results, and the public members of both."""

import enum
import functools
import importlib
import inspect
import re
import typing

from numpydoc.docscrape import ClassDoc
from sphinx.pycode import ModuleAnalyzer

import paribus

ERRORS = [name for name, kind in vars(paribus.errors).items() if inspect.isclass(kind)]
NAMES = [
    *(f"paribus.{name}" for name in paribus.__all__ if name != "__version__"),
    *(f"paribus.results.{name}" for name in paribus.results.__all__ if name != "Explanation"),
    *(f"paribus.errors.{name}" for name in ERRORS if name.endswith("Error") and name != "ParibusError"),
    *("paribus.errors.RefusalCode", "paribus.notes.Note", "paribus.notes.NoteCode"),
]
# Attributes of public results: readers find them there, and nobody has to import them.
PARTS = [
    "paribus.results.drift.InteractionDrift",
    "paribus.results.drift.MetricDrift",
    "paribus.results.drift.RowDrift",
    "paribus.results.hstatistics.Ratio",
    "paribus.results.hstatistics.VarianceShares",
    "paribus.results.model_record.ColumnRecord",
    "paribus.results.model_record.FileRecord",
    "paribus.results.model_record.TargetRecord",
    "paribus.results.model_record.ModelRecord",
    "paribus.results.performance.Calibration",
    "paribus.results.performance.Metric",
    "paribus.results.model_record.RowPredictions",
    "paribus.results.shape.Monotonicity",
    "paribus.results.verdict.Check",
]
MADE_BY_USERS = ["paribus.Explainer"]  # of all others the arguments are nobody's concern


def found(name):
    """Return the object of a full name."""
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


def members(name):
    """Return the public members of a class by their kind: fields, values, properties and methods.

    What a class has from Python or scikit-learn, as a mapping, an error or a display, is documented there.
    """
    cls = found(name)
    ours = [base for base in reversed(cls.__mro__) if base.__module__.partition(".")[0] == "paribus"]
    fields = {field: None for base in ours for field in _fields(base)}
    kinds = {"fields": list(fields), "values": [], "properties": [], "methods": []}
    if issubclass(cls, enum.Enum):
        kinds["values"] = [(value.name, value.value, described(value)) for value in cls]
    named = {member: value for base in ours for member, value in vars(base).items() if member[0] != "_"}
    for member, value in named.items():
        if isinstance(value, property | functools.cached_property):
            kinds["properties"].append(member)
        elif inspect.isroutine(value):
            kinds["methods"].append(member)
    return kinds


def attributes(name):
    """Return the names that the docstring of a class describes in its section Attributes."""
    described = ClassDoc(found(name), config={"show_class_members": False})["Attributes"]
    return [one for entry in described for one in entry.name.split(", ")]


def described(value):
    """Return what is written about a value of an enumeration: its meaning, or the comment beside it."""
    if hasattr(value, "meaning"):
        return f"{value.severity.capitalize()}: {value.meaning}."
    comments = ModuleAnalyzer.for_module(type(value).__module__).find_attr_docs()
    text = " ".join(comments[type(value).__name__, value.name]).strip()
    return f"{text[0].upper()}{text[1:]}."


def on_pages():
    """Return what the page of each class has beside its docstring, by the class's own name."""
    pages = {}
    for name in [*NAMES, *PARTS]:
        if inspect.isclass(found(name)):
            pages[name.rpartition(".")[2]] = members(name)
    return pages


def _fields(base):
    hints = inspect.get_annotations(base)
    return [name for name, hint in hints.items() if name[0] != "_" and not _is_of_the_class(hint)]


def _is_of_the_class(hint):
    return "ClassVar" in hint if isinstance(hint, str) else typing.get_origin(hint) is typing.ClassVar


def _without_arguments(app, what, name, obj, options, signature, annotation):
    made = what in ("class", "exception") and name not in MADE_BY_USERS
    return ("", "") if made and signature else None


def _listed_validly(app, page, template, context, doctree):
    """Write parameters, one a line, without a list of definitions: within a term, that is no HTML."""
    lines = re.compile(r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>")
    if "body" in context:
        context["body"] = lines.sub(_parameters, context["body"])


def _parameters(found):
    return f'<span class="parameters">{found[1].replace("dd>", "span>")}</span>'


def setup(app):
    """Leave out how results, which functions return, are made; mend the markup of long signatures."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-signature", _without_arguments)
    app.connect("html-page-context", _listed_validly)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
