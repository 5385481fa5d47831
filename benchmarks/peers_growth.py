"""How seconds grow with rows, features, trees, grid and threads: prints JSON; run by `peers.py`.

Each series doubles one size and leaves the others as they are. The exponents on the page are fitted to these
seconds by `peers_page.py`.
"""

import json
import os
import statistics
import sys
import time
import warnings
from functools import partial

from peers_calls import CALLS, OURS_BY_KIND
from peers_tasks import Task, fitted, grids, table
from peers_work import case_of, seconds

import paribus

BASE = {"rows": 10_000, "features": 30, "trees": 100, "grid": 100}
WORK = {  # the base of each, and what is called
    "paribus: all curves": (BASE, "curves", OURS_BY_KIND["curves"]),
    "paribus: ALE of all features": (BASE | {"grid": 40}, "ale", OURS_BY_KIND["ale"]),
    "paribus: H of all pairs": (BASE | {"features": 10, "grid": 0}, "h", OURS_BY_KIND["h"]),
    "woodelf: all curves": (BASE, "curves", CALLS["woodelf"]["curves"].run),
    "scikit-learn brute: all curves": (
        {"rows": 250, "features": 10, "trees": 50, "grid": 10},
        "curves",
        CALLS["scikit-learn brute"]["curves"].run,
    ),
    "naive H: all pairs": (
        {"rows": 50, "features": 5, "trees": 50, "grid": 0},
        "h",
        CALLS["naive H"]["h"].run,
    ),
}
SERIES = {
    "paribus: all curves": {
        "rows": (10_000, 20_000, 40_000, 80_000, 160_000, 320_000),
        "features": (10, 20, 40, 80),
        "trees": (50, 100, 200, 400),
        "grid": (50, 100, 200, 400, 800),
    },
    "paribus: ALE of all features": {"rows": (10_000, 20_000, 40_000, 80_000), "trees": (50, 100, 200, 400)},
    "paribus: H of all pairs": {"rows": (2_500, 5_000, 10_000, 20_000), "features": (5, 10, 20, 40)},
    "woodelf: all curves": {
        "rows": (10_000, 20_000, 40_000, 80_000),
        "features": (10, 20, 40, 80),
        "trees": (25, 50, 100, 200),
        "grid": (50, 100, 200, 400, 800),
    },
    "scikit-learn brute: all curves": {
        "rows": (1_000, 2_000, 4_000, 8_000),
        "features": (5, 10, 20, 40),
        "trees": (50, 100, 200, 400),
        "grid": (10, 20, 40, 80),
    },
    "naive H: all pairs": {"rows": (50, 100, 200, 400), "features": (3, 6, 12)},
}
MODELS = {}


def case(kind, sizes):
    """Return a case of given sizes; a model is fitted once for its columns and trees."""
    X, y = table(max(sizes["rows"], 5_000), sizes["features"])
    key = sizes["features"], sizes["trees"]
    if key not in MODELS:
        MODELS[key] = fitted("boosting", X[:5_000], y[:5_000], sizes["trees"])
    task = Task("", kind, "boosting", 0, sizes["features"], sizes["features"], sizes["grid"], ())
    return case_of(task, MODELS[key], X[: sizes["rows"]], "quantiles")


def growth(quick):
    """Yield every series: who, what grows, its sizes and the median seconds of three calls."""
    for who, by_size in SERIES.items():
        base, kind, body = WORK[who]
        if quick:
            base = base | {"rows": min(base["rows"], 100), "features": 4, "trees": 5}
        for what, values in by_size.items():
            values = [max(v // 50, 3 * 2**k) for k, v in enumerate(values[:3])] if quick else values
            cases = [case(kind, base | {what: value}) for value in values]
            body(cases[0])  # compiles
            took = [statistics.median(seconds(partial(body, c))[0] for _ in range(3)) for c in cases]
            print(f"growth of {who} in {what}", file=sys.stderr, flush=True)
            yield {"who": who, "in": what, "base": base, "sizes": list(values), "seconds": took}


def threads(quick):
    """Return the wall's seconds of all curves on one thread, two, and so on up to the number of cores."""
    sizes = BASE | ({"rows": 500, "features": 4, "trees": 5} if quick else {"rows": 320_000})
    X, y = table(sizes["rows"], sizes["features"])
    model = fitted("boosting", X[:5_000], y[:5_000], sizes["trees"])
    points = grids("curves", X, range(sizes["features"]), sizes["grid"], "")
    numbers = [2**k for k in range((os.cpu_count() or 1).bit_length())]
    took = []
    for number in numbers:
        runs = []
        for _ in range(4):  # the first of them starts the threads
            began = time.perf_counter()
            paribus.effects(model, X, custom_values=points, n_jobs=number, progress=False)
            runs.append(time.perf_counter() - began)
        took.append(statistics.median(runs[1:]))
    return {"base": sizes, "threads": numbers, "seconds": took}


def main():
    warnings.simplefilter("ignore")
    quick = "--quick" in sys.argv
    if "--threads" in sys.argv:
        print(json.dumps(threads(quick)))
    else:
        print(json.dumps(list(growth(quick))))


if __name__ == "__main__":
    main()
