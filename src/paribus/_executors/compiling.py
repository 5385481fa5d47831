"""What is shown while kernels are compiled: on a bar, or as one line where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paribus._executors.progress import has_bars
from paribus._kernels import watch

ONCE = "once on this machine"


class CompilationBar:
    """Kernels compiled of about as many as are ``expected``; ``progress=False`` shows nothing."""

    def __init__(self, expected: int, progress: bool | None) -> None:
        self.expected, self.progress, self.compiled = expected, progress, 0
        self._bar: Any = None

    def compiling(self, name: str, kept: Path | None) -> None:
        """Show that a kernel is compiled."""
        self.compiled += 1
        if self.progress is False:
            return
        if has_bars():
            self._draw(name, kept)
        elif self.compiled == 1 and sys.stderr is not None:
            where = (
                f"{ONCE}; kept in {kept}" if kept else "in every process, because no folder can be written"
            )
            some = "a kernel" if self.expected == 1 else f"about {self.expected} kernels"
            sys.stderr.write(f"paribus: compiling {some}, {where}\n")
            sys.stderr.flush()

    def _draw(self, name: str, kept: Path | None) -> None:
        if self._bar is None:
            from tqdm.auto import tqdm

            label = f"compiling, {ONCE}" if kept else "compiling"
            self._bar = tqdm(total=self.expected, desc=label, unit=" kernels", leave=False)
        else:
            self._bar.total = max(self._bar.total, self.compiled)
            self._bar.update(1)
        self._bar.set_postfix_str(name)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()


@contextmanager
def showing_compilation(expected: int, progress: bool | None) -> Iterator[None]:
    """Show what is compiled meanwhile, in whichever thread."""
    bar = CompilationBar(expected, progress)
    try:
        with watch.watched(bar):
            yield
    finally:
        bar.close()
