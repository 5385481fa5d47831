"""XGBoost: wrappers and native boosters, read from the JSON of a booster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Flags, Floats, Integers
from paribus._data.table import Column
from paribus._models.ensemble import LEAF, CategorySet, Encoding, Ensemble, Nodes, within
from paribus._models.libraries.library import (
    MOST_COLUMNS,
    MOST_MARGINS,
    Library,
    counted,
    whole,
    whole_numbers,
)
from paribus._models.parameters import attribute, package_of
from paribus._models.predictor import Link, Predictor
from paribus.errors import RefusalCode, RefusalError

Singles = NDArray[np.float32]
Json = Mapping[str, Any]

MOST_CATEGORIES = 2**24  # single precision holds every integer up to this one
DELETED = 2**31 - 1  # feature of pruned nodes, which remain in the lists
ONE, TINY = np.float32(1.0), np.float32(1e-6)  # smallest distance of base probabilities from 0 and 1
LABELS = "predict returns class labels, which no sum over leaves gives; request predict_proba"
STEP = "its objective {!r} predicts labels, which no sum over leaves gives; request decision_function"

# Fields of each part of the JSON, of all supported versions.
KNOWN = {
    "learner": {
        "attributes",
        "feature_names",
        "feature_types",
        "gradient_booster",
        "learner_model_param",
        "objective",
    },
    "learner_model_param": {"base_score", "boost_from_average", "num_class", "num_feature", "num_target"},
    "gradient_booster": {"gbtree", "model", "name", "weight_drop"},
    "model": {"cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees", "weight_drop"},
    "cats": {"enc", "feature_segments", "sorted_idx"},
    "category encoders": {"offsets", "type", "values"},
    "trees": {
        "base_weights",
        "categories",
        "categories_nodes",
        "categories_segments",
        "categories_sizes",
        "default_left",
        "id",
        "leaf_weights",
        "left_children",
        "loss_changes",
        "parents",
        "right_children",
        "split_conditions",
        "split_indices",
        "split_type",
        "sum_hessian",
        "tree_param",
    },
    "linear gradient_booster": {"model", "name"},
    "linear model": {"boosted_rounds", "weights"},
    "tree_param": {"num_deleted", "num_feature", "num_nodes", "size_leaf_vector"},
}


# Link of predict by objective, None where predict returns labels.
OBJECTIVES: dict[str, Link | None] = {
    "reg:squarederror": Link(),
    "reg:linear": Link(),
    "reg:absoluteerror": Link(),
    "reg:quantileerror": Link(),
    "reg:pseudohubererror": Link(),
    "reg:squaredlogerror": Link(),
    "reg:logistic": Link("sigmoid"),
    "reg:gamma": Link("exp"),
    "reg:tweedie": Link("exp"),
    "count:poisson": Link("exp"),
    "survival:cox": Link("exp"),
    "survival:aft": Link("exp"),
    "binary:logistic": Link("sigmoid"),
    "binary:logitraw": Link(),
    "binary:hinge": None,
    "multi:softprob": Link("softmax"),
    "multi:softmax": None,
    "rank:pairwise": Link(),
    "rank:ndcg": Link(),
    "rank:map": Link(),
}


class XGBoost(Library):
    """XGBoost, which accepts no text and raises an error for unknown categories."""

    module = "xgboost"
    title = "XGBoost"
    absent = np.nan
    boosts = True
    native = "Booster"
    names = ("feature_names",)
    typed = True
    closed = True
    importances: ClassVar[Mapping[str, str]] = {
        "gain": "average gain of its splits",
        "weight": "number of its splits",
        "cover": "average cover of its splits",
        "total_gain": "total gain of its splits",
        "total_cover": "total cover of its splits",
    }
    margin_keywords: ClassVar[Mapping[str, Any]] = {"output_margin": True}
    constraint_parameters = ("monotone_constraints",)
    deviance_powers: ClassVar[Mapping[str, float | None]] = {
        "count:poisson": 1.0,
        "reg:gamma": 2.0,
        "reg:tweedie": None,
    }
    probability_objectives = ("binary:logistic", "reg:logistic", "multi:softprob")
    other_scale_objectives = ("binary:hinge", "binary:logitraw", "multi:softmax", "rank:")

    def unreported_settings(self, model: Any) -> dict[str, Any]:
        """Return objective and Tweedie power of a native booster, which are in its configuration."""
        config = attribute(model, "save_config")
        if not callable(config):
            return {}
        objective = json.loads(config()).get("learner", {}).get("objective", {})
        settings = {"objective": objective.get("name")}
        power = objective.get("tweedie_regression_param", {}).get("tweedie_variance_power")
        return settings if power is None else settings | {"tweedie_variance_power": float(power)}

    def native_predictor(self, model: Any, keywords: Mapping[str, Any]) -> Predictor:
        """Return the predictor of a booster, which converts tables to a ``DMatrix``."""
        return Predictor(model, "predict", keywords, convert=_as_dmatrix)

    def categories(self, model: Any) -> Mapping[int, Any] | None:
        """Return the categories that a booster stores, None unless it stores those of all columns.

        Versions before 3.1 store no categories. For codes given as numbers there are none.
        """
        booster = _booster(model)
        coded = [position for position, kind in enumerate(booster.feature_types or ()) if kind == "c"]
        if not coded:
            return {}
        # Names and attributes of users, whose quotes are escaped, come before this key.
        _, separator, text = booster.save_raw("json").decode().rpartition('"cats":')
        if not separator:
            return None
        with self.reading():
            # Only this part is parsed, because the trees after it take long.
            stored = json.JSONDecoder().raw_decode(text)[0]["enc"]
            categories = {position: _stored_categories(stored[position]) for position in coded if stored}
        return categories if categories and all(categories.values()) else None

    def importance(self, model: Any) -> Any:
        """Return the importance of a wrapper, or the gain of a booster. Linear boosters are refused."""
        if is_linear_booster(model):
            raise RefusalError("its booster is linear, and coefficients depend on the scale of the columns")
        if not self.is_native(model):
            return super().importance(model)
        gains = model.get_score(importance_type="gain")  # only columns with splits
        names = model.feature_names or [f"f{j}" for j in range(model.num_features())]
        return np.array([gains.get(name, 0.0) for name in names])

    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of a wrapper or of a native booster."""
        return read(model)


def is_linear_booster(model: Any) -> bool:
    """Return whether a fitted wrapper or native booster of XGBoost is linear."""
    if package_of(model) != "xgboost" or not hasattr(_booster(model), "save_config"):
        return False
    config = json.loads(_booster(model).save_config())
    return bool(config["learner"]["gradient_booster"]["name"] == "gblinear")


def read_linear_booster(estimator: Any, response: str) -> tuple[Floats, Floats, Link]:
    """Return coefficients ``(m, c)``, intercept ``(m,)`` and link of a linear booster, or refuse.

    XGBoost adds the base score of the first margin to every margin of a linear booster.
    """
    _refuse_missing_value(estimator)
    with XGBoost().reading():
        learner = json.loads(_booster(estimator).save_raw("json"))["learner"]
        booster = learner["gradient_booster"]
        parts = {"learner": learner, "learner_model_param": learner["learner_model_param"]}
        parts |= {"linear gradient_booster": booster, "linear model": booster["model"]}
        for what, part in parts.items():
            XGBoost.refuse_unknown(what, part, KNOWN[what])
        objective = _objective_in(learner)
        links, refused = _xgboost_links(estimator, objective)
        if response not in links:
            raise RefusalError(
                refused.get(response, f"its terms do not determine {response}"), RefusalCode.NONLINEAR_LINK
            )
        base = _base_margins(learner["learner_model_param"], OBJECTIVES[objective])
        weights = np.array(booster["model"]["weights"], np.float32).astype(np.float64)
        *coefficients, bias = weights.reshape(-1, len(base))
    return np.array(coefficients).T, bias + base[0], links[response]


def _booster(model: Any) -> Any:
    return model.get_booster() if hasattr(model, "get_booster") else model


def _as_dmatrix(booster: Any, table: Any) -> Any:
    import xgboost

    names = None if getattr(table, "columns", None) is not None else booster.feature_names
    return xgboost.DMatrix(table, feature_names=names, enable_categorical=True)


@dataclass(frozen=True, eq=False)
class Categories(Encoding):
    """Encoding of a categorical column by its categories. Values of other columns are the codes themselves.

    ``categories`` are those of the training data if the booster stores them, else those that the column
    declares.
    """

    plain: ClassVar[bool] = False

    def numbers(self, column: Column) -> Floats:
        """Return the codes. Refuse categories that are unknown to a booster with stored categories."""
        if column.kind != "category":
            plain = Encoding(self.feature, single=True, accepts_infinite=self.accepts_infinite)
            # Rounded down, so that numbers between -1 and 0 do not become the code 0.
            return np.floor(plain.numbers(column))
        codes = super().numbers(column)
        if np.isnan(codes[~column.missing]).any():
            raise RefusalError(
                f"{column.name!r} has a category that was not in the training data, which some versions of "
                "XGBoost take for another category and others refuse"
            )
        return codes


def read(estimator: Any) -> Ensemble:
    """Return the trees of a wrapper or of a native booster, or raise `RefusalError`."""
    booster = _booster(estimator)
    _refuse_missing_value(estimator)
    return parsed(estimator, booster.save_raw("json"))


def parsed(estimator: Any, text: bytes | bytearray) -> Ensemble:
    """Return the trees in the JSON of a booster, those of a wrapper up to its best iteration."""
    learner = json.loads(text)["learner"]
    is_wrapper = hasattr(estimator, "get_booster")
    best = getattr(estimator, "best_iteration", None) if is_wrapper else None
    objective = _objective_in(learner)
    links, refused = _xgboost_links(estimator, objective)
    booster = learner["gradient_booster"]
    if booster["name"] not in ("gbtree", "dart"):
        raise RefusalError(f"its booster {booster['name']!r:.60} has no trees; only gbtree and dart have")
    model = booster.get("gbtree", booster)["model"]
    _refuse_unknown(learner, model)
    rounds = model["iteration_indptr"]
    trees = model["trees"][: int(rounds[-1] if best is None else rounds[: best + 2][-1])]
    # Nodes of all trees. Children are numbered within a tree, and leaves include pruned nodes.
    sizes = [len(tree["left_children"]) for tree in trees]
    first = np.array([0, *accumulate(sizes)], np.int64)
    tree_of_node = np.repeat(np.arange(len(trees)), sizes)
    category_set, category_sets = _xgboost_category_sets(trees, first)
    feature = _joined_lists(trees, "split_indices", np.int64)
    left = _joined_lists(trees, "left_children", np.int64)
    right = _joined_lists(trees, "right_children", np.int64)
    condition = _joined_lists(trees, "split_conditions", np.float32)
    missing_left = _joined_flags(trees, "default_left")
    cover = None
    if all("sum_hessian" in tree for tree in trees):
        cover = _joined_lists(trees, "sum_hessian", np.float32).astype(np.float64)
    leaf = left == -1
    by_category = category_set >= 0
    compares = ~leaf & ~by_category
    encodings = _xgboost_encodings(
        learner, model.get("cats", {}), feature[by_category], feature[compares], accepts_infinite=is_wrapper
    )
    base = _base_margins(learner["learner_model_param"], OBJECTIVES[objective])
    value = _leaf_contributions(trees, condition, right, leaf, tree_of_node)
    weights = model.get("weight_drop", booster.get("weight_drop", ()))  # of trees, for dart
    if len(weights):
        scale = np.ones(len(trees))
        given = np.array(weights[: len(trees)], np.float32)
        scale[: len(given)] = given
        value = value * scale[tree_of_node][:, None]
    if np.isneginf(condition[compares]).any():
        raise RefusalError("it has a threshold of minus infinity, which no number can be below")
    for children in (left, right):
        within("children", children[~leaf], 0, len(leaf))
    # The position of each node without pruned ones.
    kept = feature != DELETED
    position = np.cumsum(kept) - 1
    start = first[tree_of_node]
    info = np.array(model["tree_info"][: len(trees)], np.int32)
    return Ensemble(
        roots=position[first[:-1]].astype(np.int32),
        column=np.where(leaf, LEAF, feature)[kept].astype(np.int32),
        threshold=np.nextafter(condition.astype(np.float64), -np.inf)[kept],
        left=position[np.where(leaf, 0, left + start)][kept].astype(np.int32),
        right=position[np.where(leaf, 0, right + start)][kept].astype(np.int32),
        missing_left=missing_left[kept],
        value=value[kept],
        output=info if value.shape[1] == 1 else np.zeros_like(info),
        base=base,
        encodings=encodings,
        links=links,
        refused=refused,
        category_set=category_set[kept],
        category_sets=category_sets,
        cover=None if cover is None else cover[kept],
        single_sum=True,
    )


def _objective_in(learner: Json) -> str:
    """Return the name of the objective, or refuse an unknown one."""
    objective: str = learner["objective"]["name"]
    if objective not in OBJECTIVES:
        raise RefusalError(f"its objective {objective!r:.60} is not known, so neither is what it predicts")
    return objective


def _refuse_unknown(learner: Json, model: Json) -> None:
    """Refuse fields of unknown versions, whose meaning is unknown."""
    cats = model.get("cats", {})
    parts: dict[str, Iterable[Json]] = {
        "learner": [learner],
        "learner_model_param": [learner["learner_model_param"]],
        "gradient_booster": [learner["gradient_booster"]],
        "model": [model],
        "cats": [cats],
        "category encoders": cats.get("enc", ()),
        "trees": model["trees"],
        "tree_param": [tree["tree_param"] for tree in model["trees"]],
    }
    for what, of_kind in parts.items():
        for part in of_kind:
            XGBoost.refuse_unknown(what, part, KNOWN[what])


def _refuse_missing_value(estimator: Any) -> None:
    missing = getattr(estimator, "missing", None)
    if missing is not None and not np.isnan(missing):
        raise RefusalError(
            f"it was made with missing={missing!r}, so that this number is a missing value; "
            "it is only read with missing=nan"
        )


def _xgboost_links(estimator: Any, objective: str) -> tuple[dict[str, Link], dict[str, str]]:
    """Return the link of each response of the model, and reasons for the refused ones."""
    link = OBJECTIVES[objective]
    links, refused = {"decision_function": Link()}, {}
    response = "predict"
    if hasattr(estimator, "predict_proba"):
        refused["predict"], response = LABELS, "predict_proba"
        if objective == "multi:softmax" == getattr(estimator, "objective", None):
            link = Link("softmax")  # the wrapper computes probabilities
    if link is not None:
        links[response] = link
    else:
        refused[response] = STEP.format(objective)
    return links, refused


def _base_margins(parameters: Json, link: Link | None) -> Floats:
    """Return the margins before any tree. Versions up to 3.0 store one score for all margins."""
    text = parameters["base_score"].strip("[]")
    score = np.array([float(part) for part in text.split(",")], np.float32)
    margins = max(
        1, whole("num_class", parameters["num_class"]), whole("num_target", parameters.get("num_target", "1"))
    )
    counted("a number of margins", margins, 1, MOST_MARGINS)
    if link is not None and link.name == "sigmoid":
        # In single precision as in XGBoost: close to 0 and 1 the result differs much from the exact logit.
        score = -np.log(ONE / np.clip(score, TINY, ONE - TINY) - ONE)
    elif link is not None and link.name == "exp":
        with np.errstate(divide="ignore"):
            score = np.log(score)
    return np.broadcast_to(score.astype(np.float64), margins).copy()


def _joined_lists(trees: Iterable[Json], key: str, dtype: Any) -> Any:
    """Return the lists of all trees as one array. Refuse other types of numbers than XGBoost writes."""
    is_whole = np.dtype(dtype).kind == "i"
    numbers = list(chain.from_iterable(tree[key] for tree in trees))
    if not set(map(type, numbers)) <= ({int} if is_whole else {int, float}):
        raise RefusalError(
            f"its trees cannot be read: {key} are not all {'integers' if is_whole else 'numbers'}"
        )
    return np.array(numbers, dtype)


def _joined_flags(trees: Iterable[Json], key: str) -> Flags:
    """Return the lists of all trees, of items that are 0 or 1. Older versions wrote booleans."""
    flags = np.concatenate([np.empty(0, np.int64), *(np.asarray(tree[key]) for tree in trees)])
    if flags.dtype.kind not in "biu" or not np.isin(flags, (0, 1)).all():
        raise RefusalError(f"its trees cannot be read: {key} are not all 0 or 1")
    return flags.astype(bool)


def _xgboost_category_sets(trees: Sequence[Json], first: Integers) -> tuple[Nodes, tuple[CategorySet, ...]]:
    """Return the set that each node tests, and the distinct sets. Listed categories go right."""
    category_set = np.full(first[-1], -1, np.int32)
    number_of: dict[tuple[int, ...], int] = {}
    for tree, start in zip(trees, first.tolist(), strict=False):
        names = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
        categories, *parts = (tree[name] for name in names)
        for name, part in zip(names, (categories, *parts), strict=True):
            whole_numbers(name, part)
        if sum(parts[2]) > len(categories):  # overlapping sets could exceed the memory
            raise RefusalError("its trees cannot be read: sets of categories have more than are listed")
        for node, begin, size in zip(*parts, strict=True):
            listed = tuple(categories[begin : begin + size])
            if node < 0 or len(listed) != size or not all(0 <= code < MOST_CATEGORIES for code in listed):
                raise RefusalError("its trees cannot be read: sets of categories out of range")
            category_set[start + node] = number_of.setdefault(listed, len(number_of))
    if not np.array_equal(_joined_flags(trees, "split_type"), category_set >= 0):
        raise RefusalError(
            "its trees cannot be read: split_type and sets of categories are of different nodes"
        )
    together = np.fromiter(chain.from_iterable(number_of), np.int64)
    ends = pairwise(accumulate(map(len, number_of), initial=0))
    return category_set, tuple(CategorySet(together[begin:end], listed_left=False) for begin, end in ends)


def _leaf_contributions(
    trees: Sequence[Json], condition: Singles, right: Integers, leaf: Flags, tree_of_node: Integers
) -> Floats:
    """Return the values of leaves: one number, or one per margin if trees have vector leaves."""
    widths = (whole("size_leaf_vector", tree["tree_param"]["size_leaf_vector"]) for tree in trees)
    width = max(widths, default=1)
    if width <= 1:
        return condition.astype(np.float64)[:, None]
    key = "leaf_weights" if "leaf_weights" in trees[0] else "base_weights"
    vectors: Floats = _joined_lists(trees, key, np.float32).astype(np.float64).reshape(-1, width)
    if key == "base_weights":  # one vector per node
        return vectors
    before = [0, *accumulate(len(tree["leaf_weights"]) // width for tree in trees)]
    value = np.zeros((len(leaf), width))
    within("leaves", right[leaf], 0, len(vectors))
    value[leaf] = vectors[right[leaf] + np.array(before, np.int64)[tree_of_node[leaf]]]
    return value


def _xgboost_encodings(
    learner: Json, cats: Json, nominal: Integers, compared: Integers, *, accepts_infinite: bool
) -> tuple[Encoding, ...]:
    """Return the encoding of each column. Nodes test the categories of ``nominal`` columns."""
    columns = whole("num_feature", learner["learner_model_param"]["num_feature"])
    counted("a number of columns", columns, 0, MOST_COLUMNS)
    categorical = np.zeros(columns, dtype=bool)
    types = learner.get("feature_types", ())
    categorical[: len(types)] = [kind == "c" for kind in types]
    categorical[nominal] = True
    if categorical[compared].any():
        raise RefusalError("it compares the codes of a category column with a threshold")
    stored = cats.get("enc") or [{}] * columns
    return tuple(
        Categories(
            column,
            categories=_stored_categories(stored[column]) or "declared",
            accepts_infinite=accepts_infinite,
        )
        if categorical[column]
        else Encoding(column, single=True, accepts_infinite=accepts_infinite)
        for column in range(columns)
    )


def _stored_categories(stored: Json) -> dict[Any, float]:
    """Return the code of each category of the training data. Text is stored as concatenated bytes."""
    values = stored.get("values", [])
    if "offsets" in stored:
        text = np.array(values, np.int8).tobytes()
        values = [text[begin:end].decode() for begin, end in pairwise(stored["offsets"])]
    return {category: float(code) for code, category in enumerate(values)}
