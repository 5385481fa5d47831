"""Command ``paribus explain``: all statistics of a model as a report, a result, Markdown or a table."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from paribus._command.terminal import check_writable, complain, progress_lines, report
from paribus._typing import OnError
from paribus.errors import OptionError

DESCRIPTION = """\
Explain a model: effects of every feature, importance, interactions and, with --target, performance.
Without -o, a table of the features is printed.
"""
EPILOG = """\
examples:
  paribus explain model.txt data.parquet
  paribus explain model.json data.csv --target claims --weight exposure -o report.html
  paribus explain model.json year=2025/ -o report.html --save new.json --title "Motor, 2025" \\
      --about owner=pricing --about period=2025
  paribus explain model.json data.csv -o report.html --compare old.json
  paribus explain model.json data.csv --target claims --by region -o report.html
  paribus explain model.txt data.csv --features age region --monotone age=rising
  paribus explain forest.skops data.csv --trust sklearn.tree._tree.Tree -o report.md

The suffix of -o selects the format:
  .html  a report, which also contains the result
  .json  a result for paribus compare and paribus.load
  .md    a summary, for example for a pull request

Columns of DATA that the model was not fitted on are ignored. Text in CSV is converted to the categories of
the model. Empty fields and NA are missing values. To explain some of the rows, write them to a separate file.
"""
SUFFIXES = (".html", ".json", ".md")


def add_to(commands: Any) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        "explain",
        help="explain a model: a report, a result or a table",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="file of XGBoost, LightGBM, CatBoost or skops")
    parser.add_argument("data", metavar="DATA", help="Parquet file or folder, or CSV")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file: .html, .json or .md")
    parser.add_argument("--save", metavar="FILE", help="additional output file: the result as .json")
    parser.add_argument("--target", metavar="COL", help="target column, for performance")
    parser.add_argument("--weight", metavar="COL", help="column of row weights")
    parser.add_argument("--units", metavar="COL", help="column of units whose rows depend on each other")
    parser.add_argument("--by", metavar="COL", help="grouping column: effects of its groups are compared")
    parser.add_argument("--features", nargs="+", metavar="NAME", help="features to explain; default: all")
    parser.add_argument(
        "--percentiles",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="range of curves as two quantiles; default: all values",
    )
    parser.add_argument("--title", help="title of the report")
    parser.add_argument(
        "--about",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="additional entry of the report's record; repeatable",
    )
    parser.add_argument(
        "--monotone",
        action="append",
        default=[],
        metavar="NAME=DIRECTION",
        help="required direction of an effect, rising or falling; repeatable",
    )
    parser.add_argument("--tables", action="store_true", help="print tables of numbers, too; default: off")
    parser.add_argument(
        "--without-rows",
        action="store_true",
        help="no predictions and targets of single rows in the files; default: up to 2,000 rows",
    )
    parser.add_argument("--compare", metavar="OLD", help="saved explanation, for a comparison in the report")
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="TYPE",
        help="trusted type in a skops file; repeatable",
    )
    parser.add_argument(
        "--on-error",
        choices=get_args(OnError),
        default="raise",
        help="action on unreadable files; default: raise",
    )
    _add_run_options(parser)
    parser.set_defaults(run=run)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options on limits, checkpoints and progress."""
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of threads; default: all cores, or one if the model is called",
    )
    parser.add_argument(
        "--max-memory", metavar="SIZE", help="memory limit, such as 2GB; default: half of the free memory"
    )
    parser.add_argument(
        "--executor",
        metavar="ADDRESS",
        help="cluster: tcp://HOST:PORT (Dask); spark, spark://HOST:PORT or sc://HOST (Spark); default: none",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FOLDER",
        help="folder for finished blocks of Parquet, to resume an interrupted run",
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quiet", action="store_true", help="no progress on stderr")
    amount.add_argument("--verbose", action="store_true", help="model and data on stderr")


def run(arguments: argparse.Namespace) -> int:
    """Explain a model, and write the requested files."""
    output = None if arguments.output is None else Path(arguments.output)
    saved = None if arguments.save is None else Path(arguments.save)
    _check(output, saved, arguments)
    monotone = dict(_name_and_value("--monotone", text) for text in arguments.monotone)
    about = dict(_name_and_value("--about", text) for text in arguments.about)
    from paribus import read_model
    from paribus._command.files import name_of, read_explanation
    from paribus._executors import connected
    from paribus.results.storage import write_file

    old = None if arguments.compare is None else read_explanation(arguments.compare)

    model = read_model(arguments.model, trusted=arguments.trust)
    with connected(arguments.executor) as executor:
        explanation = _explained(model, arguments, monotone, executor)
    if saved is not None:
        explanation.save(saved)
        complain(f"saved {saved}")
    if output is None:
        report(repr(explanation))
        return 0
    title = arguments.title or f"{Path(arguments.model).name} on {name_of(arguments.data)}"
    if output.suffix.lower() == ".html":
        explanation.report(output, title=title, about=about, compare=old, tables=arguments.tables)
    elif output.suffix.lower() == ".json":
        explanation.save(output)
    else:
        write_file(output, explanation.to_markdown(title=title))
    complain(f"wrote {output}")
    return 0


def _explained(model: Any, arguments: argparse.Namespace, monotone: dict[str, str], executor: Any) -> Any:
    """Return the explanation of a model on the rows of a file, with the name of that file."""
    from paribus import Explainer
    from paribus._command.files import name_of, read_data
    from paribus.results.model_record import FileRecord

    on_error = arguments.on_error
    data = read_data(arguments.data, arguments.target, arguments.weight, model=model, on_error=on_error)
    if arguments.checkpoint is not None and data.rows is not None:
        raise OptionError(
            f"--checkpoint is for Parquet, which is read in blocks; DATA {name_of(arguments.data)} is read "
            "into memory. Write it as Parquet, or leave --checkpoint out"
        )
    explainer = Explainer(
        model,
        data.X,
        data.y,
        by=arguments.by,
        units=arguments.units,
        sample_weight=data.sample_weight,
        n_jobs=arguments.jobs,
        max_memory=arguments.max_memory,
        progress=False if arguments.quiet else None,
        executor=executor,
        checkpoint=arguments.checkpoint,
        on_error=on_error,
    )
    if arguments.verbose:
        for line in repr(explainer).splitlines():
            complain(line)
    with progress_lines():
        explanation = explainer.explain(
            features=arguments.features, monotone=monotone or None, percentiles=arguments.percentiles
        )
    if data.rows is not None:  # the file was read into memory
        explanation = replace(
            explanation,
            target=tuple(replace(record, name=arguments.target) for record in explanation.target),
            files=(FileRecord(name_of(arguments.data), data.rows, None),),
        )
    return explanation.without_rows() if arguments.without_rows else explanation


def _check(output: Path | None, saved: Path | None, arguments: argparse.Namespace) -> None:
    """Raise for files that cannot be written, and for options without effect."""
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise OptionError(f"-o {output} must end in {', '.join(SUFFIXES)}, which decides the format")
    if saved is not None and saved.suffix.lower() != ".json":
        raise OptionError(f"--save {saved} must end in .json")
    for option, path in (("-o", output), ("--save", saved)):
        if path is not None:
            check_writable(path, option, (arguments.model, arguments.data, arguments.compare))
    suffix = "" if output is None else output.suffix.lower()
    if (arguments.about or arguments.compare or arguments.tables) and suffix != ".html":
        raise OptionError(
            "--about, --compare and --tables are for a report; pass -o with a name that ends in .html"
        )
    if arguments.title and suffix not in (".html", ".md"):
        raise OptionError("--title is for a report; pass -o with a name that ends in .html or .md")


def _name_and_value(option: str, text: str) -> tuple[str, str]:
    """Split ``name=value``."""
    name, equals, value = text.rpartition("=") if option == "--monotone" else text.partition("=")
    if not equals or not name or not value:
        raise OptionError(f"{option} {text} must be a name and a value, as in {option} age=rising")
    return name, value
