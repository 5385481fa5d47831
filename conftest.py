"""Code blocks of the Markdown pages are tests; each page is one session, read from top to bottom.

Blocks of Python and of bash are run. What would install something, or belongs to another machine, is in
blocks of another language, such as ``sh`` and ``yaml``.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

matplotlib.use("Agg")
# The models of the tests are small: threads of their own would only wait for each other, and wait busily.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_THREAD_LIMIT", "1")  # LightGBM decides on a number of its own


def setup(namespace):
    """Let a page write its files into a folder of its own."""
    namespace["_home"] = os.getcwd()
    os.chdir(tempfile.mkdtemp())


def teardown(namespace):
    plt.close("all")
    os.chdir(namespace["_home"])


def run_bash(example):
    """Run the commands of a block in the folder of its page; the first that fails ends it, and the test."""
    home = str(Path(sys.executable).parent)  # where pip has put the command
    path = {"PATH": os.pathsep.join([home, os.environ["PATH"]])}
    command = ["bash", "-euo", "pipefail", "-c", example.parsed]
    done = subprocess.run(command, env=os.environ | path, capture_output=True, text=True, timeout=300)
    assert not done.returncode, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"


parsers = [PythonCodeBlockParser(), CodeBlockParser("bash", run_bash)]
pages = Sybil(parsers=parsers, patterns=["*.md"], setup=setup, teardown=teardown)
pytest_collect_file = pages.pytest()
