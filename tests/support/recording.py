"""Plugin of pytest for `mutants`: keeps the seconds of each test, and the failures, in the file PARIBUS_RECORDING."""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, settings

TESTS = str(Path(__file__).resolve().parents[1])
SECONDS: Counter[str] = Counter()
FAILURES: list[str] = []


@pytest.hookimpl(trylast=True)  # after conftest has loaded another profile
def pytest_configure():
    """Run the same examples every time, and do not search for a smaller example that fails."""
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("recording", settings.default, derandomize=True, database=None, phases=phases)
    settings.load_profile("recording")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Let helpers of tests forget their results, so that each test executes all lines that it depends on."""
    if item.config.getoption("cov_context"):
        files = {name: str(getattr(module, "__file__", None)) for name, module in sys.modules.items()}
        for name in [name for name, file in files.items() if file.startswith(TESTS)]:
            for value in list(vars(sys.modules[name]).values()):
                getattr(value, "cache_clear", int)()


def pytest_runtest_logreport(report):
    """Add the seconds of the setup, the call or the teardown of a test."""
    SECONDS[report.nodeid] += report.duration
    pytest_collectreport(report)


def pytest_collectreport(report):
    """Keep a failure, also of a file that cannot be imported."""
    if report.failed and report.nodeid:
        FAILURES.append(report.nodeid)


def pytest_sessionfinish(session):
    """Write the file, once for all workers."""
    if not hasattr(session.config, "workerinput"):
        content = json.dumps({"seconds": SECONDS, "failures": FAILURES})
        Path(os.environ["PARIBUS_RECORDING"]).write_text(content)
