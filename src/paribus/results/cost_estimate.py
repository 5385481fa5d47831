"""What a call would take."""

from __future__ import annotations

from dataclasses import dataclass

from paribus._budget import format_bytes
from paribus._text import count


@dataclass(frozen=True)
class CostEstimate:
    """Cost of a statistic, extrapolated from one block of rows, or from a few predictions.

    Attributes
    ----------
    rows : int or None
        Number of rows; None if unknown before reading all of them.
    columns : tuple of str
        Columns that are read.
    effects, points : int
        Number of effects, and of all points including those beyond grids.
    passes : int
        Number of passes over the rows, including those for sampling and verification.
    predictions, calls : int
        Number of rows the model would predict and of its calls, including trial calls and ``verify``. Upper
        bounds for ALE and H-statistics.
    evaluator, why : str
        The evaluator that would be used, and why.
    refusals : dict
        Why other evaluators would not be used.
    threads : int
        Number of threads.
    rows_per_second : float
        Throughput over all passes, in this process.
    seconds : float or None
        Total duration; None if the number of rows is unknown.
    reading : float
        Share of the time spent on reading, without overlap.
    memory : int
        Peak memory in bytes, without X and the model; at most ``max_memory``.
    warning : str or None
        Text of the `CostWarning` that would be issued, if ``max_memory`` permits only a far slower method.
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
    predictions: int = 0
    calls: int = 0

    @property
    def announcement(self) -> str:
        """The call and its estimated duration, in one line."""
        duration = "an unknown time" if self.seconds is None else f"about {_duration(self.seconds)}"
        if not self.predictions:
            return f"this takes {duration}"
        return (
            f"this takes {duration}: the model predicts up to {count(self.predictions, 'row')}; "
            "max_predictions= bounds them"
        )

    def __repr__(self) -> str:
        rows = "an unknown number of rows" if self.rows is None else count(self.rows, "row")
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        lines = [
            f"{count(self.effects, 'effect')}, {count(self.points, 'point')}, {rows} of "
            f"{count(len(self.columns), 'column')}",
            f"by {self.evaluator} ({self.why}) in {passes} on {count(self.threads, 'thread')}",
            f"about {self.rows_per_second:,.0f} rows a second; reading takes {self.reading:.0%} of that",
            f"about {format_bytes(self.memory)} of memory",
        ]
        if self.seconds is not None:
            lines.insert(3, f"about {_duration(self.seconds)}")
        if self.predictions:
            calls = count(self.calls, "call")
            lines.insert(2, f"the model predicts {count(self.predictions, 'row')} in {calls}")
        if self.warning is not None:
            lines.append(f"warning: {self.warning}")
        return "\n".join(lines)


def _duration(seconds: float) -> str:
    """Return a duration as text.

    >>> _duration(0.25), _duration(90), _duration(10_000)
    ('0.25 seconds', '90 seconds', '2.8 hours')
    """
    if seconds < 120:
        return f"{seconds:.2g} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
