"""Build the distributions, look into them, and use them in clean environments.

``make dist`` runs it; nothing but the folder ``dist`` is written. The wheel is built from
the sdist, as an installer without wheels does it, and compared with one built from the sources. Then it is
installed without extras, with each extra alone, with all of them, without numba, and on every other supported
Python of this machine; in each of these, `installed.py` uses it. ``make wheel`` passes ``--without-extras``,
which leaves out all installations but the first.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from pythons import interpreter_of, other_pythons

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Of what is in the repository, all that a user of the sdist has no use for.
NOT_IN_SDIST = {".ci", ".gitignore", ".pre-commit-config.yaml"}
# What others look for; that it is in the repository is checked, and with it that it is in the sdist.
IN_SDIST = (
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "conftest.py",
    "docs/effects.md",
    "benchmarks/",
    "tests/test_house.py",
    "tools/distribution.py",
)
IN_WHEEL = ("paribus/py.typed", "paribus/_report/page.css", "paribus/_report/page.js")


def run(*command, folder=ROOT):
    """Run a command and return what it wrote; where it fails, end with that."""
    # The sources are on no path: what is checked is what was installed.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def uv(*arguments, folder=ROOT):
    """Run uv, without its bytecode and without another Python than those of this machine."""
    return run(sys.executable, "-m", "uv", "--quiet", "--no-python-downloads", *arguments, folder=folder)


def build(folder):
    """Return the sdist, the wheel that is built from it, and the wheel that is built from the sources."""
    uv("build", "--python", sys.executable, "--out-dir", folder / "both", ROOT)
    uv("build", "--python", sys.executable, "--wheel", "--out-dir", folder / "sources", ROOT)
    (sdist,) = (folder / "both").glob("*.tar.gz")
    (wheel,) = (folder / "both").glob("*.whl")
    (direct,) = (folder / "sources").glob("*.whl")
    return sdist, wheel, direct


def files_of_wheel(path):
    """Return the digests of what a wheel holds."""
    with zipfile.ZipFile(path) as file:
        return {name: hashlib.sha256(file.read(name)).hexdigest() for name in file.namelist()}


def files_of_sdist(path):
    """Return the names of the files of an sdist, without the folder they are in."""
    with tarfile.open(path) as file:
        return {one.name.partition("/")[2] for one in file.getmembers() if one.isfile()}


def repository():
    """Return the files of the repository, those not yet committed included."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    return {name for name in listed if (ROOT / name).is_file()}


def check_sdist(names, sources):
    """Hold the sdist to the repository: all of it but a few named files, and nothing else."""
    expected = {name for name in sources if name.partition("/")[0] not in NOT_IN_SDIST}
    lacking, foreign = expected - names, names - expected - {"PKG-INFO", ".gitignore"}
    assert not lacking, f"the sdist lacks {sorted(lacking)[:9]}"
    assert not foreign, f"the sdist has {sorted(foreign)[:9]}, which the repository has not"
    for wanted in IN_SDIST:
        assert any(name.startswith(wanted) for name in names), f"the sdist has no {wanted}"


def check_wheel(files, sources):
    """Hold the wheel to src/paribus, and its metadata to the license and the command."""
    own = {name.removeprefix("src/") for name in sources if name.startswith("src/paribus/")}
    home = f"paribus-{version()}.dist-info"
    made = {
        f"{home}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    difference = sorted(files.keys() ^ (own | made))
    assert not difference, f"the wheel and src/paribus differ in {difference[:9]}"
    for wanted in IN_WHEEL:
        assert wanted in files, f"the wheel has no {wanted}"


def version():
    """Return the version, as its file has it."""
    return re.search(r'__version__ = "(.+)"', (ROOT / "src/paribus/_version.py").read_text())[1]


def extras():
    """Return the extras that stand for themselves."""
    return [name for name in PROJECT["optional-dependencies"] if name != "all"]


def extras_of_all():
    """Return the extras that ``all`` names."""
    (named,) = PROJECT["optional-dependencies"]["all"]
    return named.partition("[")[2].rstrip("]").split(",")


def environment(folder, wheel, name, chosen=(), python=sys.executable):
    """Make an environment with a wheel and extras, and return its interpreter."""
    place = folder / name
    uv("venv", "--python", python, place)
    interpreter = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = f"{wheel}[{','.join(chosen)}]" if chosen else wheel
    uv("pip", "install", "--python", interpreter, wanted, folder=folder)
    return interpreter


def use(interpreter, folder, chosen=()):
    """Use what is installed."""
    run(interpreter, "-W", "error", ROOT / "tools" / "installed.py", *chosen, folder=folder)


def with_extras(folder, wheel, name, chosen):
    """Use an environment with some extras; where there are trees, without numba as well."""
    interpreter = environment(folder, wheel, name, ["all"] if name == "all" else chosen)
    use(interpreter, folder, chosen)
    if name == "skops":
        uv("pip", "uninstall", "--python", interpreter, "numba", "llvmlite", folder=folder)
        use(interpreter, folder, chosen)
        return "also without numba"
    return ""


def on_python(folder, wheel, python):
    """Use an environment without extras of another Python; one that is not on this machine is left out."""
    found = interpreter_of(python)
    if found is None:
        return "not on this machine, left out"
    use(environment(folder, wheel, f"python-{python}", python=found), folder)
    return ""


def installations(folder, wheel):
    """Return what is tried, by name."""
    tried = {"no extra": lambda: with_extras(folder, wheel, "minimal", [])}
    for extra in extras():
        tried[f"extra {extra}"] = lambda extra=extra: with_extras(folder, wheel, extra, [extra])
    tried["all extras"] = lambda: with_extras(folder, wheel, "all", extras_of_all())
    for python in other_pythons():
        tried[f"Python {python}"] = lambda python=python: on_python(folder, wheel, python)
    return tried


def report(name, began, remark=""):
    """Say that something passed, and what it took."""
    print(f"{perf_counter() - began:6.1f} s  {name}{': ' if remark else ''}{remark}", flush=True)


def timed(name, work):
    """Do one thing and report it."""
    began = perf_counter()
    report(name, began, work() or "")


def main():
    """Build, check and use; keep the distributions in ``dist``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without-extras", action="store_true", help="one installation, without extras")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder, began = Path(made), perf_counter()
        sdist, wheel, direct = build(folder)
        files, sources = files_of_wheel(wheel), repository()
        assert files == files_of_wheel(direct), "the wheel of the sdist is not that of the sources"
        check_sdist(files_of_sdist(sdist), sources)
        check_wheel(files, sources)
        run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
        run(sys.executable, "-m", "check_wheel_contents", wheel)
        report(f"built and looked into: {sdist.name}, {wheel.name}", began)
        if options.without_extras:
            timed("no extra", lambda: with_extras(folder, wheel, "minimal", []))
        else:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda one: timed(*one), installations(folder, wheel).items()))
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        for one in (sdist, wheel):
            shutil.copy(one, DIST)
        report(f"in all; kept in {DIST.name}", began)


if __name__ == "__main__":
    main()
