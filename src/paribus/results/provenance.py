"""How a number came about, so that it can be defended."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from paribus._grid import SPLITS
from paribus._states.student import student_quantile
from paribus._typing import GridResolution
from paribus.errors import RefusalCode
from paribus.meaning import Estimand, Refusal, Scale
from paribus.notes import Note, NoteCode
from paribus.results.model_record import ModelRecord

FOLDERS = re.compile(r"[^\s,;'\"()]*[/\\](?=[^/\\])")  # of the path of a file
FEW_UNITS = 30  # of fewer, standard errors are uncertain by more than 13 %
FEW = (
    f"standard errors come from fewer than {FEW_UNITS} units and are uncertain, most of all if these differ "
    "in size; intervals use Student's distribution"
)
ONE_UNIT = "all rows are of a single unit, so that there are no standard errors"
# Source of rows: number of files, version of a table, path of the first file (any characters), row groups.
TABLE = r"(?: of (?:Delta|Iceberg) \w+ \d+)?"
FILES = re.compile(rf"((?:[\d,]+ Parquet files?{TABLE} from )?)(.+)(, [\d,]+ row groups?)", re.DOTALL)
# Folders of a path from the root within quotes, as hyperparameters have it.
QUOTED_FOLDERS = re.compile(r"""(?<=['"])(?:/|~/|[A-Za-z]:[/\\])(?:[^'"]*[/\\])?(?=[^'"/\\]+['"])""")


@dataclass(frozen=True, repr=False)
class Provenance:
    """Record of how a result was computed.

    Attributes
    ----------
    date : str
        End of the computation in UTC, as ``"2026-01-31T12:00:00+00:00"``.
    paribus, numpy, python : str
        Versions used.
    pandas, numba : str or None
        Their versions; None if they were not imported.
    model, model_library, model_version : str
        The explained model; for a list the number of each kind, such as ``"5 x RandomForestRegressor"``.
    response : str
        The method that was used.
    scale : Scale
        The unit of the numbers; a plain name is that of the predictions themselves.
    estimand : Estimand
        ``"interventional"`` for partial dependence, ``"path-dependent"`` for recursion, ``"accumulated
        local"`` for ALE, ``"marginal"`` for averages; see `Estimand`.
    evaluator, why, how : str
        Name of the evaluator, why it was chosen, and a short description.
    structure : str or None
        Structure that was read, such as ``"Pipeline > ColumnTransformer > LGBMRegressor: 100 trees; city owns
        41 columns"``; None where the model itself was evaluated.
    refusals : dict of str to Refusal
        Evaluators that were not used, with the reason.
    rows, columns : int
        Shape of the background data, or of the rows of a group; in a sample, of its sampled rows.
    group : str or None
        The group whose rows were averaged, such as ``"region = north"``; None for all rows.
    unused_columns : tuple of str
        Columns of X that the model was not fitted on and does not receive.
    unknown_categories : tuple of str
        Columns of X with categories that the model does not know and treats as missing.
    backend : str
        Library of the table, or of the tables passed to the model.
    source : str or None
        Source of out-of-core data; None for data in memory.
    skipped : tuple of str
        Files skipped by ``on_error="skip"``, with the reason.
    passes : int
        Number of passes over the rows, summed over the models of a list.
    rank_error : float or None
        Bound on the error of quantile ranks, as a share of the weight: 0 if quantiles are exact, None if
        there are none.
    executor : str
        Where it was computed.
    fingerprint : str
        Digest of the background data, its weights, and its target if that was averaged.
    model_digest : str
        Digest of the model: of its name, its outputs and its predictions of a few rows.
    weights : dict or None
        Sum, number of rows with zero weight and effective number of rows, of a sample if the run used one;
        None without weights.
    sampled_rows, seed : int or None
        Number of sampled rows if not all were used; the seed of that sample, of the rows for standard errors
        of strengths, and of permutations.
    percentiles, grid_resolution
        Parameters of the grids; None if there are no grids.
    points, predictions : int
        Number of grid points (for ALE per row) and of predicted rows, summed over the models of a list,
        without trial calls.
    standard_error_rows : int
        Number of rows used for standard errors: all, or a fixed sample.
    standard_error_units : int or None
        Number of units of dependent rows among them; None if rows are independent.
    shared_units : bool
        Whether some units of a group have rows in other groups, too.
    block_rows, threads, max_memory : int
        Block size, number of threads and memory bound of the computation.
    verified_difference : float or None
        Largest difference from brute force at the points recomputed by ``verify=True``, in units of the
        prediction; None if not requested.
    seconds : float
        Duration.
    """

    date: str
    paribus: str
    numpy: str
    python: str
    pandas: str | None
    numba: str | None
    model: str
    model_library: str
    model_version: str
    response: str
    scale: Scale
    estimand: Estimand
    evaluator: str
    why: str
    how: str
    structure: str | None
    refusals: dict[str, Refusal]
    rows: int
    columns: int
    unused_columns: tuple[str, ...]
    unknown_categories: tuple[str, ...]
    backend: str
    source: str | None
    skipped: tuple[str, ...]
    passes: int
    rank_error: float | None
    executor: str
    fingerprint: str
    model_digest: str
    weights: dict[str, float] | None
    sampled_rows: int | None
    seed: int | None
    percentiles: tuple[float, float] | None
    grid_resolution: GridResolution | None
    points: int
    predictions: int
    standard_error_rows: int
    block_rows: int
    threads: int
    max_memory: int
    verified_difference: float | None
    seconds: float
    group: str | None = None
    standard_error_units: int | None = None
    shared_units: bool = False

    def __post_init__(self) -> None:
        """Take plain words for the values they are."""
        scale = self.scale if isinstance(self.scale, Scale) else Scale(self.scale)
        refusals = {
            name: reason if isinstance(reason, Refusal) else Refusal(name, RefusalCode.OTHER, reason)
            for name, reason in self.refusals.items()
        }
        vars(self).update(scale=scale, estimand=Estimand(self.estimand), refusals=refusals)

    @property
    def at_splits(self) -> bool:
        """Whether the grid has a point on each side of every split of the trees of the model."""
        return self.grid_resolution == SPLITS

    def error_quantile(self, level: float = 0.95) -> float:
        """Return the number of standard errors from an estimate to the ends of its interval.

        It is a quantile of Student's distribution. Degrees of freedom are those of the rows or units behind
        the errors.
        """
        return float(student_quantile(level, self.error_freedom))

    @property
    def error_freedom(self) -> int:
        """Degrees of freedom of the standard errors: one less than the rows or units that they come from."""
        rows = min(self.used_rows, self.standard_error_rows or 2)
        return max(1, (self.standard_error_units or rows) - 1)

    @property
    def used_rows(self) -> int:
        """Number of rows that were averaged: all, or the sample."""
        return self.rows if self.sampled_rows is None else self.sampled_rows

    def __repr__(self) -> str:
        width = max(len(field.name) for field in fields(self))
        below = "\n" + " " * (width + 4)
        texts = {field.name: below.join(_lines(getattr(self, field.name))) for field in fields(self)}
        lines = (f"  {name:<{width}}  {text}".rstrip() for name, text in texts.items())
        return "\n".join(["Provenance", *lines])

    def reproducible(self) -> Provenance:
        """Return the record without facts that differ between runs of the same computation.

        Date, duration, threads, passes, memory bound, block size and executor are blank, and files have no
        folders.
        """
        blank: Any = {"date": "", "seconds": 0.0, "threads": 0, "max_memory": 0, "block_rows": 0, "passes": 0}
        source = None if self.source is None else FOLDERS.sub("", short_source(self.source, parts=1))
        skipped = tuple(FOLDERS.sub("", reason) for reason in self.skipped)
        return replace(self, **blank, executor="", source=source, skipped=skipped)

    def background(self) -> str:
        """Return a phrase that describes the background data.

        Of a file it has the name and the folder; ``source`` has the whole path.
        """
        if self.estimand is Estimand.PATH_DEPENDENT:
            return "the paths of the training data"
        weighted = "unweighted" if self.weights is None else "weighted"
        if self.sampled_rows is not None:
            return f"{self.computed_on()}, sampled with seed {self.seed} ({weighted})"
        read = "" if self.source is None else f", read from {short_source(self.source)}"
        return f"{self.computed_on()} ({weighted}{read})"

    def computed_on(self) -> str:
        """Return a phrase with the number of rows that were used, and of how many."""
        of = f" of {self.rows:,}" if self.used_rows < self.rows else ""
        return f"{self.used_rows:,}{of} row{'s' * (self.rows != 1)}"


def short_source(source: str, parts: int = 2) -> str:
    """Return where rows were read from, with the last parts of a path: its folder and the file.

    >>> short_source("2 Parquet files from /home/me/claims/2024.parquet, 8 row groups")
    '2 Parquet files from claims/2024.parquet, 8 row groups'
    >>> short_source("1 Parquet file of Delta version 3 from /home/me/claims/a.parquet, 1 row group")
    '1 Parquet file of Delta version 3 from claims/a.parquet, 1 row group'
    >>> short_source("3 partitions of a Dask data frame")
    '3 partitions of a Dask data frame'
    """
    found = FILES.fullmatch(source)
    if found is None:
        return source
    before, path, after = found.groups()
    return before + "/".join(re.split(r"[/\\]", path)[-parts:]) + after


def _lines(value: Any) -> list[str]:
    """Return a value as lines: one for each entry of a mapping, and for each text of several."""
    if isinstance(value, dict):
        parts = {key: getattr(entry, "part", None) for key, entry in value.items()}
        named = {key: f"{key} ({part})" if part else key for key, part in parts.items()}
        return [f"{named[key]}: {entry}" for key, entry in value.items()] or ["none"]
    texts = isinstance(value, tuple) and all(isinstance(entry, str) for entry in value)
    return (list(value) or ["none"]) if texts else [str(value)]


def reproducible(part: Any) -> Any:
    """Return a result whose every provenance is `Provenance.reproducible`, and paths have no folders."""
    if isinstance(part, Provenance):
        return part.reproducible()
    if isinstance(part, Note) and part.code is NoteCode.FILES_SKIPPED:
        files = tuple(FOLDERS.sub("", file) for file in part.values["files"])
        return part.with_values(files=files)
    if isinstance(part, ModelRecord):
        parameters = {name: QUOTED_FOLDERS.sub("", text) for name, text in part.parameters.items()}
        return part if parameters == part.parameters else replace(part, parameters=parameters)
    if isinstance(part, tuple) and not isinstance(part, str):
        return tuple(map(reproducible, part))
    if not is_dataclass(part) or isinstance(part, type):
        return part
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
    changed = {name: reproducible(value) for name, value in values.items()}
    return replace(part, **{name: value for name, value in changed.items() if value is not values[name]})


def brute_lines(provenance: Provenance) -> list[str]:
    """Return why a model was evaluated by brute force, in a line; nothing of a function, or on request."""
    if "brute" not in provenance.evaluator.split(" and ") or provenance.response == "callable":
        return []
    reasons = [one for one in provenance.refusals.values() if one.code is not RefusalCode.NOT_REQUESTED]
    return [f"brute force, because {one}" for one in reasons[:1]]


def few_unit_notes(provenance: Provenance) -> list[Note]:
    """Return a note if standard errors come from few units."""
    units = provenance.standard_error_units
    if units is None or units >= FEW_UNITS:
        return []
    return [NoteCode.ERROR_BASIS.note(reason=ONE_UNIT if units == 1 else FEW)]


def skipped_notes(provenance: Provenance) -> list[Note]:
    """Return notes on what was left out of X, such as unreadable files, and on errors from few units."""
    notes, skipped, unused = few_unit_notes(provenance), provenance.skipped, provenance.unused_columns
    if skipped:
        notes.append(NoteCode.FILES_SKIPPED.note(count=len(skipped), files=skipped))
    if unused:
        notes.append(NoteCode.COLUMNS_IGNORED.note(count=len(unused), columns=unused))
    if provenance.unknown_categories:
        notes.append(NoteCode.UNKNOWN_CATEGORIES.note(categories=provenance.unknown_categories))
    return notes
