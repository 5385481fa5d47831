"""The checklist of a release, as a program.

To release: write the section of the changelog, then ::

    python tools/release.py date     # today, into CHANGELOG.md and CITATION.cff; commit that
    make release-check               # every check below, with the distributions and the documentation
    git tag -a v0.1.0 -m 0.1.0       # and push it: the workflow "release" does the rest

``tagged TAG`` is what that workflow checks, ``notes`` what it publishes. A check is a function that returns
what is wrong, or None; all of them are run and printed, whatever fails.
"""

import argparse
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAIN = "main"


def version(root):
    """Return the version, as its file has it."""
    return re.search(r'__version__ = "(.+)"', (root / "src/paribus/_version.py").read_text())[1]


def heading(root):
    """Return the version and the date of the first section of the changelog."""
    found = re.search(r"^## (\S+) - (\S+)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    return found.groups() if found else (None, None)


def cited(root, key):
    """Return a field of CITATION.cff."""
    found = re.search(rf"^{key}: (\S+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    return found and found[1]


def git(root, *arguments):
    """Return what git writes."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def version_is_final(root):
    """Three numbers: 1.2.3."""
    own = version(root)
    return None if re.fullmatch(r"\d+\.\d+\.\d+", own) else f"{own} is no version of the form 1.2.3"


def changelog_has_version(root):
    """The first section of the changelog is that of the version."""
    named = heading(root)[0]
    return (
        None
        if named == version(root)
        else f"CHANGELOG.md begins with {named}, the version is {version(root)}"
    )


def changelog_has_date(root):
    """That section has a date."""
    day = heading(root)[1]
    try:
        date.fromisoformat(str(day))
    except ValueError:
        return f"CHANGELOG.md has {day!r} in place of a date; run python tools/release.py date"
    return None


def citation_agrees(root):
    """CITATION.cff has the same version and date."""
    have, want = (cited(root, "version"), cited(root, "date-released")), (version(root), heading(root)[1])
    return None if have == want else f"CITATION.cff has version and date {have}, not {want}"


def tree_is_clean(root):
    """Nothing is changed that is not committed."""
    changed = git(root, "status", "--porcelain").splitlines()
    return (
        f"{len(changed)} files are not committed, such as {changed[0].split(maxsplit=1)[1]}"
        if changed
        else None
    )


def branch_is_main(root):
    """Releases are made from main."""
    branch = git(root, "rev-parse", "--abbrev-ref", "HEAD")
    return None if branch == MAIN else f"on {branch}, not on {MAIN}"


def tag_is_absent(root):
    """A version is released once."""
    tag = f"v{version(root)}"
    return f"the tag {tag} exists; raise the version" if git(root, "tag", "--list", tag) else None


def made(target):
    """Return a check that a word of the Makefile passes."""

    def check(root):
        command = ["make", target, f"PYTHON={sys.executable}"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        return f"make {target}: {(done.stdout + done.stderr)[-2000:]}" if done.returncode else None

    check.__doc__ = f"make {target}"
    return check


TEXTS = (version_is_final, changelog_has_version, changelog_has_date, citation_agrees)
TREE = (tree_is_clean, branch_is_main, tag_is_absent)
BUILDS = tuple(map(made, ("ci", "dist")))


def run_checks(checks, root):
    """Run all checks and print each; return how many failed."""
    failed = 0
    for check in checks:
        wrong = check(root)
        failed += wrong is not None
        print(f"{'ok    ' if wrong is None else 'FAILED'}  {check.__doc__.rstrip('.')}", flush=True)
        if wrong is not None:
            print(f"        {wrong}", flush=True)
    print(f"{failed} of {len(checks)} checks failed" if failed else f"all {len(checks)} checks passed")
    return failed


def set_date(root, day):
    """Write the date of the release into the changelog and the citation."""
    log, citation = root / "CHANGELOG.md", root / "CITATION.cff"
    named = re.escape(version(root))
    changed, times = re.subn(rf"^(## {named} - )\S+$", rf"\g<1>{day}", log.read_text(), flags=re.MULTILINE)
    if times != 1:
        raise SystemExit(f"CHANGELOG.md has {times} sections '## {version(root)} - ...', not one")
    log.write_text(changed)
    text = re.sub(r"^date-released: .*\n", "", citation.read_text(), flags=re.MULTILINE)
    text = re.sub(
        r"^version: .*$", f"version: {version(root)}\ndate-released: {day}", text, flags=re.MULTILINE
    )
    citation.write_text(text)


def notes(root):
    """Return the section of the changelog that is about the version."""
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    found = [one for one in sections if one.startswith(f"{version(root)} - ")]
    if len(found) != 1:
        raise SystemExit(f"CHANGELOG.md has {len(found)} sections of {version(root)}, not one")
    return found[0].partition("\n")[2].strip()


def tagged(root, tag):
    """Return how many checks of a tag's texts fail."""

    def tag_is_version(root):
        """The tag is that of the version."""
        return None if tag == f"v{version(root)}" else f"the tag is {tag}, the version {version(root)}"

    return run_checks((tag_is_version, *TEXTS), root)


def main(arguments=None, root=ROOT):
    """Run one of the four commands; return an exit code."""
    parser = argparse.ArgumentParser(prog="release", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check", help="run every check")
    checked.add_argument("--no-builds", action="store_true", help="leave out distributions and documentation")
    dated = commands.add_parser("date", help="write the date into CHANGELOG.md and CITATION.cff")
    dated.add_argument("day", nargs="?", type=date.fromisoformat, default=date.today())
    commands.add_parser("tagged", help="check the texts against a tag").add_argument("tag")
    commands.add_parser("notes", help="print the section of the changelog")
    chosen = parser.parse_args(arguments)
    if chosen.command == "date":
        set_date(root, chosen.day)
    elif chosen.command == "notes":
        print(notes(root))
    elif chosen.command == "tagged":
        return min(tagged(root, chosen.tag), 1)
    else:
        return min(run_checks((*TEXTS, *TREE, *(() if chosen.no_builds else BUILDS)), root), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
