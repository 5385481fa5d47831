"""What is asked, what is answered, and what an evaluator must be able to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, Self

from paribus.budget import FLOAT
from paribus.contracts import Floats
from paribus.data.rows import Block, Parts
from paribus.data.sampling import Sample
from paribus.grid import Question
from paribus.models import Model
from paribus.states import Keyed, PointValues
from paribus.states.expected import Expected, Made

METHODS = ("auto", "exact", "brute", "recursion")
KINDS = ("average", "individual", "both")
CAPACITY = 4_096  # numbers kept at each point where not every row's prediction is: 0.1 % of the ranks or less
LEAST_CAPACITY = 16
CALLS_FIRST = 64  # times calls and drawings get smaller, which changes no number, before blocks do
MOST_CUTS = 64 * CALLS_FIRST  # times they get smaller at most
SKETCHES = 16  # as many sketches as fill the memory for them: a state per level of merges, half of them full


@dataclass(frozen=True)
class SpreadAsk:
    """Which quantiles of the rows' curves are wanted, and in how many bytes to hold what they need.

    The bytes are the user's, or fixed: the free memory, which is never the same, must not change the answer.
    """

    probabilities: tuple[float, ...]
    most_bytes: int

    def sizes(self, rows: int, points: int, outputs: int) -> tuple[int, int]:
        """Return of how many rows all is kept, and how many numbers per point of more rows than that."""
        cell = FLOAT * max(1, points) * outputs
        if rows * cell <= self.most_bytes:
            return rows, CAPACITY
        capacity = max(LEAST_CAPACITY, min(CAPACITY, self.most_bytes // (SKETCHES * cell)))
        return capacity, capacity

    def block_rows(self, points: int, outputs: int) -> int:
        """Return the rows whose curves may be held while a block is evaluated."""
        return max(1, self.most_bytes // (SKETCHES * FLOAT * max(1, points) * outputs))


@dataclass(frozen=True, eq=False)
class Ask:
    """The questions, to be asked of ``rows`` rows of ``row_bytes`` each, ``counted`` of which have weight.

    ``threads`` None leaves their number to the evaluator. ``sample`` are the rows whose curves tell the
    standard errors of averages that need no curves, None for all. ``read`` tells that rows are not in memory,
    so that blocks that wait for a thread are. ``spread`` asks for quantiles of the rows' curves.

    What is worked on at once has fixed sizes, so that memory changes no number, divided by ``cut``, a power
    of two: first what one call or drawing takes, and beyond `CALLS_FIRST` also blocks, which changes how sums
    are rounded. Blocks are only cut for a bound that was ``given``.
    """

    questions: tuple[Question, ...]
    kind: Literal["average", "individual", "both"]
    rows: int
    counted: int
    row_bytes: int
    max_memory: int
    threads: int | None
    weighted: bool = False
    sample: Sample | None = None
    read: bool = False
    spread: SpreadAsk | None = None
    given: bool = True
    cut: int = 1

    @property
    def cuts(self) -> tuple[int, ...]:
        """How often sizes may be cut, until what is asked fits the memory bound."""
        most = MOST_CUTS if self.given else CALLS_FIRST
        return tuple(2**power for power in range(most.bit_length()))

    @property
    def block_cut(self) -> int:
        """Times that blocks are smaller."""
        return max(1, self.cut // CALLS_FIRST)

    @property
    def individual(self) -> bool:
        """Whether every row's own curve is wanted."""
        return self.kind != "average"

    @property
    def points(self) -> int:
        """Number of points over all questions."""
        return sum(question.n_points for question in self.questions)

    def collects(self, outputs: int) -> tuple[int, int] | None:
        """Return the sizes of what is collected for the spread; None where no fold needs to collect it."""
        if self.spread is None or self.individual:  # whose curves are at hand
            return None
        return self.spread.sizes(self.counted, self.points, outputs)

    def expected_values(self, number: int, outputs: int, points: int) -> dict[tuple[str, int], Made]:
        """Return the pattern of what is collected of a question, if anything is."""
        sizes = self.collects(outputs)
        if sizes is None:
            return {}
        most, capacity = sizes
        name, weighted = f"values {number}", self.weighted
        pattern = PointValues.expected(name, outputs, points, most=most, capacity=capacity, weighted=weighted)
        return {("values", number): pattern}

    def collected_bytes(self, outputs: int) -> tuple[int, int]:
        """Return the memory of what is collected in all, and in each state."""
        sizes, cell = self.collects(outputs), FLOAT * self.points * outputs
        if sizes is None:
            return 0, 0
        most, capacity = sizes
        return (most * cell, 0) if most >= self.counted else (0, 2 * capacity * cell)


@dataclass(frozen=True, eq=False)
class Answer:
    """One question answered: average and error ``(o, g)``, and curves ``(o, n, g)`` when asked for.

    ``quantiles (o, q, g)`` of all rows' curves have ranks that may be off by ``rank_error`` as a share of the
    weight. ``row_weights (n,)`` are those of the curves, None when all count the same. ``by_model (m, o, g)``
    are the averages of each of several models, whose mean ``average`` then is.
    """

    average: Floats
    standard_error: Floats
    individual: Floats | None
    quantiles: Floats | None = None
    rank_error: float = 0.0
    row_weights: Floats | None = None
    by_model: Floats | None = None


class Portioned(Protocol):
    """What is known of the memory that an evaluator takes; it follows from its ``ask``."""

    @property
    def ask(self) -> Ask:
        """What is asked, and how often sizes are cut."""
        ...

    @property
    def threaded(self) -> bool:
        """Whether it takes every core unless told otherwise."""
        ...

    @property
    def block_rows(self) -> int:
        """Rows per block; depends on the ask, never on the number of workers."""
        ...

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes."""
        ...

    @property
    def held_bytes(self) -> int:
        """Memory held all the time, whatever the number of workers."""
        ...

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block."""
        ...


class EffectEvaluator(Portioned, Protocol):
    """A way to answer: it refuses with a reason, or gives the number brute force gives.

    It is built for one model and one ask, shipped to workers, and holds no table. ``shortcut`` tells it from
    brute force itself; one of another ``estimand`` is only taken by name; ``threaded`` ones take every core
    unless told otherwise. ``block_rows`` and ``parts`` say how the work is cut, ``worker_bytes`` what
    evaluating one block takes, ``state_bytes`` what it leaves and ``held_bytes`` what is held throughout.
    """

    name: ClassVar[str]
    how: ClassVar[str]
    shortcut: ClassVar[bool]
    estimand: ClassVar[str]

    @staticmethod
    def refuse(model: Model, ask: Ask) -> str | None:
        """Return why it cannot answer, for a human; None when it can."""
        ...

    @classmethod
    def build(cls, model: Model, ask: Ask) -> Self:
        """Prepare to answer, or raise `RefusalError` if that shows that it cannot."""
        ...

    @property
    def parts(self) -> Parts:
        """Groups of questions that one block asks, each with its number of points."""
        ...

    @property
    def error_rows(self) -> int:
        """Rows the standard errors are computed from."""
        ...

    @property
    def predictions(self) -> int:
        """Rows the model will be asked about."""
        ...

    def prepare(self) -> None:
        """Do once what threads would each do."""
        ...

    def evaluate(self, block: Block) -> Keyed:
        """Return the states of the block's questions."""
        ...

    def expected(self, rows: int) -> Expected:
        """Return the patterns of states of ``rows`` rows at most, with which kept ones are compared."""
        ...

    def finish(self, state: Keyed, threads: int) -> list[Answer]:
        """Return the answer to every question."""
        ...
