"""scikit-learn: single trees, forests, bagged and boosted trees, histogram gradient boosting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._models.ensemble import LEAF, CategorySet, Encoding, Ensemble, Nodes
from paribus._models.libraries.library import Library
from paribus._models.parameters import package_of
from paribus._models.predictor import Link
from paribus.errors import RefusalError

TREES = ("DecisionTreeRegressor", "DecisionTreeClassifier", "ExtraTreeRegressor", "ExtraTreeClassifier")
VALUE, PROBABILITIES = {"predict": Link()}, {"predict_proba": Link()}
LABELS = {"predict": "its predict gives class labels, not a sum over leaves; request predict_proba"}
# By class name of the link of a loss. For classifiers the link returns probabilities.
LINKS = {
    "IdentityLink": Link(),
    "LogLink": Link("exp"),
    "LogitLink": Link("sigmoid"),
    "HalfLogitLink": Link("sigmoid", 2.0),
    "MultinomialLogit": Link("softmax"),
}
CONSTANT = {  # strategies with the same prediction for every row
    "DummyRegressor": ("mean", "median", "quantile", "constant"),
    "DummyClassifier": ("prior", "most_frequent", "uniform", "constant"),
}
# Fields of the state of a tree, of its nodes, and of trees and nodes of histogram gradient boosting.
STATE = {"max_depth", "node_count", "nodes", "values"}
NODES = {
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "left_cat_bitset",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
    "split_kind",
}
HIST_TREE = {"nodes", "binned_left_cat_bitsets", "raw_left_cat_bitsets"}
HIST_NODES = {
    "value",
    "count",
    "feature_idx",
    "num_threshold",
    "missing_go_to_left",
    "left",
    "right",
    "gain",
    "depth",
    "is_leaf",
    "bin_threshold",
    "is_categorical",
    "bitset_idx",
}
IS_LEAF, BY_THRESHOLD, BY_BITS = -1, 0, 1  # supported kinds of split
REASONS = {
    "AdaBoostRegressor": "AdaBoostRegressor predicts the weighted median of its trees, not a sum of them",
    "RandomTreesEmbedding": "RandomTreesEmbedding predicts nothing, it only names the leaves of a row",
}


class Sklearn(Library):
    """scikit-learn, whose trees may store the categories of columns in an encoder."""

    module = "sklearn"
    title = "scikit-learn"
    constraint_parameters = ("monotonic_cst",)
    deviance_powers: ClassVar[Mapping[str, float | None]] = {"poisson": 1.0, "gamma": 2.0}
    class_powers: ClassVar[Mapping[str, float | None]] = {
        "PoissonRegressor": 1.0,
        "GammaRegressor": 2.0,
        "TweedieRegressor": None,
    }

    def has_types(self, model: Any) -> bool:
        """Return whether a model consists of trees and may store categories."""
        bases = [base.__module__ for base in type(model).__mro__]
        has_trees = any(base.startswith(("sklearn.ensemble.", "sklearn.tree.")) for base in bases)
        return has_trees and hasattr(model, "is_categorical_")

    def categories(self, model: Any) -> Mapping[int, Any] | None:
        """Return the categories of the encoder, which histogram gradient boosting holds in a step."""
        steps = getattr(getattr(model, "_preprocessor", None), "named_transformers_", {})
        encoder = getattr(model, "_categorical_encoder", None) or steps.get("encoder")
        if model.is_categorical_ is None or encoder is None:
            return {}
        positions = [position for position, nominal in enumerate(model.is_categorical_) if nominal]
        return dict(zip(positions, (values.tolist() for values in encoder.categories_), strict=True))

    def importance_name(self, model: Any) -> str:
        """Return a description of the importance of trees."""
        return "decrease of impurity by its splits, on the rows it was fitted on"

    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of a fitted estimator."""
        return read(model)


def read(estimator: Any) -> Ensemble:
    """Return the trees of a fitted scikit-learn estimator, or raise `RefusalError`."""
    name = type(estimator).__name__
    # A subclass may change any step of a prediction, so that only classes of scikit-learn are accepted.
    if package_of(estimator) != "sklearn":
        raise RefusalError(f"{name} is not a class of scikit-learn, so its predictions may be customized")
    if name in REASONS:
        raise RefusalError(REASONS[name])
    if name not in READERS:
        raise RefusalError(f"{name} is not among the tree ensembles of scikit-learn that can be read")
    try:
        return READERS[name](estimator)
    except AttributeError as error:
        raise RefusalError(
            f"{name} has no {error.name!r}: it is not fitted, or {Sklearn.release()} is not known"
        ) from error


def join_trees(
    trees: Sequence[Any],
    value: Floats,
    base: Floats,
    encodings: Sequence[Encoding],
    links: Mapping[str, Link],
    refused: Mapping[str, str],
    *,
    features: Sequence[Integers] | None = None,
    by_category: bool = False,
) -> Ensemble:
    """Return the ensemble of single trees. Trees with one value per leaf belong to the margins in turn.

    ``features`` has the columns of the table that each tree received. ``by_category`` means that the caller
    encodes categories. Otherwise categorical splits are refused.
    """
    parts = [tree.tree_ for tree in trees]
    category_set, category_sets = _sklearn_category_sets(parts)
    if category_sets and not by_category:
        raise RefusalError("its trees split by categories, which is read of single trees and forests only")
    sizes = np.array([part.node_count for part in parts], dtype=np.int64)
    roots = np.cumsum(sizes) - sizes
    first = np.repeat(roots, sizes).astype(np.int32)
    left = _concatenated((part.children_left for part in parts), np.int32)
    right = _concatenated((part.children_right for part in parts), np.int32)
    tested = [part.feature for part in parts]
    if features is not None:
        tested = [given[np.maximum(feature, 0)] for given, feature in zip(features, tested, strict=True)]
    turns = len(base) if value.shape[1] == 1 else 1
    return Ensemble(
        roots=roots.astype(np.int32),
        column=np.where(left < 0, np.int32(LEAF), _concatenated(tested, np.int32)),
        threshold=np.concatenate([part.threshold for part in parts]),
        left=left + first,
        right=right + first,
        missing_left=np.concatenate([part.missing_go_to_left for part in parts]) != 0,
        value=value,
        output=(np.arange(len(roots)) % turns).astype(np.int32),
        base=base,
        encodings=tuple(encodings),
        links=links,
        refused=refused,
        category_set=category_set,
        category_sets=category_sets,
        cover=np.concatenate([part.weighted_n_node_samples for part in parts]),
    )


def _sklearn_category_sets(parts: Sequence[Any]) -> tuple[Nodes, tuple[CategorySet, ...]]:
    """Return the set that each node tests, and the sets of categories that go left.

    Nodes with categorical splits store 256 bits.
    """
    states = [part.__getstate__() for part in parts]
    for names in {tuple(state) for state in states}:
        Sklearn.refuse_unknown("trees", names, STATE)
    for names in {state["nodes"].dtype.names or () for state in states}:
        Sklearn.refuse_unknown("nodes", names, NODES)
    tests, bits = [], [np.empty((0, 8), "<u4")]
    for part, state in zip(parts, states, strict=True):
        nodes = state["nodes"][: part.node_count]
        fields = nodes.dtype.names or ()
        by_bits = np.zeros(part.node_count, dtype=bool)
        if "left_cat_bitset" in fields:
            inner = nodes["left_child"] >= 0
            if "split_kind" not in fields:  # in older versions the column decides
                by_bits = inner & (part._n_categories[np.where(inner, nodes["feature"], 0)] > 0)
            elif np.isin(nodes["split_kind"], (IS_LEAF, BY_THRESHOLD, BY_BITS)).all():
                by_bits = inner & (nodes["split_kind"] == BY_BITS)
            else:
                raise RefusalError(
                    f"{Sklearn.release()} splits nodes in ways that are not read, by a hash of the category "
                    "for example"
                )
            bits.append(nodes["left_cat_bitset"][by_bits])
        tests.append(by_bits)
    return _distinct_category_sets(np.concatenate(tests), np.concatenate(bits))


def _distinct_category_sets(tests: Flags, bits: Array) -> tuple[Nodes, tuple[CategorySet, ...]]:
    """Return the set that each node tests, and the distinct sets; ``bits`` has a row per true ``tests``."""
    category_set = np.full(len(tests), -1, dtype=np.int32)
    if not len(bits):
        return category_set, ()
    number_of: dict[bytes, int] = {}
    category_set[tests] = [number_of.setdefault(row.tobytes(), len(number_of)) for row in bits.astype("<u4")]
    distinct = np.frombuffer(b"".join(number_of), np.uint8).reshape(len(number_of), -1)
    flags = np.unpackbits(distinct, axis=1, bitorder="little")
    return category_set, tuple(CategorySet(np.flatnonzero(listed)) for listed in flags)


def _concatenated(arrays: Iterable[Array], dtype: Any) -> Array:
    return np.concatenate(list(arrays), dtype=dtype, casting="same_kind")


def _leaf_values(tree: Any) -> Floats:
    """Return the values at the nodes of a tree ``(n, k)``, of all targets or all classes of all targets."""
    values: Floats = tree.tree_.value
    classes = np.ravel(tree.n_classes_) if hasattr(tree, "n_classes_") else np.ones(values.shape[1], int)
    # The array is padded to the largest number of classes of a target.
    used = np.arange(values.shape[2]) < classes[:, None]
    return values.reshape(len(values), -1) if used.all() else values[:, used]


def single_precision(columns: int, accepts_missing: bool) -> list[Encoding]:
    """Return the encodings of trees. Infinities are tested after rounding to single precision."""
    return [
        Encoding(column, single=True, accepts_missing=accepts_missing, accepts_infinite=False)
        for column in range(columns)
    ]


def accepts_missing(tree: Any) -> bool:
    # Missing values in training are not required, because every node has a direction. In some versions the
    # criterion and monotonic constraints matter, so that the method of the tree decides.
    return bool(tree._support_missing_values(np.empty((0, tree.n_features_in_))))


def _mean_of_trees(estimator: Any) -> Ensemble:
    """Return a single tree, or the mean of the trees of a forest."""
    trees = [estimator] if type(estimator).__name__ in TREES else estimator.estimators_
    value = np.concatenate([_leaf_values(tree) for tree in trees]) / len(trees)
    encodings = single_precision(estimator.n_features_in_, accepts_missing(trees[0]))
    encoder = getattr(estimator, "_categorical_encoder", None)
    if any(
        getattr(tree, "_categorical_encoder", None) is not None for tree in trees if tree is not estimator
    ):
        raise RefusalError("its trees encode the categories of a column differently")
    if encoder is not None:
        nominal = np.flatnonzero(estimator.is_categorical_)
        for column, categories in zip(nominal, encoder.categories_, strict=True):
            numbers = _category_numbers(int(column), categories)
            encodings[column] = replace(encodings[column], single=False, categories=numbers)
    base, links = np.zeros(value.shape[1]), _mean_links(estimator)
    return join_trees(trees, value, base, encodings, *links, by_category=encoder is not None)


def _mean_links(estimator: Any) -> tuple[Mapping[str, Link], Mapping[str, str]]:
    return (PROBABILITIES, LABELS) if hasattr(estimator, "classes_") else (VALUE, {})


def _bagged_trees(estimator: Any) -> Ensemble:
    # Predictions use the current n_estimators, which may have changed after the fit.
    count = estimator.n_estimators
    trees = _only_trees(estimator, estimator.estimators_[:count])
    columns = estimator.n_features_in_
    features = [np.arange(columns)[given] for given in estimator.estimators_features_[:count]]
    values = [_leaf_values(tree) for tree in trees]
    for number, tree in enumerate(trees):
        if hasattr(estimator, "classes_") and len(tree.classes_) != estimator.n_classes_:
            # The tree was fitted on some of the classes.
            spread = np.zeros((len(values[number]), estimator.n_classes_))
            spread[:, tree.classes_] = values[number]
            values[number] = spread
    value = np.concatenate(values) / count
    # A column that no tree received may hold any values, because only the trees check them.
    given = np.isin(np.arange(columns), np.concatenate(features))
    strict = single_precision(columns, accepts_missing(trees[0]))
    encodings = [strict[j] if given[j] else Encoding(j, single=True) for j in range(columns)]
    base, links = np.zeros(value.shape[1]), _mean_links(estimator)
    return join_trees(trees, value, base, encodings, *links, features=features)


def _isolation_forest(estimator: Any) -> Ensemble:
    """Return the mean isolation depth of rows, relative to the expected depth for the sample size."""
    trees = estimator.estimators_
    usual = float(_path_length(np.array([estimator.max_samples_]))[0])
    if usual == 0:
        raise RefusalError("IsolationForest had a single row for each of its trees, which isolates nothing")
    depths = [
        tree.tree_.compute_node_depths() - 1 + _path_length(tree.tree_.n_node_samples) for tree in trees
    ]
    value = np.concatenate(depths)[:, None] / (len(trees) * usual)
    features = [np.arange(estimator.n_features_in_)[given] for given in estimator.estimators_features_]
    encodings = [Encoding(column, single=True) for column in range(estimator.n_features_in_)]
    links = {"decision_function": Link("isolation", shift=-float(estimator.offset_))}
    refused = {"predict": "predict returns whether a row is an outlier, which no sum over leaves gives"}
    return join_trees(trees, value, np.zeros(1), encodings, links, refused, features=features)


def _path_length(rows: Array) -> Floats:
    """Return the expected depth at which random splits isolate a row among ``rows`` rows."""
    n = np.maximum(rows, 3).astype(np.float64)
    length = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(rows <= 1, 0.0, np.where(rows == 2, 1.0, length))


def _only_trees(estimator: Any, members: Sequence[Any]) -> list[Any]:
    for member in members:
        if type(member).__name__ not in TREES or package_of(member) != "sklearn":
            raise RefusalError(
                f"{type(estimator).__name__} combines estimators of class {type(member).__name__}, "
                "and only single trees are read there"
            )
    return list(members)


def _adaboost(estimator: Any) -> Ensemble:
    """Return the weighted votes of trees: a leaf adds the weight of its tree to the class of its label."""
    trees, classes = _only_trees(estimator, estimator.estimators_), estimator.classes_
    if len(classes) < 2:
        raise RefusalError("AdaBoostClassifier was fitted on one class only, so its trees have no influence")
    weights = estimator.estimator_weights_
    # Position of the label at each node among the classes.
    votes = [np.searchsorted(classes, tree.classes_)[np.argmax(_leaf_values(tree), axis=1)] for tree in trees]
    shares = np.repeat(weights[: len(trees)] / weights.sum(), [len(vote) for vote in votes])
    chosen = np.concatenate(votes)[:, None] == np.arange(len(classes))
    value = np.where(chosen, 1.0, -1.0 / (len(classes) - 1)) * shares[:, None]
    link = Link("softmax", 1.0 / (len(classes) - 1))
    if len(classes) == 2:
        value, link = value[:, 1:] - value[:, :1], Link("sigmoid")
    encodings = single_precision(estimator.n_features_in_, accepts_missing=False)
    links = {"decision_function": Link(), "predict_proba": link}
    return join_trees(trees, value, np.zeros(value.shape[1]), encodings, links, LABELS)


def _gradient_boosting(estimator: Any) -> Ensemble:
    base = initial_margins(estimator)
    trees = list(estimator.estimators_.ravel())  # by iteration, then by class
    value = np.concatenate([tree.tree_.value[:, 0] for tree in trees]) * estimator.learning_rate
    encodings = single_precision(estimator.n_features_in_, accepts_missing=False)
    return join_trees(trees, value, base, encodings, *boosting_links(estimator))


def initial_margins(estimator: Any) -> Floats:
    """Return the margins before the first tree, or refuse an initial estimator that is not constant."""
    if not starts_constant(estimator):
        name = type(estimator.init_).__name__
        raise RefusalError(f"its trees correct another model, init={name}, which is read separately")
    rows = np.zeros((1, estimator.n_features_in_), dtype=np.float32)
    return np.asarray(estimator._raw_predict_init(rows)[0], dtype=np.float64)


def starts_constant(estimator: Any) -> bool:
    """Return whether the margins before the first tree of gradient boosting are equal for all rows."""
    init = estimator.init_
    if isinstance(init, str):
        return True
    strategies = CONSTANT.get(type(init).__name__, ())
    return package_of(init) == "sklearn" and getattr(init, "strategy", None) in strategies


def boosting_links(estimator: Any) -> tuple[Mapping[str, Link], Mapping[str, str]]:
    """Return links and refusals of a boosted model, by the link of its loss."""
    name = type(estimator._loss.link).__name__
    if name not in LINKS:
        raise RefusalError(f"its loss has a {name}, which is not among the links from margins to predictions")
    if hasattr(estimator, "classes_"):
        return {"decision_function": Link(), "predict_proba": LINKS[name]}, LABELS
    return {"predict": LINKS[name]}, {}


def _hist_gradient_boosting(estimator: Any) -> Ensemble:
    trees = [tree for iteration in estimator._predictors for tree in iteration]
    for tree in trees:
        Sklearn.refuse_unknown("trees of histogram boosting", vars(tree), HIST_TREE)
        Sklearn.refuse_unknown("nodes of histogram boosting", tree.nodes.dtype.names, HIST_NODES)
    sizes = np.array([len(tree.nodes) for tree in trees], dtype=np.int64)
    nodes = np.concatenate([tree.nodes for tree in trees])
    roots = np.cumsum(sizes) - sizes
    first = np.repeat(roots, sizes)
    leaf = nodes["is_leaf"].astype(bool)
    # Sets of 256 bits each. Categories that are not in the training data are encoded as NaN, so that they
    # belong to no set.
    by_category = (nodes["is_categorical"] != 0) & ~leaf
    bits = np.concatenate([tree.raw_left_cat_bitsets for tree in trees])
    counts = np.array([len(tree.raw_left_cat_bitsets) for tree in trees], dtype=np.int64)
    rows = nodes["bitset_idx"] + np.repeat(np.cumsum(counts) - counts, sizes)
    category_set, category_sets = _distinct_category_sets(by_category, bits[rows[by_category]])
    columns = np.arange(estimator.n_features_in_)
    encodings = [Encoding(int(column)) for column in columns]
    if estimator._preprocessor is not None:  # it puts categorical columns first
        nominal = estimator.is_categorical_
        encoder = estimator._preprocessor.named_transformers_["encoder"]
        encodings = [
            Encoding(int(column), categories=_category_numbers(int(column), categories))
            for column, categories in zip(columns[nominal], encoder.categories_, strict=True)
        ]
        encodings += [Encoding(int(column)) for column in columns[~nominal]]
    links, refused = boosting_links(estimator)
    base = np.ravel(estimator._baseline_prediction).astype(np.float64)
    return Ensemble(
        roots=roots.astype(np.int32),
        column=np.where(leaf, LEAF, nodes["feature_idx"]).astype(np.int32),
        threshold=nodes["num_threshold"].copy(),
        left=(nodes["left"] + first).astype(np.int32),
        right=(nodes["right"] + first).astype(np.int32),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"][:, None].copy(),
        output=(np.arange(len(roots)) % len(base)).astype(np.int32),
        base=base,
        encodings=tuple(encodings),
        links=links,
        refused=refused,
        category_set=category_set,
        category_sets=category_sets,
        cover=nodes["count"].astype(np.float64),
    )


def _category_numbers(column: int, categories: Array) -> dict[Any, float]:
    """Return the number of each category. A missing value, which is listed last, has no number."""
    plain_categories = (
        category.item() if isinstance(category, np.generic) else category for category in categories.tolist()
    )
    plain = [category for category in plain_categories if category == category]
    if any(category is None for category in plain):
        # For the encoder None is a category and NaN is missing, but a table does not distinguish them.
        raise RefusalError(
            f"column {column} had None among its categories in training, which the model tells from NaN"
        )
    odd = next((category for category in plain if not isinstance(category, (str, bool, int, float))), None)
    if odd is not None or categories.dtype.kind in "mM":
        raise RefusalError(
            f"the categories of column {column} are neither text nor numbers but {categories.dtype}"
        )
    return {category: float(number) for number, category in enumerate(plain)}


READERS: dict[str, Callable[[Any], Ensemble]] = {
    **dict.fromkeys(TREES, _mean_of_trees),
    "RandomForestRegressor": _mean_of_trees,
    "RandomForestClassifier": _mean_of_trees,
    "ExtraTreesRegressor": _mean_of_trees,
    "ExtraTreesClassifier": _mean_of_trees,
    "BaggingRegressor": _bagged_trees,
    "BaggingClassifier": _bagged_trees,
    "IsolationForest": _isolation_forest,
    "AdaBoostClassifier": _adaboost,
    "GradientBoostingRegressor": _gradient_boosting,
    "GradientBoostingClassifier": _gradient_boosting,
    "HistGradientBoostingRegressor": _hist_gradient_boosting,
    "HistGradientBoostingClassifier": _hist_gradient_boosting,
}
