"""Reader of skops files, with checks of types and trees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from paribus._contracts import Array
from paribus._models.ensemble import LEAF, Encoding, Ensemble, within
from paribus._models.files.documents import check_room, parsed_json
from paribus._models.libraries.library import MOST_COLUMNS, counted
from paribus._models.parameters import attribute
from paribus.errors import ModelFileError, OptionError, RefusalError

REFERENCE = "CachedNode"  # loader of a reference to another part with the same id
LOADERS = ["TupleNode", "JsonNode", "JsonNode", "DictNode", *["NdArrayNode"] * 3]


def check_tree_arguments(schema: Any, archive: ZipFile) -> None:
    """Refuse trees with inconsistent sizes, or with parts of unexpected types."""
    written: dict[Any, list[dict[str, Any]]] = {}
    trees = []
    for part in _schema_parts(schema):
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
    """Parts of a schema by id. skops uses the first part of an id for all of them."""

    written: dict[Any, list[dict[str, Any]]]
    agreed: set[int] = field(default_factory=set)

    def find(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a part, or the part it refers to. Refuse different parts with the same id."""
        identity = part["__id__"]
        first, *others = self.written[identity]
        if identity not in self.agreed and any(other != first for other in others):
            raise ModelFileError("two parts of a tree in it have one id and are not the same")
        self.agreed.add(identity)
        return first


def array_header(archive: ZipFile, member: ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype of an array without reading its values."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = header(file)
    return shape, dtype


def _schema_parts(schema: Any) -> Iterator[dict[str, Any]]:
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
    """Refuse a tree whose arrays do not match its number of nodes and outputs."""
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


# Modules whose models pass rows to trees that do not check the number of columns.
TRUSTING = ("sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._iforest")
WORDS = 8  # 32-bit words per set of categories


TREE = ("sklearn.tree._tree", "Tree")


def check_sklearn_trees(model: Any) -> None:
    """Refuse a model with a tree that has invalid or cyclic child positions, or invalid columns."""
    seen: dict[tuple[int, int | None], Any] = {}
    waiting: list[tuple[Any, int | None]] = [(model, None)]
    while waiting:
        one, columns = waiting.pop()
        if (id(one), columns) in seen:
            continue
        seen[id(one), columns] = one
        if any((base.__module__, base.__name__) == TREE for base in type(one).__mro__):
            _check_tree(one, columns)
            continue
        below = _columns_below(one, columns)
        for predictor in _predictors(one):
            _check_predictor(predictor, one, below)
        waiting += [(part, below) for part in _held_objects(one)]


def _columns_below(one: Any, columns: int | None) -> int | None:
    """Return the number of columns that the trees of an object receive.

    None means that the object has no trees, or that the nested models check the columns.
    """
    if isinstance(one, (list, tuple, dict, np.ndarray)):
        return columns
    own = attribute(one, "n_features_in_")
    trusting = any(base.__module__ in TRUSTING for base in type(one).__mro__)
    if not (trusting or attribute(one, "tree_") is not None or attribute(one, "_predictors") is not None):
        return None
    if not isinstance(own, (int, np.integer)):
        raise RefusalError(f"{type(one).__name__} has trees, and does not say of how many columns")
    known = [int(own)] if columns is None else [int(own), columns]
    chosen = attribute(one, "estimators_features_")
    if trusting and chosen is not None:
        known += [len(features) for features in chosen]
    return counted("a number of columns", min(known), 0, MOST_COLUMNS)


def _held_objects(one: Any) -> Iterator[Any]:
    """Yield the items or attributes of an object, which may contain trees."""
    if isinstance(one, dict):
        yield from one.values()
    elif isinstance(one, (list, tuple, set, frozenset)):
        yield from one
    elif isinstance(one, np.ndarray):
        yield from one.ravel().tolist() if one.dtype == object else ()
    elif not isinstance(one, type):
        yield from getattr(one, "__dict__", {}).values()


def _predictors(one: Any) -> Iterator[Any]:
    """Yield the trees of histogram gradient boosting."""
    for trees in attribute(one, "_predictors") or ():
        yield from trees


@lru_cache(maxsize=8)
def _plain_encodings(columns: int) -> tuple[Encoding, ...]:
    return tuple(Encoding(column) for column in range(columns))


def _check_nodes(leaf: Array, feature: Array, left: Array, right: Array, columns: int) -> None:
    """Check nodes by building an ensemble of one tree, which checks itself."""
    inner = ~np.asarray(leaf, dtype=bool)
    nodes = len(inner)
    within("columns", feature[inner], 0, columns)
    within("children", np.concatenate([left[inner], right[inner]]), 0, nodes)
    column = np.where(inner, feature, LEAF).astype(np.int64)
    children = [np.where(inner, child, 0).astype(np.int64) for child in (left, right)]
    Ensemble(
        roots=np.zeros(1, np.int32),
        column=column,  # type: ignore[arg-type]
        threshold=np.zeros(nodes),
        left=children[0],  # type: ignore[arg-type]
        right=children[1],  # type: ignore[arg-type]
        missing_left=np.zeros(nodes, bool),
        value=np.zeros((nodes, 1)),
        output=np.zeros(1, np.int32),
        base=np.zeros(1),
        encodings=_plain_encodings(columns),
        links={},
    )


def _check_tree(tree: Any, columns: int | None) -> None:
    """Check a tree. A node count above its capacity would read foreign memory."""
    if not 0 < tree.node_count <= tree.capacity or columns is None:
        raise RefusalError(
            "its trees cannot be read: a tree has no nodes, or more than there are, or no owner"
        )
    left = tree.children_left
    _check_nodes(left == -1, tree.feature, left, tree.children_right, columns)


def _check_predictor(predictor: Any, owner: Any, columns: int | None) -> None:
    """Check a tree of histogram gradient boosting, and the category sets of its splits."""
    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    leaf = nodes["is_leaf"] != 0
    _check_nodes(leaf, nodes["feature_idx"], nodes["left"], nodes["right"], columns or 0)
    tests = nodes[~leaf & (nodes["is_categorical"] != 0)]
    if not len(tests):
        return
    nominal = np.asarray(owner._bin_mapper.is_categorical_, dtype=bool)
    within("sets of categories", tests["bitset_idx"], 0, len(sets))
    within("columns", tests["feature_idx"], 0, len(nominal))
    if sets.ndim != 2 or sets.shape[1] != WORDS or not nominal[tests["feature_idx"]].all():
        raise RefusalError("its trees cannot be read: they test categories of a column that has none")


MOST_MEMBERS = 1_000_000
MOST_TIMES, SPARE = 50, 16_000_000  # size relative to a compressed file; skops does not compress by default
COPIES = 3  # copies of an array: in the file, and while it is read
BOOSTERS = ("xgboost", "lightgbm", "catboost")  # whose loaders do not check their input
SHOWN = 20  # types in a message
SAFE = ("numpy.dtype",)  # not trusted by skops, but creating it runs no code of the file


def read_skops(content: bytes, trusted: Sequence[str]) -> Any:
    """Return the model in a skops file."""
    names = (*_named_types(trusted), *SAFE)
    _check_members(content)
    try:
        from skops import io as skops
    except ImportError as error:
        raise ModelFileError("skops is needed to read it; pip install 'paribus[skops]'") from error
    unnamed = [one for one in skops.get_untrusted_types(data=content) if one not in names]
    boosters = [one for one in (*unnamed, *names) if one.split(".")[0] in BOOSTERS]
    if boosters:
        raise ModelFileError(
            f"it holds {boosters[0]}, whose library reads it without checks; if you trust who wrote it, load "
            "it by skops.io.load and pass the object, which may be a pipeline, to paribus; a model without a "
            "pipeline can also be saved by save_model of its library and read from there"
        )
    if unnamed:
        more = f" and {len(unnamed) - SHOWN} more" if len(unnamed) > SHOWN else ""
        raise ModelFileError(
            f"it holds types that skops does not trust: {', '.join(unnamed[:SHOWN])}{more}; if "
            f"you trust who wrote it, pass trusted={unnamed[:SHOWN]!r}, on the command line --trust "
            f"{' --trust '.join(unnamed[:SHOWN])}"
        )
    model = skops.loads(content, trusted=list(names))
    check_sklearn_trees(model)
    return model


def _named_types(trusted: Any) -> tuple[str, ...]:
    """Return the names of the types that the user trusts."""
    if isinstance(trusted, str) or not isinstance(trusted, Iterable):
        raise OptionError(f"trusted={trusted!r} must be a list of types, such as ['sklearn.tree._tree.Tree']")
    names = tuple(trusted)
    if not all(isinstance(name, str) for name in names):
        raise OptionError(f"trusted={trusted!r} must be a list of names of types, as text")
    return names


def _check_members(content: bytes) -> None:
    """Refuse an archive that is not a skops file, or whose members are too large."""
    with _open_archive(content) as archive:
        members = archive.infolist()
        if len(members) > MOST_MEMBERS or "schema.json" not in archive.namelist():
            raise ModelFileError("it is a zip file without the schema.json of skops")
        size = sum(member.file_size for member in members)
        check_room(COPIES * size)
        if size > MOST_TIMES * len(content) + SPARE:
            raise ModelFileError(
                f"it would become {size / len(content):,.0f} times as large, and no model becomes more than "
                f"{MOST_TIMES} times"
            )
        check_tree_arguments(parsed_json(archive.read("schema.json")), archive)
        for member in members:
            if member.filename.endswith(".npy"):
                _check_array(archive, member)
            elif member.filename.endswith(".npz"):
                with _open_archive(archive.read(member)) as inner:
                    check_room(COPIES * sum(one.file_size for one in inner.infolist()))
                    for one in inner.infolist():
                        _check_array(inner, one)


def _open_archive(content: bytes) -> ZipFile:
    try:
        return ZipFile(BytesIO(content))
    except BadZipFile as error:
        raise ModelFileError(f"it is a damaged zip file: {error}") from error


def _check_array(archive: ZipFile, member: ZipInfo) -> None:
    """Refuse an array whose shape needs more bytes than the member has."""
    shape, dtype = array_header(archive, member)
    size = dtype.itemsize
    for length in shape:
        size *= length
    if dtype.hasobject or not 0 <= size <= member.file_size:
        raise ModelFileError(f"its array {member.filename[:60]!r} is larger than it is, or holds objects")
