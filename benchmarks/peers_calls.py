"""The same work by each library: a function per peer and kind of work, and the one of paribus.

A function takes a `Case` and returns numbers in one layout per kind, so that results can be compared:
``curves`` (features, points), ``surface`` (points, points), ``ice`` (rows, points), ``ale`` (features,
edges), ``h`` (pairs, in the order of `itertools.combinations`), ``regions`` (features, the standard
deviation of individual curves) and ``explain`` (the share of the variance that curves explain). Every call
begins with the model and the table and ends with numbers, so constructors are part of it. Peers are imported
when they are called.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

SAME = "yes"
OURS = {"n_jobs": 1, "progress": False}


@dataclass
class Case:
    """A fitted model, a table, and what to compute."""

    model: object
    X: np.ndarray
    features: list[int]
    grids: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def names(self):
        """Return the names of the columns."""
        return [f"x{j}" for j in range(self.X.shape[1])]

    @property
    def frame(self):
        """Return the table as most peers require it."""
        import pandas as pd

        return pd.DataFrame(self.X, columns=self.names)


def paribus_curves(case):
    import paribus

    found = paribus.effects(case.model, case.X, case.features, custom_values=case.grids, **OURS)
    return np.array([found[f"x{j}"].average[0] for j in case.features])


def paribus_surface(case):
    import paribus

    pair = tuple(case.features)
    return paribus.partial_dependence(case.model, case.X, pair, custom_values=case.grids, **OURS).average[0]


def paribus_ice(case):
    import paribus

    found = paribus.partial_dependence(
        case.model, case.X, case.features[0], custom_values=case.grids, kind="individual", **OURS
    )
    return found.individual[0]


def paribus_ale(case):
    import paribus

    found = paribus.accumulated_local_effects(
        case.model, case.X, case.features, custom_values=case.grids, **OURS
    )
    return np.array([found[f"x{j}"].ale[0] for j in case.features])


def paribus_h(case):
    import paribus

    found = paribus.h_statistic(case.model, case.X, case.features, subsample=None, overall=False, **OURS)
    by_pair = dict(zip(found["feature_pairs"], found["h_squared_pairwise"], strict=True))
    return np.array([float(np.ravel(by_pair[pair])[0]) for pair in combinations(case.features, 2)])


def paribus_regions(case):
    import paribus

    found = paribus.regions(case.model, case.X, case.features, **OURS)
    return np.array([found[f"x{j}"].heterogeneity ** 0.5 for j in case.features])


def paribus_explain(case):
    import paribus

    return paribus.explain(case.model, case.X, **OURS).explained.curves


def sklearn_curves(case, **options):
    from sklearn.inspection import partial_dependence

    found = [
        partial_dependence(case.model, case.X, [j], custom_values={j: case.grids[j]}, **options)
        for j in case.features
    ]
    return np.array([curve["average"][0] for curve in found])


def sklearn_surface(case, **options):
    from sklearn.inspection import partial_dependence

    return partial_dependence(case.model, case.X, tuple(case.features), custom_values=case.grids, **options)[
        "average"
    ][0]


def sklearn_ice(case):
    from sklearn.inspection import partial_dependence

    found = partial_dependence(
        case.model, case.X, case.features, custom_values=case.grids, method="brute", kind="individual"
    )
    return found["individual"][0]


def woodelf_curves(case):
    from woodelf.pdp import woodelf_pdp

    points = len(case.grids[case.features[0]])
    curves, _ = woodelf_pdp(case.model, case.frame, k=points, centered=False, verbose=False)
    unused = [f"x{j}" for j in case.features if f"x{j}" not in curves]  # by the trees: left out, as constant
    if unused:
        curves |= dict.fromkeys(unused, np.full(points, case.model.predict(case.X).mean()))
    return np.array([curves[f"x{j}"] for j in case.features])


def woodelf_surface(case):
    from woodelf.pdp import woodelf_pdp_joint

    points = len(case.grids[case.features[0]])
    first, second = (f"x{j}" for j in case.features)
    surfaces, at_first, at_second = woodelf_pdp_joint(case.model, case.frame, k=points, verbose=False)
    order = np.lexsort((at_second[first, second], at_first[first, second]))
    return surfaces[first, second][order].reshape(points, points)


def shap_curves(case):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from shap.plots import partial_dependence

    curves = []
    for j in case.features:
        grid = case.grids[j]
        ends = {"xmin": grid[0], "xmax": grid[-1], "npoints": len(grid)}
        figure, axes = partial_dependence(j, case.model.predict, case.X, **ends, ice=False, show=False)
        curves.append(axes.lines[0].get_ydata())
        plt.close(figure)
    return np.array(curves)


def pdpbox_curves(case):
    return np.array([_pdpbox(case, j).pdp for j in case.features])


def pdpbox_ice(case):
    return _pdpbox(case, case.features[0]).ice_lines.to_numpy()


def _pdpbox(case, feature):
    from pdpbox.pdp import PDPIsolate

    name = f"x{feature}"
    found = PDPIsolate(
        case.model, case.frame, case.names, name, name, n_classes=0, cust_grid_points=case.grids[feature]
    )
    return found.results[0]


def pdpbox_surface(case):
    from pdpbox.pdp import PDPInteract

    names = [f"x{j}" for j in case.features]
    grids = [case.grids[j] for j in case.features]
    found = PDPInteract(case.model, case.frame, case.names, names, names, n_classes=0, cust_grid_points=grids)
    return found.results[0].pdp.reshape([len(grid) for grid in grids])


def dalex_curves(case, type="partial"):
    import dalex

    names = [f"x{j}" for j in case.features]
    explainer = dalex.Explainer(
        case.model, case.frame, predict_function=lambda m, table: m.predict(table.to_numpy()), verbose=False
    )
    splits = {f"x{j}": case.grids[j] for j in case.features}
    found = explainer.model_profile(
        type, N=None, variables=names, variable_splits=splits, center=False, verbose=False
    ).result
    by_name = {name: part.sort_values("_x_")["_yhat_"].to_numpy() for name, part in found.groupby("_vname_")}
    return np.array([by_name[name] for name in names])


def dalex_ale(case):
    return dalex_curves(case, "accumulated")


def effector_curves(case):
    import effector

    effect = effector.PDP(case.X, case.model.predict, nof_instances="all")
    return np.array([effect.eval(j, case.grids[j], centering=False) for j in case.features])


def effector_ale(case):
    import effector

    bins = effector.axis_partitioning.Fixed(nof_bins=len(case.grids[case.features[0]]) - 1)
    effect = effector.ALE(case.X, case.model.predict, nof_instances="all")
    effect.fit(list(case.features), centering=False, binning_method=bins)
    return np.array([effect.eval(j, case.grids[j], centering=False) for j in case.features])


def effector_regions(case):
    import effector

    effect = effector.PDP(case.X, case.model.predict, nof_instances="all")
    effect.find_regions(features=list(case.features))
    return np.array([effect.heter_score(j) for j in case.features])


def effector_explain(case):
    import effector

    report = effector.explain(case.X, case.model.predict, nof_instances="all")
    return np.array([report.explained_variance["gam_r2"]])


def pyale_ale(case):
    from PyALE import ale

    bins = len(case.grids[case.features[0]]) - 1
    return np.array(
        [
            ale(case.frame, case.model, [f"x{j}"], "continuous", grid_size=bins, plot=False)["eff"].to_numpy()
            for j in case.features
        ]
    )


def alibi_curves(case):
    from alibi.explainers import PartialDependence

    found = PartialDependence(predictor=case.model.predict).explain(
        case.X, features=case.features, grid_points=case.grids
    )
    return np.array([values[0] for values in found.pd_values])


def alibi_tree_curves(case):
    from alibi.explainers import TreePartialDependence

    found = TreePartialDependence(predictor=case.model).explain(
        case.X, features=case.features, grid_points=case.grids
    )
    return np.array([values[0] for values in found.pd_values])


def alibi_surface(case):
    from alibi.explainers import PartialDependence

    found = PartialDependence(predictor=case.model.predict).explain(
        case.X, features=[tuple(case.features)], grid_points=case.grids
    )
    return found.pd_values[0][0]


def alibi_ice(case):
    from alibi.explainers import PartialDependence

    found = PartialDependence(predictor=case.model.predict).explain(
        case.X, features=case.features, kind="individual", grid_points=case.grids
    )
    return found.ice_values[0][0]


def alibi_ale(case):
    from alibi.explainers import ALE

    found = ALE(case.model.predict).explain(case.X, features=case.features, grid_points=case.grids)
    return np.array([values[:, 0] for values in found.ale_values])


def artemis_h(case):
    from artemis.interactions_methods.model_agnostic import FriedmanHStatisticMethod

    method = FriedmanHStatisticMethod()
    method.fit(
        case.model,
        case.frame,
        features=[f"x{j}" for j in case.features],
        predict_function=lambda m, table: m.predict(table.to_numpy()),
        calculate_ova=False,
    )
    by_pair = {frozenset(row[:2]): row[2] for row in method.ovo.itertuples(index=False, name=None)}
    return np.array([by_pair[frozenset((f"x{j}", f"x{k}"))] for j, k in combinations(case.features, 2)])


def naive_h(case):
    """Friedman and Popescu's formula as it is written: every row is crossed with every row."""

    def centered(features):
        crossed = np.repeat(case.X[None], len(case.X), axis=0)  # (points, background, columns)
        crossed[:, :, features] = case.X[:, None, features]
        found = case.model.predict(crossed.reshape(-1, case.X.shape[1])).reshape(crossed.shape[:2])
        return found.mean(axis=1) - found.mean()

    alone = {j: centered([j]) for j in case.features}
    squared = []
    for j, k in combinations(case.features, 2):
        joint = centered([j, k])
        squared.append(np.sum((joint - alone[j] - alone[k]) ** 2) / np.sum(joint**2))
    return np.array(squared)


@dataclass(frozen=True)
class Call:
    """How a peer does a kind of work, and how its number relates to that of paribus."""

    run: Callable
    same: str = SAME  # or the reason why the number is another one
    more: str = ""  # what the call does besides, or cannot leave out
    edges: str = "quantiles"  # of the bins of ALE
    origin: bool = False  # whether curves are compared from their first point


OURS_BY_KIND = {
    "curves": paribus_curves,
    "surface": paribus_surface,
    "ice": paribus_ice,
    "ale": paribus_ale,
    "h": paribus_h,
    "regions": paribus_regions,
    "explain": paribus_explain,
}
PATHS = "no: weights branches by training data, not by the rows of X; for boosting without the baseline"
EVERY = "always computes every feature"
KERNEL = "no: averages differences of all rows by a Gaussian kernel, not of the rows in each bin"
AXIS = "up to a constant: not centered on the data; compared from the first edge"
EVENLY = "no: individual curves are weighted evenly along the axis, not by the data; splits have other bounds"
LESS = "no: curves are interpolated on an even grid; without ALE, H and extrapolation"
MIDDLES = "up to a constant: centered by the middles of bins; compared from the first edge"

CALLS = {
    "scikit-learn brute": {
        "curves": Call(lambda case: sklearn_curves(case, method="brute")),
        "surface": Call(lambda case: sklearn_surface(case, method="brute")),
        "ice": Call(sklearn_ice),
    },
    "scikit-learn recursion": {
        "curves": Call(lambda case: sklearn_curves(case, method="recursion"), PATHS),
        "surface": Call(lambda case: sklearn_surface(case, method="recursion"), PATHS),
    },
    "woodelf": {
        "curves": Call(woodelf_curves, more=EVERY),
        "surface": Call(woodelf_surface, more="always computes every pair"),
    },
    "shap": {"curves": Call(shap_curves, more="also draws the curve")},
    "PDPbox": {
        "curves": Call(pdpbox_curves, more="keeps every row's curve"),
        "surface": Call(pdpbox_surface, more="keeps every row's surface"),
        "ice": Call(pdpbox_ice),
    },
    "dalex": {
        "curves": Call(dalex_curves, more="keeps every row's curve; N=None, its default is 300 rows"),
        "ale": Call(dalex_ale, KERNEL, more="N=None, its default is 300 rows", origin=True),
    },
    "effector": {
        "curves": Call(effector_curves, more="nof_instances='all', its default is 10,000 rows"),
        "ale": Call(effector_ale, AXIS, edges="width", origin=True),
        "regions": Call(effector_regions, EVENLY, more="nof_instances='all'"),
        "explain": Call(effector_explain, LESS, more="nof_instances='all'"),
    },
    "PyALE": {"ale": Call(pyale_ale, MIDDLES, more="with confidence intervals", origin=True)},
    "alibi": {
        "curves": Call(alibi_curves),
        "surface": Call(alibi_surface),
        "ice": Call(alibi_ice),
        "ale": Call(alibi_ale, MIDDLES, origin=True),
    },
    "alibi tree": {"curves": Call(alibi_tree_curves, PATHS)},
    "artemis": {"h": Call(artemis_h)},
    "naive H": {"h": Call(naive_h)},
}
