"""What is asked, what is answered, and what an evaluator must be able to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, Self

from paribus.contracts import Floats
from paribus.data.rows import Block, Parts
from paribus.data.sampling import Sample
from paribus.grid import Question
from paribus.models import Model
from paribus.states import Keyed

METHODS = ("auto", "exact", "brute", "recursion")
KINDS = ("average", "individual", "both")


@dataclass(frozen=True, eq=False)
class Ask:
    """The questions, to be asked of ``rows`` rows of ``row_bytes`` each, ``counted`` of which have weight.

    ``threads`` None leaves their number to the evaluator. ``sample`` are the rows whose curves tell the
    standard errors of averages that need no curves, None for all. ``read`` tells that rows are not in memory,
    so that blocks that wait for a thread are.
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

    @property
    def individual(self) -> bool:
        """Whether every row's own curve is wanted."""
        return self.kind != "average"

    @property
    def points(self) -> int:
        """Number of points over all questions."""
        return sum(question.n_points for question in self.questions)


@dataclass(frozen=True, eq=False)
class Answer:
    """One question answered: average and error ``(o, g)``, and curves ``(o, n, g)`` when asked for."""

    average: Floats
    standard_error: Floats
    individual: Floats | None


class EffectEvaluator(Protocol):
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
    threaded: ClassVar[bool]

    @staticmethod
    def refuse(model: Model, ask: Ask) -> str | None:
        """Return why it cannot answer, for a human; None when it can."""
        ...

    @classmethod
    def build(cls, model: Model, ask: Ask) -> Self:
        """Prepare to answer, or raise `RefusalError` if that shows that it cannot."""
        ...

    @property
    def block_rows(self) -> int:
        """Rows per block; depends on the ask, never on the number of workers."""
        ...

    @property
    def parts(self) -> Parts:
        """Groups of questions that one block asks, each with its number of points."""
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

    @property
    def error_rows(self) -> int:
        """Rows the standard errors are computed from."""
        ...

    @property
    def predictions(self) -> int:
        """Rows the model will be asked about."""
        ...

    def evaluate(self, block: Block) -> Keyed:
        """Return the states of the block's questions."""
        ...

    def finish(self, state: Keyed, threads: int) -> list[Answer]:
        """Return the answer to every question."""
        ...
