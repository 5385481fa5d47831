"""LightGBM: wrappers and native boosters, read from the model text they save."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._data.table import Column
from paribus._models.ensemble import LEAF, ZERO, CategorySet, Encoding, Ensemble, within
from paribus._models.libraries.library import MOST_MARGINS, Library, counted, whole
from paribus._models.parameters import attribute
from paribus._models.predictor import Link
from paribus.errors import RefusalError

SINGLE_WHOLE = 2**24  # single precision holds every integer up to this one
SIGMOID_DIGITS = 6  # digits of the parameter `sigmoid` in the model text

# Bits of a node's decision type, and its kinds of missing values; BY_CATEGORY marks a categorical split.
CATEGORICAL, DEFAULT_LEFT, MISSING_SHIFT = 1, 2, 2
AS_ZERO, ZERO_OR_NAN, NAN, BY_CATEGORY = range(4)

IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg")
EXP = ("poisson", "gamma", "tweedie")
SIGMOID = ("binary", "multiclassova")
LABELS = "predict returns class labels, which have no average; request predict_proba"
TWO_MARGINS = "predict_proba of two classes with a margin each is not the same in all versions of LightGBM"
# Names of the lines before the trees, and of the lines of a tree.
HEADER = {
    "average_output",
    "feature_infos",
    "feature_names",
    "label_index",
    "max_feature_idx",
    "monotone_constraints",
    "num_class",
    "num_tree_per_iteration",
    "objective",
    "tree",
    "tree_sizes",
    "version",
}
LINES = {
    "Tree",
    "cat_boundaries",
    "cat_threshold",
    "decision_type",
    "internal_count",
    "internal_value",
    "internal_weight",
    "is_linear",
    "leaf_coeff",
    "leaf_const",
    "leaf_count",
    "leaf_features",
    "leaf_value",
    "leaf_weight",
    "left_child",
    "num_cat",
    "num_features",
    "num_leaves",
    "right_child",
    "shrinkage",
    "split_feature",
    "split_gain",
    "threshold",
}


class LightGBM(Library):
    """LightGBM, which accepts no text and replaces spaces in column names by underscores."""

    module = "lightgbm"
    title = "LightGBM"
    boosts = True
    native = "Booster"
    names = ("feature_name_", "feature_name")
    generated = "Column_"
    typed = True
    importances: ClassVar[Mapping[str, str]] = {
        "split": "number of its splits",
        "gain": "total gain of its splits",
    }
    margin_keywords: ClassVar[Mapping[str, Any]] = {"raw_score": True}
    constraint_parameters = ("monotone_constraints", "monotone_constraint", "mc", "monotonic_cst")
    deviance_powers: ClassVar[Mapping[str, float | None]] = {"poisson": 1.0, "gamma": 2.0, "tweedie": None}
    probability_objectives = (
        "binary",
        "cross_entropy",
        "xentropy",
        "multiclass",
        "softmax",
        "multiclassova",
        "multiclass_ova",
        "ova",
        "ovr",
    )
    other_scale_objectives = ("lambdarank", "rank_xendcg")

    def unreported_settings(self, model: Any) -> dict[str, Any]:
        """Return parameters of a wrapper that are not arguments of its class, such as aliases."""
        more = attribute(model, "_other_params")
        return more if isinstance(more, dict) else {}

    def spelled(self, name: str) -> str:
        """Return the name of a column with underscores for spaces."""
        return name.replace(" ", "_")

    def categories(self, model: Any) -> Mapping[int, Any]:
        """Return the categories of each pandas category column, or refuse if these columns are unknown."""
        booster = getattr(model, "booster_", model)
        lists = [_plain_categories(categories) for categories in booster.pandas_categorical or []]
        if not lists:
            return {}
        return _pandas_categories(lists, LightGBMText.of(booster.model_to_string(num_iteration=1)))

    def importance(self, model: Any) -> Any:
        """Return the importance of a wrapper, or the gain of a booster."""
        return model.feature_importance("gain") if self.is_native(model) else super().importance(model)

    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of a wrapper or of a native booster."""
        return read(model)


def read(estimator: Any) -> Ensemble:
    """Return the trees of a wrapper or a native booster that its ``predict`` uses.

    Cover is the number of training rows, as in LightGBM's ``pred_contrib``. A random forest averages in
    ``predict`` but not in its raw score. Hence leaves hold the average, and the link of
    ``decision_function`` multiplies by the number of iterations.
    """
    for method in ("predict", "predict_proba", "decision_function"):
        home = getattr(getattr(estimator, method, None), "__module__", "lightgbm")
        if home.split(".")[0] != "lightgbm":
            raise RefusalError(f"its {method} is not LightGBM's own but one defined in {home}")
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    if str(parameters.get("pred_early_stop", False)).lower() not in ("false", "0", "none"):
        raise RefusalError("it is set to stop predicting early (pred_early_stop), so not every tree counts")
    booster = getattr(estimator, "booster_", estimator)
    lists = [_plain_categories(categories) for categories in booster.pandas_categorical or []]
    return parsed(estimator, booster.model_to_string(), lists)


def parsed(estimator: Any, model_text: str, lists: list[list[Any]]) -> Ensemble:
    """Return the trees in a model text; ``lists`` are the categories of its pandas columns."""
    text = LightGBMText.of(model_text)
    links, refused = _links(estimator, text)
    if not set(text.lines["is_linear"]) <= {"0"}:  # any other number means linear trees
        raise RefusalError("it has linear trees, whose leaves are linear functions instead of constants")
    # Counts of numbers are checked before the numbers are parsed.
    n_trees, n_leaves, n_sizes = len(text.lines["Tree"]), text.count("leaf_value"), text.count("num_leaves")
    if n_trees != n_sizes:
        raise RefusalError(
            f"its trees cannot be read: num_leaves has {n_sizes:,} numbers for {n_trees:,} trees"
        )
    for name in ("split_feature", "threshold", "decision_type", "left_child", "right_child"):
        if text.count(name) != n_leaves - n_trees:
            raise RefusalError(f"its trees cannot be read: {name} has other nodes than leaf_value")
    sizes = text.integers("num_leaves")
    values = text.numbers("leaf_value")
    if len(sizes) and (sizes.min() < 1 or sizes.max() > len(values) or sizes.sum() != len(values)):
        raise RefusalError("its trees cannot be read: they have other leaves than they say")
    tests = _Tests.of(text)
    layout = _Layout.of(sizes)
    margins = whole("num_tree_per_iteration", text.header["num_tree_per_iteration"])
    counted("a number of margins", margins, 1, MOST_MARGINS)
    iterations = max(len(sizes) // margins, 1) if "average_output" in text.header else 1
    raw = {"decision_function": Link("identity", float(iterations))} if iterations > 1 else {}
    codes, columns = np.unique(tests.feature * 4 + tests.missing, return_inverse=True)
    category_set, category_sets = _lightgbm_category_sets(text, layout, tests)
    return Ensemble(
        roots=layout.first.astype(np.int32),
        column=layout.spread(columns, LEAF, np.int32),
        threshold=layout.spread(tests.threshold, 0.0, np.float64),
        left=layout.spread(layout.children(text.integers("left_child", -(2**31))), 0, np.int32),
        right=layout.spread(layout.children(text.integers("right_child", -(2**31))), 0, np.int32),
        missing_left=layout.spread(tests.missing_left, False, np.bool_),
        value=layout.spread([], values / iterations, np.float64)[:, None],
        output=(np.arange(len(sizes)) % margins).astype(np.int32),
        base=np.zeros(margins),
        encodings=_lightgbm_encodings(codes, tests, _pandas_categories(lists, text)),
        category_set=layout.spread(category_set, -1, np.int32),
        category_sets=category_sets,
        cover=layout.spread(text.numbers("internal_count"), text.numbers("leaf_count", "0"), np.float64),
        links={**links, **raw},
        refused=refused,
    )


@dataclass(frozen=True, eq=False)
class LightGBMText:
    """Header lines by name, and the lines of all trees by name."""

    header: Mapping[str, str]
    lines: Mapping[str, list[str]]

    @classmethod
    def of(cls, text: str) -> LightGBMText:
        """Split a text into lines, and refuse unknown names."""
        head, tree, trees = text[: text.index("\nend of trees")].partition("\nTree=0\n")
        header = dict(_named_lines(head, "a header", HEADER))
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in _named_lines(tree + trees, "trees", LINES):
            lines[name].append(value)
        return cls(header, lines)

    @property
    def objective(self) -> list[str]:
        """Words of the objective, empty if it was a function."""
        return self.header.get("objective", "").split()

    def count(self, name: str) -> int:
        """Return the count of numbers in the lines of a name."""
        return sum(line.count(" ") + 1 for line in map(str.strip, self.lines[name]) if line)

    def numbers(self, name: str, absent: str = "") -> Floats:
        """Return the numbers of all trees; ``absent`` replaces empty lines, as of trees with one leaf.

        They are parsed at once, because splitting the text first takes five times the memory.
        """
        text = " ".join(filter(None, (line.strip() or absent for line in self.lines[name])))
        with warnings.catch_warnings():  # about text after the last number, an error since NumPy 2.3
            warnings.simplefilter("error", DeprecationWarning)
            numbers = np.fromstring(text, sep=" ") if text else np.empty(0)
        if text and len(numbers) != text.count(" ") + 1:
            raise RefusalError(f"its trees cannot be read: {name} are not numbers separated by spaces")
        return numbers

    def integers(self, name: str, least: int = 0, most: int = 2**31 - 1) -> Integers:
        """Return the integers of all trees. Refuse other numbers, and integers out of range."""
        numbers = self.numbers(name)
        if not (np.trunc(numbers) == numbers).all():
            raise RefusalError(f"its trees cannot be read: {name} are not integers")
        within(name, numbers, least, most + 1)
        return numbers.astype(np.int64)


def _named_lines(text: str, what: str, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each line, and refuse unknown names."""
    for line in filter(None, text.split("\n")):
        name, _, value = line.partition("=")
        if name not in known:
            LightGBM.refuse_unknown(what, [name[:200]], known)
        yield name, value


@dataclass(frozen=True, eq=False)
class _Layout:
    """Positions of nodes: for each tree the inner nodes in the order of the text, then the leaves."""

    sizes: Integers
    first: Integers
    inner: Integers
    leaves: Integers
    tree: Integers  # tree of each inner node

    @classmethod
    def of(cls, sizes: Integers) -> _Layout:
        nodes = 2 * sizes - 1
        first = np.cumsum(nodes) - nodes
        is_inner = np.arange(nodes.sum()) - np.repeat(first, nodes) < np.repeat(sizes - 1, nodes)
        tree = np.repeat(np.arange(len(sizes)), sizes - 1)
        return cls(sizes, first, np.flatnonzero(is_inner), np.flatnonzero(~is_inner), tree)

    def spread(self, inner: Any, leaf: Any, dtype: Any) -> Array:
        """Return an array over all nodes, with zeros if there are no values ``inner``."""
        spread = np.zeros(len(self.inner) + len(self.leaves), dtype=dtype)
        if len(inner):
            spread[self.inner] = inner
        spread[self.leaves] = leaf
        return spread

    def children(self, child: Integers) -> Integers:
        """Return child positions among all nodes. In the text, leaf ``k`` is child ``-1 - k``."""
        leaf = self.sizes[self.tree] - 2 - child
        return self.first[self.tree] + np.where(child < 0, leaf, child)


@dataclass(frozen=True, eq=False)
class _Tests:
    """Split of each inner node: feature, kind of missing values, their direction, and threshold."""

    feature: Integers
    missing: Integers
    missing_left: Flags
    threshold: Floats

    @classmethod
    def of(cls, text: LightGBMText) -> _Tests:
        decision = text.integers("decision_type", 0, 15)
        by_category = (decision & CATEGORICAL) > 0
        threshold = text.numbers("threshold")
        # LightGBM first replaces numbers within ZERO of zero by zero. Hence a threshold among them separates
        # none of them. Arrow and polars tables skip this step, which matters only for the number -ZERO.
        near = ~by_category & (np.abs(threshold) <= ZERO)
        below = np.nextafter(-ZERO, -np.inf)
        return cls(
            text.integers("split_feature", 0, whole("max_feature_idx", text.header["max_feature_idx"])),
            np.where(by_category, BY_CATEGORY, (decision >> MISSING_SHIFT) & 3),
            ((decision & DEFAULT_LEFT) > 0) & ~by_category,
            np.where(near, np.where(threshold < 0, below, ZERO), threshold),
        )


@dataclass(frozen=True, eq=False)
class _Number(Encoding):
    """Encoding of a numeric column with the thresholds ``splits``.

    LightGBM reads integers of an array in single precision, but of a frame in double precision. A column
    does not record its source. Hence integers are refused if rounding moves them across a split.
    """

    splits: Floats = field(default_factory=lambda: np.empty(0))

    def numbers(self, column: Column) -> Floats:
        numbers = super().numbers(column)
        if column.values.dtype.kind in "iu" and np.nanmax(np.abs(numbers), initial=0) > SINGLE_WHOLE:
            rounded = numbers.astype(np.float32).astype(np.float64)
            if (np.searchsorted(self.splits, rounded) != np.searchsorted(self.splits, numbers)).any():
                raise RefusalError(
                    f"{column.name!r} has integers that LightGBM rounds across a split when they come in an "
                    "array; give floating point numbers"
                )
        return numbers


@dataclass(frozen=True, eq=False)
class _Category(Encoding):
    """Encoding of a pandas category column. Codes in place of categories are refused."""

    plain: ClassVar[bool] = False

    def numbers(self, column: Column) -> Floats:
        if column.kind != "category":
            raise RefusalError(
                f"{column.name!r} is of kind {column.kind} where the model seems to have had categories"
            )
        return super().numbers(column)


def _lightgbm_encodings(
    codes: Integers, tests: _Tests, categories: Mapping[int, list[Any]]
) -> tuple[Encoding, ...]:
    """Return one encoding for each combination of feature and kind of missing values.

    Category columns without splits have an encoding, too, which checks that they hold categories.
    """
    untested = [feature * 4 + BY_CATEGORY for feature in categories if feature not in tests.feature]
    encodings: list[Encoding] = []
    for code in [*codes.tolist(), *untested]:
        feature, kind = divmod(code, 4)
        missing = 0.0 if kind == AS_ZERO else np.nan
        zero = kind == ZERO_OR_NAN
        if feature in categories:
            numbered = {category: float(number) for number, category in enumerate(categories[feature])}
            encodings.append(
                _Category(feature, categories=numbered, unseen=missing, missing=missing, zero_is_missing=zero)
            )
        elif kind == BY_CATEGORY:
            encodings.append(Encoding(feature, whole=True))
        else:
            splits = np.unique(tests.threshold[(tests.feature == feature) & (tests.missing == kind)])
            encodings.append(_Number(feature, missing=missing, zero_is_missing=zero, splits=splits))
    return tuple(encodings)


def _lightgbm_category_sets(
    text: LightGBMText, layout: _Layout, tests: _Tests
) -> tuple[Integers, tuple[CategorySet, ...]]:
    """Return the set that each inner node tests, and the sets of categories that go left."""
    chosen = np.full(len(tests.feature), -1)
    by_category = tests.missing == BY_CATEGORY
    if not by_category.any():
        return chosen, ()
    words = text.integers("cat_threshold", 0, 2**32 - 1).astype(np.uint32)
    counts = text.integers("num_cat")
    # The boundaries of each tree run from 0 to its number of words. Differences across trees are deleted.
    widths = np.diff(text.integers("cat_boundaries"))
    widths = np.delete(widths, np.cumsum(counts[counts > 0] + 1)[:-1] - 1)
    if len(widths) and (widths.min() < 0 or widths.sum() != len(words)):
        raise RefusalError("its trees cannot be read: sets of categories have more than are listed")
    starts = np.cumsum(widths) - widths
    bits = np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))
    listed = np.split(bits, np.searchsorted(bits, starts[1:] * 32))
    first = np.cumsum(counts) - counts
    within_tree = tests.threshold[by_category]  # number of the set within its tree
    tree = layout.tree[by_category]
    if not ((within_tree >= 0) & (within_tree < counts[tree])).all() or len(listed) != counts.sum():
        raise RefusalError("its trees cannot be read: sets of categories out of range")
    number_of: dict[bytes, int] = {}
    sets: list[CategorySet] = []
    numbers = np.empty(len(listed), np.int64)
    for at, positions in enumerate(listed):
        categories = positions - starts[at] * 32
        numbers[at] = number_of.setdefault(categories.tobytes(), len(number_of))
        if len(number_of) > len(sets):
            sets.append(CategorySet(categories))
    chosen[by_category] = numbers[first[tree] + within_tree.astype(np.int64)]
    return chosen, tuple(sets)


def _pandas_categories(lists: list[list[Any]], text: LightGBMText) -> Mapping[int, list[Any]]:
    """Return the categories of each feature that was a pandas category column.

    The model stores the categories of the first, second, ... category column, but not their positions.
    Four assumptions are tried in order: the columns are all categorical features; then unused features may
    be added; then ordered categories, which are compared as numbers; then categorical features may be left
    out. Under the first assumption that fits, the assignment must be unique. Encodings check each column,
    and LightGBM checks the number of category columns, so that a wrong assignment is detected.
    """
    if not lists:
        return {}
    infos = text.header["feature_infos"].split(" ")
    largest = np.array([len(categories) - 1 for categories in lists])
    fits = []  # as bits, the lists that are long enough for the range of each feature in the training data
    for info in infos:
        seen = [0.0] if info == "none" else [float(number) for number in info.strip("[]").split(":")]
        low, high = (seen[0], seen[1]) if info.startswith("[") else (0.0, max(seen))
        are_codes = low >= 0 and low.is_integer() and high.is_integer()
        long_enough = np.flatnonzero(largest >= high).tolist() if are_codes else []
        fits.append(sum(1 << position for position in long_enough))
    unused = {feature for feature, info in enumerate(infos) if info == "none"}
    ordered = {feature for feature, info in enumerate(infos) if info.startswith("[")}
    by_category = set(range(len(infos))) - unused - ordered
    for category, plain in (
        (by_category, unused | ordered),
        (by_category, ordered),
        (by_category, set[int]()),
        (set[int](), set[int]()),
    ):
        positions = _list_of_each_feature(fits, len(lists), plain, category)
        if len(positions) == len(lists) and min(positions.values()) >= 0:
            return {feature: lists[position] for feature, position in positions.items()}
        if positions:
            break
    raise RefusalError(
        "it does not tell which of its columns are pandas categories; declare them unordered, and leave "
        "out constant ones"
    )


def _list_of_each_feature(fits: list[int], lists: int, plain: set[int], category: set[int]) -> dict[int, int]:
    """Return the list of categories of each possible category column, -1 if it is ambiguous.

    Features in ``plain`` have no list, those in ``category`` must have one. Bit ``k`` of a number means that
    list ``k`` is possible. The result is empty if no assignment fits.
    """
    before, after = [1], [1 << lists]
    taken = [0 if feature in plain else fit for feature, fit in enumerate(fits)]
    for feature, fit in enumerate(taken):
        before.append((before[-1] & fit) << 1 | (0 if feature in category else before[-1]))
    for feature in reversed(range(len(fits))):
        after.append((after[-1] >> 1) & taken[feature] | (0 if feature in category else after[-1]))
    after.reverse()
    positions: dict[int, int] = {}
    for feature, fit in enumerate(taken):
        possible = before[feature] & fit & (after[feature + 1] >> 1)
        without = feature not in category and before[feature] & after[feature + 1]
        if possible:
            unique = possible.bit_count() == 1 and not without
            positions[feature] = possible.bit_length() - 1 if unique else -1
    return positions


def _plain_categories(categories: list[Any]) -> list[Any]:
    """Return the categories as Python objects. Refuse those that are neither text nor numbers."""
    plain = [category.item() if isinstance(category, np.generic) else category for category in categories]
    if not all(isinstance(category, (str, int, float)) for category in plain):
        raise RefusalError("its categories are neither text nor numbers, so they cannot be told apart safely")
    return plain


def _links(estimator: Any, text: LightGBMText) -> tuple[dict[str, Link], dict[str, str]]:
    """Return links and refusals. Classifiers predict labels, unless their objective is a function."""
    from lightgbm import LGBMClassifier

    link = _link_of(text.objective)
    links = {"predict": link, "decision_function": Link()}  # without averaging
    refused: dict[str, str] = {}
    if isinstance(estimator, LGBMClassifier):
        links["predict_proba"] = link
        if not callable(estimator.objective_):
            del links["predict"]
            refused["predict"] = LABELS
            if estimator.n_classes_ <= 2 and text.header["num_tree_per_iteration"] != "1":
                del links["predict_proba"]
                refused["predict_proba"] = TWO_MARGINS
    return links, refused


def _link_of(objective: list[str]) -> Link:
    """Return the link of an objective, given by its words. A function as objective has no words."""
    name = objective[0] if objective else ""
    if not name or name in IDENTITY:
        return Link("signed_square" if "sqrt" in objective else "identity")
    if name in EXP:
        return Link("exp")
    if name in SIGMOID:
        steepness = next(part for part in objective if part.startswith("sigmoid:")).removeprefix("sigmoid:")
        if len(steepness.partition("e")[0].replace(".", "").strip("0")) >= SIGMOID_DIGITS:
            raise RefusalError(
                f"its parameter sigmoid is written as {steepness:.60}, which may be rounded; use fewer digits"
            )
        return Link("sigmoid", float(steepness))
    if name == "multiclass":
        return Link("softmax")
    if name == "cross_entropy":
        return Link("sigmoid")
    if name == "cross_entropy_lambda":
        return Link("softplus")
    raise RefusalError(f"its objective {name!r:.60} is not one whose outputs paribus knows")
