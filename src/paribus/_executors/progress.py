"""Progress of runs and of compilation."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Timer
from time import perf_counter
from typing import Any

from paribus._contracts import Evaluator, S
from paribus._kernels import cache_folder
from paribus._text import count


@contextmanager
def showing_compilation(progress: bool | None) -> Iterator[None]:
    """Write one line to stderr if a kernel is compiled in any thread in the meantime."""
    lines: list[str] = []

    def announce(kept: Path | None) -> None:
        where = (
            f"once on this machine; kept in {kept}"
            if kept
            else "in every process, because no folder can be written"
        )
        lines.append(f"paribus: compiling kernels, {where}\n")
        if len(lines) == 1 and progress is not False and sys.stderr is not None:
            sys.stderr.write(lines[0])
            sys.stderr.flush()

    with cache_folder.watched(announce):
        yield


PATIENCE = 2.0  # seconds before a bar is shown
ANNOUNCED = 10.0  # seconds of predictions that are announced before
SHORT = 1.0  # seconds of a pass without a line in the log
OFTEN = 30.0  # seconds after which another line is logged
LOG = logging.getLogger("paribus")
WORDS = {  # text of a pass by its verb, with which its name begins; by default the verb itself
    "survey": "first look at the data",
    "effects": "partial dependence",
    "accumulated_local_effects": "local effects",
    "marginal": "averages near values",
    "h_statistic": "interactions",
    "surfaces": "surfaces of pairs",
    "shares": "shares of variance",
    "sample": "sample of the rows",
}


def with_progress(
    results: Iterable[tuple[int, float, S]],
    rows: int | None,
    progress: bool | None,
    doing: str = "paribus",
    before: float = 0.0,
) -> Generator[tuple[int, S]]:
    """Pass states on while counting their rows; ``before`` rows were done earlier.

    With ``progress=None``, the bar appears after two seconds, or after the first block if that is later: a
    line announces a long first block, which may have all rows. Without a terminal or notebook, lines are
    logged instead.
    """
    bar = _Bar(rows, before, describe_passes(doing))
    timer = None if progress is False else bar.shown_later()
    try:
        for number, work, state in results:
            bar.advance(work)
            if progress:
                bar.show()
            yield number, state
        bar.all_done = True
    finally:
        if timer is not None:
            timer.cancel()
        bar.close()


@dataclass(eq=False)
class AnnouncingEvaluator:
    """Evaluator that announces a long run on stderr after its first block: its predictions, and their time.

    ``predictions`` are those of the run, and ``row_predictions`` those of a row in this pass.
    """

    evaluator: Evaluator[Any, Any]
    predictions: int
    row_predictions: float
    threads: int
    timed: bool = False

    def evaluate(self, block: Any) -> Any:
        """Return the state of a block."""
        if self.timed:
            return self.evaluator.evaluate(block)
        started = perf_counter()
        state = self.evaluator.evaluate(block)
        self.timed = True
        predicted = max(1.0, self.row_predictions * block.work)
        seconds = (perf_counter() - started) * self.predictions / (predicted * self.threads)
        if seconds > ANNOUNCED and sys.stderr is not None:
            expected = f"{count(self.predictions, 'prediction')}, about {_duration_text(seconds)}"
            sys.stderr.write(f"paribus: {expected}\n")
            sys.stderr.flush()
        return state


def describe_passes(doing: str) -> str:
    """Return the text of passes on the progress bar.

    >>> describe_passes("accumulated_local_effects-2-of-3-tree_ale")
    'local effects, model 2 of 3'
    >>> describe_passes("effects-1-of-2 and effects-2-of-2 and h_statistic-coverage")
    'partial dependence and interactions, first pass'
    """
    passes = doing.split(" and ")
    model = re.search(r"-(\d+)-of-(\d+)", doing) if len(passes) == 1 else None
    words = " and ".join(dict.fromkeys(map(_pass_words, passes)))
    return words + (f", model {model[1]} of {model[2]}" if model else "")


def _pass_words(name: str) -> str:
    """Return the text of one pass."""
    verb = name.split("-")[0]
    first = re.search("-(coverage|curves)", name)
    return WORDS.get(verb, verb.replace("_", " ")) + (", first pass" if first else "")


def has_bars() -> bool:
    """Return whether a bar can be redrawn in place, in a terminal or notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None or (sys.stderr is not None and sys.stderr.isatty())


class _Bar:
    """Progress bar of rows, which either of two threads may show once."""

    def __init__(self, rows: int | None, before: float, doing: str) -> None:
        self.rows, self.done, self.doing = rows, before, doing
        self.all_done = False
        self._shown: Any = None
        self._closed = False
        self._lock = Lock()
        self._start = perf_counter(), before

    def shown_later(self) -> Timer:
        """Start a timer that shows the bar, or a line before the first block, in the cell of the call."""
        timer = Timer(PATIENCE, copy_context().run, (self.show_or_announce,))
        timer.daemon = True
        timer.start()
        return timer

    def show_or_announce(self) -> None:
        if self.done > self._start[1] or not has_bars():
            self.show()
        elif not self._closed:
            rows = "" if self.rows is None else f" of {self.rows:,.0f} rows"
            sys.stderr.write(f"paribus: {self.doing}{rows}\n")
            sys.stderr.flush()

    def show(self) -> None:
        with self._lock:
            if self._shown is not None or self._closed:
                return
            if not has_bars():
                self._shown = LogLines(self.doing, self.rows, self.done, *self._start)
                return
            from tqdm.auto import tqdm

            options = {"unit": " rows", "unit_scale": True, "desc": self.doing}
            self._shown = tqdm(total=self.rows, initial=self.done, **options)

    def advance(self, work: float) -> None:
        with self._lock:
            if self.rows is not None:
                work = min(
                    work, self.rows - self.done
                )  # the parts of blocks add up to all rows up to rounding
            self.done += work
            if self._shown is not None:
                self._shown.update(work)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if isinstance(self._shown, LogLines):
                self._shown.close(finished=self.all_done)
            elif self._shown is not None:
                self._shown.close()


class LogLines:
    """Progress in a log: a line every half a minute, and one at the end of a pass of more than a second.

    ``began`` is the start time of the pass, with ``before`` rows done.
    """

    def __init__(self, doing: str, rows: int | None, done: float, began: float, before: float) -> None:
        self.doing, self.rows, self.done = doing, rows, done
        self._began, self._before = began, before
        self._written = began
        self.update(0.0)

    def update(self, work: float) -> None:
        """Count rows, and log a line if one is due."""
        self.done += work
        now = perf_counter()
        if now - self._written < OFTEN or self._complete():
            return
        self._written = now
        if self.rows is None:
            LOG.info("%s: %s rows so far", self.doing, f"{self.done:,.0f}")
            return
        pace = (self.done - self._before) / max(now - self._began, 1e-9)
        left = f", {_duration_text((self.rows - self.done) / pace)} left" if pace > 0 else ""
        LOG.info("%s: %s of %s rows%s", self.doing, f"{self.done / self.rows:.0%}", f"{self.rows:,}", left)

    def close(self, *, finished: bool) -> None:
        """Log the duration, unless the pass was stopped or short."""
        seconds = perf_counter() - self._began
        if seconds >= SHORT and (finished or self._complete()):
            LOG.info("%s: %s rows in %s", self.doing, f"{self.done:,.0f}", _duration_text(seconds))

    def _complete(self) -> bool:
        return self.rows is not None and self.done > self.rows - 0.5  # up to rounding


def _duration_text(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"
