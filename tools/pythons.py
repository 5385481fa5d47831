"""Run the tests of `make ci` on every other supported Python that is on this machine.

``make versions`` runs it. Each Python gets an environment, ``.venv-3.12`` for example, which is kept,
so that a second run takes only the tests. Which Pythons are supported is said by the classifiers in
pyproject.toml; one that is not on this machine is named and left out.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def supported():
    """Return the Pythons that the classifiers name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))


def other_pythons():
    """Return those that are supported, but for the one that runs this."""
    return [one for one in supported() if one != "{}.{}".format(*sys.version_info)]


def interpreter_of(python):
    """Return the interpreter of a Python, on the path or among those of pyenv; None if there is none."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    kept = [
        str(folder / "bin" / "python") for folder in sorted(root.glob(f"versions/{python}.*"), reverse=True)
    ]
    for candidate in [shutil.which(f"python{python}"), *kept]:
        if candidate is not None and _runs(candidate, python):
            return candidate
    return None


def _runs(candidate, python):
    """Return whether an interpreter is the Python it is named after: a shim may stand for another."""
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    done = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == python


def test_on(python, interpreter):
    """Run the tests in an environment of a Python, which is made if it is missing."""
    place = ROOT / f".venv-{python}"
    own = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    if not own.exists():
        subprocess.run([*uv, "venv", "--python", interpreter, place], check=True)
    wanted = ["--editable", ".[plot,plotly]", "--group", "test"]
    subprocess.run([*uv, "pip", "install", "--python", own, *wanted], cwd=ROOT, check=True)
    return subprocess.run(["make", "test", f"PYTHON={own}"], cwd=ROOT, check=False).returncode


def main():
    """Test on each; fail if one of them failed."""
    codes = []
    for python in other_pythons():
        interpreter = interpreter_of(python)
        print(f"Python {python}: {interpreter or 'not on this machine, left out'}", flush=True)
        if interpreter is not None:
            codes.append(test_on(python, interpreter))
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
