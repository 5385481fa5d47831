"""The background as one interface: whom we average over, in memory or read in passes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from paribus._contracts import Blocks
from paribus._data.features import Header
from paribus._data.rows import ONE_PART, Block, Parts, Rows
from paribus._data.sampling import Sample
from paribus._data.table import Table


@runtime_checkable
class Background(Protocol):
    """Rows with their weights, wherever they are: all that a run needs to know of them.

    ``Rows`` are in memory; ``ScannedRows`` are read in each pass. Weights are divided by ``weight_scale``.
    """

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory, so that no pass reads them."""

    @property
    def table(self) -> Table:
        """The rows, or a few of them that show names and dtypes where they are read."""

    @property
    def header(self) -> Header:
        """The columns of X, and those of them that the model gets."""

    @property
    def n_weighted(self) -> int:
        """Number of rows with positive weight."""

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""

    @property
    def weight_scale(self) -> float:
        """What weights are divided by."""

    @property
    def total(self) -> float:
        """Sum of the weights, divided by ``weight_scale``."""

    @property
    def source_label(self) -> str | None:
        """What the rows are read from, in words; None in memory."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was left out of the source, and why."""

    @property
    def stamp(self) -> str | None:
        """A digest of the source that is known without decoding the rows; None where there is none."""

    @property
    def target_columns(self) -> tuple[str, ...]:
        """Names of the columns that hold the target; in memory it has none."""

    @property
    def n_targets(self) -> int:
        """Number of columns of the target, 0 without one."""

    def __len__(self) -> int: ...

    def blocks(self, size: int, parts: Parts = ONE_PART) -> Blocks[Block]:
        """Return blocks of ``size`` rows, each once per part of the grids."""

    def sample(self, size: int, seed: int) -> Sample:
        """Choose rows for a sum of squares: all with positive weight, or ``size`` where there are more.

        Weighted out-of-core rows were chosen by the survey, and by its seed.
        """

    def head_sample(self, seed: int) -> Table:
        """Return a few rows with positive weight, by which columns are binned."""

    def subsample(self, size: int | None, seed: int) -> Rows:
        """Return ``size`` rows with positive weight in memory, sampled without replacement; None for all."""

    def weight_facts(self) -> dict[str, float] | None:
        """Return the sum of the weights, the rows of weight zero, and the effective number of rows."""

    def fingerprint(self, *, target: bool = True) -> str:
        """Return a digest of values and weights; other data gives another one."""

    def digests(self) -> tuple[dict[str, str], str | None]:
        """Return a digest of each column that is known, by its name, and of the weights if there are any."""
