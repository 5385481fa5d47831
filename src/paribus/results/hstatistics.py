"""How much of a model is interaction, between which features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._evaluators.interactions import Ratio, VarianceShares
from paribus._typing import FrameBackend, InteractionPlot, PlotBackend, Statistic
from paribus.errors import InputError, OptionError, check_choice, did_you_mean
from paribus.notes import Note
from paribus.results.curve_parts import chosen
from paribus.results.mixins import NotebookReprMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import array, labels, nested, record
from paribus.results.tidy import interactions_frame

if TYPE_CHECKING:
    from paribus.results.mixins import Figure

Token: TypeAlias = str | int
BY_SIZE = {2: "pairwise", 3: "threeway"}  # the statistic of so many features
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
OPTIONAL = {
    "overall": "overall=True",
    "total": "overall=True, and every column among the features",
    "threeway": "threeway= the number of features whose triples are wanted",
}
PARTS = {
    "h_squared": "share",
    "numerator": "numerator",
    "denominator": "denominator",
    "standard_error_h_squared": "ratio_error",
    "strength": "strength",
    "standard_error_strength": "strength_error",
}
# What each array is called: the statistic it is of, and the part of its mean squares.
KEYS = {f"{part}_{statistic}": (statistic, part) for statistic in STATISTICS for part in PARTS}
FIELDS = ("features", "feature_names", "output_names", "main_effect", "variance", "notes", "provenance")


@dataclass(frozen=True)
class Interaction:
    """One entry of a ranking.

    Attributes
    ----------
    features : tuple
        The features as requested: names or positions.
    output : str
        The output of the model.
    strength, standard_error : float
        Root mean square of the interaction over the data, in units of the prediction, and its error.
    h_squared, standard_error_h_squared : float
        Its share of the joint effect of these features, and the error of that.
    """

    features: tuple[Token, ...]
    output: str
    strength: float
    standard_error: float
    h_squared: float
    standard_error_h_squared: float


@record
class HStatistics(NotebookReprMixin, Mapping[str, Any]):
    r"""Friedman and Popescu's statistics, evaluated at the rows of the data.

    Each array is an attribute and a key. For each statistic ``s`` among ``pairwise``, ``overall``,
    ``threeway`` and ``total`` that was computed there are the keys ``h_squared_s``, ``numerator_s``,
    ``denominator_s``, ``standard_error_h_squared_s``, ``strength_s`` (the root of the numerator, in units of
    the prediction) and ``standard_error_strength_s``: arrays of shape ``(k,)``, ``(k, n_outputs)`` with
    several outputs; of ``total``, and as the denominator of ``overall``, a number, or ``(n_outputs,)``.
    Two or three features as a key, ``H["age", "income"]``, give their `interaction`.

    Attributes
    ----------
    features : tuple
        The features as requested: names or positions.
    feature_names, output_names : tuple of str
        Names of the features and of the outputs.
    pairs, triples : tuple of tuple of int
        Positions, among the features, of those of each entry of ``pairwise`` and ``threeway``.
    pairwise, overall, threeway, total : Ratio or None
        The statistics themselves; None where one was not requested.
    main_effect : Ratio
        Mean square of each feature's own effect, over that of the prediction.
    variance : ndarray of shape (n_outputs,)
        Mean square of the centered prediction.
    notes : tuple of Note
        Caveats as plain sentences: extrapolation, missing values, near-constant features, skipped files.
    provenance : Provenance
        How the result was computed.
    strength_by_model : ndarray of shape (m, p, n_outputs) or None
        For a list of models, the strength of each pair in each of them. All else is then the mean of the
        models' own statistics: mean squares, and :math:`H^2`.
    p_values : ndarray of shape (k, n_outputs) or None
        P-values of the test that y has no interaction of a feature with all others; 1 where the model has
        none. None without ``y`` on the scale of predictions.
    explained : VarianceShares or None
        Share of the variance of the prediction that the curves of these features reproduce, and that their
        pairs add, with standard errors.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = paribus.Explainer(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, feature_names=["a", "b", "c"])
    >>> H = explainer.h_statistic()
    >>> H["b", "a"].features, H["b", "a"].strength == H["strength_pairwise"].tolist()[0]
    (('a', 'b'), True)
    """

    stored = "h_statistics"

    features: tuple[Token, ...] = array("feature")
    feature_names: tuple[str, ...] = labels("feature")
    output_names: tuple[str, ...] = labels("output")
    pairs: tuple[tuple[int, ...], ...] = array("pair")
    triples: tuple[tuple[int, ...], ...] = array("triple")
    variance: Floats = array("output")
    main_effect: Ratio = nested("feature", "output")
    pairwise: Ratio = nested("pair", "output")
    overall: Ratio | None = nested("feature", "output")
    threeway: Ratio | None = nested("triple", "output")
    total: Ratio | None = nested(1, "output")
    notes: tuple[Note, ...]
    provenance: Provenance
    strength_by_model: Floats | None = array("model", "pair", "output", default=None)
    explained: VarianceShares | None = nested("output", default=None)
    p_values: Floats | None = array("feature", "output", default=None)

    def _check(self) -> None:
        positions = set(range(len(self.features)))
        for name, groups, ways in (("pairs", self.pairs, 2), ("triples", self.triples, 3)):
            if not all(len(group) == ways and positions.issuperset(group) for group in groups):
                raise InputError(f"{name} must be {ways} positions among {len(self.features)} features each")
        if self.threeway is None and self.triples:
            raise InputError("triples and threeway need each other; pass both or none")

    @property
    def feature_pairs(self) -> list[tuple[Token, ...]]:
        """The pairs, by requested name or position."""
        return self._members("pairwise")

    @property
    def feature_triples(self) -> list[tuple[Token, ...]]:
        """The triples, by requested name or position."""
        return self._members("threeway")

    def _members(self, statistic: str) -> list[tuple[Token, ...]]:
        return [tuple(self.features[position] for position in group) for group in self.groups(statistic)]

    def groups(self, statistic: str) -> tuple[tuple[int, ...], ...]:
        """Return the features of each entry of a statistic, as positions in ``features``."""
        every = range(len(self.features))
        some = {"pairwise": self.pairs, "threeway": self.triples, "total": (tuple(every),)}
        return some.get(statistic, tuple((position,) for position in every))

    def ratio(self, statistic: str) -> Ratio:
        """Return the mean squares behind a statistic."""
        check_choice("statistic", statistic, Statistic)
        result: Ratio | None = getattr(self, statistic)
        if result is None:
            raise OptionError(
                f"statistic={statistic!r} was not computed; there are {', '.join(self.computed)}"
            )
        return result

    @property
    def computed(self) -> tuple[str, ...]:
        """The statistics that were computed."""
        return tuple(name for name in STATISTICS if getattr(self, name) is not None)

    def __iter__(self) -> Iterator[str]:
        yield from ("feature_pairs",) if self.threeway is None else ("feature_pairs", "feature_triples")
        yield from (key for key, (statistic, _) in KEYS.items() if statistic in self.computed)
        yield from FIELDS

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, tuple):
            return self._entry_of(key) is not None
        return any(key == known for known in self)

    def __getitem__(self, key: str | tuple[Token, ...]) -> Any:
        if isinstance(key, tuple):
            return self.interaction(*key)
        statistic, part = KEYS.get(str(key), ("", ""))
        if key in tuple(self):
            return self._part(statistic, part) if part else getattr(self, key)
        if statistic in OPTIONAL:
            raise KeyError(f"{key!r} was not computed; it needs {OPTIONAL[statistic]}")
        raise KeyError(f"there is no {key!r}{did_you_mean(str(key), self)}")

    def __getattr__(self, name: str) -> Any:
        # Called for what is not a field: the arrays of each statistic.
        if name in KEYS and getattr(self, KEYS[name][0]) is not None:
            return self[name]
        raise AttributeError(f"HStatistics has no {name!r}")

    def _part(self, statistic: str, part: str) -> Floats | float:
        values: Floats = getattr(self.ratio(statistic), PARTS[part])
        if (part, statistic) == ("denominator", "overall"):  # the same for every feature
            values = self.variance
        elif statistic == "total":
            values = values[0]
        values = values[..., 0] if len(self.output_names) == 1 else values
        if not values.ndim:
            return float(values)
        values.setflags(write=False)  # some are computed on the way: all are frozen
        return values

    def interaction(self, *features: Token, output: str | int | None = None) -> Interaction:
        """Return the interaction of two features, or of three if these were computed.

        Parameters
        ----------
        *features : str or int
            The features in any order, as requested or by name.
        output : str or int, optional
            One output of several, by name or position. Required if there are several.

        Returns
        -------
        Interaction
            Their strength and H², with standard errors.
        """
        if len(features) not in BY_SIZE:
            raise OptionError(f"an interaction is of 2 or 3 features; {len(features)} were given: {features}")
        statistic, entry = BY_SIZE[len(features)], self._entry_of(features)
        if entry is None:
            raise KeyError(self._unknown(features, statistic))
        outputs = chosen(self.output_names, output)
        if len(outputs) > 1:
            names = ", ".join(map(repr, features))
            raise OptionError(
                f"there are {len(outputs)} outputs; choose one: "
                f"interaction({names}, output={self.output_names[0]!r})"
            )
        return self._interactions(statistic, np.array([entry]), np.array(outputs))[0]

    def _entry_of(self, features: tuple[Any, ...]) -> int | None:
        """Return the number of the entry of two or three features, None if there is none."""
        places: dict[Token, int] = {name: place for place, name in enumerate(self.feature_names)}
        places |= {token: place for place, token in enumerate(self.features)}
        wanted = sorted(places.get(one, -1) for one in features)
        groups = self.groups(BY_SIZE[len(wanted)]) if len(wanted) in BY_SIZE else ()
        return next((at for at, group in enumerate(groups) if sorted(group) == wanted), None)

    def _unknown(self, features: tuple[Token, ...], statistic: str) -> str:
        """Return why features have no entry."""
        known = dict.fromkeys((*self.features, *self.feature_names))
        for one in features:
            if one not in known:
                named = [str(token) for token in self.features]
                return f"{one!r} is not one of the features{did_you_mean(str(one), named)}"
        names = " x ".join(map(str, features))
        if statistic not in self.computed:
            return f"{names} was not computed; it needs {OPTIONAL[statistic]}"
        some = [" x ".join(map(str, group)) for group in self._members(statistic)]
        return f"{names} was not computed{did_you_mean(names, some)}"

    def _interactions(self, statistic: str, entries: Integers, outputs: Integers) -> list[Interaction]:
        ratio, groups, at = self.ratio(statistic), self.groups(statistic), (entries, outputs)
        numbers = (ratio.strength, ratio.strength_error, ratio.share, ratio.ratio_error)
        rows = zip(*(array.tolist() for array in (*at, *(array[at] for array in numbers))), strict=True)
        return [
            Interaction(tuple(self.features[j] for j in groups[entry]), self.output_names[o], *row)
            for entry, o, *row in rows
        ]

    def strongest(
        self, k: int | None = 10, *, statistic: Statistic = "pairwise", output: str | int | None = None
    ) -> list[Interaction]:
        """Return the strongest entries of a statistic, in units of the prediction.

        H² divides by the joint effect, so that two features with negligible effects can have any H²; the
        strength does not. With several outputs each entry belongs to one of them.

        Parameters
        ----------
        k : int, optional
            Number of entries; None for all.
        statistic : {"pairwise", "overall", "threeway", "total"}
            Which one.
        output : str or int, optional
            Only entries of this output.
        """
        outputs = chosen(self.output_names, output)
        strength = self.ratio(statistic).strength[:, outputs]
        order = np.argsort(-strength, axis=None, kind="stable")[:k]
        entries, columns = np.divmod(order, len(outputs))
        return self._interactions(statistic, entries, np.array(outputs)[columns])

    def to_frame(
        self,
        statistic: Statistic | None = None,
        *,
        sort: bool = True,
        zeros: bool = True,
        backend: FrameBackend | None = None,
    ) -> Any:
        """Return a tidy long table, in the library of the user's own table.

        Columns ``statistic``, ``feature``, ``feature_2``, ``feature_3``, ``output``, ``strength``,
        ``standard_error`` (of the strength), ``h_squared``, ``standard_error_h_squared``, ``numerator``,
        ``denominator``.

        Parameters
        ----------
        statistic : {"pairwise", "overall", "threeway", "total"}, optional
            One statistic; all that were computed by default.
        sort : bool
            Strongest first, within a statistic; otherwise in the requested order.
        zeros : bool
            Keep entries that are exactly zero.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return interactions_frame(self, statistic, sort, zeros, backend)

    def figure(
        self,
        kind: InteractionPlot = "bars",
        *,
        statistic: Statistic = "pairwise",
        k: int = 15,
        output: str | int | None = None,
        title: str | None = None,
    ) -> Figure:
        """Return the plot as plain data; parameters are those of `plot`.

        Returns
        -------
        Figure
            Panels, their axes and marks, before any plotting library.
        """
        return self._figure(kind, statistic, k, output, title)

    def plot(
        self,
        kind: InteractionPlot = "bars",
        *,
        statistic: Statistic = "pairwise",
        k: int = 15,
        output: str | int | None = None,
        title: str | None = None,
        ax: Any = None,
        backend: PlotBackend = "matplotlib",
        dark: bool = False,
    ) -> Any:
        """Draw interactions of one output.

        Parameters
        ----------
        kind : {"bars", "heatmap"}
            Strongest entries with standard errors, or heat map of all pairs.
        statistic : {"pairwise", "overall", "threeway"}
            Statistic of the bars.
        k : int
            Maximum number of bars, or of features of a heat map.
        output : str or int, optional
            One output of several, by name or position. Required if there are several.
        title : str, optional
            Title of the figure; by default the statistic. An empty one leaves it out.
        ax : matplotlib Axes or sequence of them, optional
            Axes to draw on, whose position is kept: make their figure with ``layout="constrained"``. A new
            figure by default.
        backend : {"matplotlib", "plotly"}
            Plotting library.
        dark : bool
            Whether to draw on a dark background.

        Returns
        -------
        matplotlib.figure.Figure or plotly.graph_objects.Figure
            The figure, whether it has one panel or several; with ``ax`` the figure of these axes.
        """
        return self._plotted(self._figure(kind, statistic, k, output, title), backend, ax, dark)
