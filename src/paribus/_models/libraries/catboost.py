"""CatBoost, read from its JSON export, with its hash of categories."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._models.ensemble import LEAF, CategorySet, Encoding, Ensemble
from paribus._models.libraries.library import Library, counted, real_numbers, whole_numbers
from paribus._models.parameters import package_of
from paribus._models.predictor import Link
from paribus.errors import ModelError, RefusalError

# CityHash64 in its first version, by Geoff Pike and Jyrki Alakuijala.
MASK = 2**64 - 1
K0, K1, K2, K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557


def city_hash(text: bytes) -> int:
    """Return the hash of bytes as an unsigned integer of 64 bits."""
    size = len(text)
    if size <= 16:
        return _hash_up_to_16(text)
    if size > 64:
        return _hash_over_64(text)
    if size > 32:
        return _hash_up_to_64(text)
    a, b = _word(text, 0) * K1, _word(text, 8)
    c, d = _word(text, size - 8) * K2, _word(text, size - 16) * K0
    return _hash_pair(_rotated(a - b, 43) + _rotated(c, 30) + d, a + _rotated(b ^ K3, 20) - c + size)


def _word(text: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(text[start : start + size], "little")


def _rotated(bits: int, by: int) -> int:
    bits &= MASK
    return (bits >> by | bits << (64 - by)) & MASK


def _shift_mixed(bits: int) -> int:
    bits &= MASK
    return bits ^ bits >> 47


def _hash_pair(low: int, high: int) -> int:
    factor = 0x9DDFEA08EB382D69
    low, high = low & MASK, high & MASK
    return _shift_mixed((high ^ _shift_mixed((low ^ high) * factor)) * factor) * factor & MASK


def _hash_up_to_16(text: bytes) -> int:
    size = len(text)
    if size > 8:
        last = _word(text, size - 8)
        return _hash_pair(_word(text, 0), _rotated(last + size, size)) ^ last
    if size >= 4:
        return _hash_pair(size + (_word(text, 0, 4) << 3), _word(text, size - 4, 4))
    if not size:
        return K2
    start, end = text[0] + (text[size // 2] << 8), size + (text[-1] << 2)
    return _shift_mixed(start * K2 ^ end * K3) * K2 & MASK


def _hash_up_to_64(text: bytes) -> int:
    size = len(text)

    def half(start: int, sum_: int, last: int) -> tuple[int, int]:
        turned = _rotated(sum_ + last, 52) + _rotated(sum_, 37)
        sum_ += _word(text, start + 8)
        turned += _rotated(sum_, 7)
        sum_ += _word(text, start + 16)
        return sum_ + last, turned + _rotated(sum_, 31)

    begin = _word(text, 0) + (size + _word(text, size - 16)) * K0
    v = half(0, begin, _word(text, 24))
    w = half(size - 32, _word(text, 16) + _word(text, size - 32), _word(text, size - 8))
    folded = _shift_mixed((v[0] + w[1]) * K2 + (w[0] + v[1]) * K0)
    return _shift_mixed(folded * K0 + v[1]) * K2 & MASK


def _hash_over_64(text: bytes) -> int:
    size = len(text)

    def block(start: int, a: int, b: int) -> tuple[int, int]:
        words = [_word(text, start + offset) for offset in (0, 8, 16, 24)]
        a += words[0]
        b = _rotated(b + a + words[3], 21)
        total = a + words[1] + words[2]
        return (total + words[3]) & MASK, (b + _rotated(total, 44) + a) & MASK

    x, y, z = _word(text, 0), _word(text, size - 16) ^ K1, _word(text, size - 56) ^ K0
    v, w = block(size - 64, size, y), block(size - 32, size * K1, K0)
    z += _shift_mixed(v[1]) * K1
    x, y = _rotated(z + x, 39) * K1, _rotated(y, 33) * K1
    for start in range(0, (size - 1) // 64 * 64, 64):
        x = _rotated(x + y + v[0] + _word(text, start + 16), 37) * K1 ^ w[1]
        y = _rotated(y + v[1] + _word(text, start + 48), 42) * K1 ^ v[0]
        z = _rotated(z ^ w[0], 33)
        v = block(start, v[1] * K1, x + w[0])
        w = block(start + 32, z + w[1], y)
        x, z = z, x
    return _hash_pair(_hash_pair(v[0], w[0]) + _shift_mixed(y) * K1 + z, _hash_pair(v[1], w[1]) + x)


PROBABILITY = {
    "Logloss": Link("sigmoid"),
    "CrossEntropy": Link("sigmoid"),
    "Focal": Link("sigmoid"),
    "MultiClass": Link("softmax"),
    "MultiClassOneVsAll": Link("sigmoid"),
    "MultiLogloss": Link("sigmoid"),
    "MultiCrossEntropy": Link("sigmoid"),
}
LOG_LINK = ("Poisson", "Tweedie")  # losses for which CatBoostRegressor.predict returns the exponential
UNTESTED = -1.0  # number of categories that no split tests
MOST_CLASSES = 65_536  # of a target, plus the hash: fields of an entry of a table of target statistics
MOST_SPLITS = 16  # of a symmetric tree, which has 2 ** splits leaves
# Hash of a single category in a table of target statistics: the category's own hash, times this factor.
TABLE_FACTOR = 0x4906BA494954CB65**2
# Fields of each part of the JSON. CatBoost does not export text and embedding features.
MODEL = {"ctr_data", "features_info", "model_info", "oblivious_trees", "scale_and_bias", "trees"}
FEATURES = {"categorical_features", "ctrs", "float_features"}
COLUMN = {"feature_id", "feature_index", "flat_feature_index"}
NUMERIC = COLUMN | {"borders", "has_nans", "nan_value_treatment"}
CATEGORICAL = COLUMN | {"values"}
SYMMETRIC = {"leaf_values", "leaf_weights", "splits"}
NESTED = {"left", "right", "split", "value", "weight"}
SPLIT = {
    "border",
    "cat_feature_index",
    "ctr_target_border_idx",
    "float_feature_index",
    "split_index",
    "split_type",
    "value",
}
STATISTIC = {
    "borders",
    "ctr_type",
    "elements",
    "identifier",
    "prior_denomerator",
    "prior_numerator",
    "scale",
    "shift",
    "target_border_idx",
}


class CatBoost(Library):
    """CatBoost, which stores only hashes of categories and crashes for categories of polars."""

    module = "catboost"
    title = "CatBoost"
    boosts = True
    names = ("feature_names_",)
    generated = ""
    pandas = True
    margin_keywords: ClassVar[Mapping[str, Any]] = {"prediction_type": "RawFormulaVal"}
    constraint_parameters = ("monotone_constraints",)
    deviance_powers: ClassVar[Mapping[str, float | None]] = {"poisson": 1.0, "tweedie": None}
    other_scale_objectives = (
        "logloss",
        "crossentropy",
        "multiclass",
        "multilogloss",
        "yetirank",
        "pairlogit",
        "queryrmse",
    )

    def margin(self, model: Any) -> Mapping[str, Any]:
        """Return the keyword of the margin; none for a ranker, whose ``predict`` returns the margin."""
        ranks = "CatBoostRanker" in (base.__name__ for base in type(model).__mro__)
        return {} if ranks else self.margin_keywords

    def numbers(self, model: Any, columns: int) -> frozenset[int]:
        """Return the columns that are neither categorical nor text nor embeddings."""
        apart = {
            *model.get_cat_feature_indices(),
            *model.get_text_feature_indices(),
            *model.get_embedding_feature_indices(),
        }
        return frozenset(range(columns)) - apart

    def importance_name(self, model: Any) -> str:
        """Return a description of ``feature_importances_``."""
        return "change of predictions along its splits (PredictionValuesChange) in catboost"

    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of a fitted model."""
        return read(model)


def read(estimator: Any) -> Ensemble:
    """Return the ensemble of a fitted CatBoost model, or raise `RefusalError`."""
    return parsed(estimator, _exported(estimator))


def parsed(estimator: Any, text: bytes) -> Ensemble:
    """Return the ensemble in the JSON export of a model."""
    model = json.loads(text)
    links, refused = _catboost_links(estimator, model.get("model_info") or {})
    CatBoost.refuse_unknown("models", model, MODEL)
    columns = Columns.of(model["features_info"], model.get("ctr_data") or {})
    forest = _catboost_forest(model, columns)
    scale, bias = model["scale_and_bias"]
    value = forest.value * real_numbers("scales", [scale])
    # LEAF indexes the last entry.
    below = np.array([encoding.missing < 0 for encoding in columns.encodings] + [True])
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
    """Return the JSON export, which CatBoost can only write to a file."""
    name = type(estimator).__name__
    # A subclass may change any step of a prediction, so that only classes of CatBoost are accepted.
    if package_of(estimator) != "catboost":
        raise RefusalError(f"{name} is not a class of CatBoost, so its predictions may be customized")
    if not estimator.is_fitted():
        raise RefusalError(f"{name} is not fitted, so it has no trees yet")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            estimator.save_model(str(path), format="json")
        except Exception as error:  # such as for text or embedding features
            reason = str(error).rsplit(": ", 1)[-1]
            raise RefusalError(f"CatBoost does not export its trees as JSON: {reason}") from error
        return path.read_bytes()


def _catboost_links(estimator: Any, info: Mapping[str, Any]) -> tuple[dict[str, Link], dict[str, str]]:
    """Return the link of each response, and reasons for the refused ones."""
    loss = info.get("params", {}).get("loss_function", {}).get("type", "(none recorded)")  # a sum of models
    links = {"decision_function": Link()}
    if hasattr(estimator, "predict_proba"):
        refused = {"predict": "its predict gives class labels, not a sum over leaves; request predict_proba"}
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
    """Column, threshold and category set of splits as in `Ensemble`, arrays of the same shape."""

    column: Integers
    threshold: Floats
    category_set: Integers

    def reshape(self, *shape: int) -> Splits:
        """Return the splits in another shape."""
        column, threshold, category_set = self.column, self.threshold, self.category_set
        return Splits(column.reshape(shape), threshold.reshape(shape), category_set.reshape(shape))

    def at(self, depth: Any) -> Splits:
        """Return the splits at some depths, from splits of shape ``(t, d)``."""
        return Splits(self.column[:, depth], self.threshold[:, depth], self.category_set[:, depth])


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a model, and the positions of its numeric and categorical features among them.

    CatBoost treats NaN as below all borders or, with another setting, above. Hence NaN is encoded as an
    infinity. ``tests`` has the kind, the feature or statistic, and the border or hash of each split by its
    number. A target statistic is a column that encodes its categorical feature by numbers. ``statistics`` are
    their positions among the columns, or the names of several features that one combines.
    """

    encodings: tuple[Encoding, ...]
    numeric: Mapping[int, int]
    categorical: Mapping[int, int]
    category_sets: tuple[CategorySet, ...]
    tests: tuple[tuple[str, int, Any], ...]
    statistics: tuple[int | str, ...]

    @classmethod
    def of(cls, info: Mapping[str, Any], tables: Mapping[str, Any]) -> Columns:
        """Read the section about features, and the tables of target statistics."""
        numeric, categorical = info.get("float_features") or [], info.get("categorical_features") or []
        CatBoost.refuse_unknown("features", info, FEATURES)
        encodings: list[Encoding] = []
        category_sets: list[CategorySet] = []
        tests: list[tuple[str, int, Any]] = []
        for feature in numeric:
            CatBoost.refuse_unknown("features", feature, NUMERIC)
            number, column = feature["feature_index"], feature["flat_feature_index"]
            whole_numbers("features", [number, column])
            treatment = feature["nan_value_treatment"]
            if treatment not in ("AsIs", "AsFalse", "AsTrue"):
                raise RefusalError(
                    f"its trees cannot be read: nan_value_treatment {treatment!s:.60} is not known"
                )
            missing = np.inf if treatment == "AsTrue" else -np.inf
            encodings.append(Encoding(column, single=True, missing=missing))
            tests += [("FloatFeature", number, border) for border in _borders(feature)]
        for feature in categorical:
            CatBoost.refuse_unknown("features", feature, CATEGORICAL)
            number, column = feature["feature_index"], feature["flat_feature_index"]
            whole_numbers("features", [number, column])
            hashes = feature.get("values") or ()
            whole_numbers("categories", hashes)
            position_of = Hashed({value: float(position) for position, value in enumerate(hashes)})
            encodings.append(_category_encoding(column, position_of, UNTESTED))
            tests += [("OneHotFeature", number, value) for value in hashes]
            category_sets += [CategorySet(np.array([k]), listed_left=False) for k in range(len(hashes))]
        encodings.sort(key=lambda encoding: encoding.feature)
        place = {encoding.feature: position for position, encoding in enumerate(encodings)}
        statistics: list[int | str] = []
        for number, statistic in enumerate(info.get("ctrs") or ()):
            encoding = _statistic(statistic, tables, categorical)
            if isinstance(encoding, Encoding):
                statistics.append(len(encodings))
                encodings.append(encoding)
            else:
                statistics.append(encoding)
            for border in _borders(statistic):
                tests.append(("OnlineCtr", number, (border, statistic["target_border_idx"])))
        return cls(
            tuple(encodings),
            {feature["feature_index"]: place[feature["flat_feature_index"]] for feature in numeric},
            {feature["feature_index"]: place[feature["flat_feature_index"]] for feature in categorical},
            tuple(category_sets),
            tuple(tests),
            tuple(statistics),
        )

    def splits(self, conditions: list[dict[str, Any]]) -> Splits:
        """Return the conditions of splits. Borders have single precision.

        CatBoost reads only ``split_index`` of a split. Refuse splits whose other fields differ from it.
        """
        borders = sum(kind == "FloatFeature" for kind, _, _ in self.tests)
        columns, thresholds, category_sets = [], [], []
        for split in conditions:
            kind, number = split["split_type"], split["split_index"]
            CatBoost.refuse_unknown("splits", split, SPLIT)
            in_range = type(number) is int and 0 <= number < len(self.tests)
            if kind == "FloatFeature":
                said = kind, split["float_feature_index"], split["border"]
            elif kind == "OneHotFeature":
                said = kind, split["cat_feature_index"], split["value"]
            elif kind == "OnlineCtr":  # the split does not name its statistic
                value = split["border"], split["ctr_target_border_idx"]
                said = kind, self.tests[number][1] if in_range else -1, value
            else:
                raise RefusalError(f"its trees have splits of the kind {kind!s:.60}, which is not known")
            if not in_range or self.tests[number] != said:
                raise RefusalError(
                    f"its trees cannot be read: split_index {number!s:.60} is not the test of its split"
                )
            columns.append(self._tested(kind, said[1]))
            thresholds.append(0.0 if kind == "OneHotFeature" else split["border"])
            category_sets.append(number - borders if kind == "OneHotFeature" else -1)
        threshold = np.array(thresholds, dtype=np.float32).astype(np.float64)
        return Splits(np.array(columns, dtype=np.int64), threshold, np.array(category_sets, dtype=np.int64))

    def _tested(self, kind: str, feature: int) -> int:
        """Return the column of a split, or refuse statistics of several features."""
        if kind == "FloatFeature":
            return self.numeric[feature]
        if kind == "OneHotFeature":
            return self.categorical[feature]
        column = self.statistics[feature]
        if isinstance(column, str):
            raise RefusalError(
                f"its trees split by target statistics of {column}; fitted with max_ctr_complexity=1 and "
                "default statistics it would be read"
            )
        return column


def _borders(feature: Mapping[str, Any]) -> list[float]:
    """Return the borders of a feature, or refuse if they do not ascend, as CatBoost requires."""
    borders: list[float] = feature.get("borders") or []
    single = real_numbers("borders", borders).astype(np.float32)
    if not (np.diff(single) > 0).all():
        raise RefusalError("its trees cannot be read: borders of a feature do not ascend")
    return borders


def _category_encoding(column: int, numbers: Hashed, unseen: float) -> Encoding:
    return Encoding(column, categories=numbers, unseen=unseen, missing=-np.inf, accepts_missing=False)


def _statistic(
    statistic: Mapping[str, Any], tables: Mapping[str, Any], categorical: list[dict[str, Any]]
) -> Encoding | str:
    """Return the encoding of a categorical feature by a target statistic.

    Return a description of the statistic if it combines several features, or is of another kind.
    """
    CatBoost.refuse_unknown("target statistics", statistic, STATISTIC)
    elements = statistic["elements"]
    feature_at = {feature["feature_index"]: feature for feature in categorical}
    plain = all(set(element) == {"cat_feature_index", "combination_element"} for element in elements)
    if len(elements) != 1 or not plain:
        names = []
        for element in elements:
            if "cat_feature_index" in element:
                feature = feature_at[element["cat_feature_index"]]
                names.append(repr(feature.get("feature_id") or f"column {feature['flat_feature_index']}"))
        return f"combinations of {', '.join(names)}" + " and numbers" * (len(names) < len(elements))
    feature = feature_at[elements[0]["cat_feature_index"]]
    if json.loads(statistic["identifier"]) != {"identifier": elements, "type": statistic["ctr_type"]}:
        raise RefusalError("its trees cannot be read: a target statistic has the table of another")
    table = tables[statistic["identifier"]]
    stride = counted("a number of fields", table["hash_stride"], 2, MOST_CLASSES)
    held = table["hash_map"]
    if len(held) % stride:
        raise RefusalError("its trees cannot be read: a table of target statistics is incomplete")
    counts = real_numbers("target statistics", (x for i, x in enumerate(held) if i % stride))
    zero = np.zeros((1, stride - 1))
    values = _statistic_values(
        statistic, np.concatenate([zero, counts.reshape(-1, stride - 1)]), table["counter_denominator"]
    )
    if values is None:
        return f"the kind {statistic['ctr_type']!s:.60}"
    inverse, keys = pow(TABLE_FACTOR, -1, 2**64), held[::stride]
    if not all(isinstance(key, str) and re.fullmatch("[0-9]{1,20}", key) for key in keys):
        raise RefusalError("its trees cannot be read: target statistics have other keys than hashes")
    hashes = (int(key) * inverse % 2**64 for key in keys)
    signed = (key - 2**64 if key >= 2**63 else key for key in hashes)
    statistics = Hashed(dict(zip(signed, values[1:].tolist(), strict=True)))
    return _category_encoding(feature["flat_feature_index"], statistics, float(values[0]))


def _statistic_values(statistic: Mapping[str, Any], counts: Floats, denominator: Any) -> Floats | None:
    """Return the statistic of each row of counts, in single precision; None for an unknown kind."""
    kind, border = statistic["ctr_type"], statistic["target_border_idx"]
    classes = counts.shape[1]
    if kind in ("Borders", "Buckets"):
        border = counted("a target border", border, 0, classes - 1 - (kind == "Borders"))
        part = counts[:, border + 1 :].sum(axis=1) if kind == "Borders" else counts[:, border]
        total = counts.sum(axis=1)
    elif kind == "Counter" and classes == 1:
        part, total = counts[:, 0], np.full(len(counts), real_numbers("denominators", [denominator])[0])
    elif kind == "BinarizedTargetMeanValue" and classes == 2:
        part, total = counts.T
    else:
        return None
    names = ("prior_numerator", "prior_denomerator", "shift", "scale")
    prior, more, shift, scale = real_numbers("priors", [statistic[name] for name in names]).astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (part.astype(np.float32) + prior) / (total.astype(np.float32) + more)
    return np.asarray((ratio + shift) * scale, np.float64)


@dataclass(frozen=True, eq=False)
class CatBoostForest:
    """Nodes of trees as in `Ensemble`, before scale and bias. Unknown cover is NaN."""

    roots: Integers
    column: Integers
    threshold: Floats
    category_set: Integers
    left: Integers
    right: Integers
    value: Floats
    cover: Floats


def _catboost_forest(model: Mapping[str, Any], columns: Columns) -> CatBoostForest:
    if model.get("trees") and model.get("oblivious_trees"):
        raise RefusalError("its trees cannot be read: some trees are symmetric and others are not")
    if model.get("trees"):
        return _nested_forest(model["trees"], columns)
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
    if (sizes == 0).any() or (sizes % 2**depths).any():  # before memory for all leaves is allocated
        raise RefusalError("its trees cannot be read: they have other leaves than their splits make")
    parts: list[CatBoostForest] = []
    roots = np.empty(len(trees), np.int64)
    start = 0
    for depth in np.unique(depths).tolist():
        of_depth = np.flatnonzero(depths == depth)
        part = _symmetric_forest([trees[t] for t in of_depth], depth, start, columns)
        roots[of_depth] = part.roots
        parts.append(part)
        start += len(part.column)
    names = ("column", "threshold", "category_set", "left", "right", "value", "cover")
    return CatBoostForest(roots, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _nested_forest(trees: list[dict[str, Any]], columns: Columns) -> CatBoostForest:
    """Return trees of nested nodes as arrays: the roots first, and every node after its parent."""
    nodes, parents, leaves, conditions = [*trees], [], [], []
    for position, node in enumerate(nodes):  # the list grows during the loop
        CatBoost.refuse_unknown("nodes", node, NESTED)
        if "split" in node:
            conditions.append(node["split"])
            parents.append(position)
            nodes += (node["left"], node["right"])
        else:
            leaves.append(position)
    splits = columns.splits(conditions)
    column, threshold = np.full(len(nodes), LEAF, np.int64), np.zeros(len(nodes))
    category_set, left = np.full(len(nodes), -1, np.int64), np.zeros(len(nodes), np.int64)
    column[parents], threshold[parents], category_set[parents] = (
        splits.column,
        splits.threshold,
        splits.category_set,
    )
    left[parents] = len(trees) + 2 * np.arange(len(parents))
    numbers = [nodes[leaf]["value"] for leaf in leaves]
    if isinstance(numbers[0], list):
        numbers = list(chain.from_iterable(numbers))
    values = real_numbers("leaves", numbers).reshape(len(leaves), -1)
    value = np.zeros((len(nodes), values.shape[1]))
    value[leaves] = values
    cover = [node.get("weight", np.nan) for node in nodes]
    real_numbers("weights", (node["weight"] for node in nodes if "weight" in node))
    for child, parent in zip(range(len(nodes) - 2, 0, -2), reversed(parents), strict=False):
        cover[parent] = cover[child] + cover[child + 1]
    right = np.where(column == LEAF, 0, left + 1)
    weight = np.array(cover, dtype=np.float64)
    return CatBoostForest(np.arange(len(trees)), column, threshold, category_set, left, right, value, weight)


def _symmetric_forest(
    trees: list[dict[str, Any]], depth: int, start: int, columns: Columns
) -> CatBoostForest:
    """Expand symmetric trees, with the same split at all nodes of a depth. Drop unreachable nodes.

    The node ``i`` of a tree has the children ``2i + 1`` and ``2i + 2``. CatBoost's first split is the lowest
    bit of the leaf number. With the last split at the root, the leaves are in the order of CatBoost. The
    position of the first node is ``start``.
    """
    count, leaves = len(trees), 2**depth
    nodes, inner = 2 * leaves - 1, leaves - 1
    conditions = [split for tree in trees for split in reversed(tree.get("splits") or ())]
    splits = columns.splits(conditions).reshape(count, depth)
    values = np.array([tree["leaf_values"] for tree in trees], dtype=np.float64).reshape(count, leaves, -1)
    value, cover = np.zeros((count, nodes, values.shape[2])), np.zeros((count, nodes))
    value[:, inner:] = values
    cover[:, inner:] = [tree.get("leaf_weights") or [np.nan] * leaves for tree in trees]
    for level in reversed(range(depth)):
        here, left, right = _depth_slices(level)
        cover[:, here] = cover[:, left] + cover[:, right]
    kept, reached = _prune_unreachable(_reachable_nodes(splits))
    tested = splits.at(np.repeat(np.arange(depth), 2 ** np.arange(depth)))
    below = ((0, 0), (0, leaves))
    return CatBoostForest(
        reached[:, 0] + start,
        np.pad(tested.column, below, constant_values=LEAF)[kept],
        np.pad(tested.threshold, below)[kept],
        np.pad(tested.category_set, below, constant_values=-1)[kept],
        np.pad(reached[:, 1::2], below)[kept] + start,
        np.pad(reached[:, 2::2], below)[kept] + start,
        value[kept],
        cover[kept],
    )


def _prune_unreachable(alive: Flags) -> tuple[Flags, Integers]:
    """Return which nodes are kept, and for each node the number of the kept node that replaces it.

    A node with one reachable child is replaced by that child.
    """
    nodes = np.arange(alive.shape[1])
    target = np.broadcast_to(nodes, alive.shape).copy()
    for level in reversed(range(alive.shape[1].bit_length() - 1)):
        here, left, right = _depth_slices(level)
        onward = np.where(alive[:, left], target[:, left], target[:, right])
        target[:, here] = np.where(alive[:, left] & alive[:, right], target[:, here], onward)
    kept = alive & (target == nodes)
    number = (np.cumsum(kept) - 1).reshape(kept.shape)
    return kept, np.take_along_axis(number, target, axis=1)


def _depth_slices(level: int) -> tuple[slice, slice, slice]:
    """Return the positions of the nodes at a depth, and of their left and right children."""
    first, next_, end = 2**level - 1, 2 ** (level + 1) - 1, 2 ** (level + 2) - 1
    return slice(first, next_), slice(next_, end, 2), slice(next_ + 1, end, 2)


def _reachable_nodes(splits: Splits) -> Flags:
    """Return which nodes a row can reach given the splits above, ``(t, 2^(d+1) - 1)``."""
    count, depth = splits.column.shape
    alive = np.ones((count, 2 ** (depth + 1) - 1), dtype=bool)
    for level in range(depth):
        here, left, right = _depth_slices(level)
        alive[:, left] = alive[:, right] = alive[:, here]
        path = np.arange(2**level)
        split = splits.at(level)
        by_category = split.category_set >= 0
        for level_above in range(level):
            went_right = (path >> (level - 1 - level_above)) % 2 == 1
            above = splits.at(level_above)
            same, equal = above.column == split.column, above.category_set == split.category_set
            # Left above implies left here, and right implies right. Right implies left for splits by
            # different single categories of a column.
            stays_left = same & np.where(by_category, equal, above.threshold <= split.threshold)
            stays_right = same & np.where(by_category, equal, above.threshold >= split.threshold)
            turns_left = same & by_category & ~equal
            alive[:, left] &= ~(stays_right[:, None] & went_right)
            alive[:, right] &= ~np.where(went_right, turns_left[:, None], stays_left[:, None])
    return alive


@dataclass(frozen=True, eq=False)
class Hashed(Mapping[Any, float]):
    """Mapping from categories to numbers by CatBoost's hash. The categories themselves are not recorded."""

    numbers: Mapping[int, float]

    def __getitem__(self, category: Any) -> float:
        return self.numbers[category_hash(category)]

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


def category_hash(category: Any) -> int:
    """Return CatBoost's hash of a category. Numbers are first converted to text.

    >>> category_hash("a"), category_hash(1) == category_hash("1") == category_hash(True)
    (-805065478, True)
    """
    if isinstance(category, int):
        category = str(int(category))
    if isinstance(category, str):
        category = category.encode()
    if not isinstance(category, bytes):
        raise ModelError(f"{category!r} is not a category for CatBoost, which supports text and integers")
    low = _cached_hash(category) % 2**32
    return low - 2**32 if low >= 2**31 else low


_cached_hash = lru_cache(2**16)(city_hash)  # statistics of a column hash the same categories
