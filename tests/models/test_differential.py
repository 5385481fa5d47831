"""A few cases of ``make differential``: random models against loops, damaged files against their libraries."""

from collections import Counter

import pytest

from differential import run_file, run_model


@pytest.mark.filterwarnings("ignore")
def test_random_models_are_explained_as_loops_explain_them():
    ends = Counter(run_model(seed) for seed in range(3, 13))
    assert sum(number for end, number in ends.items() if "exact" in end) >= 5


@pytest.mark.filterwarnings("ignore")
def test_damaged_files_predict_as_their_library_or_are_refused(tmp_path):
    ends = Counter(run_file(seed, tmp_path) for seed in range(60))
    assert ends["refused"] > ends["read as its library"] > 0
