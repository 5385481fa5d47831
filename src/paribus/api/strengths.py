"""Strengths: how much a feature matters, and how much of that is interaction."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from paribus import budget
from paribus.api.background import Background, Looking, has_names, identity_of, looked, opened
from paribus.api.options import AUTO, checked, seed_of, size_of, whole
from paribus.api.record import of_model, recorded
from paribus.api.running import Running, announce
from paribus.data.features import resolve_each
from paribus.data.rows import Parts, Rows
from paribus.errors import FeatureError, OptionError, RefusalError
from paribus.evaluators.interactions import Found
from paribus.evaluators.interactions.ask import StrengthAsk
from paribus.models import Model, adapt, only_one
from paribus.results import HStatistics, Provenance
from paribus.results.strengths import h_statistics_of
from paribus.states import Keyed

if TYPE_CHECKING:
    from paribus.data.scan.reading import Reading
    from paribus.evaluators.interactions.plan import StrengthPlan

SUBSAMPLE = 500  # rows crossed with each other where the model itself is asked, unless told otherwise


def h_statistic(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    subsample: int | str | None = "auto",
    random_state: Any = None,
    feature_names: Any = None,
    response_method: str = "auto",
    overall: bool = True,
    threeway: int = 0,
    method: str = "auto",
    target_names: Any = None,
    n_jobs: int | None = None,
    max_memory: float | str | None = None,
    progress: bool | None = None,
    n_max: int | None = None,
    executor: Any = None,
    checkpoint: Any = None,
    on_error: str = "raise",
) -> HStatistics:
    r"""Compute Friedman and Popescu's H-statistics: how much of a model is interaction, and between whom.

    With :math:`F_S` the partial dependence on the features in S, centred to mean zero and evaluated at the
    rows themselves, :math:`F` the centred prediction, and :math:`\langle\cdot\rangle` a weighted mean:

    .. math::
        H_{jk}^2 &= \langle (F_{jk} - F_j - F_k)^2 \rangle / \langle F_{jk}^2 \rangle \\
        H_j^2 &= \langle (F - F_j - F_{\setminus j})^2 \rangle / \langle F^2 \rangle \\
        H_{jkl}^2 &= \langle (F_{jkl} - F_{jk} - F_{jl} - F_{kl} + F_j + F_k + F_l)^2 \rangle
                     / \langle F_{jkl}^2 \rangle \\
        H^2 &= \langle (F - \textstyle\sum_j F_j)^2 \rangle / \langle F^2 \rangle

    Parameters
    ----------
    estimator, X
        As for `partial_dependence`.
    features : sequence, optional
        Names or positions of the features, or a mask; every column by default.
    sample_weight : array of shape (n,), or str, optional
        Weights of the rows: in every average, and in the standard errors. The name of a column where rows are
        read.
    subsample : int, None or "auto"
        Rows to use, drawn without replacement; None for all. ``"auto"`` is every row where that takes no
        more than a few passes (sums of trees), and 500 where n rows take n² predictions per pair. What was
        used is in the provenance, the repr and the plots.
    random_state : int or numpy Generator, optional
        Seed of the draw; None is 0, so that the same call gives the same number.
    feature_names, response_method, target_names, n_jobs, max_memory, progress
        As for `partial_dependence`. On the probability scale a model that is additive in its margin
        interacts as well; ``response_method="decision_function"`` asks about the margin.
    overall : bool
        Also each feature's interaction with all others, and the total over all features.
    threeway : int
        Also the triples of so many features, those that interact most.
    method : {"auto", "exact", "brute"}
        ``"exact"`` insists on a shortcut, ``"brute"`` on asking the model itself.
    n_max : int, optional
        Another name of ``subsample``.
    executor, checkpoint, on_error
        As for `partial_dependence`.

    Returns
    -------
    HStatistics
        With ``feature_pairs``, ``h_squared_pairwise``, ``numerator_pairwise``, ``denominator_pairwise``,
        ``standard_error_pairwise``, the same for ``overall``, ``total`` and ``threeway``, and `strongest`.

    See Also
    --------
    feature_importance : How much each feature matters.

    Notes
    -----
    Compare pairs by their strength, the root of the numerator, which is in units of the prediction: H²
    divides by the joint effect, so that two features that do nothing can have any H². Standard errors are
    those of a random sample of rows, both as rows where the effects are evaluated and as rows they are
    averaged over.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> H = paribus.h_statistic(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X)
    >>> H.strongest(1)[0].features
    (0, 1)
    >>> H["feature_pairs"]
    [(0, 1), (0, 2), (1, 2)]
    >>> (H["h_squared_pairwise"] > 0.5).tolist()
    [True, False, False]
    """
    only_one(estimator, "h_statistic")
    checked(overall=overall, progress=progress)
    running = Running.of(progress, executor, checkpoint)
    size = size_of(subsample, n_max)
    rows = opened(estimator, X, sample_weight, feature_names, on_error, running)
    named = has_names(rows, feature_names)
    call = Strengths.of(estimator, rows, named, features, size, random_state, on_error, running)
    if len(call.features) < 2:
        raise OptionError(f"features={features!r}: an interaction needs at least two features")
    most = _threeway(threeway, len(call.features))
    model, plan, found, provenance = call.find(
        pairwise=True,
        overall=overall,
        threeway=most,
        response_method=response_method,
        target_names=target_names,
        method=method,
        n_jobs=n_jobs,
        max_memory=max_memory,
    )
    return h_statistics_of(found, plan.ask, call.tokens, model, provenance)


def _threeway(threeway: Any, features: int) -> int:
    most = whole("threeway", threeway, 0)
    if most and min(most, features) < 3:
        raise OptionError(
            f"threeway={threeway!r} of {features} features has no triple; it must be 0 or at least 3"
        )
    return most


@dataclass(frozen=True, eq=False)
class Strengths:
    """What the verbs of strength start from, once their plain arguments are checked."""

    started: float
    estimator: Any
    opened: Rows | Reading
    features: tuple[int, ...]
    tokens: tuple[str | int, ...]
    size: int | str | None
    seed: int
    on_error: str
    running: Running

    @classmethod
    def of(
        cls,
        estimator: Any,
        rows: Rows | Reading,
        named: bool,
        features: Any,
        size: int | str | None,
        random_state: Any,
        on_error: str,
        running: Running,
    ) -> Strengths:
        """Find out which features are meant."""
        started = perf_counter()
        chosen, tokens = resolve_each(features, rows.header, named)
        seed = seed_of(random_state)
        return cls(started, estimator, rows, chosen, tokens, size, seed, on_error, running)

    def find(
        self,
        *,
        pairwise: bool,
        overall: bool,
        threeway: int,
        response_method: str,
        target_names: Any,
        method: str,
        n_jobs: Any,
        max_memory: Any,
    ) -> tuple[Model, StrengthPlan, Found, Provenance]:
        """Follow the path of a call: model, rows, plan, folds."""
        threads = None if n_jobs is None else budget.threads(n_jobs)
        memory = budget.memory(max_memory)
        adapted = partial(adapt, self.estimator, response_method=response_method, target_names=target_names)
        if isinstance(self.opened, Rows):
            rows: Background = self.opened
            model = adapted(rows.table)
        else:
            looking = Looking.of(self.seed, n_jobs, max_memory, self.on_error, self.running)
            rows, model, _ = looked(self.opened, adapted, {}, looking)

        @cache
        def drawn(size: int) -> Rows:
            if isinstance(rows, Rows):
                return rows.keep(rows.chosen(size, self.seed))
            self.running.passes += 1
            return rows.subsample(size, self.seed)

        def asking(shortcut: bool) -> StrengthAsk:
            used = self._used(rows, shortcut, drawn)
            given = max_memory is not None
            asked = (self.features, pairwise, overall, threeway, used, self.seed, memory, threads, given)
            return StrengthAsk(*asked)

        with ThreadPoolExecutor(1) as pool:
            fingerprint = pool.submit(rows.fingerprint)
            plan, found = self._found(model, asking, method, rows.counted)
        return model, plan, found, self._provenance(rows, model, plan, found, memory, fingerprint.result())

    def _used(self, rows: Background, shortcut: bool, drawn: Callable[[int], Rows]) -> Background:
        """Return the rows to use: those with weight, or a draw of them."""
        size = SUBSAMPLE if self.size == AUTO and not shortcut else self.size
        if isinstance(size, int):
            return drawn(size)
        if isinstance(rows, Rows) and not shortcut:
            return rows.keep(rows.chosen(None, self.seed))
        if not shortcut:
            raise OptionError(
                f"subsample=None asks the model about {len(rows):,} rows crossed with each other; X is read "
                "because it is large: give the number of rows to draw"
            )
        return rows

    def _found(self, model: Model, asking: Any, method: str, counted: int) -> tuple[StrengthPlan, Found]:
        """Choose an evaluator and let it fold; one that refuses what it meets makes way for the next."""
        # Loaded here, so that `import paribus` costs no more than it must.
        from paribus.evaluators.interactions.plan import choose_strengths

        refused: dict[str, str] = {}
        while True:
            try:
                falling_back = partial(self._falling_back, counted)
                plan = choose_strengths(model, asking, method, refused, falling_back)
            except FeatureError as error:
                raise FeatureError(f"{error}; or leave it out: name the others in features=") from error
            try:
                return plan, plan.evaluator.find(partial(self._fold, model, plan))
            except RefusalError as refusal:
                refused[plan.evaluator.name] = str(refusal)

    def _falling_back(self, counted: int, short: str) -> None:
        """Warn before rows are drawn, or crossed with each other, because trees are short of memory."""
        size = SUBSAMPLE if self.size == AUTO else self.size
        rows = min(counted, size) if isinstance(size, int) else counted
        drawn = f" on {rows:,} rows drawn from {counted:,}" if self.size == AUTO and rows < counted else ""
        announce(
            f"max_memory is too small for the shortcut, so the model is evaluated{drawn}, every row with the "
            f"values of every other: about {rows:,} predictions for each row and pair ({short})"
        )

    def _fold(
        self, model: Model, plan: StrengthPlan, evaluator: Any, block_rows: int, parts: Parts, threads: int
    ) -> Keyed:
        rows, doing = plan.ask.rows, type(evaluator).__name__.lower()
        identity = None
        if not isinstance(rows, Rows):
            ask, rowwise = plan.ask, getattr(evaluator, "pairs", ()) is None
            asked = (ask.features, ask.pairwise, ask.overall, ask.threeway, ask.seed)
            settings = (doing, block_rows, parts, asked, rowwise)
            identity = identity_of(rows, model, settings, plan.evaluator.sample.numbers)
        reads = isinstance(self.opened, Rows) or not isinstance(rows, Rows)
        blocks = rows.blocks(block_rows, parts)
        return self.running.fold(evaluator, blocks, threads, doing=doing, counts=reads, identity=identity)

    def _provenance(
        self,
        rows: Background,
        model: Model,
        plan: StrengthPlan,
        found: Found,
        memory: int,
        fingerprint: str,
    ) -> Provenance:
        used = plan.ask.rows.counted
        drawn, witnesses = used < rows.counted, len(plan.evaluator.sample.numbers)
        return recorded(
            rows,
            self.started,
            fingerprint,
            **of_model(model),
            estimand="interventional",
            evaluator=plan.evaluator.name,
            why=plan.why,
            how=plan.evaluator.how,
            refusals=plan.refusals,
            sampled_rows=used if drawn else None,
            seed=self.seed if drawn or witnesses < used else None,
            points=used,
            predictions=found.predictions,
            standard_error_rows=witnesses,
            block_rows=plan.evaluator.block_rows,
            threads=plan.evaluator.threads,
            max_memory=memory,
            passes=self.running.passes,
            executor=self.running.where,
        )
