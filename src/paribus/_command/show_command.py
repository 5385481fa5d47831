"""Command ``paribus show``: a saved result or report as text, a table or a picture."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paribus._command.terminal import check_writable, complain, report, write_file
from paribus.errors import OptionError, did_you_mean

DESCRIPTION = """\
Show a file written by paribus: an explanation, a report, the changes between two explanations, or a result
saved in Python. Neither the model nor the data is needed.
"""
EPILOG = """\
examples:
  paribus show report.html
  paribus show result.json --feature age
  paribus show result.json --feature age --format csv > age.csv
  paribus show result.json --feature age -o age.svg
  paribus show result.json -o report.html

Without --format, the suffix of -o selects the format: .txt, .json, .csv, .md, .svg, .png or .html. CSV and
JSON contain the table of the result (to_frame in Python). PNG needs matplotlib: pip install "paribus[plot]"
"""
FORMATS = ("text", "json", "csv", "markdown", "svg", "png", "html")
SUFFIXES = {".txt": "text", ".md": "markdown"} | {
    f".{name}": name for name in FORMATS[1:] if name != "markdown"
}


def add_to(commands: Any) -> None:
    """Add the parser of this command."""
    parser = commands.add_parser(
        "show",
        help="show a saved result or report as text, a table or a picture",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("result", metavar="RESULT", help="saved result (.json) or report (.html)")
    parser.add_argument(
        "--format", choices=FORMATS, help="output format; default: the suffix of -o, else text"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="output file; default: stdout")
    parser.add_argument(
        "--feature", metavar="NAME", help="feature whose effect is shown; default: the whole result"
    )
    parser.add_argument("--output-name", metavar="OUTPUT", help="output of the model to plot; default: all")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write a result in the requested format."""
    path = None if arguments.output is None else Path(arguments.output)
    form = _output_format(arguments.format, path)
    if path is not None:
        check_writable(path, "-o", (arguments.result,))
    from paribus.results.storage import load

    result = load(arguments.result)
    if arguments.feature is not None:
        result = _effect_of_feature(result, arguments.feature)
    if form == "html" and path is not None:
        _check_method(result, "report", "html")
        result.report(path)
    else:
        content = _formatted_result(result, form, arguments.output_name)
        if path is None:
            report(content)
        else:
            ended = content if isinstance(content, bytes) or content.endswith("\n") else f"{content}\n"
            write_file(path, ended)
    if path is not None:
        complain(f"wrote {path}")
    return 0


def _output_format(form: str | None, path: Path | None) -> str:
    """Return the format: the option, that of the suffix, or text."""
    if form is None and path is not None:
        form = SUFFIXES.get(path.suffix.lower())
        if form is None:
            raise OptionError(f"-o {path} does not end in {', '.join(SUFFIXES)}; pass --format")
    if form == "html" and path is None:
        raise OptionError("--format html is a file; pass -o report.html")
    return form or "text"


def _effect_of_feature(result: Any, name: str) -> Any:
    """Return the effect of one feature, from an explanation, its changes or a mapping of effects."""
    effects = getattr(result, "effects", result)
    if isinstance(effects, tuple):  # of a comparison, or of a mapping of effects
        effects = result if isinstance(result, Mapping) else {one.feature: one for one in effects}
    if not isinstance(effects, Mapping) or not all(isinstance(key, (str, tuple)) for key in effects):
        raise OptionError(f"--feature {name}: a {type(result).__name__} has no effects to choose from")
    if name not in effects:
        known = [key for key in effects if isinstance(key, str)]
        raise OptionError(f"--feature {name} is not in this result{did_you_mean(name, known)}")
    return effects[name]


def _formatted_result(result: Any, form: str, output: str | None) -> str | bytes:
    """Return a result in a format other than html."""
    if form == "text":
        return repr(result)
    if form == "markdown":
        _check_method(result, "to_markdown", form)
        text: str = result.to_markdown()
        return text
    if form in ("csv", "json"):
        from paribus._command.terminal import csv_text, json_text

        _check_method(result, "to_frame", form)
        frame = result.to_frame(backend="pyarrow")
        return csv_text(frame) if form == "csv" else json_text(frame)
    _check_method(result, "figure", form)
    options = {} if output is None else {"output": output}
    if form == "svg":
        picture: str = result.to_svg(**options)
        return picture
    figure = result.figure(**options)
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise OptionError('--format png needs matplotlib: pip install "paribus[plot]"; svg needs nothing')
    from paribus._display.matplotlib import png

    return png(figure, 110)


def _check_method(result: Any, method: str, form: str) -> None:
    """Raise if a result lacks the method of a format."""
    if not hasattr(result, method):
        way_out = "; pass --feature" if hasattr(result, "effects") else ""
        raise OptionError(f"this {type(result).__name__} has no {form}{way_out}")
