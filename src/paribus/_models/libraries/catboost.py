"""CatBoost."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._models.ensemble import LEAF, CategorySet, Encoding, Ensemble
from paribus._models.libraries.library import Curves, Library, counted, real_numbers, whole_numbers
from paribus._models.predictor import Link
from paribus.errors import ModelError, RefusalError

# CityHash64 in its first version, by Geoff Pike and Jyrki Alakuijala.
MASK = 2**64 - 1
K0, K1, K2, K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557


def city_hash(text: bytes) -> int:
    """Return the hash of some bytes as 64 bits without a sign."""
    size = len(text)
    if size <= 16:
        return _up_to_16(text)
    if size > 64:
        return _over_64(text)
    if size > 32:
        return _up_to_64(text)
    a, b = _word(text, 0) * K1, _word(text, 8)
    c, d = _word(text, size - 8) * K2, _word(text, size - 16) * K0
    return _mixed(_turned(a - b, 43) + _turned(c, 30) + d, a + _turned(b ^ K3, 20) - c + size)


def _word(text: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(text[start : start + size], "little")


def _turned(bits: int, by: int) -> int:
    bits &= MASK
    return (bits >> by | bits << (64 - by)) & MASK


def _folded(bits: int) -> int:
    bits &= MASK
    return bits ^ bits >> 47


def _mixed(low: int, high: int) -> int:
    factor = 0x9DDFEA08EB382D69
    low, high = low & MASK, high & MASK
    return _folded((high ^ _folded((low ^ high) * factor)) * factor) * factor & MASK


def _up_to_16(text: bytes) -> int:
    size = len(text)
    if size > 8:
        last = _word(text, size - 8)
        return _mixed(_word(text, 0), _turned(last + size, size)) ^ last
    if size >= 4:
        return _mixed(size + (_word(text, 0, 4) << 3), _word(text, size - 4, 4))
    if not size:
        return K2
    start, end = text[0] + (text[size // 2] << 8), size + (text[-1] << 2)
    return _folded(start * K2 ^ end * K3) * K2 & MASK


def _up_to_64(text: bytes) -> int:
    size = len(text)

    def half(start: int, sum_: int, last: int) -> tuple[int, int]:
        turned = _turned(sum_ + last, 52) + _turned(sum_, 37)
        sum_ += _word(text, start + 8)
        turned += _turned(sum_, 7)
        sum_ += _word(text, start + 16)
        return sum_ + last, turned + _turned(sum_, 31)

    begin = _word(text, 0) + (size + _word(text, size - 16)) * K0
    v = half(0, begin, _word(text, 24))
    w = half(size - 32, _word(text, 16) + _word(text, size - 32), _word(text, size - 8))
    folded = _folded((v[0] + w[1]) * K2 + (w[0] + v[1]) * K0)
    return _folded(folded * K0 + v[1]) * K2 & MASK


def _over_64(text: bytes) -> int:
    size = len(text)

    def block(start: int, a: int, b: int) -> tuple[int, int]:
        words = [_word(text, start + offset) for offset in (0, 8, 16, 24)]
        a += words[0]
        b = _turned(b + a + words[3], 21)
        total = a + words[1] + words[2]
        return (total + words[3]) & MASK, (b + _turned(total, 44) + a) & MASK

    x, y, z = _word(text, 0), _word(text, size - 16) ^ K1, _word(text, size - 56) ^ K0
    v, w = block(size - 64, size, y), block(size - 32, size * K1, K0)
    z += _folded(v[1]) * K1
    x, y = _turned(z + x, 39) * K1, _turned(y, 33) * K1
    for start in range(0, (size - 1) // 64 * 64, 64):
        x = _turned(x + y + v[0] + _word(text, start + 16), 37) * K1 ^ w[1]
        y = _turned(y + v[1] + _word(text, start + 48), 42) * K1 ^ v[0]
        z = _turned(z ^ w[0], 33)
        v = block(start, v[1] * K1, x + w[0])
        w = block(start + 32, z + w[1], y)
        x, z = z, x
    return _mixed(_mixed(v[0], w[0]) + _folded(y) * K1 + z, _mixed(v[1], w[1]) + x)


PROBABILITY = {
    "Logloss": Link("sigmoid"),
    "CrossEntropy": Link("sigmoid"),
    "Focal": Link("sigmoid"),
    "MultiClass": Link("softmax"),
    "MultiClassOneVsAll": Link("sigmoid"),
    "MultiLogloss": Link("sigmoid"),
    "MultiCrossEntropy": Link("sigmoid"),
}
LOG_LINK = ("Poisson", "Tweedie")  # the losses for which CatBoostRegressor.predict returns the exponential
UNTESTED = -1.0  # the number of a category that no tree tests
MOST_SPLITS = 16  # of a symmetric tree, which has a leaf for each way they may turn out
# Fields of each part of the JSON. Text and embeddings are known not to be exported.
MODEL = {"ctr_data", "features_info", "model_info", "oblivious_trees", "scale_and_bias", "trees"}
FEATURES = {"categorical_features", "ctrs", "float_features"}
NUMERIC = {"borders", "feature_id", "feature_index", "flat_feature_index", "has_nans", "nan_value_treatment"}
CATEGORICAL = {"feature_id", "feature_index", "flat_feature_index", "values"}
SYMMETRIC = {"leaf_values", "leaf_weights", "splits"}
NESTED = {"left", "right", "split", "value", "weight"}
SPLIT = {"border", "cat_feature_index", "float_feature_index", "split_index", "split_type", "value"}


class CatBoost(Library):
    """CatBoost, which knows categories by a hash alone, and crashes at those of polars."""

    module = "catboost"
    title = "CatBoost"
    boosts = True
    names = ("feature_names_",)
    generated = ""
    pandas = True

    def margin(self, model: Any) -> Mapping[str, Any]:
        """Return the keyword of the margin; a ranker takes none, as its ``predict`` is the margin."""
        ranks = "CatBoostRanker" in (base.__name__ for base in type(model).__mro__)
        return {} if ranks else {"prediction_type": "RawFormulaVal"}

    def numbers(self, model: Any, columns: int) -> frozenset[int]:
        """Return the columns that are neither categories nor text nor embeddings."""
        apart = {
            *model.get_cat_feature_indices(),
            *model.get_text_feature_indices(),
            *model.get_embedding_feature_indices(),
        }
        return frozenset(range(columns)) - apart

    def importance_name(self, model: Any) -> str:
        """Return the one kind it reports; where that would need the data again it is empty."""
        return "change of predictions along its splits (PredictionValuesChange) in catboost"

    def training_curves(self, model: Any) -> Curves:
        """Return the scores of the rows it learned from, and of those that were evaluated."""
        kept: Curves = model.get_evals_result()
        return kept

    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of a fitted model."""
        return read(model)


def read(estimator: Any) -> Ensemble:
    """Return the ensemble of a fitted CatBoost model, or raise `RefusalError`."""
    return parsed(estimator, _exported(estimator))


def parsed(estimator: Any, text: bytes) -> Ensemble:
    """Return the ensemble in the JSON that a model exports."""
    model = json.loads(text)
    return catboost_ensemble(model, *_links(estimator, model.get("model_info") or {}))


def catboost_ensemble(
    model: Mapping[str, Any], links: Mapping[str, Link], refused: Mapping[str, str]
) -> Ensemble:
    """Return the ensemble of a model as it is exported."""
    CatBoost.refuse_unknown("models", model, MODEL)
    columns = Columns.of(model["features_info"])
    forest = _forest(model, columns)
    scale, bias = model["scale_and_bias"]
    value = forest.value * real_numbers("scales", [scale])
    below = np.array([encoding.missing < 0 for encoding in columns.encodings] + [True])  # LEAF is the last
    return Ensemble(
        roots=forest.roots.astype(np.int32),
        column=forest.column.astype(np.int32),
        threshold=forest.threshold,
        left=forest.left.astype(np.int32),
        right=forest.right.astype(np.int32),
        missing_left=below[forest.column],
        value=value,
        output=np.zeros(len(forest.roots), np.int32),
        base=np.broadcast_to(real_numbers("biases", bias or [0.0]), value.shape[1:]).copy(),
        encodings=columns.encodings,
        links=links,
        category_set=forest.category_set.astype(np.int32),
        category_sets=columns.category_sets,
        refused=refused,
        cover=None if np.isnan(forest.cover).any() else forest.cover,
    )


def _exported(estimator: Any) -> bytes:
    """Return the JSON export; CatBoost writes it to a file only."""
    name = type(estimator).__name__
    # A subclass may change any step of a prediction, so only the library's own classes are known.
    if type(estimator).__module__.split(".")[0] != "catboost":
        raise RefusalError(f"{name} is not a class of CatBoost, so its predictions may be customized")
    if not estimator.is_fitted():
        raise RefusalError(f"{name} is not fitted, so it has no trees yet")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            estimator.save_model(str(path), format="json")
        except Exception as error:  # models with text or embedding features have no such export
            reason = str(error).rsplit(": ", 1)[-1]
            raise RefusalError(f"CatBoost does not export its trees as JSON: {reason}") from error
        return path.read_bytes()


def loss_in(info: Mapping[str, Any]) -> str:
    """Return the loss a model was fitted for, in the words of CatBoost; a sum of models has none."""
    loss: str = info.get("params", {}).get("loss_function", {}).get("type", "(none recorded)")
    return loss


def _links(estimator: Any, info: Mapping[str, Any]) -> tuple[dict[str, Link], dict[str, str]]:
    """Return how margins become responses, and which ones do not."""
    loss = loss_in(info)
    links = {"decision_function": Link()}
    if hasattr(estimator, "predict_proba"):
        refused = {
            "predict": "its predict gives class labels, which are no sum over leaves; request predict_proba"
        }
        if loss in PROBABILITY:
            links["predict_proba"] = PROBABILITY[loss]
        else:
            refused["predict_proba"] = f"the loss {loss} does not tell how margins become probabilities"
        return links, refused
    is_regressor = type(estimator).__name__ == "CatBoostRegressor"
    if is_regressor and loss == "RMSEWithUncertainty":
        return links, {"predict": "its predict returns a mean and a variance, which have different links"}
    links["predict"] = Link("exp") if is_regressor and loss in LOG_LINK else Link()
    return links, {}


@dataclass(frozen=True, eq=False)
class Splits:
    """What splits test, arrays of one shape in the words of `Ensemble`."""

    column: Integers
    threshold: Floats
    category_set: Integers

    def reshape(self, *shape: int) -> Splits:
        """Return the same in another shape."""
        column, threshold, category_set = self.column, self.threshold, self.category_set
        return Splits(column.reshape(shape), threshold.reshape(shape), category_set.reshape(shape))

    def at(self, depth: Any) -> Splits:
        """Return those at some depths, of splits ``(t, d)``."""
        return Splits(self.column[:, depth], self.threshold[:, depth], self.category_set[:, depth])


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a model, and where its numeric and categorical features lie among them.

    CatBoost puts NaN below all borders or, if set so, above: where it puts an infinity, so NaN is one.
    """

    encodings: tuple[Encoding, ...]
    numeric: Mapping[int, int]
    categorical: Mapping[int, int]
    category_sets: tuple[CategorySet, ...]
    tests: tuple[tuple[str, int, Any], ...]  # by their number: the kind, the feature, and its border or hash
    statistics: str

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Columns:
        """Read the section on features."""
        numeric, categorical = info.get("float_features") or [], info.get("categorical_features") or []
        CatBoost.refuse_unknown("features", info, FEATURES)
        for features, known in ((numeric, NUMERIC), (categorical, CATEGORICAL)):
            for feature in features:
                CatBoost.refuse_unknown("features", feature, known)
                whole_numbers("features", [feature["feature_index"], feature["flat_feature_index"]])
        encodings = [_of_numbers(feature) for feature in numeric]
        encodings += [_of_categories(feature) for feature in categorical]
        encodings.sort(key=lambda encoding: encoding.feature)
        position = {encoding.feature: column for column, encoding in enumerate(encodings)}
        tested = [
            (feature["feature_index"], value, number)
            for feature in categorical
            for number, value in enumerate(feature.get("values") or ())
        ]
        whole_numbers("categories", [value for _, value, _ in tested])
        borders = [
            ("FloatFeature", feature["feature_index"], border)
            for feature in numeric
            for border in _borders(feature)
        ]
        elements = [element for ctr in info.get("ctrs") or () for element in ctr["elements"]]
        behind = {element.get("cat_feature_index") for element in elements}
        return cls(
            tuple(encodings),
            {feature["feature_index"]: position[feature["flat_feature_index"]] for feature in numeric},
            {feature["feature_index"]: position[feature["flat_feature_index"]] for feature in categorical},
            tuple(CategorySet(np.array([number]), listed_left=False) for _, _, number in tested),
            (*borders, *(("OneHotFeature", feature, value) for feature, value, _ in tested)),
            ", ".join(_name(feature) for feature in categorical if feature["feature_index"] in behind),
        )

    def splits(self, found: list[dict[str, Any]]) -> Splits:
        """Return the conditions of splits; borders are single precision.

        CatBoost loads the number of a test alone: what else a split says must be that test.
        """
        borders = sum(kind == "FloatFeature" for kind, _, _ in self.tests)
        columns, thresholds, category_sets = [], [], []
        for split in found:
            kind = split["split_type"]
            if kind == "FloatFeature":
                said = kind, split["float_feature_index"], split["border"]
            elif kind == "OneHotFeature":
                said = kind, split["cat_feature_index"], split["value"]
            elif kind == "OnlineCtr":
                raise RefusalError(
                    f"its trees split by target statistics of the categories of {self.statistics}; fitted "
                    "with a larger one_hot_max_size they would split by the categories themselves"
                )
            else:
                raise RefusalError(f"its trees have splits of the kind {kind!s:.60}, which is not known")
            CatBoost.refuse_unknown("splits", split, SPLIT)
            number = split["split_index"]
            if type(number) is not int or not 0 <= number < len(self.tests) or self.tests[number] != said:
                raise RefusalError(
                    f"its trees cannot be read: split_index {number!s:.60} is not the test of its split"
                )
            by_border = kind == "FloatFeature"
            columns.append((self.numeric if by_border else self.categorical)[said[1]])
            thresholds.append(said[2] if by_border else 0.0)
            category_sets.append(-1 if by_border else number - borders)
        threshold = np.array(thresholds, dtype=np.float32).astype(np.float64)
        return Splits(np.array(columns, dtype=np.int64), threshold, np.array(category_sets, dtype=np.int64))


def _borders(feature: Mapping[str, Any]) -> list[float]:
    """Return the borders of a feature in their order, which CatBoost counts those below a number by."""
    borders: list[float] = feature.get("borders") or []
    single = real_numbers("borders", borders).astype(np.float32)
    if not (np.diff(single) > 0).all():
        raise RefusalError("its trees cannot be read: borders of a feature do not ascend")
    return borders


def _name(feature: Mapping[str, Any]) -> str:
    return repr(feature.get("feature_id") or f"column {feature['flat_feature_index']}")


def _of_numbers(feature: Mapping[str, Any]) -> Encoding:
    treatment = feature["nan_value_treatment"]
    if treatment not in ("AsIs", "AsFalse", "AsTrue"):
        raise RefusalError(f"its trees cannot be read: nan_value_treatment {treatment!s:.60} is not known")
    missing = np.inf if treatment == "AsTrue" else -np.inf
    return Encoding(feature["flat_feature_index"], single=True, missing=missing)


def _of_categories(feature: Mapping[str, Any]) -> Encoding:
    categories = Hashed({value: float(number) for number, value in enumerate(feature.get("values") or ())})
    position = feature["flat_feature_index"]
    return Encoding(position, categories=categories, unseen=UNTESTED, missing=-np.inf, accepts_missing=False)


@dataclass(frozen=True, eq=False)
class CatBoostForest:
    """Trees as `Ensemble` has them, before scale and bias; unknown cover is NaN."""

    roots: Integers
    column: Integers
    threshold: Floats
    category_set: Integers
    left: Integers
    right: Integers
    value: Floats
    cover: Floats


def _forest(model: Mapping[str, Any], columns: Columns) -> CatBoostForest:
    if model.get("trees") and model.get("oblivious_trees"):
        raise RefusalError("its trees cannot be read: there are symmetric trees beside others")
    if model.get("trees"):
        return _nested(model["trees"], columns)
    trees = model.get("oblivious_trees")
    if not trees:
        raise RefusalError("the model was fitted but has no trees")
    for tree in trees:
        CatBoost.refuse_unknown("trees", tree, SYMMETRIC)
    depths = np.array([len(tree.get("splits") or ()) for tree in trees])
    counted("a number of splits", int(depths.max()), 0, MOST_SPLITS)
    sizes = np.array([len(tree["leaf_values"]) for tree in trees])
    for name in ("leaf_values", "leaf_weights"):
        real_numbers(name, chain.from_iterable(tree.get(name) or () for tree in trees))
    if (sizes == 0).any() or (sizes % 2**depths).any():  # before room is made for all leaves
        raise RefusalError("its trees cannot be read: they have other leaves than their splits make")
    found = np.unique(depths).tolist()
    parts = [_symmetric([trees[t] for t in np.flatnonzero(depths == d)], d, columns) for d in found]
    starts = np.cumsum([0, *(len(part.column) for part in parts)])[:-1].tolist()
    roots = np.empty(len(trees), np.int64)
    for depth, part, start in zip(found, parts, starts, strict=True):
        roots[depths == depth] = part.roots + start
    return CatBoostForest(
        roots,
        np.concatenate([part.column for part in parts]),
        np.concatenate([part.threshold for part in parts]),
        np.concatenate([part.category_set for part in parts]),
        np.concatenate([part.left + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.right + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.cover for part in parts]),
    )


def _nested(trees: list[dict[str, Any]], columns: Columns) -> CatBoostForest:
    """Read trees of nested nodes, the roots first and every node after its parent."""
    nodes, parents, leaves, found = [*trees], [], [], []
    for position, node in enumerate(nodes):  # grows while it is walked
        CatBoost.refuse_unknown("nodes", node, NESTED)
        if "split" in node:
            found.append(node["split"])
            parents.append(position)
            nodes += (node["left"], node["right"])
        else:
            leaves.append(position)
    splits = columns.splits(found)
    column, threshold = np.full(len(nodes), LEAF, np.int64), np.zeros(len(nodes))
    category_set, left = np.full(len(nodes), -1, np.int64), np.zeros(len(nodes), np.int64)
    column[parents], threshold[parents], category_set[parents] = (
        splits.column,
        splits.threshold,
        splits.category_set,
    )
    left[parents] = len(trees) + 2 * np.arange(len(parents))
    held = [nodes[leaf]["value"] for leaf in leaves]
    several = isinstance(held[0], list)
    values = real_numbers("leaves", chain.from_iterable(held) if several else held).reshape(len(leaves), -1)
    value = np.zeros((len(nodes), values.shape[1]))
    value[leaves] = values
    cover = [node.get("weight", np.nan) for node in nodes]
    real_numbers("weights", (node["weight"] for node in nodes if "weight" in node))
    for child, parent in zip(range(len(nodes) - 2, 0, -2), reversed(parents), strict=False):
        cover[parent] = cover[child] + cover[child + 1]
    right = np.where(column == LEAF, 0, left + 1)
    weight = np.array(cover, dtype=np.float64)
    return CatBoostForest(np.arange(len(trees)), column, threshold, category_set, left, right, value, weight)


def _symmetric(trees: list[dict[str, Any]], depth: int, columns: Columns) -> CatBoostForest:
    """Expand trees that test the same at all nodes at a depth; leave out the nodes that no row reaches.

    The node ``i`` of a tree has the children ``2i + 1`` and ``2i + 2``. CatBoost's first split is the
    lowest bit of the leaf's number; with the last split at the root the leaves lie in its order.
    """
    count, leaves = len(trees), 2**depth
    nodes, inner = 2 * leaves - 1, leaves - 1
    found = [split for tree in trees for split in reversed(tree.get("splits") or ())]
    splits = columns.splits(found).reshape(count, depth)
    values = np.array([tree["leaf_values"] for tree in trees], dtype=np.float64).reshape(count, leaves, -1)
    value, cover = np.zeros((count, nodes, values.shape[2])), np.zeros((count, nodes))
    value[:, inner:] = values
    cover[:, inner:] = [tree.get("leaf_weights") or [np.nan] * leaves for tree in trees]
    for level in reversed(range(depth)):
        here, left, right = _level(level)
        cover[:, here] = cover[:, left] + cover[:, right]
    kept, reached = _pruned(_alive(splits))
    tested = splits.at(np.repeat(np.arange(depth), 2 ** np.arange(depth)))
    below = ((0, 0), (0, leaves))
    return CatBoostForest(
        reached[:, 0],
        np.pad(tested.column, below, constant_values=LEAF)[kept],
        np.pad(tested.threshold, below)[kept],
        np.pad(tested.category_set, below, constant_values=-1)[kept],
        np.pad(reached[:, 1::2], below)[kept],
        np.pad(reached[:, 2::2], below)[kept],
        value[kept],
        cover[kept],
    )


def _pruned(alive: Flags) -> tuple[Flags, Integers]:
    """Return which nodes are kept, and the number of the kept node a row comes to that comes to a node.

    A row goes past a node that has one way only.
    """
    nodes = np.arange(alive.shape[1])
    target = np.broadcast_to(nodes, alive.shape).copy()
    for level in reversed(range(alive.shape[1].bit_length() - 1)):
        here, left, right = _level(level)
        onward = np.where(alive[:, left], target[:, left], target[:, right])
        target[:, here] = np.where(alive[:, left] & alive[:, right], target[:, here], onward)
    kept = alive & (target == nodes)
    number = (np.cumsum(kept) - 1).reshape(kept.shape)
    return kept, np.take_along_axis(number, target, axis=1)


def _level(level: int) -> tuple[slice, slice, slice]:
    """Return where the nodes of a level lie, and their left and right children."""
    first, next_, end = 2**level - 1, 2 ** (level + 1) - 1, 2 ** (level + 2) - 1
    return slice(first, next_), slice(next_, end, 2), slice(next_ + 1, end, 2)


def _alive(splits: Splits) -> Flags:
    """Return which nodes a row can reach given the splits above, ``(t, 2^(d+1) - 1)``."""
    count, depth = splits.column.shape
    alive = np.ones((count, 2 ** (depth + 1) - 1), dtype=bool)
    for level in range(depth):
        here, left, right = _level(level)
        alive[:, left] = alive[:, right] = alive[:, here]
        path = np.arange(2**level)
        for above in range(level):
            went_right = (path >> (level - 1 - above)) % 2 == 1
            stays_left, stays_right, turns_left = _implied(splits.at(above), splits.at(level))
            alive[:, left] &= ~(stays_right[:, None] & went_right)
            alive[:, right] &= ~np.where(went_right, turns_left[:, None], stays_left[:, None])
    return alive


def _implied(above: Splits, below: Splits) -> tuple[Flags, Flags, Flags]:
    """Return where left above implies left, right implies right, and right (one category) implies left."""
    same = above.column == below.column
    by_category, equal = below.category_set >= 0, above.category_set == below.category_set
    stays_left = same & np.where(by_category, equal, above.threshold <= below.threshold)
    stays_right = same & np.where(by_category, equal, above.threshold >= below.threshold)
    return stays_left, stays_right, same & by_category & ~equal


@dataclass(frozen=True, eq=False)
class Hashed(Mapping[Any, float]):
    """The number of a category by the hash CatBoost knows it by; what the categories are is not recorded."""

    numbers: Mapping[int, float]

    def __getitem__(self, category: Any) -> float:
        return self.numbers[category_hash(category)]

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


def category_hash(category: Any) -> int:
    """Return CatBoost's hash of a category, of which numbers are spelled out first.

    >>> level_hash("a"), level_hash(1) == level_hash("1") == level_hash(True)
    (-805065478, True)
    """
    if isinstance(category, int):
        category = str(int(category))
    if isinstance(category, str):
        category = category.encode()
    if not isinstance(category, bytes):
        raise ModelError(f"{category!r} is no category to CatBoost, which takes text and integers")
    low = city_hash(category) % 2**32
    return low - 2**32 if low >= 2**31 else low
