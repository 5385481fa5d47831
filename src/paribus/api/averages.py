"""Marginal and observed: averages over the rows near each value, as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from paribus import budget
from paribus.api.background import Background, Looking, identity_of, looked
from paribus.api.call import SEED, Axes, Call, plain
from paribus.api.options import AUTO
from paribus.api.record import of_model, recorded
from paribus.api.running import Running
from paribus.data.rows import Rows
from paribus.data.summary import Summary
from paribus.data.table import Table
from paribus.errors import FeatureError, OptionError
from paribus.evaluators.plan import fitted
from paribus.grid import SPLITS, GridOptions
from paribus.models import Model, adapt, only_one
from paribus.models.adapter import named_outputs
from paribus.results import Marginals, Provenance

if TYPE_CHECKING:
    from paribus.data.scan.scanned import Scanned
    from paribus.evaluators.marginal import CellMeans
    from paribus.models.scoring import Outcome

NO_MODEL = {
    "model": "no model",
    "model_library": "",
    "model_version": "",
    "response": "none",
    "scale": "observed",
    "model_digest": "",
}


def marginal(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Any = None,
    response_method: str = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int | str = 20,
    custom_values: Mapping[Any, Any] | None = None,
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: str = "raise",
) -> Marginals:
    r"""Average predictions, and what came out, over the rows near each value of a feature.

    .. math:: M_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i f(x_i) \qquad
              O_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i y_i \qquad R_c = O_c - M_c

    over the cells :math:`c` around the points of the axis that `effects` lays out with the same options, so
    that one can be drawn on top of the other: shape ``(n_outputs, g)``. Where a partial dependence sets the
    feature of every row to a value, this takes the rows that have it, as they are (the M-plot): with it come
    all features that depend on it. With ``y``, averages of what came out and of residuals tell where the
    model is wrong.

    The cell of a number reaches half-way to its neighbours, and as far on the outer side of an end point.
    Rows further out are in no cell, so that an end point stands for rows near it and not for a long tail, and
    the support is that of the partial dependence; `Marginal.outside` tells what share of the weight that is.
    With ``percentiles=(0, 1)`` the grid spans all rows, and none is outside.

    Parameters
    ----------
    estimator : fitted model, callable or None
        As for `partial_dependence`; None to average ``y`` alone.
    X
        As for `partial_dependence`.
    features : sequence, optional
        Names or positions, one result each. Every column by default; one that cannot be laid out is skipped,
        and said in the notes.
    y : array of shape (n,) or (n, n_outputs), or str, optional
        What came out: numbers, or the labels of a classifier with probabilities, which become indicators of
        the positive class, or of each of several. Where X is read, the name of the column that has it, which
        is not shown to a model unless it was fitted on it, or a list of names, one for each output.
    sample_weight, categorical_features, feature_names, response_method, target_names
        As for `partial_dependence`.
    percentiles, grid_resolution, custom_values
        As for `partial_dependence`, whose axes these are; fewer cells by default, as each needs rows of its
        own.
    n_jobs, max_memory, progress, executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    Marginals
        A mapping from the feature's name to `Marginal`, strongest first, each with ``predicted``,
        ``observed``, ``residual``, their standard errors, ``support``, ``rows``, ``to_frame()`` and
        ``plot()``.

    See Also
    --------
    effects : What the prediction does when a feature is set, all else as it is.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> result = paribus.marginal(lambda X: 2 * X[:, 0], X, y=[0, 1, 2, 4])
    >>> result["x0"].predicted, result["x0"].observed
    (array([[0., 2.]]), array([[0.5, 3. ]]))
    >>> result["x0"].residual, result["x0"].residual_error
    (array([[0.5, 1. ]]), array([[0.5, 1. ]]))
    """
    only_one(estimator, "marginal")
    grid = GridOptions.of(percentiles, grid_resolution)
    running = Running.of(progress, executor, checkpoint)
    if estimator is None:
        _without_model(y, response_method, grid)
    call = Call.of(estimator, X, sample_weight, feature_names, grid, "average", False, on_error, running, y=y)
    asked = _single(call, features)
    axes = Axes.of(call.header, asked, grid, categorical_features, custom_values, features is None)
    averaging = Averaging(call, asked, axes, response_method, target_names)
    return averaging.answer(n_jobs, max_memory)


def _without_model(y: Any, response_method: str, grid: GridOptions) -> None:
    """Refuse what needs a model where there is none."""
    if y is None:
        raise OptionError("estimator=None leaves nothing to average without y; pass a model, or y, or both")
    if response_method != AUTO:
        raise OptionError(f"response_method={response_method!r} has no meaning without a model; leave it out")
    if grid.splits:
        raise OptionError(f"grid_resolution={SPLITS!r} needs the trees of a model; give a whole number")


def _single(call: Call, features: Any) -> tuple[tuple[int, ...], ...]:
    """Return the column of each feature, or refuse several together."""
    columns = len(call.header.given)
    if hasattr(features, "__len__") and not isinstance(features, str) and len(features) > columns:
        raise FeatureError(
            f"features= has {len(features)} entries and X {columns} columns; pass what came out as y="
        )
    asked = call.asked(features)
    for group in asked:
        if len(group) > 1:
            together = ", ".join(repr(call.names[j]) for j in group)
            raise FeatureError(f"averages near a value are of one feature, not of {together} together")
    return asked


@dataclass(frozen=True)
class Averaging:
    """What is averaged, near which points."""

    call: Call
    asked: tuple[tuple[int, ...], ...]
    axes: Axes
    response_method: str
    target_names: Any

    def answer(self, n_jobs: Any, max_memory: Any) -> Marginals:
        """Follow the path of a call: model, points, fold, results."""
        # Loaded here, so that `import paribus` costs no more than it must.
        from paribus.evaluators.marginal import CellMeans
        from paribus.results.cells import marginal_of

        call = self.call
        threads = None if n_jobs is None else budget.threads(n_jobs)
        with ThreadPoolExecutor(threads or budget.threads(-1)) as pool:
            looking = Looking.of(SEED, n_jobs, max_memory, call.on_error, call.running)
            rows, model, summary = self._looked(looking)
            fingerprint = pool.submit(rows.fingerprint)
            sides = None if model is None else call.sides(model)
            laid, skipped = self.axes.laid_out(summary, rows.table, sides, pool)
        ask = call.ask(rows, self.asked, laid, max_memory, threads)
        means = CellMeans(model, self._outcome(model), ask)
        means, used = fitted(means, means.outputs)
        state = call.running.fold(
            means,
            rows.blocks(means.block_rows),
            used,
            doing="marginal",
            identity=None if isinstance(rows, Rows) else _identity(rows, means),
        )
        provenance = self._provenance(rows, means, used, fingerprint.result())
        finish = partial(
            marginal_of,
            means=means,
            output_names=self._outputs if model is None else model.output_names,
            unit=rows.unit,
            provenance=provenance,
        )
        return Marginals([*map(finish, means.axes, means.finish(state))], skipped)

    def _looked(self, looking: Looking) -> tuple[Background, Model | None, Callable[[int], Summary]]:
        """Return the rows, the model, and what tells of a feature what its axis needs to know."""
        rows = self.call.opened
        if not isinstance(rows, Rows):
            return looked(rows, self._adapted, self.axes.wanted, looking)
        model = self._adapted(rows.table)
        outcome = self._outcome(model)
        if outcome is not None and rows.target is not None:
            outcome.numbers(rows.target[rows.chosen(None, SEED)])  # fails before the model is asked about all
        return rows, model, partial(self.axes.summarised, rows)

    def _adapted(self, table: Table) -> Model | None:
        """Return the model if there is one and its answers can be compared with ``y``."""
        estimator = self.call.estimator
        if estimator is None:
            return None
        asked = {"response_method": self.response_method, "target_names": self.target_names}
        model = adapt(estimator, table, **asked)
        self._outcome(model)
        return model

    @property
    def _columns(self) -> int:
        """Columns of ``y``."""
        rows = self.call.opened
        if not isinstance(rows, Rows):
            return len(rows.target)
        return 0 if rows.target is None else rows.target[:1].size

    @property
    def _outputs(self) -> tuple[str, ...]:
        """Names of what is averaged where there is no model."""
        several = tuple(f"y {place}" for place in range(self._columns))
        return named_outputs(self.target_names, ("y",) if len(several) == 1 else several)

    def _outcome(self, model: Model | None) -> Outcome | None:
        from paribus.models.scoring import outcome_of

        return outcome_of(model, self.call.estimator, self._columns) if self._columns else None

    def _provenance(self, rows: Background, means: CellMeans, threads: int, fingerprint: str) -> Provenance:
        call, grid = self.call, self.call.grid
        return recorded(
            rows,
            call.started,
            fingerprint,
            **(NO_MODEL if means.model is None else of_model(means.model)),
            estimand=means.estimand,
            evaluator=means.name,
            why="the only way",
            how=means.how,
            percentiles=grid.percentiles,
            grid_resolution=SPLITS if grid.splits else grid.resolution,
            points=means.ask.points,
            predictions=means.predictions,
            standard_error_rows=rows.counted,
            block_rows=means.block_rows,
            threads=threads,
            max_memory=means.ask.max_memory,
            passes=call.running.passes,
            executor=call.running.where,
            rank_error=0.0 if isinstance(rows, Rows) else rows.rank_error,
        )


def _identity(rows: Scanned, means: CellMeans) -> dict[str, str]:
    """Return what a kept state is a state of; the digest of the data tells other targets."""
    points = [axis.cells.values for axis in means.axes]
    asked = [(axis.name, axis.kind, len(axis)) for axis in means.axes]
    settings = (means.name, means.block_rows, means.outcome, rows.reading.target)
    return identity_of(rows, means.model, settings, asked, *(plain(values) for values in points))
