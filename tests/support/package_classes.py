"""The dataclasses of a package: which can be changed, and which would compare arrays."""

import importlib
import pkgutil
import re
from dataclasses import fields, is_dataclass

ARRAYS = re.compile(r"\b(Array|Floats|Integers|Octets|Flags|ndarray|Table)\b")


def dataclasses_of(package):
    """Return the dataclasses that the modules of a package define, by name."""
    root = importlib.import_module(package)
    names = [package, *(one.name for one in pkgutil.walk_packages(root.__path__, f"{package}."))]
    kinds = [kind for name in names for kind in vars(importlib.import_module(name)).values()]
    own = [kind for kind in kinds if isinstance(kind, type) and kind.__module__ in names]
    return {kind.__name__: kind for kind in own if is_dataclass(kind)}


def changeable(package):
    """Return the names of classes whose fields can be assigned to."""
    found = dataclasses_of(package).items()
    return {name for name, kind in found if not kind.__dataclass_params__.frozen}


def comparing_arrays(package):
    """Return the names of classes whose ``==`` compares arrays field by field, which raises."""
    found = [(name, kind) for name, kind in dataclasses_of(package).items() if kind.__dataclass_params__.eq]
    return {name for name, kind in found if any(ARRAYS.search(str(field.type)) for field in fields(kind))}
