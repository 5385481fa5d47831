"""Damaged dumps of every library are read as trees or refused, quickly, and nothing else happens."""

import time
from collections import Counter

import numpy as np
import pytest

from fuzz_boosters import mutate_and_read
from paribus._models.libraries.library import counted, real_numbers
from paribus.errors import RefusalError


def test_damaged_dumps_are_read_or_refused():
    mutate_and_read(np.random.default_rng(0))  # fits the models
    started, found = time.perf_counter(), Counter()
    for seed in range(300):
        found[mutate_and_read(np.random.default_rng(seed))] += 1
    assert set(found) == {"read", "refused"}
    assert found["refused"] > found["read"] > 10  # the damage shows, and some of it does no harm
    assert time.perf_counter() - started < 60


@pytest.mark.parametrize("values", [["1"], [True], [1.0, np.inf], [np.nan], [None]])
def test_numbers_that_readers_understand_differently_are_refused(values):
    assert real_numbers("thresholds", [1, 2.5]).tolist() == [1.0, 2.5]
    with pytest.raises(RefusalError, match="thresholds are not all finite numbers"):
        real_numbers("thresholds", values)


def test_sizes_are_refused_beyond_both_ends():
    assert [counted("depth", number, 1, 3) for number in (1, 2, 3)] == [1, 2, 3]
    for number in (0, 4):
        with pytest.raises(RefusalError, match=f"depth of {number} is not within 1 and 3"):
            counted("depth", number, 1, 3)
