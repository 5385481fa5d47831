"""The conda recipe and the action of the repository agree with the project and its command line."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml

import paribus
from paribus._command.entry import parser

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
NAMES = {"xxhash": "python-xxhash"}  # names on conda-forge that differ from those on PyPI


def test_recipe_has_version_license_and_command_of_the_project():
    assert RECIPE["package"]["name"] == PROJECT["name"]
    assert RECIPE["context"]["version"] == paribus.__version__
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert (ROOT / RECIPE["about"]["license_file"]).is_file()
    (command,) = RECIPE["build"]["python"]["entry_points"]
    assert dict([command.split(" = ")]) == PROJECT["scripts"]


def test_recipe_has_the_dependencies_of_the_project():
    wanted = {f"python {PROJECT['requires-python']}"}
    for dependency in PROJECT["dependencies"]:
        name, bound = re.match(r"([\w-]+)(>=[\d.]+)", dependency).groups()
        wanted.add(f"{NAMES.get(name, name)} {bound}")
    assert set(RECIPE["requirements"]["run"]) == wanted


def test_inputs_of_the_action_are_options_of_compare():
    (step,) = ACTION["runs"]["steps"]
    commands = next(action.choices for action in parser()._actions if action.choices)
    options = {option for action in commands["compare"]._actions for option in action.option_strings}
    assert set(re.findall(r"--(?:fail|indep)[a-z-]*", step["run"])) <= options
    assert {f"--{name}" for name in ACTION["inputs"] if name not in ("old", "new")} <= options
    assert sorted(step["env"].values()) == sorted(f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"])
    assert "${{" not in step["run"]  # inputs are data of the script, never part of it


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate")
    X = np.random.default_rng(0).normal(size=(200, 2))
    for name, slope in {"old": 1.0, "moved": 2.0}.items():
        found = paribus.explain(lambda t, slope=slope: slope * t[:, 0] + t[:, 1], X, progress=False)
        found.save(folder / f"{name}.json")
    return folder


@pytest.mark.nightly
@pytest.mark.parametrize(("new", "code"), [("old", 0), ("moved", 1), ("lacking", 2)])
def test_script_of_the_action_passes_on_the_exit_code(explained, new, code):
    (step,) = ACTION["runs"]["steps"]
    summary = explained / f"{new}.md"
    defaults = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    given = defaults | {"old": "old.json", "new": f"{new}.json", "fail-above": "0.05", "fail-rows": "0.2"}
    variables = {name: given[re.search(r"inputs\.([\w-]+)", text)[1]] for name, text in step["env"].items()}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | variables | {"PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
    command = ["bash", "-euo", "pipefail", "-c", step["run"]]
    done = subprocess.run(
        command, cwd=explained, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert summary.read_text().startswith("```text\n")
    assert ("x0" in summary.read_text()) == (new == "moved")
    assert ("nothing has changed" in summary.read_text()) == (new == "old")
