"""Command ``paribus compare``: changes between two explanations, and a gate for continuous integration."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from paribus._command.terminal import check_writable, complain, report
from paribus._text import count, number, short, with_error
from paribus._typing import DriftMeasure, DriftUnit
from paribus.errors import OptionError

if TYPE_CHECKING:
    from paribus.results.drift import Change, Drift

DESCRIPTION = """\
Compare two explanations: of two models on the same rows, or of one model on rows of two periods.
A table of the changes is printed. The exit code is 1 if a change exceeds --fail-above or --fail-rows, or if a
metric is worse by more than --fail-metric. --calibrate proposes bounds from refits of OLD.
"""
EPILOG = """\
examples:
  paribus explain champion.txt reference.parquet -o old.json
  paribus explain challenger.txt reference.parquet -o new.json
  paribus compare old.json new.json --fail-above 0.05
  paribus compare old.html new.html --fail-above 0.05 --independent
  paribus compare old.json new.json --fail-above 2.5 --unit prediction
  paribus compare old.json new.json --fail-above 0.05 --fail-rows 0.1 --fail-metric "log loss=0.01"
  paribus compare old.json --calibrate refit1.json refit2.json refit3.json
  paribus compare old.json new.json --format csv > changes.csv

The bound is a share of the spread of the old predictions: twice their standard deviation over the rows. With
--unit prediction it is a number in units of the prediction. It is compared with changes of
  the level      average prediction over the rows
  the rows       predictions row by row (root mean square), for a fixed sample of 2,000 rows; the bound is
                 --fail-rows, or three times --fail-above. Requires the same rows in both explanations.
  each effect    its curve (root mean square over the data), apart from the level; with --measure largest,
                 the largest change at a point
  each pair      strength of the interaction

Same rows: these changes have no sampling error, and only the bound counts.
Different rows: a change must also exceed a multiple of its standard error. The multiple is printed, and grows
with the number of comparisons. Standard errors cover the sampling of rows, not refits of the model.

To find a bound, refit the old model several times, on bootstrap samples or fresh data. Explain each refit on
the same rows, and pass the results to --calibrate. It proposes the largest change from OLD to a refit,
rounded up. With m refits, a further one exceeds each bound with a probability of at most 1 / (m + 1).

--fail-metric fails if a metric is worse by more than BOUND, and by more than a multiple of its standard
error. The default metric is the log loss for classifiers, and R^2 for regressors. Both files need a target.
For the same rows, the standard error is that of the differences row by row.
"""
FORMATS = ("text", "csv", "json")


def add_to(commands: Any) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        "compare",
        help="compare two explanations, and fail if effects changed",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", nargs="?", metavar="OLD", help="saved explanation (.json) or report (.html)")
    parser.add_argument(
        "new", nargs="?", metavar="NEW", help="saved explanation or report of another model or other rows"
    )
    _add_bounds(parser)
    _add_measures(parser)
    parser.add_argument("--save", metavar="FILE", help="output file for the changes, as .json")
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="format of the output; default: text"
    )
    parser.set_defaults(run=run)


def _add_bounds(parser: argparse.ArgumentParser) -> None:
    """Add the options that bound changes."""
    parser.add_argument(
        "--fail-above",
        type=float,
        metavar="BOUND",
        help="bound on changes of effects; larger ones give exit code 1",
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
        "--calibrate",
        nargs="+",
        metavar="REFIT",
        help="explanations of refits of OLD, from which bounds are proposed",
    )


def _add_measures(parser: argparse.ArgumentParser) -> None:
    """Add the options on the measure, unit and sampling error of changes."""
    parser.add_argument(
        "--unit",
        choices=get_args(DriftUnit),
        default="spread",
        help="unit of the bounds: spread of the old predictions, or the prediction; default: spread",
    )
    parser.add_argument(
        "--measure",
        choices=get_args(DriftMeasure),
        default="typical",
        help="measure of a change: typical over the data, or largest at a point; default: typical",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="P",
        help="probability that a comparison without a real change passes; default: 0.95",
    )
    parser.add_argument(
        "--independent",
        action="store_true",
        help="declaration that OLD and NEW share no rows; standard errors are then smaller",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the changes; return 1 if one exceeds its bound."""
    if arguments.calibrate is not None:
        return _calibrate(arguments)
    if arguments.new is None:
        raise OptionError("OLD and NEW are required, or --calibrate with refits; see paribus compare --help")
    if arguments.save is not None:
        check_writable(Path(arguments.save), "--save", (arguments.old, arguments.new))
        if Path(arguments.save).suffix.lower() != ".json":
            raise OptionError(f"--save {arguments.save} must end in .json")
    from paribus._command.files import read_explanation

    old, new = (read_explanation(path) for path in (arguments.old, arguments.new))
    drift = old.compare(new, independent=arguments.independent)
    verdicts = [*_exceeded_changes(drift, arguments), *_worse(drift, arguments)]
    if arguments.save is not None:
        drift.save(arguments.save)
    _print_changes(drift, arguments.format)
    for _, text in verdicts:
        complain(text)
    return 1 if any(failed for failed, _ in verdicts) else 0


def _calibrate(arguments: argparse.Namespace) -> int:
    """Print the bounds that all refits pass; without OLD, the first refit takes its place."""
    if arguments.new is not None:
        raise OptionError(f"--calibrate compares OLD with refits; omit NEW {arguments.new}")
    paths = arguments.calibrate if arguments.old is None else [arguments.old, *arguments.calibrate]
    if len(paths) < 2:
        raise OptionError("--calibrate needs OLD and a refit, or two refits")
    from paribus._command.files import read_explanation
    from paribus.results.drift import GATED

    old, *refits = map(read_explanation, paths)
    bounds = old.calibrate(refits, unit=arguments.unit, measure=arguments.measure)
    words = [f"--fail-above {short(bounds.change)}", f"--fail-rows {short(bounds.rows)}"]
    gated = next((name for name in (*GATED, *bounds.metrics) if name in bounds.metrics), None)
    if gated is not None:
        words.append(f'--fail-metric "{gated}={short(bounds.metrics[gated])}"')
    for name in ("unit", "measure"):
        given = getattr(arguments, name)
        words += [f"--{name} {given}"] * (given not in ("spread", "typical"))
    report(" ".join(words))
    most, rows = (
        f"{100 * change.share:.3g} % of the spread"
        if arguments.unit == "spread"
        else number(abs(change.change))
        for change in bounds.largest
    )
    complain(
        f"largest change of {count(bounds.refits, 'refit')}: {bounds.largest[0].name} by {most}, predictions "
        f"of rows by {rows}; a further refit exceeds each bound with a probability of at most "
        f"{100 / (bounds.refits + 1):.2g} %"
    )
    return 0


def _print_changes(drift: Drift, form: str) -> None:
    """Print the changes as text, CSV or JSON."""
    if form == "text":
        report(repr(drift))
        return
    from paribus._command.terminal import csv_text, json_text

    frame = drift.to_frame(backend="pyarrow")
    report(csv_text(frame) if form == "csv" else json_text(frame))


def _exceeded_changes(drift: Drift, arguments: argparse.Namespace) -> Iterator[tuple[bool, str]]:
    """Yield whether changes exceed their bounds, and the sentence on it."""
    above, rows = arguments.fail_above, arguments.fail_rows
    if above is None and rows is None:
        return
    from paribus.results.drift import rows_bound

    options = {name: getattr(arguments, name) for name in ("unit", "measure", "confidence")}
    failed = drift.above(math.inf if above is None else above, rows=rows, **options)
    if above is None:
        failed = [change for change in failed if change.kind == "rows"]
    limit = rows_bound(above, rows)
    if failed:
        bound = _amount(limit if above is None else above, arguments.unit) + _error_condition(
            drift, arguments
        )
        if above is not None and any(one.kind == "rows" for one in failed):
            bound += f", or for rows {_amount(limit, arguments.unit)}"
        names = ", ".join(_failure(drift, change, limit, arguments.unit) for change in failed[:5])
        more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
        yield True, f"failed: above {bound}: {names}{more}"
        return
    rules = [] if above is None else [f"no change is above {_amount(above, arguments.unit)}"]
    rules += [f"no typical change of rows above {_amount(limit, arguments.unit)}"] * (drift.rows is not None)
    unseen = "; predictions of rows were not compared" if drift.rows is None else ""
    yield False, f"passed: {', and '.join(rules)}{_error_condition(drift, arguments)}{unseen}"


def _error_condition(drift: Drift, arguments: argparse.Namespace) -> str:
    """Return the text of the bound in standard errors, which applies if the rows differ or with refits."""
    if drift.refits is not None:
        return " and the error over refits" if drift.same_data else " and the error over rows and refits"
    if drift.same_data:
        return ""
    return f" and {drift.threshold(arguments.measure, arguments.confidence):.2g} standard errors"


def _amount(size: float, unit: str) -> str:
    """Return a bound with its unit."""
    return f"{100 * size:.4g} % of the spread" if unit == "spread" else short(size)


def _failure(drift: Drift, change: Change, rows: float, unit: str) -> str:
    """Return the text of a change that exceeds its bound; ``rows`` is the bound on rows."""
    size = "unknown" if change.change != change.change else number(change.change)
    of = f" on {change.output}" if len(drift.output_names) > 1 else ""
    if change.kind == "rows" and drift.rows is not None:
        place = drift.output_names.index(change.output)
        bound = rows * float(drift.spread[place]) if unit == "spread" else rows
        share = 100 * float(drift.rows.share_above(bound)[place])
        size += f", {share:.3g} % of rows by more than {_amount(rows, unit)}"
    return f"{change.name}{of} ({size})"


def _worse(drift: Drift, arguments: argparse.Namespace) -> Iterator[tuple[bool, str]]:
    """Yield whether a metric is worse by more than its bound, and the sentence on it."""
    if arguments.fail_metric is None:
        return
    name, _, written = arguments.fail_metric.rpartition("=")
    try:
        bound = float(written)
    except ValueError:
        raise OptionError(
            f"--fail-metric {arguments.fail_metric} must be a bound, or the name of a metric, = and a bound"
        ) from None
    failed = drift.worse(bound, name or None, confidence=arguments.confidence)
    if not failed:
        yield False, f"passed: {drift.gated_metric(name or None)} is not worse by more than {short(bound)}"
        return
    losses = ", ".join(
        f"{with_error(one.worse, one.standard_error)}" + (f" on {one.output}" if len(failed) > 1 else "")
        for one in failed[:5]
    )
    yield True, f"failed: {failed[0].name} is worse by more than {short(bound)}: {losses}"
