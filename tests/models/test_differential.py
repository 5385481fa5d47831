"""A few cases of ``make random``: random models against loops."""

from collections import Counter

import pytest

from differential import _linear_booster, _linear_sum, _projected, _started, _survival, run_model
from selection import nightly


@pytest.mark.filterwarnings("ignore")
@pytest.mark.nightly
def test_random_models_are_explained_as_loops_explain_them():
    ends = Counter(run_model(seed) for seed in range(3, 13))
    assert sum(number for end, number in ends.items() if "exact" in end) >= 5


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seeds", [range(2), *nightly(range(2, 206))])
# Whitening divides a component without variance by its rounding error: 2 of 206 projections are refused.
@pytest.mark.parametrize(
    ("maker", "least"),
    [(_started, 0.8), (_linear_booster, 1.0), (_linear_sum, 1.0), (_projected, 0.99), (_survival, 1.0)],
    ids=["boosting from a model", "linear booster", "sum of linear models", "projection", "survival"],
)
def test_random_models_of_a_kind_are_explained_as_loops_explain_them(maker, least, seeds):
    ends = Counter(run_model(seed, (maker,)) for seed in seeds)
    assert sum(number for end, number in ends.items() if "exact" in end) >= least * len(seeds), ends
