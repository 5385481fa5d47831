"""Entry point of ``paribus`` and ``python -m paribus``: the parser, error messages and exit codes."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import NoReturn

from paribus import _compile
from paribus._command import compare_command, explain_command
from paribus._command.terminal import complain
from paribus._version import __version__
from paribus.errors import ParibusError

# Each adds its parser, with its function as the default of `run`.
COMMANDS = (explain_command.add_to, compare_command.add_to, _compile.add_to)
FINE, USER_ERROR, OWN_ERROR, INTERRUPTED = 0, 2, 3, 130  # compare returns 1 for a failed check
DESCRIPTION = "Show how the predictions of a fitted model depend on its features."
EPILOG = """\
examples:
  paribus explain model.txt data.parquet                 table of features
  paribus explain model.txt data.csv --target y -o report.html
  paribus explain model.txt data.csv -o old.json         result, for a later comparison
  paribus compare old.json new.json --fail-above 0.1     exit code 1 if effects changed

More examples: paribus explain --help, and likewise for the other commands.

MODEL is a file of XGBoost (JSON, UBJSON), LightGBM (text), CatBoost (cbm, JSON) or skops. Its library must be
installed. Save one in Python with
  model.save_model("model.json")            XGBoost; CatBoost with format="json"
  model.booster_.save_model("model.txt")    LightGBM
  skops.io.dump(model, "model.skops")       scikit-learn
DATA is a Parquet file or a folder of them, or CSV, with the columns of the model.

exit codes: 0 success, 1 failed check, 2 invalid input, 3 internal error.
Results go to stdout, everything else to stderr.
"""


class Parser(argparse.ArgumentParser):
    """A parser that reports an error as one sentence."""

    def error(self, message: str) -> NoReturn:
        """Report an error in the arguments, and exit."""
        complain(f"{message}; see {self.prog} --help")
        raise SystemExit(USER_ERROR)


def parser() -> Parser:
    """Return the parser of all commands."""
    plain = argparse.RawDescriptionHelpFormatter
    whole = Parser(prog="paribus", description=DESCRIPTION, epilog=EPILOG, formatter_class=plain)
    whole.add_argument("--version", action="version", version=f"paribus {__version__}")
    whole.add_argument("--debug", action="store_true", help="tracebacks of errors")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND")
    for add_to in COMMANDS:
        add_to(commands)
    for command in commands.choices.values():  # also accepted after the command
        command.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="tracebacks of errors"
        )
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; report an error as a sentence, and return the exit code."""
    commands = parser()
    chosen = commands.parse_args(arguments)
    if not hasattr(chosen, "run"):
        commands.print_help()
        return FINE
    with warnings.catch_warnings():
        if not chosen.debug:
            warnings.simplefilter("ignore")
        try:
            code: int = chosen.run(chosen)
        except KeyboardInterrupt:
            complain("interrupted")
            code = INTERRUPTED
        except ParibusError as error:
            if chosen.debug:
                traceback.print_exc()
            complain(str(error))
            code = USER_ERROR
        except Exception as error:
            if chosen.debug:
                traceback.print_exc()
            again = "" if chosen.debug else " run the command again with --debug, and"
            internal = f"This is an internal error of paribus;{again} please report it"
            complain(f"{type(error).__name__}: {error}. {internal}")
            code = OWN_ERROR
    return code


def script() -> NoReturn:
    """Run the command ``paribus``."""
    sys.exit(main())
