"""What is asked about interactions, and what an evaluator must be able to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from paribus.data.rows import Parts, Rows
from paribus.data.sampling import Sample
from paribus.evaluators.interactions.found import Found
from paribus.models import Model
from paribus.states import Keyed

if TYPE_CHECKING:
    from paribus.data.scan.scanned import Scanned

BLOCKS_FIRST = 16  # times blocks and tables get smaller before standard errors come from fewer rows
MOST_CUTS = 64 * BLOCKS_FIRST  # times all of them together, at most


@dataclass(frozen=True, eq=False)
class StrengthAsk:
    """Which statistics of which features, over which rows.

    ``features`` are positions in the table, in the order asked for; pairs and triples are of places among
    them. ``seed`` is that of whatever is drawn. ``threads`` None leaves their number to the evaluator.

    Blocks and tables have fixed sizes, so that memory changes no number, divided by ``cut``, a power of two,
    for a memory bound that was ``given``; beyond `BLOCKS_FIRST` standard errors come from fewer rows as well.
    """

    features: tuple[int, ...]
    pairwise: bool
    overall: bool
    threeway: int
    rows: Rows | Scanned
    seed: int
    max_memory: int
    threads: int | None
    given: bool = True
    cut: int = 1

    def smaller(self) -> Iterator[StrengthAsk]:
        """Yield what is asked with sizes cut more and more often, until it should fit."""
        for power in range(MOST_CUTS.bit_length() if self.given else 1):
            yield replace(self, cut=2**power)

    @property
    def block_cut(self) -> int:
        """Times that blocks are smaller."""
        return min(self.cut, BLOCKS_FIRST)

    @property
    def witness_cut(self) -> int:
        """Times that standard errors come from fewer rows."""
        return self.cut // self.block_cut

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every pair, in order."""
        return tuple(combinations(range(len(self.features)), 2)) if self.pairwise else ()

    @property
    def every_column(self) -> bool:
        """Whether all columns are asked about, so that what is left is interaction."""
        return len(self.features) == len(self.rows.table.names)


class Folding(Protocol):
    """Folds an evaluator over the rows: blocks of ``block_rows``, each once per part of the questions."""

    def __call__(self, evaluator: Any, block_rows: int, parts: Parts, threads: int) -> Keyed:
        """Return the merged state."""
        ...


class StrengthEvaluator(Protocol):
    """A way to find strengths: it refuses with a reason, or gives the number of the definition."""

    name: ClassVar[str]
    how: ClassVar[str]
    shortcut: ClassVar[bool]

    @property
    def ask(self) -> StrengthAsk:
        """What is asked, and how often sizes are cut."""
        ...

    @staticmethod
    def refuse(model: Model, ask: StrengthAsk) -> str | None:
        """Return why it cannot answer, for a human; None when it can."""
        ...

    @classmethod
    def build(cls, model: Model, ask: StrengthAsk) -> Self:
        """Prepare to answer, or raise `RefusalError` or `MemoryBoundError`."""
        ...

    @property
    def sample(self) -> Sample:
        """The rows whose influence tells the errors."""
        ...

    @property
    def threads(self) -> int:
        """Threads that fit in the memory bound."""
        ...

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        ...

    def find(self, fold: Folding) -> Found:
        """Fold over the rows as often as it takes."""
        ...
