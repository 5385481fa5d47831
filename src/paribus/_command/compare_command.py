"""``paribus compare``: what has moved between two explanations, and a gate for continuous integration."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from paribus._command.terminal import check_writable, complain, report
from paribus._text import number, short
from paribus._typing import DriftMeasure, DriftUnit
from paribus.errors import OptionError

if TYPE_CHECKING:
    from paribus.results import Change, Drift

DESCRIPTION = """\
Compare two explanations: champion and challenger on the same rows, or one model on rows of two times.
The table of changes is printed. With --fail-above the exit code is 1 if one of them exceeds the bound.
"""
EPILOG = """\
examples:
  paribus explain champion.txt reference.parquet -o old.json
  paribus explain challenger.txt reference.parquet -o new.json
  paribus compare old.json new.json --fail-above 0.05
  paribus compare old.html new.html --fail-above 0.05 --independent
  paribus compare old.json new.json --fail-above 2.5 --unit prediction
  paribus compare old.json new.json --format csv > changes.csv

The bound is a share of the spread of the old predictions, which is twice their standard deviation over the
rows, or with --unit prediction a number in their unit. It is held against
  the level      average of the curves
  each effect    root mean square over the data of how much its curve moved, apart from the level;
                 with --measure largest the largest move at a point
  each pair      strength of the interaction

Over other rows a change also has to exceed its standard error several times: how many is printed, and
grows with the number of changes that are compared. Over the same rows a change is exact, and the bound
decides alone. Standard errors are those of rows: a model that is fitted again on other data moves by more.
To find a bound, compare two fits of the champion on bootstrap samples, and stay above what they show.
"""
FORMATS = ("text", "csv", "json")


def add_to(commands: Any) -> None:
    """Add the parser of the command to those of others."""
    parser = commands.add_parser(
        "compare",
        help="compare two explanations, and fail if effects have moved",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="OLD", help="saved explanation (.json) or report (.html)")
    parser.add_argument("new", metavar="NEW", help="the same of the other model or rows")
    parser.add_argument("--fail-above", type=float, metavar="BOUND", help="exit 1 if a change is larger")
    parser.add_argument(
        "--unit",
        choices=get_args(DriftUnit),
        default="spread",
        help="unit of the bound: spread of the old predictions (default), or the prediction",
    )
    parser.add_argument(
        "--measure",
        choices=get_args(DriftMeasure),
        default="typical",
        help="change of an effect: over the data (default), or the largest at a point",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="P", help="that no sampling error fails (0.95)"
    )
    parser.add_argument(
        "--independent", action="store_true", help="no row is in both, as of two years: smaller errors"
    )
    parser.add_argument("--save", metavar="FILE", help="also write the changes as .json")
    parser.add_argument("--format", choices=FORMATS, default="text", help="of what is printed (text)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what has moved; return 1 if something has moved too far."""
    if arguments.save is not None:
        check_writable(Path(arguments.save), "--save")
        if Path(arguments.save).suffix.lower() != ".json":
            raise OptionError(f"--save {arguments.save} must end in .json")
    from paribus._command.saved_files import read_explanation

    old, new = (read_explanation(path) for path in (arguments.old, arguments.new))
    drift = old.compare(new, independent=arguments.independent)
    failed = None
    if arguments.fail_above is not None:
        failed = drift.above(
            arguments.fail_above,
            unit=arguments.unit,
            measure=arguments.measure,
            confidence=arguments.confidence,
        )
    if arguments.save is not None:
        drift.save(arguments.save)
    _print(drift, arguments.format)
    if failed is None:
        return 0
    _conclude(drift, failed, arguments)
    return 1 if failed else 0


def _print(drift: Drift, form: str) -> None:
    if form == "text":
        report(repr(drift))
        return
    from paribus._command.table_text import csv_text, json_text

    frame = drift.to_frame(backend="pyarrow")
    report(csv_text(frame) if form == "csv" else json_text(frame))


def _conclude(drift: Drift, failed: list[Change], arguments: argparse.Namespace) -> None:
    """Write to stderr whether the gate is passed, and what did not pass it."""
    bound, spread = short(arguments.fail_above), arguments.unit == "spread"
    unit = f"{100 * arguments.fail_above:.4g} % of the spread" if spread else bound
    errors = f" and {drift.threshold(arguments.measure, arguments.confidence):.2g} standard errors"
    rule = f"{unit}{'' if drift.same_data else errors}"
    if not failed:
        complain(f"passed: no change is above {rule}")
        return
    names = ", ".join(_failure(drift, change) for change in failed[:5])
    more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
    complain(f"failed: above {rule}: {names}{more}")


def _failure(drift: Drift, change: Change) -> str:
    size = "unknown" if change.change != change.change else number(change.change)
    of = f" on {change.output}" if len(drift.output_names) > 1 else ""
    return f"{change.name}{of} ({size})"
