"""paribus against a few lines of pandas, for random models. ``make random`` runs it.

Each model is of a random library, objective, wrapper, pipeline, table and dtype, with or without missing values,
categories and weights. Partial dependence, ICE, ALE, H-statistics and importance are compared with loops over grid points
and rows. Shares no code with `random_pipelines`.

A failure is printed with its seed: ``python tests/support/differential.py --models 1 --seed 1234``.
"""

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype as is_number

import paribus

SINGLE = ("xgboost", "isotonic", "single")  # whose predictions have single precision, or amplify it


def average(predicted, weights):
    """Return the weighted average over the last axis but one, of predictions ``(..., n, o)``."""
    return np.average(predicted, axis=-2, weights=weights)


def replaced(frame, **values):
    """Return a table whose columns have one value each, in their dtype."""
    changed = frame.copy()
    for name, value in values.items():
        changed[name] = pd.Series([value] * len(frame), index=frame.index).astype(frame[name].dtype)
    return changed


def ice(predict, frame, feature, values):
    """Return the predictions ``(g, n, o)`` with a feature at each value."""
    return np.stack([predict(replaced(frame, **{feature: value})) for value in values])


def at_rows(predict, frame, features, weights):
    """Return the centered partial dependence ``(n, o)`` at the values of every row."""
    points = [dict(zip(features, row, strict=True)) for row in frame[features].itertuples(index=False)]
    found = np.stack([average(predict(replaced(frame, **point)), weights) for point in points])
    return found - average(found, weights)


def check_effects(case):
    """Compare partial dependence and ICE."""
    effect = case.explainer.partial_dependence(case.feature, kind="both", grid_resolution=6)
    curves = ice(case.predict, case.frame, case.feature, case.values(effect.grid_values[0]))
    slack = max((note.value for note in effect.notes if note.code == "PAR313"), default=0.0)
    case.compare("ICE", effect.individual, curves.transpose(2, 1, 0), slack)
    case.compare("PD", effect.average, average(curves, case.weights).T, slack)
    if effect.missing is not None:
        lost = case.predict(replaced(case.frame, **{case.feature: np.nan}))
        case.compare("PD at missing", effect.missing.average, average(lost, case.weights), slack)
    return effect.provenance.evaluator


def check_local(case):
    """Compare the average changes from one value of a number to the next."""
    x = case.frame[case.feature]
    if not is_number(x) or x.nunique() < 3:
        return
    local = case.explainer.accumulated_local_effects([case.feature])[case.feature]
    edges, slack = local.grid_values[0], sum(note.value for note in local.notes if note.code == "PAR313")
    cell = np.searchsorted(edges, x.to_numpy(), side="left").clip(1, len(edges) - 1)
    curves = ice(case.predict, case.frame, case.feature, case.values(edges))
    weights = np.ones(len(x)) if case.weights is None else case.weights
    for k in range(1, len(edges)):
        inside = (cell == k) & x.notna().to_numpy() & (weights > 0)
        if inside.any():
            change = average((curves[k] - curves[k - 1])[inside], weights[inside])
            case.compare(f"ALE in bin {k}", local.local[:, k - 1], change, 2 * slack)


def check_pair(case):
    """Compare the average second differences of a pair of numbers in each cell that has rows."""
    pair = [case.feature, case.other]
    columns = [case.frame[name] for name in pair]
    if not all(is_number(x) and x.nunique() > 2 for x in columns):
        return
    found = case.explainer.accumulated_local_effects([tuple(pair)], grid_resolution=4)[tuple(pair)]
    slack = sum(note.value for note in found.notes if note.code == "PAR313")
    cells = [
        np.searchsorted(edges, x.to_numpy(), side="left").clip(1, len(edges) - 1)
        for edges, x in zip(found.grid_values, columns, strict=True)
    ]
    edges = [case.values(own) for own in found.grid_values]
    corners = {
        (a, b): case.predict(replaced(case.frame, **dict(zip(pair, (edges[0][a], edges[1][b]), strict=True))))
        for a in range(len(edges[0]))
        for b in range(len(edges[1]))
    }
    weights = np.ones(len(case.frame)) if case.weights is None else case.weights
    known = columns[0].notna().to_numpy() & columns[1].notna().to_numpy() & (weights > 0)
    for a, b in ((a, b) for a in range(1, len(edges[0])) for b in range(1, len(edges[1]))):
        inside = known & (cells[0] == a) & (cells[1] == b)
        if inside.any():
            second = corners[a, b] - corners[a - 1, b] - corners[a, b - 1] + corners[a - 1, b - 1]
            change = average(second[inside], weights[inside])
            case.compare(f"ALE in cell {a}, {b}", found.local[:, a - 1, b - 1], change, 4 * slack)


def check_strengths(case):
    """Compare H of a pair, and the standard deviation of effects; slow, so that it is of few rows."""
    pair = [case.feature, case.other]
    one, two, both = (
        at_rows(case.predict, case.frame, some, case.weights) for some in (pair[:1], pair[1:], pair)
    )
    rest = average((both - one - two) ** 2, case.weights)
    found = case.explainer.h_statistic(pair)
    if any(note.code == "PAR313" for note in found.notes) or case.slack > 1e-4:
        return
    numerator = np.atleast_1d(found["numerator_pairwise"][0])
    case.compare("H numerator", np.sqrt(numerator), np.sqrt(rest), 3e-5 * case.size if case.single else 0.0)
    importance = case.explainer.feature_importance(pair)
    own = np.sqrt(np.stack([average(effect**2, case.weights) for effect in (one, two)]))
    values = importance.values if importance.values.ndim == 2 else importance.values[:, None]
    case.compare("importance", values, own, 3e-5 * case.size if case.single else 0.0)


class Case:
    """A fitted model, its rows, and their explainer."""

    slack = 0.0

    def __init__(self, rng, makers):
        self.frame, self.target = random_frame(rng)
        kind, self.weights = str(rng.choice(["pandas", "pandas", "polars", "arrow", "numpy"])), None
        if rng.random() < 0.4:
            self.weights = rng.random(len(self.frame)) * (rng.random(len(self.frame)) < 0.9) + 1e-3
        self.label, self.model, self.response, self.frame = random_model(rng, makers, self.frame, self.target)
        numbers = all(map(is_number, (self.frame[name] for name in self.frame)))
        kind = "pandas" if kind == "numpy" and not (numbers and "pipeline" not in self.label) else kind
        self.numpy = kind == "numpy"
        if self.numpy:
            self.frame = self.frame.astype(self.frame.to_numpy().dtype)
        fitted = self.frame.to_numpy() if self.numpy else self.frame
        several, survival = (self.label.startswith(kind) for kind in ("several targets", "survival"))
        target = np.c_[self.target, self.target**2] if several else self.target
        self.model.fit(fitted, durations(rng, self.target) if survival else target)
        self.table, self.label = as_table(self.frame, kind), f"{self.label} on {kind}"
        self.feature, self.other = rng.choice(list(self.frame.columns), 2, replace=False)
        self.times = np.quantile(self.model.unique_times_, [0.2, 0.5, 0.8]) if survival else None
        self.explainer = paribus.Explainer(
            self.model,
            self.table,
            sample_weight=self.weights,
            response_method=self.response,
            feature_names=list(self.frame.columns) if self.numpy else None,
            times=self.times,
            progress=False,
        )
        self.single = any(word in self.label for word in SINGLE)
        predicted = self.predict(self.frame)
        self.size = float(np.abs(predicted).max()) + float(np.ptp(predicted))
        # A linear model of columns in single precision predicts in it.
        self.rounding = 1e-6 if (self.frame.dtypes == np.float32).any() else 1e-8

    def predict(self, frame):
        """Return predictions ``(n, o)``; of two classes the second."""
        found = getattr(self.model, self.response)(frame.to_numpy() if self.numpy else frame)
        if self.times is not None:
            return np.stack([step(self.times) for step in found])
        found = np.asarray(found, dtype=float).reshape(len(frame), -1)
        return found[:, 1:] if self.response == "predict_proba" and found.shape[1] == 2 else found

    def values(self, grid):
        """Return grid values as a column of pandas takes them."""
        return [value.item() if isinstance(value, np.generic) else value for value in grid]

    def compare(self, what, ours, theirs, slack=0.0):
        """Fail where numbers are further apart than rounding."""
        size = max(self.size, np.abs(theirs).max(initial=0.0))  # models may extrapolate far beyond the rows
        near = (2e-5 if self.single else self.rounding) * size + slack
        assert np.shape(ours) == np.shape(theirs), f"{what}: shape {np.shape(ours)}, not {np.shape(theirs)}"
        worst = np.abs(np.asarray(ours) - theirs).max(initial=0.0)
        assert worst <= near, f"{what} of {self.label}: {worst:.3g} apart, of {size:.3g}"


def random_frame(rng):
    """Return rows of numbers and categories, and a target that depends on all of them."""
    rows, numbers = int(rng.integers(30, 90)), int(rng.integers(2, 5))
    frame = pd.DataFrame(
        {f"n{j}": rng.normal(size=rows) * 10.0 ** rng.integers(-2, 3) for j in range(numbers)}
    )
    signal = frame.rank().to_numpy() @ rng.normal(size=numbers) / rows
    signal += np.prod(frame.iloc[:, :2].rank(pct=True).to_numpy() - 0.5, axis=1) * 8
    for name in frame.columns:
        way = rng.random()
        if way < 0.2:
            frame[name] = frame[name].rank().astype(int) // 4
        elif way < 0.4:
            frame[name] = frame[name].astype(np.float32)
        if frame[name].dtype.kind == "f" and rng.random() < 0.3:
            frame.loc[rng.random(rows) < 0.15, name] = np.nan
    if rng.random() < 0.5:
        frame["word"] = rng.choice(["a", "b", "c d"], rows)
        signal = signal + (frame["word"] == "a") * 1.0
    if rng.random() < 0.3:
        frame["city"] = rng.choice([f"city {number}" for number in range(12)], rows)
        signal = signal + (frame["city"] < "city 3") * 1.0
    return frame, np.array(signal + rng.normal(size=rows) / 4)


def durations(rng, target):
    """Return durations that depend on a target, a third of them censored, as scikit-survival takes them."""
    from sksurv.util import Surv

    return Surv.from_arrays(rng.random(len(target)) < 0.67, np.exp(target - target.mean()) + 0.01)


def as_table(frame, kind):
    """Return the rows in a library."""
    if kind == "numpy":
        return frame.to_numpy()
    if kind == "polars":
        import polars

        return polars.from_pandas(frame)
    if kind == "arrow":
        import pyarrow

        return pyarrow.Table.from_pandas(frame, preserve_index=False)
    return frame


def random_model(rng, makers, frame, target):
    """Return a name, an unfitted model, its response and the rows in the types it takes.

    The target is changed in place to what the objective takes.
    """
    maker = makers[rng.integers(len(makers))]
    task = str(rng.choice(["mean", "mean", "count", "two", "two", "three"]))
    name, model, frame = maker(rng, task, frame)
    task = "mean" if name.endswith("(mean)") else task
    if task == "count":
        target[:] = rng.poisson(np.exp(np.clip(target, -2, 2)))
    elif task in ("two", "three"):
        edges = np.quantile(target, [0.5] if task == "two" else [0.3, 0.7])
        target[:] = np.digitize(target, edges)
    classes = hasattr(model, "predict_proba") if not name.startswith("calibrated") else True
    response = "predict_proba" if task in ("two", "three") and classes else "predict"
    if name.startswith("survival"):
        response = _pick(rng, "predict_survival_function", "predict_cumulative_hazard_function")
    return f"{name} ({task})", model, response, frame


def _pick(rng, *options):
    return options[rng.integers(len(options))]


def _sklearn(rng, task, frame):
    from sklearn import ensemble, linear_model, neighbors, tree

    frame = pd.get_dummies(frame, dtype=float).fillna(0.25)
    size = {"max_depth": int(rng.integers(1, 5)), "random_state": 0}
    few = {"n_estimators": int(rng.integers(2, 8))} | size
    if task in ("two", "three"):
        model = _pick(
            rng,
            ensemble.RandomForestClassifier(**few),
            ensemble.ExtraTreesClassifier(**few),
            ensemble.GradientBoostingClassifier(**few),
            tree.DecisionTreeClassifier(**size),
            linear_model.LogisticRegression(max_iter=50),
            neighbors.KNeighborsClassifier(),
        )
    else:
        model = _pick(
            rng,
            ensemble.RandomForestRegressor(**few),
            ensemble.ExtraTreesRegressor(**few),
            ensemble.GradientBoostingRegressor(**few),
            tree.DecisionTreeRegressor(**size),
            linear_model.Ridge(),
            linear_model.PoissonRegressor() if task == "count" else linear_model.LinearRegression(),
            neighbors.KNeighborsRegressor(weights="distance"),
        )
    return type(model).__name__, model, frame


def _started(rng, task, frame):
    """Return gradient boosting that starts from another model, which linear models predict in single precision."""
    from sklearn import ensemble, linear_model, pipeline, preprocessing

    frame = pd.get_dummies(frame, dtype=float).fillna(0.25)
    few = {"n_estimators": 4, "max_depth": 2, "random_state": 0}
    if task in ("two", "three"):
        init = _pick(
            rng,
            ensemble.RandomForestClassifier(**few | {"min_samples_leaf": 8}),
            ensemble.HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4),
            ensemble.GradientBoostingClassifier(**few),
            linear_model.LogisticRegression(),
        )
        loss = _pick(rng, "log_loss", "exponential") if task == "two" else "log_loss"
        model = ensemble.GradientBoostingClassifier(init=init, loss=loss, **few)
        single = "single " if isinstance(init, linear_model.LogisticRegression) else ""
        return f"boosting from {single}{type(init).__name__}", model, frame
    scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge())
    init = _pick(
        rng,
        linear_model.LinearRegression(),
        scaled,
        ensemble.RandomForestRegressor(**few),
        ensemble.HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=4),
        ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", ensemble.ExtraTreesRegressor(**few))]),
    )
    loss = _pick(rng, "squared_error", "huber", "quantile")
    model = ensemble.GradientBoostingRegressor(init=init, loss=loss, **few)
    single = "" if type(init).__name__.endswith(("ForestRegressor", "BoostingRegressor")) else "single "
    return f"boosting from {single}{type(init).__name__}", model, frame


def _hist(rng, task, frame):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    frame = _categorical(frame)
    options = {"max_iter": 5, "min_samples_leaf": 4, "categorical_features": "from_dtype"}
    if task in ("two", "three"):
        return "HistGradientBoostingClassifier", HistGradientBoostingClassifier(**options), frame
    options["loss"] = "poisson" if task == "count" else "squared_error"
    return "HistGradientBoostingRegressor", HistGradientBoostingRegressor(**options), frame


def _categorical(frame):
    return frame.assign(
        **{name: frame[name].astype("category") for name in frame if not is_number(frame[name])}
    )


def _xgboost(rng, task, frame):
    import xgboost

    options = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1, "enable_categorical": True}
    options["booster"] = _pick(rng, "gbtree", "gbtree", "dart")
    if task in ("two", "three"):
        return "xgboost classifier", xgboost.XGBClassifier(**options), _categorical(frame)
    objective = "count:poisson" if task == "count" else _pick(rng, "reg:squarederror", "reg:absoluteerror")
    return f"xgboost {objective}", xgboost.XGBRegressor(objective=objective, **options), _categorical(frame)


def _linear_booster(rng, task, frame):
    import xgboost

    frame = pd.get_dummies(frame, dtype=float)
    options = {"n_estimators": 5, "booster": "gblinear", "n_jobs": 1, "updater": "coord_descent"}
    if task in ("two", "three"):
        return "xgboost linear classifier", xgboost.XGBClassifier(**options), frame
    objective = "count:poisson" if task == "count" else "reg:squarederror"
    # Sums of large numbers of Poisson models would overflow in single precision.
    frame = frame.rank(pct=True) if task == "count" else frame
    return f"xgboost linear {objective}", xgboost.XGBRegressor(objective=objective, **options), frame


def _lightgbm(rng, task, frame):
    import lightgbm

    options = {"n_estimators": 6, "num_leaves": 5, "min_child_samples": 4, "n_jobs": 1, "verbose": -1}
    options["boosting_type"] = _pick(rng, "gbdt", "gbdt", "dart")
    options["min_data_per_group"] = 4
    if task in ("two", "three"):
        return "lightgbm classifier", lightgbm.LGBMClassifier(**options), _categorical(frame)
    objective = _pick(rng, "poisson", "tweedie") if task == "count" else _pick(rng, "regression", "quantile")
    return (
        f"lightgbm {objective}",
        lightgbm.LGBMRegressor(objective=objective, **options),
        _categorical(frame),
    )


def _catboost(rng, task, frame):
    import catboost

    options = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    options |= {"cat_features": [name for name in frame if not is_number(frame[name])], "one_hot_max_size": 9}
    options["grow_policy"] = _pick(rng, "SymmetricTree", "Depthwise")
    options |= {"one_hot_max_size": _pick(rng, 1, 9), "max_ctr_complexity": 1}
    if task in ("two", "three"):
        loss = "Logloss" if task == "two" else "MultiClass"
        return "catboost classifier", catboost.CatBoostClassifier(loss_function=loss, **options), frame
    loss = "Poisson" if task == "count" else "RMSE"
    return f"catboost {loss}", catboost.CatBoostRegressor(loss_function=loss, **options), frame


def _pipeline(rng, task, frame):
    from sklearn import compose, impute, pipeline, preprocessing

    words = [name for name in frame if not is_number(frame[name])]
    numbers = [name for name in frame if name not in words]
    scale = _pick(
        rng,
        preprocessing.StandardScaler(),
        preprocessing.QuantileTransformer(n_quantiles=9),
        preprocessing.KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
        preprocessing.SplineTransformer(n_knots=4),
        "passthrough",
    )
    filled = impute.SimpleImputer(strategy=_pick(rng, "mean", "median"), add_indicator=bool(rng.integers(2)))
    encode = _pick(rng, preprocessing.OneHotEncoder(), preprocessing.OrdinalEncoder())
    prepare = compose.ColumnTransformer(
        [("numbers", pipeline.make_pipeline(filled, scale), numbers), ("words", encode, words)],
        sparse_threshold=0,
    )
    name, model, _ = _sklearn(rng, task, frame[numbers])
    return f"pipeline of {scale} and {name}".replace("\n", ""), pipeline.make_pipeline(prepare, model), frame


def _wrapped(rng, task, frame):
    from sklearn import compose, ensemble, linear_model, model_selection, preprocessing

    classes = task in ("two", "three")
    base = _pick(rng, _sklearn, _xgboost, _lightgbm)
    dummies = pd.get_dummies(frame, dtype=float).fillna(0.25)
    name, model, dummies = base(rng, task, dummies)
    other = linear_model.LogisticRegression(max_iter=50) if classes else linear_model.Ridge()
    way = int(rng.integers(6))
    if way == 0:
        vote = ensemble.VotingClassifier if classes else ensemble.VotingRegressor
        options = {"voting": "soft"} if classes else {}
        return f"vote of {name}", vote([("a", model), ("b", other)], weights=[2, 1], **options), dummies
    if way == 1:
        stack = ensemble.StackingClassifier if classes else ensemble.StackingRegressor
        final = linear_model.LogisticRegression() if classes else linear_model.Ridge()
        return f"stack of {name}", stack([("a", model), ("b", other)], final, cv=3), dummies
    if way == 2:
        bag = ensemble.BaggingClassifier if classes else ensemble.BaggingRegressor
        return f"bag of {name}", bag(model, 3, max_features=0.8, random_state=0), dummies
    if way == 3 or (way > 3 and classes):
        if not classes:
            return f"search of {name}", model_selection.GridSearchCV(model, {}, cv=2), dummies
        return _calibrated(rng, name, model, dummies)
    if way == 4:
        forth, back = _pick(rng, (np.arcsinh, np.sinh), (np.cbrt, _cube), (np.exp, np.log))
        wrapped = compose.TransformedTargetRegressor(
            model, func=forth, inverse_func=back, check_inverse=False
        )
        if "poisson" in name.lower() or "tweedie" in name or "log" in back.__name__:
            name, wrapped = (
                "Ridge",
                compose.TransformedTargetRegressor(other, func=np.arcsinh, inverse_func=np.sinh),
            )
        return f"{back.__name__} of {name} (mean)", wrapped, dummies
    rounded = compose.TransformedTargetRegressor(
        other, inverse_func=np.round, func=_same, check_inverse=False
    )
    scaled = compose.TransformedTargetRegressor(
        other, transformer=preprocessing.QuantileTransformer(n_quantiles=9)
    )
    return _pick(rng, ("rounded (mean)", rounded, dummies), ("quantiles (mean)", scaled, dummies))


def _linear_sum(rng, task, frame):
    """Return a sum of linear models behind separate steps, some with sparse columns."""
    from sklearn import compose, ensemble, impute, linear_model, multioutput, pipeline, preprocessing

    words = [name for name in frame if not is_number(frame[name])]
    numbers = [name for name in frame if name not in words]

    def part(columns):
        filled = impute.SimpleImputer(add_indicator=bool(rng.integers(2)))
        scaled = pipeline.make_pipeline(filled, _pick(rng, preprocessing.StandardScaler(), "passthrough"))
        encode = preprocessing.OneHotEncoder(handle_unknown="ignore")
        steps = [("numbers", scaled, columns), ("words", encode, words)]
        prepare = compose.ColumnTransformer(steps, sparse_threshold=float(rng.integers(2)))
        return pipeline.make_pipeline(prepare, linear_model.Ridge())

    members = [("a", part(numbers)), ("b", part(numbers[1:]))]
    prepare, ridge = members[0][1]
    bag = ensemble.BaggingRegressor(ridge, 3, max_features=0.7, random_state=0)
    scale = preprocessing.RobustScaler()
    name, model = _pick(
        rng,
        ("vote", ensemble.VotingRegressor(members, weights=[1, 3])),
        ("stack", ensemble.StackingRegressor(members, linear_model.Ridge(), cv=2)),
        ("scaled target", compose.TransformedTargetRegressor(members[0][1], transformer=scale)),
        ("several targets", multioutput.MultiOutputRegressor(members[0][1])),
        ("bag", pipeline.make_pipeline(prepare, bag)),
    )
    return f"{name} of pipelines of linear models (mean)", model, frame


def _calibrated(rng, name, model, dummies):
    from sklearn.calibration import CalibratedClassifierCV

    method = _pick(rng, "sigmoid", "isotonic")
    return f"calibrated by {method} {name}", CalibratedClassifierCV(model, method=method, cv=2), dummies


def _projected(rng, task, frame):
    from sklearn import decomposition, linear_model, pipeline, preprocessing

    dummies = pd.get_dummies(frame, dtype=float).fillna(0.25)
    few = int(rng.integers(1, dummies.shape[1]))
    project = _pick(
        rng, decomposition.PCA(few, whiten=bool(rng.integers(2))), decomposition.TruncatedSVD(few)
    )
    model = linear_model.LogisticRegression(max_iter=50)
    if task in ("mean", "count"):
        model = linear_model.PoissonRegressor() if task == "count" else linear_model.Ridge()
    scale = _pick(rng, preprocessing.StandardScaler(), preprocessing.MinMaxScaler())
    return f"pipeline of {project} and {model}", pipeline.make_pipeline(scale, project, model), dummies


def _survival(rng, task, frame):
    """Return a survival model of numbers between 0 and 1, so that hazards do not overflow."""
    from sksurv import ensemble, linear_model

    few = {"n_estimators": int(rng.integers(1, 6)), "random_state": 0}
    forest = {**few, "min_samples_leaf": 4, "max_depth": _pick(rng, 2, None)}
    model = _pick(
        rng,
        ensemble.RandomSurvivalForest(**forest),
        ensemble.ExtraSurvivalTrees(**forest),
        ensemble.GradientBoostingSurvivalAnalysis(max_depth=2, **few),
        ensemble.ComponentwiseGradientBoostingSurvivalAnalysis(**few),
        linear_model.CoxPHSurvivalAnalysis(alpha=1.0),
        linear_model.CoxnetSurvivalAnalysis(alphas=[0.01], fit_baseline_model=True),
    )
    ranks = pd.get_dummies(frame, dtype=float).rank(pct=True).fillna(0.25)
    return f"survival {type(model).__name__} (mean)", model, ranks


def _cube(values):
    return values**3


def _same(values):
    return values


MAKERS = (
    _sklearn,
    _started,
    _linear_booster,
    _linear_sum,
    _hist,
    _xgboost,
    _lightgbm,
    _catboost,
    _pipeline,
    _pipeline,
    _projected,
    _survival,
    _wrapped,
    _wrapped,
)


def run_model(seed, makers=MAKERS):
    """Check one random model; return its library and how it was evaluated, or that it was refused."""
    rng = np.random.default_rng(seed)
    case = Case(rng, makers)
    try:
        evaluator = check_effects(case)
        check_local(case)
        check_pair(case)
        if rng.random() < 0.3 and len(case.frame) <= 60:
            check_strengths(case)
    except paribus.ParibusError as error:
        return f"refused: {type(error).__name__}"
    return evaluator


def run(seeds, makers, stop):
    """Check models until a time, print how they ended, and return whether none failed."""
    ends, failures, started = Counter(), [], time.time()
    for seed in seeds:
        if time.time() > stop:
            break
        try:
            ends[run_model(seed, makers)] += 1
        except Exception as error:
            where = "" if isinstance(error, AssertionError) else traceback.format_exc(limit=-2)
            failures.append(f"seed {seed}: {type(error).__name__}: {error!s:.300} {where}")
            print(f"  failed: {failures[-1]}", flush=True)
        if (seed + 1) % 100 == 0:
            print(f"  models up to seed {seed}: {dict(ends)}, {len(failures)} failed", flush=True)
    ran = sum(ends.values()) + len(failures)
    print(
        f"{ran:,} models in {time.time() - started:.0f} s: {dict(ends)}, {len(failures)} failed", flush=True
    )
    return not failures


def main():
    """Check as many models as requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    kinds = {maker.__name__[1:]: maker for maker in MAKERS}
    parser.add_argument("--kinds", nargs="*", choices=kinds, default=list(kinds), help="kinds of models")
    parser.add_argument("--minutes", type=float, default=120, help="when to stop, finished or not")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    models = range(given.seed, given.seed + given.models)
    sys.exit(not run(models, [kinds[kind] for kind in given.kinds], time.time() + 60 * given.minutes))


if __name__ == "__main__":
    main()
