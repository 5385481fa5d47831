"""What the rows tell of the points whichever model answers, counted in the first pass over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from paribus.contracts import Floats
from paribus.evaluators.support import SupportCounter
from paribus.grid import Question
from paribus.states import Keyed

if TYPE_CHECKING:
    from paribus.evaluators.occupancy import Joint, Occupancy, Outlook

# The weight around the points of each question, and which cells of two features have rows.
Counted: TypeAlias = "tuple[list[Floats], Joint | None]"


@dataclass(frozen=True, eq=False)
class Counting:
    """Counts how much data lies around each point and, unless None, which values occur together."""

    support: SupportCounter
    occupancy: Occupancy | None
    outlook: Outlook
    unit: float

    @classmethod
    def of(cls, questions: tuple[Question, ...], outlook: Outlook, unit: float, *, joint: bool) -> Counting:
        """Prepare to count; ``joint`` tells that it matters which values occur together."""
        from paribus.evaluators.occupancy import Occupancy

        return cls(SupportCounter(questions), Occupancy.of(outlook) if joint else None, outlook, unit)

    @property
    def parts(self) -> tuple[SupportCounter | Occupancy, ...]:
        """Who counts."""
        return (self.support,) if self.occupancy is None else (self.support, self.occupancy)

    @property
    def settings(self) -> tuple[Any, ...]:
        """What a kept state depends on besides the rows and the points."""
        return () if self.occupancy is None else self.occupancy.settings

    def finish(self, state: Keyed) -> Counted:
        """Return what was counted."""
        joint = None if self.occupancy is None else self.occupancy.finish(state, self.outlook)
        return self.support.finish(state, self.unit), joint
