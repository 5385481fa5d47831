"""What is requested interactions, and what an evaluator must be able to say."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

from paribus._data.background import Background
from paribus._data.sampling import Sample
from paribus.meaning import Estimand

BLOCKS_FIRST = 16  # times blocks and tables get smaller before standard errors come from fewer rows
MOST_CUTS = 64 * BLOCKS_FIRST  # times all of them together, at most


@dataclass(frozen=True, eq=False)
class InteractionRequest:
    """Which statistics of which features, over which rows.

    ``features`` are positions in the table, in the requested order; pairs and triples are of positions among
    them. ``seed`` is that of whatever is drawn. ``threads`` None leaves their number to the evaluator.

    Blocks and tables have fixed sizes, so that memory changes no number, divided by ``cut``, a power of two,
    for a memory bound that was ``given``; beyond `BLOCKS_FIRST` standard errors come from fewer rows as well.
    ``drawn_from`` is the number of rows that ``rows`` were drawn from unless the user said how many.
    ``few_calls`` says that a call of the model is dear however few rows it predicts. With ``paired``, pairs
    are of so many features at most: those that interact most with all others together.
    """

    statistic: ClassVar[str] = "interactions"
    features: tuple[int, ...]
    pairwise: bool
    overall: bool
    threeway: int
    rows: Background
    seed: int
    max_memory: int
    threads: int | None
    given: bool = True
    drawn_from: int | None = None
    cut: int = 1
    few_calls: bool = False
    paired: int | None = None

    @property
    def n_parts(self) -> int:
        """All statistics are found together."""
        return 1

    def only(self, numbers: tuple[int, ...]) -> InteractionRequest:
        """Return itself, which has one part."""
        return self

    @property
    def n_results(self) -> int:
        """Number of pairs, or of features where none are requested."""
        return self.n_pairs or len(self.features)

    @property
    def points(self) -> int:
        """Number of rows that effects are evaluated at."""
        return self.rows.n_weighted

    @property
    def background(self) -> Background:
        """The rows the passes go through."""
        return self.rows

    @property
    def cuts(self) -> tuple[int, ...]:
        """How often sizes may be cut, until what is requested fits the memory bound."""
        return tuple(2**power for power in range(MOST_CUTS.bit_length() if self.given else 1))

    @property
    def settings(self) -> tuple[Any, ...]:
        """All that a kept state depends on besides the rows, the model and how both are cut."""
        return (self.features, self.pairwise, self.overall, self.threeway, self.seed, self.paired)

    @property
    def block_cut(self) -> int:
        """Times that blocks are smaller."""
        return min(self.cut, BLOCKS_FIRST)

    @property
    def influence_cut(self) -> int:
        """Times that standard errors come from fewer rows."""
        return self.cut // self.block_cut

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every pair, in order."""
        return tuple(combinations(range(len(self.features)), 2)) if self.pairwise else ()

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are evaluated."""
        if self.paired is None or not self.pairwise:
            return len(self.pairs)
        return math.comb(min(self.paired, len(self.features)), 2)

    @property
    def every_column(self) -> bool:
        """Whether all columns are requested, so that what is left is interaction."""
        return len(self.features) == len(self.rows.table.names)


class InteractionPasses:
    """What all ways to find interactions share; one that ``crosses`` rows takes n x n steps for n of them."""

    estimand: ClassVar[Estimand] = Estimand.INTERVENTIONAL
    structure: ClassVar[type | None] = None
    crosses: ClassVar[bool] = False
    request: InteractionRequest

    @classmethod
    def covers(cls, request: InteractionRequest) -> tuple[int, ...]:
        """Return the number of the one request there is."""
        return (0,)


class ExactInteractions(InteractionPasses, ABC):
    """What ways to find interactions share that read a structure, on every row."""

    shortcut: ClassVar[bool] = True
    threaded: ClassVar[bool] = True

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """The rows whose influence gives the standard errors."""

    @property
    def predictions(self) -> int:
        """The model itself predicts no row."""
        return 0

    @property
    def calls(self) -> int:
        """The model itself is not called."""
        return 0

    @property
    def error_rows(self) -> int:
        """Rows whose influence gives the standard errors."""
        return len(self.sample.numbers)

    def fallback(self, short: str) -> str | None:
        """Return nothing: a shortcut is no fallback."""
        return None
