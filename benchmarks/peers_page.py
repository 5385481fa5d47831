"""Write docs/benchmarks.md from benchmarks/peers.json: ``python benchmarks/peers_page.py``."""

import json
import math
import statistics
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = HERE / "peers.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"
IDLE = 1.0  # load average of other programs up to which a machine is called idle
ROUNDING = 1e-5  # of the range: what equal estimands may differ by; some peers use single precision

HEAD = """# Benchmarks against other libraries

The same work by paribus and by its peers from PyPI, and whether the numbers agree. This page is written by
`make bench-peers`, which installs the peers, measures, and keeps the record in `benchmarks/peers.json`;
`python benchmarks/peers_page.py` writes the page again from that record.
"""

HOW = """
## How to read it

- Seconds are those of the processor, on **one thread** for every library, so that neither the number of cores
  nor other programs decide. Peer and paribus do the same work in turns in one process; the ratio is the
  median over rounds. Above 1 the peer takes longer; **below 1, in bold, paribus does**.
- \\* The peer requires numpy 1 and cannot be installed with paribus. Both are divided by `predict` of the
  same model on the same rows, each in its own environment. The ratio is that of the quotients.
- Every call begins with the fitted model and the table and ends with numbers, on the same grid, bins or rows.
  Results of paribus include standard errors and the data's support, which most peers do not compute.
- *Difference* is the largest one between both results, as a share of the range of those of paribus. Where the
  peer estimates something else, the last column names it.
- Excluded: fitting, importing, and the first call, on 200 rows (30 for H), which imports and compiles; these
  are [reported apart](#before-the-first-number). Sampling is off in every library that samples by default.
- Models of a full run have 100 trees and are fitted to at most 20,000 rows. The columns are correlated, the
  target is noisy, and every column matters.
"""

GROWTH = """
## Growth

Exponents of seconds in one size, fitted by least squares on logarithms; the other sizes stay as given. 1 is
proportional, 0 constant. They hold for the range that was measured. Gradient boosting, trees of 31 leaves.
"""

BEFORE = """
## Before the first number

Seconds of the processor to import a library in a new process, megabytes on disk with everything it requires,
and the first call. That call computes one curve of gradient boosting on 200 rows, in a process that has
called nothing before.
"""

ALONE = """
## Not measured

- Brute force where it would take many minutes: all curves on 200,000 rows, all curves of a forest.
- Work that a peer has no function for. Nothing here is a measure of pictures, of documentation, or of
  models on a graphics card.
- Memory, which [any size](large-data.md) is about.
"""


def exponent(sizes, seconds):
    """Return the slope of a line through the logarithms, by least squares."""
    logs = ([math.log(value) for value in values] for values in (sizes, seconds))
    return statistics.linear_regression(*logs).slope


def ratio(line):
    """Return how many times as long as paribus the peer takes: the median over rounds."""
    if "both" in line:
        took = line["both"]["seconds"]
        return statistics.median(p / o for p, o in zip(took["peer"], took["paribus"], strict=True))
    theirs, ours = line["theirs"]["seconds"], line["ours"]["seconds"]
    peer = statistics.median(p / u for p, u in zip(theirs["peer"], theirs["predict"], strict=True))
    return peer / statistics.median(o / u for o, u in zip(ours["paribus"], ours["predict"], strict=True))


def sides(line):
    """Return the measurement of the peer and that of paribus, which may be one."""
    return (line["both"], line["both"]) if "both" in line else (line["theirs"], line["ours"])


def wrong(record):
    """Return what contradicts the page: a result that is called the same and is not."""
    found = []
    for line in record["lines"]:
        if "failed" not in line:
            _, ours = sides(line)
            if not ours["same"].startswith("no") and ours["difference"] > ROUNDING:
                found.append(f"{line['task']}: {line['peer']} differs by {ours['difference']:.2g}")
    return found


def number(value):
    """Write a number with two figures, small ones with fewer zeros."""
    if value >= 9_999.5:
        return f"{value:,.0f}"
    if value >= 9.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 0.95 else f"{value:.2g}"


def times(value):
    """Write a ratio, in bold if the peer is faster."""
    return number(value) if value >= 1 else f"**{number(value)}**"


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(head, rows):
    """Yield the lines of a table."""
    yield ""
    yield row(*head)
    yield row(*["---"] * len(head))
    yield from rows
    yield ""


def size(task):
    """Say how much work a task is."""
    what = {
        "curves": f"{task['features']} of {task['columns']} features, {task['points']} points",
        "surface": f"{task['points']} by {task['points']} points",
        "ice": f"{task['points']} points",
        "ale": f"{task['features']} of {task['columns']} features, {task['points']} bins",
        "h": f"{task['features']} of {task['columns']} features, every row crossed with every row",
        "regions": f"{task['features']} of {task['columns']} features, at most two splits lead to a region",
        "explain": f"{task['columns']} features",
    }
    return f"{task['rows']:,} rows, {what[task['kind']]}"


def comparison(line):
    """Return the row of a peer."""
    star = r" \*" if line["environment"] != "shared" else ""
    if "failed" in line:
        return row(line["peer"] + star, "", "", "", "", line["failed"].replace("|", "/"))
    theirs, ours = sides(line)
    peer, own = (
        statistics.median(side["seconds"][name]) for side, name in ((theirs, "peer"), (ours, "paribus"))
    )
    note = "; ".join(part for part in (ours["same"], ours["more"]) if part)
    return row(
        line["peer"] + star, number(peer), number(own), times(ratio(line)), f"{ours['difference']:.0e}", note
    )


def comparisons(record):
    """Yield a table for each task."""
    head = ("Peer", "Peer, s", "paribus, s", "Ratio", "Difference", "Same number?")
    yield "\n## The same work"
    for task in record["tasks"]:
        yield f"\n**{task['title']}**: {size(task)}."
        rows = [comparison(line) for line in record["lines"] if line["task"] == task["title"]]
        yield from table(head, rows)


def losses(record):
    """Yield where a peer is faster."""
    lost = [line for line in record["lines"] if "failed" not in line and ratio(line) < 1]
    yield "\n## Where a peer is faster\n"
    if not lost:
        yield "In none of these comparisons."
    for line in sorted(lost, key=ratio):
        same = sides(line)[1]["same"]
        other = ", for another number" if same.startswith("no") else ""
        yield (f"- {line['task']}: {line['peer']} takes {number(ratio(line))} of the time of paribus{other}.")


def growth(record):
    """Yield exponents with the range they were fitted on."""
    rows = []
    for series in record["growth"]:
        low, high = series["sizes"][0], series["sizes"][-1]
        first, last = series["seconds"][0], series["seconds"][-1]
        rows.append(
            row(
                series["who"],
                series["in"],
                f"{low:,} to {high:,}",
                f"{exponent(series['sizes'], series['seconds']):.2f}",
                f"{number(first)} to {number(last)}",
                ", ".join(f"{v:,} {k}" for k, v in series["base"].items() if k != series["in"] and v),
            )
        )
    yield GROWTH.rstrip()
    yield from table(("Work", "in", "range", "exponent", "seconds", "other sizes"), rows)
    threads = record["threads"]
    pairs = zip(threads["threads"], threads["seconds"], strict=True)
    rates = ", ".join(f"{number(threads['seconds'][0] / s)} on {n}" for n, s in pairs)
    base = ", ".join(f"{v:,} {k}" for k, v in threads["base"].items())
    yield f"Threads: times as fast by the clock as on one, all curves, {base}: {rates}."


def before(record):
    """Yield imports, sizes and first calls."""
    first_of = {}
    for line in record["lines"]:
        if "failed" not in line and line["task"] == record["tasks"][0]["title"]:
            first_of[line["peer"].split(" ")[0].lower()] = sides(line)[0]["first"]["peer"]
            if line["environment"] == "shared":
                first_of["paribus"] = sides(line)[1]["first"]["paribus"]
    rows = []
    for package, cost in sorted(record["costs"].items(), key=lambda item: item[1]["import_seconds"]):
        first = first_of.get(package.split("-")[0].lower() if package != "scikit-learn" else package)
        rows.append(
            row(
                f"{package} {cost['version']}",
                f"{cost['import_seconds']:.2f}",
                f"{cost['megabytes']:.0f}",
                cost["packages"],
                f"{first:.2f}" if first else "",
            )
        )
    yield BEFORE.rstrip()
    yield from table(("Package", "import, s", "MB", "packages", "first call, s"), rows)
    if record["first_calls"]:
        calls = record["first_calls"].items()
        both = ", ".join(f"`{verb}` {cold:.0f} s, then {warm:.1f} s" for verb, (cold, warm) in calls)
        yield (
            "paribus compiles its kernels once for a machine and loads them in later processes. First calls"
            f" where nothing is compiled, and in the next process: {both}."
        )


def conditions(record):
    """Yield machine, versions and date."""
    on, paid = record["machine"], record["costs"]
    versions = ", ".join(f"{package} {cost['version']}" for package, cost in paid.items())
    yield "\n## Machine and versions\n"
    yield (
        f"{record['date']}: {on['processor']}, {on['cores']} cores, {on['memory_gigabytes']} GB,"
        f" {on['system']}, Python {on['python']}. {versions}."
    )
    yield ""
    busy = max(record["load_before"], record["load_after"] - 1) > IDLE  # one is the run itself
    state = (
        "Other programs kept the machine **busy**: they slow memory and caches, so ratios are rough"
        if busy
        else "The machine was otherwise idle"
    )
    yield (
        f"{state} (load average {record['load_before']} before and {record['load_after']} after). The run"
        f" took {record['seconds_measuring'] // 60} minutes, without installing the peers."
    )
    if record["quick"]:
        yield (
            "\n**Small sizes (`--quick`)**, at most 200 rows, 6 columns and 5 trees, whatever a title says:"
            " this shows that everything runs and which numbers agree, and nothing about speed."
        )


def page(record):
    """Return the page of a record."""
    parts = [HEAD.rstrip(), *conditions(record), HOW.rstrip(), *comparisons(record), *losses(record)]
    parts += [*growth(record), *before(record), ALONE.rstrip()]
    text = "\n".join(parts)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text + "\n"


def main():
    PAGE.write_text(page(json.loads(RECORD.read_text())))


if __name__ == "__main__":
    main()
