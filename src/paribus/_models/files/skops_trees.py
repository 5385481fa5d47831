"""What a skops file makes trees of, checked before skops makes them.

scikit-learn's constructor of a tree reads as many numbers of classes as there are said to be outputs, and the
length of the array of nodes, whether the first has so many and the second has a length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np

from paribus.errors import ModelFileError

REFERENCE = "CachedNode"  # a part that is written elsewhere, under the same id
LOADERS = ["TupleNode", "JsonNode", "JsonNode", "DictNode", *["NdArrayNode"] * 3]


def check_tree_arguments(schema: Any, archive: ZipFile) -> None:
    """Refuse trees that are made of other numbers than they say, or of parts that are not what they seem."""
    written: dict[Any, list[dict[str, Any]]] = {}
    trees = []
    for part in _parts(schema):
        identity, loader = part.get("__id__"), part.get("__loader__")
        if isinstance(identity, int) and loader != REFERENCE:
            written.setdefault(identity, []).append(part)
        if loader == "TreeNode":
            trees.append(part)
    parts = PartsById(written)
    for tree in trees:
        _check_arguments(tree, parts, archive)


@dataclass(frozen=True, eq=False)
class PartsById:
    """The parts of a schema by their ids: skops takes the first that it meets of an id for all of them."""

    written: dict[Any, list[dict[str, Any]]]
    agreed: set[int] = field(default_factory=set)

    def find(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a part, or the one it refers to, if all of its id are the same."""
        identity = part["__id__"]
        first, *others = self.written[identity]
        if identity not in self.agreed and any(other != first for other in others):
            raise ModelFileError("two parts of a tree in it have one id and are not the same")
        self.agreed.add(identity)
        return first


def array_header(archive: ZipFile, member: ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of an array, without its numbers."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = header(file)
    return shape, dtype


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a schema."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _check_arguments(tree: dict[str, Any], parts: PartsById, archive: ZipFile) -> None:
    """Refuse a tree whose arrays do not have the nodes and outputs that it says."""
    try:
        made_of, state = parts.find(tree["__reduce__"]["args"]), parts.find(tree["content"])
        columns, classes, outputs = map(parts.find, made_of["content"])
        nodes, values = (parts.find(state["content"][name]) for name in ("nodes", "values"))
        used = made_of, columns, outputs, state, classes, nodes, values
        loaders = [part["__loader__"] for part in used]
        arrays = [array_header(archive, archive.getinfo(part["file"])) for part in used[4:]]
        n_columns, n_outputs = (json.loads(part["content"]) for part in (columns, outputs))
    except ModelFileError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError("a tree in it is not made as scikit-learn makes one") from error
    whole = all(type(number) is int for number in (n_columns, n_outputs))
    if loaders != LOADERS or not whole or n_columns < 0:
        raise ModelFileError("a tree in it is not made as scikit-learn makes one")
    (shape, dtype), (of_nodes, _), (of_values, _) = arrays
    if n_outputs < 1 or shape != (n_outputs,) or dtype.kind not in "iu":
        raise ModelFileError(f"a tree in it has {n_outputs} outputs, and numbers of classes of {shape}")
    if len(of_nodes) != 1 or len(of_values) != 3 or of_values[:2] != (*of_nodes, n_outputs):
        raise ModelFileError(f"a tree in it has nodes of shape {of_nodes} and values of {of_values}")
