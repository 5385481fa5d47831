"""What is asked, before anyone decides how to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from paribus.grid import Question

METHODS = ("auto", "exact", "brute")
KINDS = ("average", "individual", "both")


@dataclass(frozen=True)
class Ask:
    """The questions about a background of ``rows`` rows of ``row_bytes`` each."""

    questions: tuple[Question, ...]
    kind: Literal["average", "individual", "both"]
    rows: int
    row_bytes: int
    max_memory: int
    threads: int

    @property
    def individual(self) -> bool:
        """Whether every row's own curve is wanted."""
        return self.kind != "average"

    @property
    def points(self) -> int:
        """Number of points over all questions."""
        return sum(len(question.index) for question in self.questions)
