"""axe-core, which finds what keeps people from using a page; out of a wheel that holds it, fetched once."""

import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import browser

KEPT = Path.home() / ".cache" / "paribus-tests"
# Its wheel has the script; what the package itself does needs a browser of its own, which is not installed.
WHEEL = "axe-playwright-python"
# Rules of WCAG 2.0 to 2.2, and those that its makers call good practice.
RUN = "axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations.map(one => [one.impact, one.id, one.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + ' ' + node.failureSummary.slice(0, 200))])))"


@cache
def source():
    """Return the script."""
    kept = KEPT / "axe.min.js"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as folder:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--dest",
                folder,
                WHEEL,
            ]
            fetched = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if fetched.returncode:
                raise browser.NoBrowser(f"pip download {WHEEL} failed:\n{fetched.stderr}")
            with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
                (name,) = (one for one in archive.namelist() if one.endswith("axe.min.js"))
                text = archive.read(name)
        KEPT.mkdir(parents=True, exist_ok=True)
        half = kept.with_suffix(".half")
        half.write_bytes(text)
        half.replace(kept)
    return kept.read_text(encoding="utf-8")
