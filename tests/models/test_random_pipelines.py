"""Random pipelines: exact equals brute force, or is refused with a sentence; none is wrong."""

import re
import warnings
from collections import Counter

from hypothesis import HealthCheck, given, settings
from sklearn.base import clone

from pipeline_examples import refusal_of
from random_pipelines import examples

# Twelve, and with --hypothesis-profile=pipelines as many as it says.
MOST = settings.default.max_examples // (2 if settings.default.max_examples < 100 else 1)


def how_it_ends(example):
    """Return whether an effect of a random pipeline is exact, or why not; a wrong number fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bins, categories and optimizers that random tables bring about
        try:
            model = clone(example.model).fit(example.X, example.y)
        except (TypeError, ValueError) as error:  # scikit-learn cannot fit it, so there is nothing to explain
            return f"not fitted: {error}"[:80]
        refusal = refusal_of(model, example.X, example.features, **example.options)
    joins = re.search(r"(\S+) joins", refusal)
    return "exact" if not refusal else f"refused: {joins[0]}" if joins else f"refused: {refusal}"


def test_random_pipelines_are_exact_or_refused():
    ends = Counter()

    @settings(max_examples=MOST, suppress_health_check=list(HealthCheck))
    @given(examples())
    def run(example):
        ends[how_it_ends(example)] += 1

    run()
    print(ends)  # what `make pipelines` reports
    joined = sum(count for end, count in ends.items() if end.endswith("joins"))
    fitted = sum(count for end, count in ends.items() if not end.startswith("not fitted"))
    assert ends["exact"] + joined == fitted, "the only reason to refuse is that a step joins columns"
    assert fitted < 100 or ends["exact"] > 0.8 * fitted
