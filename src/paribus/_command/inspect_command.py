"""Command ``paribus inspect``: the content of a model file, and the evaluator that would run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from paribus._command.terminal import add_limits, report
from paribus._text import count

DESCRIPTION = """\
Show the content of a model file: format, objective, trees, columns and their categories. With DATA, also show
the evaluator that would run, the reasons against faster ones, and the estimated time.
"""
EPILOG = """\
examples:
  paribus inspect model.txt
  paribus inspect model.json data.parquet
  paribus inspect forest.skops data.csv --trust sklearn.tree._tree.Tree
"""
COLUMNS = 40  # columns that are listed
CATEGORIES = 6  # categories of a column that are listed


def add_to(commands: Any) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        "inspect",
        help="show the content of a model file, and how it would be evaluated",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="file of XGBoost, LightGBM, CatBoost or skops")
    parser.add_argument("data", metavar="DATA", nargs="?", help="Parquet file or folder, CSV, or Arrow file")
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="TYPE",
        help="trusted type in a skops file; repeatable",
    )
    add_limits(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the description of a model."""
    from paribus import read_model

    model = read_model(arguments.model, trusted=arguments.trust)
    lines = [f"model      {arguments.model}"]
    lines += _file_lines(model) if hasattr(model, "facts") else [f"class      {type(model).__name__}"]
    lines += _column_lines(model)
    if arguments.data is None:
        lines.append("evaluator  pass DATA to see which one would run")
    else:
        lines += _evaluation_lines(model, arguments)
    report("\n".join(lines))
    return 0


def _file_lines(model: Any) -> Iterator[str]:
    """Yield the lines on the model in a file: format, objective, size and responses."""
    facts, ensemble = model.facts, model.ensemble
    # LightGBM files have the version of their format only.
    by = "" if facts.version.startswith("format ") else "written by version "
    written = f", {by}{facts.version}" if facts.version else ""
    yield f"format     {facts.file_format}{written}"
    yield f"objective  {facts.objective}"
    leaves = int((ensemble.column < 0).sum())
    nodes = len(ensemble.column)
    trees, splits = count(len(ensemble.roots), "tree"), count(nodes - leaves, "split")
    yield f"size       {trees}, {count(leaves, 'leaf', 'leaves')}, {splits}"
    if facts.classes is not None:
        yield f"classes    {_first_categories([str(one) for one in facts.classes])}"
    yield f"responses  {', '.join(ensemble.links)}"
    yield from (f"refused    {response}: {why}" for response, why in ensemble.refused.items())


def _column_lines(model: Any) -> Iterator[str]:
    """Yield the columns of the fit, with their kinds and numbers of splits."""
    from paribus._models.columns import fitted_on, width_of

    fitted = fitted_on(model)
    if fitted is None:
        width = width_of(model)
        yield f"columns    {'unknown' if width is None else f'{width:,}, without names'}"
        return
    yield f"columns    {len(fitted.names):,}"
    splits = _splits_by_column(model)
    for position, name in enumerate(fitted.names[:COLUMNS]):
        used = f", {count(splits[position], 'split')}" if splits is not None else ""
        yield f"  {name}: {_column_text(fitted, position)}{used}"
    if len(fitted.names) > COLUMNS:
        yield f"  and {len(fitted.names) - COLUMNS:,} more"


def _column_text(fitted: Any, position: int) -> str:
    """Return the kind of a column, with its categories."""
    if position not in fitted.categories:
        if not fitted.knows(position):
            return "of a kind that the model does not keep"
        return (
            "numbers" if position in fitted.numbers else "numbers, or categories that the file does not keep"
        )
    categories = [str(one) for one in fitted.categories[position]]
    return f"{count(len(categories), 'category', 'categories')}: {_first_categories(categories)}"


def _splits_by_column(model: Any) -> list[int] | None:
    """Return the number of splits on each column, None if the model does not come from such a file."""
    if not hasattr(model, "facts"):
        return None
    counts = [0] * model.facts.columns
    for column in model.ensemble.column[model.ensemble.column >= 0].tolist():
        counts[model.ensemble.encodings[column].feature] += 1
    return counts


def _first_categories(texts: list[str]) -> str:
    """Return a list of the first categories or classes."""
    more = f" and {len(texts) - CATEGORIES:,} more" if len(texts) > CATEGORIES else ""
    return ", ".join(texts[:CATEGORIES]) + more


def _evaluation_lines(model: Any, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the lines on data, evaluators that would run, refusals of others, and cost."""
    from paribus import Explainer
    from paribus._command.files import read_data
    from paribus._data.scan.listing import without_secret

    path = arguments.data
    data = read_data(path, model=model)
    limits = {"n_jobs": arguments.jobs, "max_memory": arguments.max_memory}
    explainer = Explainer(model, data.X, progress=False, **limits)
    estimate = explainer.estimate_cost("explain")
    yield f"data       {without_secret(path)}"
    yield from (f"  {line.strip()}" for line in repr(explainer).splitlines()[1:])
    used = estimate.evaluator.split(" and ")
    yield f"evaluator  {', '.join(used)}: {estimate.why}"
    for name, why in estimate.refusals.items():
        yield f"  not {name}{' for everything' * (name in used)}: {why}"
    yield "cost       of paribus explain:"
    yield from (f"  {line}" for line in repr(estimate).splitlines()[2:])
