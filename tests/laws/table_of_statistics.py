"""The statistics that every law runs over; where a law does not hold for one, the table says why."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import paribus
from compared_results import leaves
from examples import ROWS, Additive

QUIET = {"progress": False}


@dataclass(frozen=True, eq=False)
class Statistic:
    """A request of `paribus.Explainer`, and which of its numbers a law compares.

    ``part`` is what the paths of its numbers contain, ``apart`` what they do not. ``per_row`` are names of
    arrays with an axis of rows, which follows the rows. ``by_count`` are parts of names of what depends on the
    number of rows, and not on their weight alone; ``in_units`` names of what has the unit of weights.
    A ``tolerance`` is relative to the size of an array, for sums in another order; that of rows cut into other
    blocks, and of rows that are read, may be smaller: 0 means the same bits. ``rows`` is how many the laws need.
    ``additive`` yields what was found of an additive model, and what its terms say. ``laws_without`` are the
    laws that do not hold for it, each with the reason.
    """

    verb: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""
    apart: str = ".extrapolation"
    per_row: Mapping[str, int] = field(default_factory=dict)
    by_count: tuple[str, ...] = ("error", "rows", "order", "row_weights", "covariance")
    in_units: tuple[str, ...] = ("support", "row_weights")
    tolerance: float = 1e-9
    tolerance_of_split: float = 1e-9
    tolerance_of_read: float = 0.0
    rows: int = ROWS
    needs_target: bool = False
    additive: Callable[[Any, Additive], Any] | None = None
    laws_without: Mapping[str, str] = field(default_factory=dict)

    def compute(self, model, X, y=None, sample_weight=None, company=(), **options):
        """Return the numbers by their paths; ``company`` are other requests that share its passes."""
        return self.numbers(self.result(model, X, y, sample_weight, company, **options))

    def result(self, model, X, y=None, sample_weight=None, company=(), **options):
        known = inspect.signature(getattr(paribus.Explainer, self.verb)).parameters
        arguments = {**self.arguments, **{name: options.pop(name) for name in known if name in options}}
        y = y if self.needs_target else None
        explainer = paribus.Explainer(model, X, y, sample_weight=sample_weight, **QUIET, **options)
        if not company:
            return getattr(explainer, self.verb)(**arguments)
        beside = [one for one in company if one[0] != self.verb]
        return explainer.run((self.verb, arguments), *beside)[self.verb]

    def numbers(self, result):
        found = {
            path: leaf for path, leaf in leaves(result) if self.part in path and (not self.apart or self.apart not in path)
        }  # fmt: skip
        assert found, "a statistic without numbers obeys every law"
        return found


CURVES = {"features": ["a", "b", "kind"], "grid_resolution": 5}
PAIRS = {"features": [("a", "b"), ("a", "kind")], "grid_resolution": 4}
ONE_WAY = "exact equals brute", "there is one way to compute it"
NO_TREES = "compiled equals reference", "no tree is walked"
NO_CURVES = "mean of ICE is partial dependence", "it has no curve of each row"
SINGLE = "list of one model", "it is of a single model, and refuses a list"
SHUFFLED = (
    "the shuffles are drawn by the number and place of rows; their mean is compared in test_permutation"
)
HALVES = "the halves that select and measure splits are drawn by the numbers of rows with positive weight"
IN_MEMORY = "it needs rows in memory, and refuses others"


def partial_dependence_of_terms(found, additive):
    for name, effect in found.items():
        names = name if isinstance(name, tuple) else (name,)
        grids = np.meshgrid(*effect.grid_values, indexing="ij")
        want = sum(additive.centered(one, grid) for one, grid in zip(names, grids, strict=True))
        yield effect.average[0] - additive.mean(additive.y), want


def curves_of_terms(found, additive):
    for name, effect in found.items():
        rest = additive.y - additive.centered(name, additive.X[name].to_numpy())
        curves = rest[:, None] + additive.centered(name, effect.grid_values[0])
        if effect.quantiles is None:
            yield effect.individual[0], curves
        else:  # the rest is the same at every point, and so are its quantiles
            yield effect.quantiles.values[0] - effect.quantiles.values[0][:, :1], (curves - curves[:, :1])[:5]


def local_effects_of_terms(found, additive):
    for name, effect in found.items():
        pair = isinstance(name, tuple)
        yield (
            effect.ale[0],
            np.zeros(effect.ale[0].shape) if pair else additive.centered(name, effect.grid_values[0]),
        )


def no_interactions(found, additive):
    for ratio in (found.pairwise, found.overall, found.total, found.threeway):
        if ratio is not None:
            yield ratio.share, np.zeros(ratio.share.shape)


def no_regions(found, additive):
    for one in found.values():
        assert not one.splits
        yield np.array([one.heterogeneity]), np.zeros(1)


def deviations_of_terms(found, additive):
    terms = [additive.centered(name, additive.X[name].to_numpy()) for name in found.feature_names]
    yield found.values, np.sqrt([additive.mean(term**2) for term in terms])


STATISTICS = {
    "pd": Statistic("effects", CURVES, additive=partial_dependence_of_terms, laws_without=dict([NO_CURVES])),
    "ice": Statistic(
        "effects",
        CURVES | {"kind": "both"},
        per_row={"individual": 1, "row_weights": 0},
        additive=curves_of_terms,
        laws_without=dict([SINGLE]),
    ),
    "quantiles": Statistic(
        "effects",
        CURVES | {"quantiles": (0.0, 0.1, 0.37, 0.5, 1.0)},
        part=".quantiles",
        tolerance_of_split=0.0,
        additive=curves_of_terms,
        laws_without=dict([SINGLE, NO_CURVES]),
    ),
    "two-way": Statistic(
        "effects", PAIRS, additive=partial_dependence_of_terms, laws_without=dict([NO_CURVES])
    ),
    "ale": Statistic(
        "accumulated_local_effects",
        CURVES,
        tolerance_of_read=1e-12,
        additive=local_effects_of_terms,
        laws_without=dict([NO_CURVES]),
    ),
    "ale_pair": Statistic(
        "accumulated_local_effects",
        PAIRS | {"features": [("a", "b"), ("a", "kind"), ("kind", "n")]},
        tolerance_of_read=1e-12,
        additive=local_effects_of_terms,
        laws_without=dict([ONE_WAY, NO_TREES, NO_CURVES]),
    ),
    "marginal": Statistic(
        "marginal",
        CURVES,
        needs_target=True,
        laws_without=dict([ONE_WAY, NO_TREES, NO_CURVES])
        | {"additive model": "rows near a value differ in the other columns too, so it is not a term"},
    ),
    "h": Statistic("h_statistic", {"threeway": 3}, additive=no_interactions, laws_without=dict([NO_CURVES])),
    "importance": Statistic(
        "feature_importance",
        additive=deviations_of_terms,
        laws_without=dict([NO_CURVES])
        | dict.fromkeys(
            ("exact equals brute", "pipeline"), "strengths of functions follow from points of curves"
        ),
    ),
    "importance at rows": Statistic(
        "feature_importance",
        {"subsample": None},
        additive=deviations_of_terms,
        laws_without=dict([NO_CURVES]) | dict.fromkeys(("read equals held", "resumed equals run"), IN_MEMORY),
    ),
    "permutation": Statistic(
        "feature_importance",
        {"kind": "permutation", "n_repeats": 3, "random_state": 0},
        needs_target=True,
        laws_without=dict([ONE_WAY, NO_TREES, NO_CURVES])
        | {"any split into blocks": "rows lend values to each other, so that a block has them all"}
        | {"additive model": "how much worse a shuffled term predicts depends on the shuffle"}
        | dict.fromkeys(("integer weights", "order of rows", "order of columns"), SHUFFLED)
        | dict.fromkeys(("read equals held", "resumed equals run"), IN_MEMORY),
    ),
    "regions": Statistic(
        "regions",
        {"features": ["a", "kind"], "min_gain": 0.02},
        by_count=("error", "rows"),
        in_units=("weight", "support"),
        additive=no_regions,
        tolerance_of_read=1e-12,
        rows=200,
        laws_without=dict([NO_CURVES, SINGLE]) | dict.fromkeys(("integer weights", "order of rows"), HALVES),
    ),
    "extrapolation": Statistic(
        "effects",
        # One feature: of several, the order follows strengths of sampled rows where a model is evaluated itself.
        CURVES | {"features": ["a", ("kind", "n")]},
        part=".extrapolation",
        apart="",
        rows=1_500,
        laws_without=dict([NO_CURVES])
        | {
            "additive model": "it looks at the rows alone, whatever the model predicts",
            "integer weights": "whether a combination is expected depends on the number of rows; where there are "
            "enough of each it holds, in test_extrapolation",
        },
    ),
}
