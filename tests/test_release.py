"""What a release rests on: its checklist, workflow files whose actions are pinned, metadata that agrees."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import distribution
import paribus
import pythons
import release

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def git(folder, *arguments):
    own = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *own, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def ready(tmp_path):
    """A repository that may be released."""
    (tmp_path / "src/paribus").mkdir(parents=True)
    (tmp_path / "src/paribus/_version.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.3 - unreleased\n\n- New.\n\n## 1.2.2 - x\n\n- Old.\n"
    )
    (tmp_path / "CITATION.cff").write_text(
        "title: t\nversion: 1.2.2\ndate-released: 2020-01-01\nlicense: b\n"
    )
    assert release.main(["date", "2026-01-31"], tmp_path) == 0
    git(tmp_path, "init", "--initial-branch", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-m", "Begin")
    return tmp_path


def test_the_date_is_written_where_it_belongs(ready):
    assert "## 1.2.3 - 2026-01-31\n" in (ready / "CHANGELOG.md").read_text()
    assert "## 1.2.2 - x\n" in (ready / "CHANGELOG.md").read_text()
    citation = (ready / "CITATION.cff").read_text()
    assert citation == "title: t\nversion: 1.2.3\ndate-released: 2026-01-31\nlicense: b\n"


def test_what_is_ready_passes_every_check_and_each_is_printed(ready, capsys):
    assert release.main(["check", "--no-builds"], ready) == 0
    shown = capsys.readouterr().out
    assert len(re.findall(r"^ok  ", shown, re.MULTILINE)) == 7
    assert shown.endswith("all 7 checks passed\n")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("src/paribus/_version.py", "1.2.3", "1.2.4", "begins with 1.2.3, the version is 1.2.4"),
        ("src/paribus/_version.py", "1.2.3", "1.2.3.dev0", "no version of the form"),
        ("CHANGELOG.md", "2026-01-31", "unreleased", "'unreleased' in place of a date"),
        ("CHANGELOG.md", "## 1.2.3 - 2026-01-31", "Soon", "begins with 1.2.2"),
        ("CITATION.cff", "2026-01-31", "2026-01-30", "CITATION.cff has version and date"),
        ("CITATION.cff", "title", "tytle", "1 files are not committed, such as CITATION.cff"),
    ],
)
def test_each_fault_is_found_and_said(ready, capsys, file, old, new, message):
    text = (ready / file).read_text()
    assert old in text
    (ready / file).write_text(text.replace(old, new))
    assert release.main(["check", "--no-builds"], ready) == 1
    shown = capsys.readouterr().out
    assert "FAILED" in shown
    assert message in shown


def test_another_branch_and_a_tag_that_exists_are_found(ready, capsys):
    git(ready, "checkout", "-b", "other")
    git(ready, "tag", "v1.2.3")
    assert release.main(["check", "--no-builds"], ready) == 1
    shown = capsys.readouterr().out
    assert "on other, not on main" in shown
    assert "the tag v1.2.3 exists" in shown
    assert "2 of 7 checks failed" in shown


def test_a_build_that_fails_is_a_check_that_fails(ready, capsys):
    (ready / "Makefile").write_text("dist:\n\t@echo broken && exit 1\nsite:\n\t@true\n")
    assert release.run_checks((release.made("dist"), release.made("site")), ready) == 1
    assert "broken" in capsys.readouterr().out


def test_a_tag_is_held_to_the_version_and_its_notes_are_its_section(ready, capsys):
    assert release.main(["tagged", "v1.2.3"], ready) == 0
    assert release.main(["tagged", "v1.2.4"], ready) == 1
    capsys.readouterr()
    assert release.main(["notes"], ready) == 0
    assert capsys.readouterr().out == "- New.\n"


def test_version_changelog_and_citation_are_of_one_release():
    assert release.version(ROOT) == paribus.__version__ == release.heading(ROOT)[0]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == paribus.__version__
    assert citation["license"] == PROJECT["license"]
    assert release.cited(ROOT, "version") == paribus.__version__
    assert f"version = {{{paribus.__version__}}}" in re.sub(
        " +", " ", (ROOT / "docs/how-it-works.md").read_text()
    )


def test_numba_is_left_out_where_it_has_no_wheel():
    (numba,) = (Requirement(line) for line in PROJECT["dependencies"] if line.startswith("numba"))
    machines = {
        ("darwin", "x86_64"): False,
        ("darwin", "arm64"): True,
        ("linux", "x86_64"): True,
        ("win32", "AMD64"): True,
        ("emscripten", "wasm32"): False,
    }
    for (system, machine), installed in machines.items():
        environment = {"sys_platform": system, "platform_machine": machine, "python_version": "3.13"}
        assert numba.marker.evaluate(environment) is installed, (system, machine)


def floors(lines):
    """Return the oldest version of each package in a list of requirements."""
    parsed = (Requirement(line) for line in lines if isinstance(line, str))
    return {own.name: next((one.version for one in own.specifier), None) for own in parsed}


def test_constraints_and_conda_recipe_have_the_floors_of_pyproject():
    text = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = (*PROJECT["optional-dependencies"].values(), *text["dependency-groups"].values())
    required = floors(PROJECT["dependencies"])
    declared = required | {name: floor for group in groups for name, floor in floors(group).items()}
    constraints = (ROOT / "tests/support/floors.txt").read_text().splitlines()[1:]
    assert len(constraints) > 15
    for line in constraints:
        name, _, version = line.removesuffix(".*").partition("==")
        assert version in (declared[name], f"{declared[name]}.0"), line
    recipe = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())["requirements"]["run"]
    lines = {line.removeprefix("python-") for line in recipe} - {f"python {PROJECT['requires-python']}"}
    assert lines == {f"{name} >={floor}" for name, floor in required.items()}


def test_all_is_every_extra():
    extras = PROJECT["optional-dependencies"]
    (every,) = extras["all"]
    # A cluster brings its version of Spark.
    assert set(re.fullmatch(r"paribus\[(.+)\]", every)[1].split(",")) == extras.keys() - {"all", "spark"}


def steps():
    """Yield every step, and every job that is a workflow of its own, with the file it is in."""
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            yield from ((path.name, one) for one in [job, *job.get("steps", ())])


def test_every_action_is_pinned_by_commit_and_says_its_version():
    used = [(file, step["uses"]) for file, step in steps() if "uses" in step]
    foreign = [(file, name) for file, name in used if not name.startswith("./")]
    assert len(foreign) > 10
    assert not [one for one in foreign if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", one[1])]
    lines = [line for path in WORKFLOWS for line in path.read_text().splitlines() if "uses: " in line]
    pinned = [line for line in lines if "uses: ./" not in line]
    assert not [line for line in pinned if not re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)]
    assert len({line.split("uses: ")[1].split("@")[0] for line in pinned}) == len(
        {line.split("uses: ")[1] for line in pinned}
    )


def test_only_what_publishes_may_write_and_only_after_everything_has_passed():
    flows = {path.stem: yaml.safe_load(path.read_text())["jobs"] for path in WORKFLOWS}
    may = {
        (file, name): job["permissions"]
        for file, jobs in flows.items()
        for name, job in jobs.items()
        if "permissions" in job
    }
    assert may == {
        ("docs", "publish"): {"pages": "write", "id-token": "write"},
        ("nightly", "issue"): {"issues": "write"},
        ("release", "publish"): {"id-token": "write"},
        ("release", "notes"): {"contents": "write"},
    }
    jobs = flows["release"]
    assert jobs["ci"]["uses"] == "./.github/workflows/ci.yml"
    assert set(jobs["publish"]["needs"]) == {"ci", "distributions", "checklist"}
    assert jobs["publish"]["environment"] == "release"
    assert jobs["notes"]["needs"] == "publish"
    (whole,) = (job for job in flows["ci"].values() if {"run": "make ci"} in job["steps"])
    assert "if" not in whole
    assert "continue-on-error" not in whole


def test_workflows_may_read_and_little_else():
    for path in WORKFLOWS:
        flow = yaml.safe_load(path.read_text())
        assert flow["permissions"] == {"contents": "read"}, path.name
        assert "concurrency" in flow, path.name
        for name, job in flow["jobs"].items():
            assert "uses" in job or 0 < job["timeout-minutes"] <= 180, (path.name, name)
    kept = [step for _, step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert len(kept) > 5
    assert all(step["with"]["persist-credentials"] is False for step in kept)


def test_scripts_of_workflows_take_values_from_the_environment_only():
    scripts = [(file, step["run"]) for file, step in steps() if "run" in step]
    assert len(scripts) > 10
    assert not [one for one in scripts if "${{" in one[1]]


def test_workflows_and_classifiers_name_the_same_pythons():
    flow = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    tested = flow["jobs"]["systems"]["strategy"]["matrix"]["python"]
    assert set(pythons.supported()) <= set(tested)
    assert PROJECT["requires-python"] == f">={pythons.supported()[0]}"


def test_a_python_that_is_not_here_is_not_found(monkeypatch, tmp_path):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    broken = tmp_path / "versions/3.99.1/bin/python"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    assert pythons.interpreter_of("3.99") is None
    own = "{}.{}".format(*sys.version_info)
    assert pythons._runs(sys.executable, own)
    assert own not in pythons.other_pythons()


def test_files_that_lack_or_do_not_belong_are_found():
    sources = {"src/paribus/a.py", "README.md", ".gitignore", *distribution.IN_SDIST, "benchmarks/run.py"} - {
        "benchmarks/"
    }
    sound = sources | {"PKG-INFO"}
    distribution.check_sdist(sound, sources)
    with pytest.raises(AssertionError, match=r"lacks .*LICENSE"):
        distribution.check_sdist(sound - {"LICENSE"}, sources)
    with pytest.raises(AssertionError, match=r"secret\.env"):
        distribution.check_sdist(sound | {"secret.env"}, sources)
    with pytest.raises(AssertionError, match=r"has no CITATION\.cff"):
        distribution.check_sdist(sound - {"CITATION.cff"}, sources - {"CITATION.cff"})
    home = f"paribus-{paribus.__version__}.dist-info"
    made = [
        f"{home}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    ]
    own = {f"src/{name}" for name in distribution.IN_WHEEL}
    wheel = dict.fromkeys([*distribution.IN_WHEEL, *made], "digest")
    distribution.check_wheel(wheel, own)
    with pytest.raises(AssertionError, match="tests/test_a"):
        distribution.check_wheel(wheel | {"tests/test_a.py": "digest"}, own)
    with pytest.raises(AssertionError, match=r"has no paribus/py\.typed"):
        distribution.check_wheel(
            {name: one for name, one in wheel.items() if name != "paribus/py.typed"},
            own - {"src/paribus/py.typed"},
        )
