"""Observed against expected: one table over all features, worst first, missing values included."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import paribus


@pytest.fixture(scope="module")
def explanation():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(300, 2)).astype(float)
    y = X[:, 0] + 2.0 * (X[:, 1] == 2) + 0.1 * rng.normal(size=300)
    X[:40, 1] = np.nan
    y[:40] += 5
    return paribus.explain(lambda t: np.nan_to_num(t[:, 0]), X, y)


def test_cells_are_those_of_averages_and_the_worst_is_first(explanation):
    table = explanation.observed_expected()
    assert len(table) == 3 + 3 + 1
    assert set(zip(table.feature, table.value, strict=True)) >= {("x0", "1"), ("x1", "2"), ("x1", "missing")}
    sizes = np.abs(table.in_errors)
    assert (np.diff(sizes) <= 0).all()
    assert (table.feature[0], table.value[0]) == ("x1", "2")
    np.testing.assert_allclose(table.difference, table.observed - table.predicted, atol=1e-12)
    np.testing.assert_allclose(table.in_errors, table.difference / table.standard_error)
    average = explanation.averages["x1"]
    place = list(zip(table.feature, table.value, strict=True)).index(("x1", "missing"))
    assert table.rows[place] == average.missing.rows == 40
    assert table.observed[place] == average.missing.observed[0]
    assert table.support.sum() == 2 * 300


def test_the_table_is_a_frame_text_and_a_file(explanation, tmp_path):
    table = explanation.observed_expected()
    frame = table.to_frame(backend="pyarrow")
    assert frame.column_names == [
        "feature", "value", "output", "rows", "support", "observed", "predicted", "difference",
        "standard_error", "in_errors",
    ]  # fmt: skip
    assert frame.num_rows == len(table)
    text = repr(table)
    assert text.startswith("ObservedExpected of <lambda>: 7 cells, worst first\n  feature  value ")
    assert text.splitlines()[2].split()[:2] == ["x1", "2"]
    assert text.endswith("and 2 more")
    table.save(tmp_path / "table.json")
    assert paribus.load(tmp_path / "table.json") == table


def test_cells_of_few_rows_come_last():
    counts, shifts = [9, 40, 10, 1, 30], np.array([9.0, 0.1, 1.0, 9.0, 0.0])
    values = np.repeat(np.arange(5), counts)
    noise = np.concatenate([np.linspace(-1, 1, count) for count in counts])
    table = paribus.explain(
        lambda t: t[:, 0], values[:, None].astype(float), values + shifts[values] + noise
    ).observed_expected()
    assert table.value == ("2", "1", "4", "0", "3")
    assert table.rows.tolist() == [10, 40, 30, 9, 1]
    assert table.in_errors[3] > table.in_errors[0] > table.in_errors[1] > 0
    assert np.isnan(table.in_errors[4])


def test_cells_of_one_class_that_are_predicted_with_certainty_have_an_error():
    X = np.repeat([[0.0], [1.0]], 30, axis=0)
    y = X[:, 0].copy()
    y[0] = 1
    model = LogisticRegression(C=1e9).fit(X, y)
    table = paribus.explain(model, X, y).observed_expected()
    place = table.value.index("1")
    assert table.observed[place] == 1
    assert table.standard_error[place] == pytest.approx(1 / 62, rel=0.01)  # 1 / (2 (n + 1))


def test_without_y_it_is_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(paribus.errors.InputError, match="pass y= to explain"):
        paribus.explain(lambda t: t[:, 0], X).observed_expected()


def test_rows_of_one_class_have_the_error_of_their_predicted_probability():
    X = np.repeat([0.0, 1.0], [96, 4])[:, None]
    y = np.r_[np.tile([0, 0, 0, 1], 24), 0, 0, 0, 0]
    explained = paribus.explain(LogisticRegression(C=1e-4).fit(X, y), X, y)
    table = explained.observed_expected()
    place = table.value.index("1")
    share = table.predicted[place]
    assert (table.rows[place], table.observed[place]) == (4, 0)
    assert table.standard_error[place] == pytest.approx(np.sqrt(share * (1 - share) / 4))
    assert abs(table.in_errors[place]) < 2
    many = table.value.index("0")  # where both outcomes are frequent it is that of the residuals
    assert table.standard_error[many] == explained.averages["x0"].residual_error[0, 0]
