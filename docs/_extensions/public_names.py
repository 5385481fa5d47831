"""What the API reference must have: public names, and the public members of public classes."""

import enum
import functools
import inspect
import typing

from sphinx.pycode import ModuleAnalyzer

import paribus

NAMES = [name for name in paribus.__all__ if name != "__version__"]


def members(name):
    """Return the public members of a class by their kind: fields, values, properties and methods.

    What a class has from Python or scikit-learn, as a mapping, an error or a display, is documented there.
    """
    cls = getattr(paribus, name)
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


def classes():
    """Return the members of every public class, by its name."""
    return {name: members(name) for name in NAMES if inspect.isclass(getattr(paribus, name))}


def described(value):
    """Return what is written about a value of an enumeration: its meaning, or the comment beside it."""
    if hasattr(value, "meaning"):
        return f"{value.severity.capitalize()}: {value.meaning}."
    comments = ModuleAnalyzer.for_module(type(value).__module__).find_attr_docs()
    text = " ".join(comments[type(value).__name__, value.name]).strip()
    return f"{text[0].upper()}{text[1:]}."


def _fields(base):
    hints = inspect.get_annotations(base)
    return [name for name, hint in hints.items() if name[0] != "_" and not _is_of_the_class(hint)]


def _is_of_the_class(hint):
    return "ClassVar" in hint if isinstance(hint, str) else typing.get_origin(hint) is typing.ClassVar
