"""Code blocks of the Markdown pages are tests; each page is one session, read from top to bottom."""

import os
import tempfile

import matplotlib
import matplotlib.pyplot as plt
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

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


pages = Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"], setup=setup, teardown=teardown)
pytest_collect_file = pages.pytest()
