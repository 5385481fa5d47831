"""What a call would take."""

from __future__ import annotations

from dataclasses import dataclass

from paribus.budget import in_words
from paribus.text import count


@dataclass(frozen=True)
class Estimate:
    """What `paribus.effects` would take, from a block of rows that was read and evaluated.

    Attributes
    ----------
    rows : int or None
        Number of rows; None where only reading them all tells.
    columns : tuple of str
        Columns that are looked at.
    effects, points : int
        How many effects, and points over all of them.
    passes : int
        How often the rows are gone through.
    evaluator, why : str
        What would compute, and why that one.
    refusals : dict
        Why the others would not.
    threads : int
        How many would work at once.
    rows_per_second : float
        Over all passes, of this process.
    seconds : float or None
        The whole; None where the number of rows is not known.
    reading : float
        Share of the time that reading takes, if nothing else is done meanwhile.
    memory : int
        Bytes held at the same time, at most, beside X and the model; never more than ``max_memory``.
    warning : str or None
        What `CostWarning` will say before it begins, where ``max_memory`` leaves only a far slower way.
    """

    rows: int | None
    columns: tuple[str, ...]
    effects: int
    points: int
    passes: int
    evaluator: str
    why: str
    refusals: dict[str, str]
    threads: int
    rows_per_second: float
    seconds: float | None
    reading: float
    memory: int
    warning: str | None = None

    def __repr__(self) -> str:
        rows = "an unknown number of rows" if self.rows is None else count(self.rows, "row")
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        lines = [
            f"{count(self.effects, 'effect')}, {count(self.points, 'point')}, {rows} of "
            f"{count(len(self.columns), 'column')}",
            f"by {self.evaluator} ({self.why}) in {passes} on {count(self.threads, 'thread')}",
            f"about {self.rows_per_second:,.0f} rows a second; reading takes {self.reading:.0%} of that",
            f"about {in_words(self.memory)} of memory",
        ]
        if self.seconds is not None:
            lines.insert(3, f"about {_duration(self.seconds)}")
        if self.warning is not None:
            lines.append(f"warning: {self.warning}")
        return "\n".join(lines)


def _duration(seconds: float) -> str:
    """Return a duration for a person.

    >>> _duration(0.25), _duration(90), _duration(10_000)
    ('0.25 seconds', '90 seconds', '2.8 hours')
    """
    if seconds < 120:
        return f"{seconds:.2g} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
