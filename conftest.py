"""Code blocks of the Markdown pages are tests; each page is one session, read from top to bottom.

Blocks of Python and of bash are run. What would install something, or belongs to another machine, is in
blocks of another language, such as ``sh`` and ``yaml``. On a page that has the line ``PRINTED``, a block of
text has to be what the block of Python before it prints, where ``...`` is anything and seconds may differ.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from sybil import Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

matplotlib.use("Agg")
collect_ignore_glob = ["docs/*/*.py"]  # scripts, which import every library and have no doctests
if shutil.which("java") is None:
    collect_ignore_glob.append("docs/spark.md")
# The models of the tests are small: threads of their own would only wait for each other, and wait busily.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_THREAD_LIMIT", "1")  # LightGBM decides on a number of its own


PRINTED = "<!-- every block of text is what the block of Python before it prints -->"


def setup(namespace):
    """Let a page write its files into a folder of its own."""
    namespace["_home"] = os.getcwd()
    os.chdir(tempfile.mkdtemp())


def teardown(namespace):
    plt.close("all")
    os.chdir(namespace["_home"])


def run_python(example):
    """Run a block, and keep what it prints."""
    with redirect_stdout(StringIO()) as printed:
        PythonEvaluator()(example)
    example.namespace["_printed"] = printed.getvalue()
    sys.stdout.write(printed.getvalue())


def compare_text(example):
    """Compare a block of text with what was printed before it, on a page that promises so."""
    if PRINTED not in example.document.text:
        return
    texts = example.parsed, example.namespace.get("_printed", "")
    shown, printed = (re.sub(r"[\d.]+ s\)", "... s)", text) for text in texts)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(shown, printed, flags), f"printed was:\n{printed}"


def run_bash(example):
    """Run the commands of a block in the folder of its page; the first that fails ends it, and the test."""
    home = str(Path(sys.executable).parent)  # where pip has put the command
    path = {"PATH": os.pathsep.join([home, os.environ["PATH"]])}
    command = ["bash", "-euo", "pipefail", "-c", example.parsed]
    done = subprocess.run(command, env=os.environ | path, capture_output=True, text=True, timeout=300)
    assert not done.returncode, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"


parsers = [
    CodeBlockParser("python", run_python),
    CodeBlockParser("bash", run_bash),
    CodeBlockParser("text", compare_text),
]
pages = Sybil(parsers=parsers, patterns=["*.md"], setup=setup, teardown=teardown)
pytest_collect_file = pages.pytest()
