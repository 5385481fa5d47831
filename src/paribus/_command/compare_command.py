"""Command ``paribus compare``: changes between two explanations, and a gate for continuous integration."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paribus._command.terminal import check_writable, complain, report
from paribus._text import multiple, number, with_error
from paribus.errors import OptionError

if TYPE_CHECKING:
    from paribus.results.drift import Drift

DESCRIPTION = """\
Compare two explanations: of two models on the same rows, or of one model on rows of two periods.
A table of the changes is printed. The exit code is 1 if a change exceeds --fail-above or --fail-rows, or if a
metric is worse by more than --fail-metric.
"""
EPILOG = """\
examples:
  paribus explain champion.txt reference.parquet -o old.json
  paribus explain challenger.txt reference.parquet -o new.json
  paribus compare old.json new.json --fail-above 0.1
  paribus compare old.html new.html --fail-above 0.1 --independent
  paribus compare old.json new.json --fail-above 0.1 --fail-rows 0.2 --fail-metric "log loss=0.01"

The unit of bounds is the standard deviation of the old predictions over the rows. They are compared with
changes of
  the level      average prediction over the rows
  the rows       predictions row by row (root mean square), for a fixed sample of 2,000 rows; the bound is
                 --fail-rows, or three times --fail-above. Requires the same rows in both explanations.
  each effect    its curve (root mean square over the old data), apart from the level
  each pair      strength of the interaction

Same rows: these changes have no sampling error, and only the bound counts.
Different rows: a change must also exceed a multiple of its standard error. The multiple is printed, and grows
with the number of comparisons. Standard errors cover the sampling of rows, not refits of the model.

Features that one explanation was not asked for (--features) are not compared.

--fail-metric fails if a metric is worse by more than BOUND, and by more than a multiple of its standard
error. The default metric is the log loss for classifiers, and R^2 for regressors. Both files need a target.
For the same rows, the standard error is that of the differences row by row.
"""
NAMED = 5  # changes in a message


def add_to(commands: Any) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        "compare",
        help="compare two explanations, and fail if effects changed",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="OLD", help="saved explanation (.json) or report (.html)")
    parser.add_argument(
        "new", metavar="NEW", help="saved explanation or report of another model or other rows"
    )
    parser.add_argument(
        "--fail-above",
        type=float,
        metavar="BOUND",
        help="bound on changes, in standard deviations of the old predictions; larger ones give exit code 1",
    )
    parser.add_argument(
        "--fail-rows",
        type=float,
        metavar="BOUND",
        help="bound on changes of the predictions of rows; default: 3 times --fail-above",
    )
    parser.add_argument(
        "--fail-metric", metavar="[METRIC=]BOUND", help="bound on the loss of performance, by a metric"
    )
    parser.add_argument(
        "--independent",
        action="store_true",
        help="declaration that OLD and NEW share no rows; standard errors are then smaller",
    )
    parser.add_argument("--save", metavar="FILE", help="output file for the changes, as .json")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the changes; return 1 if one exceeds its bound."""
    if arguments.save is not None:
        check_writable(Path(arguments.save), "--save", (arguments.old, arguments.new))
        if Path(arguments.save).suffix.lower() != ".json":
            raise OptionError(f"--save {arguments.save} must end in .json")
    from paribus._command.files import read_explanation

    old, new = (read_explanation(path) for path in (arguments.old, arguments.new))
    drift = old.compare(new, independent=arguments.independent)
    verdicts = []
    if arguments.fail_above is not None or arguments.fail_rows is not None:
        verdicts.append(_exceeded_changes(drift, arguments.fail_above, arguments.fail_rows))
    if arguments.fail_metric is not None:
        verdicts.append(_worse(drift, arguments.fail_metric))
    if arguments.save is not None:
        drift.save(arguments.save)
    report(repr(drift))
    for _, text in verdicts:
        complain(text)
    return 1 if any(failed for failed, _ in verdicts) else 0


def _exceeded_changes(drift: Drift, above: float | None, rows: float | None) -> tuple[bool, str]:
    """Return whether changes exceed their bounds, and the sentence on it."""
    from paribus.results.drift import rows_bound

    tolerated = math.inf if above is None else above
    failed = drift.above(tolerated, rows=rows)
    bounds = [] if above is None else [f"{number(above)} standard deviations"]
    if above is None:
        failed = [change for change in failed if change.kind == "rows"]
    if drift.rows is not None:
        bounds.append(f"{number(rows_bound(tolerated, rows))} standard deviations for rows")
    bound = " or ".join(bounds)
    if not drift.same_data:
        bound += f" and {drift.threshold:.2g} standard errors"
    if not failed:
        unseen = ["predictions of rows"] * (drift.rows is None) + list(drift.not_compared)
        not_compared = f"; not compared: {', '.join(unseen)}" if unseen else ""
        return False, f"passed: no change above {bound}{not_compared}"
    texts = []
    for change in failed[:NAMED]:
        output = f" on {change.output}" if len(drift.output_names) > 1 else ""
        size = "unknown" if math.isnan(change.size) else multiple(change.size)
        texts.append(f"{change.name}{output} ({size})")
    more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return True, f"failed: above {bound}: {', '.join(texts)}{more}"


def _worse(drift: Drift, bound_text: str) -> tuple[bool, str]:
    """Return whether a metric is worse by more than its bound, and the sentence on it."""
    name, _, written = bound_text.rpartition("=")
    try:
        bound = float(written)
    except ValueError:
        raise OptionError(
            f"--fail-metric {bound_text} must be a bound, or the name of a metric, = and a bound"
        ) from None
    failed = drift.worse(bound, name or None)
    if not failed:
        return False, f"passed: {drift.gated_metric(name or None)} is not worse by more than {number(bound)}"
    losses = ", ".join(
        f"{with_error(loss.worse, loss.standard_error)}" + (f" on {loss.output}" if len(failed) > 1 else "")
        for loss in failed[:NAMED]
    )
    return True, f"failed: {failed[0].name} is worse by more than {number(bound)}: {losses}"
