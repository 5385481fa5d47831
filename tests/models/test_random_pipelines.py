"""Random pipelines: exact equals brute force, or is refused with a sentence; none is wrong."""

import re
import warnings
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.base import clone

from pipeline_examples import refusals_of
from random_pipelines import examples

# Twelve, and with --hypothesis-profile=pipelines as many as it says.
MOST = settings.default.max_examples // (2 if settings.default.max_examples < 100 else 1)


def how_they_end(example):
    """Yield of each request whether it is exact, or why not; a wrong number fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bins, categories and optimizers that random tables bring about
        try:
            model = clone(example.model).fit(example.X, example.y)
        except (TypeError, ValueError):  # scikit-learn cannot fit it, so there is nothing to explain
            yield "not fitted"
            return
        refusals = refusals_of(model, example.X, example.requests, **example.options)
    for request in example.requests:
        refusal = refusals.get(str(request), "")
        joins = re.search(r"(\S+) joins", refusal)
        yield "exact" if not refusal else f"refused: {joins[0]}" if joins else f"refused: {refusal}"


@pytest.mark.nightly
def test_random_pipelines_are_exact_or_refused():
    ends = Counter()

    @settings(max_examples=MOST, suppress_health_check=list(HealthCheck))
    @given(examples())
    def run(example):
        ends.update(how_they_end(example))

    run()
    print(ends)  # what `make random` reports
    joined = sum(count for end, count in ends.items() if end.endswith("joins"))
    requests = ends.total() - ends["not fitted"]
    assert ends["exact"] + joined == requests, "the only reason to refuse is that a step joins columns"
    assert requests < 100 or ends["exact"] > 0.8 * requests
