"""The command ``python -m paribus``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from paribus import _compile
from paribus._version import __version__

COMMANDS = (_compile.add_to,)  # each adds its parser, with what it runs as the default of `run`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m paribus", description="What a fitted model does with its features, all else equal."
    )
    parser.add_argument("--version", action="version", version=f"paribus {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add_to in COMMANDS:
        add_to(commands)
    chosen = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = chosen.run
    return run(chosen)


if __name__ == "__main__":
    sys.exit(main())
