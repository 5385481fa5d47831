"""What is computed: models, tables, and the list of tasks with the peers that can do each of them."""

import math
from dataclasses import dataclass

POINTS, BINS = 100, 40
TREES = 100


@dataclass(frozen=True)
class Task:
    """One piece of work; every peer of the list does it, and paribus."""

    title: str
    kind: str
    model: str
    rows: int
    columns: int
    features: int  # the first so many columns
    points: int
    peers: tuple[str, ...]

    def quick(self):
        """Return the same work at a size that shows whether it runs."""
        return Task(
            self.title, self.kind, self.model, min(self.rows, 40 if self.kind == "h" else 200),
            min(self.columns, 6), min(self.features, 6), min(self.points, 8), self.peers,
        )  # fmt: skip


BRUTE, PATHS = "scikit-learn brute", "scikit-learn recursion"
TASKS = (
    Task("One curve, gradient boosting", "curves", "boosting", 10_000, 30, 1, POINTS,
         (BRUTE, PATHS, "woodelf", "shap", "PDPbox", "dalex", "effector", "alibi", "alibi tree")),
    Task("All 30 curves, gradient boosting", "curves", "boosting", 5_000, 30, 30, POINTS,
         (BRUTE, PATHS, "woodelf", "alibi tree")),
    Task("All 30 curves, gradient boosting, many rows", "curves", "boosting", 200_000, 30, 30, POINTS,
         (PATHS, "woodelf")),
    Task("All 30 curves, LightGBM, many rows", "curves", "LightGBM", 200_000, 30, 30, POINTS, ("woodelf",)),
    Task("One curve, random forest", "curves", "forest", 10_000, 30, 1, POINTS, (BRUTE, PATHS, "woodelf")),
    Task("A two-way surface, gradient boosting", "surface", "boosting", 10_000, 30, 2, 12,
         (BRUTE, PATHS, "woodelf", "PDPbox", "alibi")),
    Task("Individual curves (ICE), gradient boosting", "ice", "boosting", 10_000, 30, 1, POINTS,
         (BRUTE, "PDPbox", "alibi")),
    Task("ALE of one feature, gradient boosting", "ale", "boosting", 10_000, 30, 1, BINS,
         ("PyALE", "effector", "alibi", "dalex")),
    Task("ALE of all 30 features, gradient boosting", "ale", "boosting", 10_000, 30, 30, BINS,
         ("PyALE", "effector", "alibi")),
    Task("H of one pair, gradient boosting", "h", "boosting", 500, 30, 2, 0, ("naive H", "artemis")),
    Task("H of 45 pairs, gradient boosting", "h", "boosting", 300, 30, 10, 0, ("naive H", "artemis")),
    Task("Regions of 5 features, gradient boosting", "regions", "boosting", 10_000, 30, 5, 0, ("effector",)),
    Task("A whole explanation, gradient boosting", "explain", "boosting", 10_000, 30, 30, 0, ("effector",)),
    Task("One curve, a small table, gradient boosting", "curves", "boosting", 200, 5, 1, POINTS,
         (BRUTE, PATHS, "woodelf", "alibi tree")),
    Task("One curve, neural network", "curves", "network", 10_000, 30, 1, POINTS,
         (BRUTE, "shap", "effector")),
    Task("One curve, linear regression", "curves", "linear", 10_000, 30, 1, POINTS, (BRUTE,)),
)  # fmt: skip


def table(rows, columns):
    """Return correlated columns, and a noisy target that depends on each of them."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    half = columns // 2
    X[:, half : 2 * half] += X[:, :half]
    X[:, -1] = np.exp(X[:, -1] / 2)  # skewed
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X @ np.linspace(1.0, 0.3, columns)
    return X, y + rng.normal(size=rows)


def fitted(name, X, y, trees=TREES):
    """Return a model fitted to at most 20,000 rows, for one thread."""
    from lightgbm import LGBMRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor

    models = {
        "boosting": HistGradientBoostingRegressor(max_iter=trees, early_stopping=False, random_state=0),
        "LightGBM": LGBMRegressor(n_estimators=trees, n_jobs=1, verbose=-1, random_state=0),
        "forest": RandomForestRegressor(trees, min_samples_leaf=5, max_features=10 / 30, random_state=0),
        "network": MLPRegressor(hidden_layer_sizes=(64,), max_iter=20, random_state=0),
        "linear": LinearRegression(),
    }
    model = models[name].fit(X[:20_000], y[:20_000])
    vars(model).pop("_feature_subsample_rng", None)  # of the fit only; numpy 1 cannot read that of numpy 2
    return model


def grids(kind, X, features, points, edges):
    """Return the points of each feature: those of scikit-learn, or edges of bins as a peer makes them."""
    import numpy as np
    from scipy.stats.mstats import mquantiles

    found = {}
    for j in features if points else ():
        column = np.sort(X[:, j])
        if kind != "ale":
            found[j] = np.linspace(*mquantiles(column, (0.05, 0.95)), points)
        elif edges == "width":
            found[j] = np.linspace(column[0], column[-1], points + 1)
        else:
            at = [max(math.ceil(round(len(column) * k / points, 6)) - 1, 0) for k in range(points + 1)]
            found[j] = column[at]
    return found
