"""Regions of the data in which the individual curves of a feature are alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from paribus._text import at_value, count, number, percent
from paribus._typing import FrameBackend
from paribus.errors import did_you_mean
from paribus.notes import Note, NoteCode
from paribus.results.groups import GroupedResults
from paribus.results.mixins import PlotMixin
from paribus.results.provenance import Provenance
from paribus.results.schema import Record, record
from paribus.results.tidy import native


@record
class RegionSplit(Record):
    """A split of rows into two sides by the values of one feature.

    A row is on the left side where its number is at most ``threshold``, or where its category is one of
    ``categories``. If both are None, the split separates known values (left) from missing ones.

    Attributes
    ----------
    node : int
        The rows that are split: all rows are node 1, and the sides of node n are 2n (left) and 2n + 1.
    feature : str
        Name of the feature.
    threshold : number, date or None
        Largest value on the left side; None for categories.
    categories : tuple or None
        Categories on the left side; None for numbers and dates.
    missing : {"left", "right"} or None
        Side of missing values, None if the split rows have none.
    rows : int
        Number of rows that are split.
    gain, gain_error : float
        Decrease of the heterogeneity of all rows by the split and its standard error, estimated on the half
        of the rows that did not select it.
    share_of_heterogeneity : float
        The gain as a share of the heterogeneity of the rows that are split, both on that half.
    share_of_variance : float
        The gain as a share of ``prediction_variance`` of the result.

    Notes
    -----
    ``share_of_variance`` divides an estimate from half of the rows by a variance of all rows of the search.
    It can exceed 1 if few rows have most of the gain.
    """

    node: int
    feature: str
    threshold: Any
    categories: tuple[Any, ...] | None
    missing: Literal["left", "right"] | None
    rows: int
    gain: float
    gain_error: float
    share_of_heterogeneity: float
    share_of_variance: float

    @property
    def sides(self) -> tuple[str, str]:
        """Both sides in words, such as ``("age <= 35", "age > 35")``."""
        return region_text([(self, 0)]), region_text([(self, 1)])


def region_text(path: Sequence[tuple[RegionSplit, int]], show: Callable[[Any], str] = at_value) -> str:
    """Return the rows in words that are on given sides of splits: 0 for left, 1 for right.

    Several thresholds of one feature become one interval. ``show`` returns a value as text.
    """
    by_feature: dict[str, list[tuple[RegionSplit, int]]] = {}
    for split, side in path:
        by_feature.setdefault(split.feature, []).append((split, side))
    parts = (part for name, own in by_feature.items() for part in _conditions(name, own, show))
    return " and ".join(parts) or "all rows"


def _conditions(
    name: str, path: Sequence[tuple[RegionSplit, int]], show: Callable[[Any], str]
) -> Iterator[str]:
    """Yield the conditions on one feature that sides of splits are, in words."""
    known = [(split, side) for split, side in path if split.threshold is not None]
    lower = max((split.threshold for split, side in known if side), default=None)
    upper = min((split.threshold for split, side in known if not side), default=None)
    missing = [split.missing == ("left", "right")[side] for split, side in path]
    also = " or missing" if all(missing) else ""
    if lower is not None and upper is not None:
        yield f"{show(lower)} < {name} <= {show(upper)}{also}"
    elif known:
        yield f"{name} > {show(lower)}{also}" if upper is None else f"{name} <= {show(upper)}{also}"
    for split, side in path:
        if split.categories is not None:
            values = ", ".join(map(show, split.categories))
            single = len(split.categories) == 1
            words = (" =", " is not") if single else (" in", " not in")
            yield f"{name}{words[side]} {values if single else f'({values})'}{also}"
        elif split.threshold is None:
            yield f"{name} is {'missing' if side else 'known'}"


@record
class Region(Record):
    """Rows in which the individual curves of a feature are alike, among those of the search.

    Attributes
    ----------
    node : int
        Number of the region, see `RegionSplit`.
    text : str
        The region in words, such as ``"region = north and age <= 35"``.
    rows : int
        Number of rows of the search.
    weight : float
        Sum of their weights.
    heterogeneity : float
        Mean squared distance of the centered curves of the region from their average, over all its rows.
    """

    node: int
    text: str
    rows: int
    weight: float
    heterogeneity: float


@record
class FeatureRegions(PlotMixin):
    """The regions of one feature: splits of all rows into parts with similar individual curves.

    Attributes
    ----------
    feature_names : tuple of one str
        Name of the feature.
    splits : tuple of RegionSplit
        The kept splits, that of all rows first. Empty if no split was kept.
    regions : tuple of Region
        The parts that the splits lead to; without a split all rows.
    heterogeneity, heterogeneity_within : float
        Mean squared distance of the centered curves from their average: over all rows of the search, and
        within regions.
    prediction_variance : float
        Variance of the prediction over all rows of the search, summed over outputs.
    curves : GroupedResults
        The partial dependence in each region, by its text, with standard errors.
    notes : tuple of Note
        Caveats as plain sentences.
    provenance : Provenance
        How the result was computed.

    Notes
    -----
    Splits, regions and heterogeneity describe the rows of the search: at most 20,000, whose number is
    ``provenance.sampled_rows`` if they are a sample. Curves are averages over all rows, as their groups.
    Heterogeneity includes the half that selected the splits. Its decrease within regions is therefore not
    the gain that the other half measures: `RegionSplit.gain`, `explained`.

    `plot` draws the curves of up to five regions in one panel, and of more regions in panels. Without a split
    it draws the curve of all rows.
    """

    stored = "feature_regions"

    feature_names: tuple[str, ...]
    splits: tuple[RegionSplit, ...]
    regions: tuple[Region, ...]
    heterogeneity: float
    heterogeneity_within: float
    prediction_variance: float
    curves: GroupedResults
    notes: tuple[Note, ...]
    provenance: Provenance

    @property
    def explained(self) -> tuple[float, float]:
        """Share of the prediction variance that the splits gain on held-out rows, and its standard error."""
        share = sum(split.share_of_variance for split in self.splits)
        error = math.hypot(*(split.gain_error for split in self.splits))
        return share, error / self.prediction_variance if self.prediction_variance else 0.0

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a table with one row per region.

        Its columns are ``feature``, ``region``, ``rows``, ``weight`` and ``heterogeneity``.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return native(_columns([self]), self.provenance.backend, backend)

    def _lines(self) -> Iterator[str]:
        """Yield the regions in words, or why there are none."""
        variance = self.prediction_variance
        spread = f"curves differ by {number(math.sqrt(self.heterogeneity))}"
        share = f", {percent(self.heterogeneity / variance)} of the prediction variance" if variance else ""
        if not self.splits:
            yield f"{spread}{share}; no split was kept"
        else:
            within = number(math.sqrt(self.heterogeneity_within))
            rest = f", {percent(self.heterogeneity_within / variance)}" if variance else ""
            yield f"{spread}{share}; within {len(self.regions)} regions by {within}{rest}"
            for region in self.regions:
                apart = number(math.sqrt(region.heterogeneity))
                yield f"{region.text}: {count(region.rows, 'row')}, curves differ by {apart}"


@record
class Regions(PlotMixin, Mapping[str, FeatureRegions]):
    """A mapping from the name of a feature to its regions, the most heterogeneous feature first.

    Attributes
    ----------
    features : tuple of FeatureRegions
        The values of the mapping, in its order.
    skipped : tuple of str
        Why features were skipped when all features were requested.

    Notes
    -----
    `plot` draws the features that have splits, and names the others below.
    """

    stored = "regions"

    features: tuple[FeatureRegions, ...]
    skipped: tuple[str, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, FeatureRegions]:
        return {one.feature_names[0]: one for one in self.features}

    def __getitem__(self, key: str) -> FeatureRegions:
        if key in self._by_name:
            return self._by_name[key]
        raise KeyError(f"no regions of {key!r}{did_you_mean(str(key), self._by_name)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def provenance(self) -> Provenance:
        """How the result was computed."""
        return self.features[0].provenance

    @property
    def notes(self) -> tuple[Note, ...]:
        """Caveats over all features, and which features were left out."""
        notes = (note for one in self.features for note in one.notes)
        skipped = (NoteCode.FEATURE_SKIPPED.note(reason=reason) for reason in self.skipped)
        return tuple(dict.fromkeys((*skipped, *notes)))

    def to_frame(self, *, backend: FrameBackend | None = None) -> Any:
        """Return a table with one row per feature and region.

        Its columns are ``feature``, ``region``, ``rows``, ``weight`` and ``heterogeneity``.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return native(_columns(list(self.features)), self.provenance.backend, backend)


def _columns(features: list[FeatureRegions]) -> dict[str, list[Any]]:
    """Return the columns of a table of regions."""
    rows = [(one.feature_names[0], region) for one in features for region in one.regions]
    return {
        "feature": [name for name, _ in rows],
        "region": [region.text for _, region in rows],
        "rows": [region.rows for _, region in rows],
        "weight": [region.weight for _, region in rows],
        "heterogeneity": [region.heterogeneity for _, region in rows],
    }
