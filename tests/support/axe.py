"""axe-core, which finds what keeps people from using a page; a package of npm, fetched once on a machine."""

import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path

import browser

KEPT = Path.home() / ".cache" / "paribus-tests"
# Rules of WCAG 2.0 to 2.2, and those that its makers call good practice.
RUN = "axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations.map(one => [one.impact, one.id, one.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + ' ' + node.failureSummary.slice(0, 200))])))"


@cache
def source():
    """Return the script."""
    kept = KEPT / "axe.min.js"
    if not kept.exists():
        npm = browser.installed(("npm",), "npm")
        with tempfile.TemporaryDirectory() as folder:
            fetched = subprocess.run(
                [npm, "pack", "axe-core"], cwd=folder, capture_output=True, text=True, timeout=300
            )
            if fetched.returncode:
                raise browser.NoBrowser(f"npm pack axe-core failed:\n{fetched.stderr}")
            with tarfile.open(next(Path(folder).glob("axe-core-*.tgz"))) as archive:
                text = archive.extractfile("package/axe.min.js").read()
        KEPT.mkdir(parents=True, exist_ok=True)
        half = kept.with_suffix(".half")
        half.write_bytes(text)
        half.replace(kept)
    return kept.read_text(encoding="utf-8")
