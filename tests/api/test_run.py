"""One run for every statistic: company in a pass changes no bit, and new evaluators and engines need one door."""

import gc
import weakref
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LinearRegression

import paribus
from compared_results import differing, leaves
from paribus._api.run import Fact, Needed, RunContext, lockstep
from paribus._api.runner import Pass, Runner
from paribus._evaluators import planner
from paribus._evaluators.ale.brute_ale import BruteAle
from paribus._evaluators.brute_force import BruteForce
from paribus._evaluators.interactions.additive_interactions import BruteInteractions
from paribus._evaluators.support import Together
from paribus._states import Counts, Keyed
from paribus.errors import RefusalError

ROWS, NAMES = 9_000, ["a", "b", "c", "d"]
VERBS = ("effects", "accumulated_local_effects", "marginal", "h_statistic", "feature_importance")
QUIET = {"progress": False}


@cache
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=NAMES)
    X["b"] += 0.6 * X["a"]
    X.loc[::11, "c"] = np.nan
    X["kind"] = pd.Categorical(rng.choice(list("uvw"), ROWS))
    noise = 0.3 * rng.normal(size=ROWS)
    X["y"] = X["a"] * X["b"] + np.sin(X["d"]) + (X["kind"] == "u") * X["a"] + noise
    X["w"] = rng.gamma(1.0, size=ROWS) * (rng.random(ROWS) < 0.9)
    return X


@cache
def model(n_estimators=25):
    X = table()
    return lightgbm.LGBMRegressor(n_estimators=n_estimators, verbose=-1).fit(X[[*NAMES, "kind"]], X["y"])


def reads():
    """Return a source of batches, and how often it was read to its end."""
    count = {"ends": 0}

    def source():
        yield from pa.Table.from_pandas(table(), preserve_index=False).to_batches(max_chunksize=2_000)
        count["ends"] += 1

    return source, count


def same_bits(one, other):
    assert not differing(one, other)


@cache
def explained(where, weight, **options):
    """Return an explainer of the same rows, held or read."""
    X = table()
    if where == "held":
        weights = X["w"] if weight else None
        held = X[[*NAMES, "kind"]]
        return paribus.Explainer(model(), held, X["y"], sample_weight=weights, **options, **QUIET)
    weights = "w" if weight else None
    return paribus.Explainer(model(), reads()[0], "y", sample_weight=weights, **options, **QUIET)


@pytest.mark.nightly
@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("where", ["held", "read"])
def test_company_in_a_pass_changes_no_bit(where, weight):
    together = explained(where, weight).run(*VERBS)
    for verb in VERBS:
        same_bits(together[verb], getattr(explained(where, weight), verb)())


def test_five_statistics_of_rows_that_are_read_take_three_reads():
    source, count = reads()
    found = paribus.Explainer(model(), source, "y", **QUIET).run(*VERBS)
    assert count["ends"] == 3
    assert {one.provenance.passes for one in found.values()} == {3}


def test_an_explainer_surveys_once_for_all_its_methods():
    source, count = reads()
    explainer = paribus.Explainer(model(), source, "y", **QUIET)
    effects = explainer.effects()
    assert count["ends"] == effects.provenance.passes == 2
    before = count["ends"]
    assert explainer.marginal().provenance.passes == count["ends"] - before == 1
    before = count["ends"]
    assert explainer.h_statistic().provenance.passes == count["ends"] - before == 2


def test_passes_that_do_not_fit_together_are_read_one_after_another():
    source, count = reads()
    explainer = paribus.Explainer(model(), source, "y", max_memory="12MB", **QUIET)
    together = explainer.run("effects", "marginal", "h_statistic")
    assert count["ends"] > 3
    assert together["effects"].provenance.passes == count["ends"]
    for verb, result in together.items():
        alone = paribus.Explainer(model(), reads()[0], "y", max_memory="12MB", **QUIET)
        same_bits(result, getattr(alone, verb)())


@pytest.mark.parametrize("verb", VERBS)
def test_functions_are_methods_of_an_explainer(verb):
    X = table()
    y = {"y": X["y"]} if verb in ("marginal", "h_statistic") else {}
    function = getattr(paribus, verb)(model(), X[[*NAMES, "kind"]], **y, **QUIET)
    same_bits(function, getattr(explained("held", False), verb)())


def test_a_run_that_was_killed_goes_on_from_its_checkpoint(tmp_path):
    pq.write_table(pa.Table.from_pandas(table(), preserve_index=False), tmp_path / "rows.parquet")

    def explainer(**options):
        return paribus.Explainer(model(), tmp_path / "rows.parquet", "y", **options, **QUIET)

    verbs = "effects", "marginal", "h_statistic"
    want = explainer().run(*verbs)
    kept = tmp_path / "kept"
    same_bits(explainer(checkpoint=kept).run(*verbs), want)
    states = sorted(kept.glob("*/*.npz"))
    assert {file.parent.name.rpartition("-")[0] for file in states} == {
        "00-survey",
        "01-effects",
        "01-marginal",
        "01-h_statistic-coverage",
        "02-h_statistic-predictions",
    }
    for file in states[::2]:
        file.unlink()
    same_bits(explainer(checkpoint=kept).run(*verbs), want)


class Fast(BruteForce):
    """The line of a linear model, evaluated without the model."""

    name, shortcut, how = "fast", True, "multiplies by the coefficients"


class FastLocal(BruteAle):
    name, shortcut, how = "fast", True, "multiplies by the coefficients"


class FastCrossing(BruteInteractions):
    name, shortcut, how = "fast", True, "multiplies by the coefficients"


def coefficients(X, line):
    return np.asarray(X) @ line.coef_ + line.intercept_


def linear(kind):
    """Return an evaluator of linear models: the definition, on a faster function."""

    class Linear(kind):
        @classmethod
        def build(cls, fitted, ask):
            line = fitted.predictor.target
            if not isinstance(line, LinearRegression):
                raise RefusalError("it is not linear")
            predictor = replace(fitted.predictor, target=coefficients, method=None, keywords={"line": line})
            return super().build(replace(fitted, predictor=predictor), ask)

    return Linear


def prefer(monkeypatch, statistic, evaluator):
    others = planner.EVALUATORS[statistic]()
    monkeypatch.setitem(planner.EVALUATORS, statistic, lambda: [evaluator, *others])


def test_an_evaluator_that_is_registered_once_serves_effects_ale_and_h(monkeypatch):
    family = {"effects": linear(Fast), "ale": linear(FastLocal), "interactions": linear(FastCrossing)}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    line = LinearRegression().fit(X, X @ [1.0, 2.0, 0.0])
    verbs = "effects", "accumulated_local_effects", "h_statistic"
    want = {verb: getattr(paribus, verb)(line, X, **QUIET) for verb in verbs}
    for statistic, evaluator in family.items():
        prefer(monkeypatch, statistic, evaluator)
    found = paribus.Explainer(line, X, **QUIET).run(*verbs)
    assert {one.provenance.evaluator for one in found.values()} == {"fast"}
    for verb in verbs:  # strengths of this evaluator are from points
        for (path, have), (_, wanted) in zip(leaves(found[verb]), leaves(want[verb]), strict=True):
            if have.dtype.kind == "f" and "strengths" not in path:
                np.testing.assert_allclose(have, wanted, atol=1e-12, err_msg=path)
    other = paribus.effects(lambda X: X[:, 0], X, **QUIET).provenance
    assert other.evaluator == "brute"
    assert other.refusals["fast"] == "it is not linear"


class Refusing(BruteForce):
    name, shortcut, how = "refusing", True, "refuses the second block"

    def evaluate(self, block):
        if block.number == 1:
            raise RefusalError("it met the second block")
        return super().evaluate(block)


def test_one_that_refuses_the_rows_makes_way_without_disturbing_its_company(monkeypatch):
    prefer(monkeypatch, "effects", Refusing)
    for where in ("held", "read"):
        X = table()
        data = (X[[*NAMES, "kind"]], X["y"]) if where == "held" else (reads()[0], "y")
        found = paribus.Explainer(model(), *data, **QUIET).run("effects", "h_statistic")
        assert found["effects"].provenance.evaluator == "tree_exact"
        assert found["effects"].provenance.refusals["refusing"] == "it met the second block"
        monkeypatch.undo()
        for verb in found:
            same_bits(found[verb], getattr(explained(where, False), verb)())
        prefer(monkeypatch, "effects", Refusing)


class Named:
    """Leaves one state under a name."""

    def __init__(self, name):
        self.name = name

    def evaluate(self, block):
        return Keyed({(self.name, 0): Counts(np.ones(1))})

    def expected(self, rows):
        raise AssertionError


def test_two_states_of_one_name_are_an_error(tmp_path):
    with pytest.raises(ValueError, match="same name"):
        Together((Named("x"), Named("x"))).evaluate(None)
    assert set(Together((Named("x"), Named("y"))).evaluate(None).parts) == {("x", 0), ("y", 0)}
    blocks, identity = SimpleNamespace(size=1, count=1, rows=1), {"settings": "", "model": "", "data": ""}
    passes = [Pass("same", Named(name), blocks, 1, identity=identity) for name in "xy"]
    with pytest.raises(ValueError, match="same name"):
        Runner.of(False, None, tmp_path / "kept").fold(passes)


def test_models_of_a_long_list_are_evaluated_some_at_a_time():
    models = [model(n_estimators=3 + place) for place in range(10)]
    source, count = reads()
    effect = paribus.partial_dependence(models, source, "a", grid_resolution=5, **QUIET)
    assert effect.provenance.passes == count["ends"] == 3  # a survey, eight models, and two more
    alone = [paribus.partial_dependence(one, source, "a", grid_resolution=5, **QUIET) for one in models]
    np.testing.assert_array_equal(effect.by_model.values, [one.average for one in alone])


def test_generators_of_passes_run_side_by_side():
    def counting(rounds):
        seen = []
        for number in range(rounds):
            (state,) = yield [f"{rounds}-{number}"]
            seen.append(state)
        return seen

    side_by_side = lockstep([counting(2), counting(0), counting(3)])
    assert next(side_by_side) == ["2-0", "3-0"]
    assert side_by_side.send(["2-0", "3-0"]) == ["2-1", "3-1"]
    assert side_by_side.send(["2-1", "3-1"]) == ["3-2"]
    with pytest.raises(StopIteration) as done:
        side_by_side.send(["3-2"])
    assert done.value.value == [["2-0", "2-1"], [], ["3-0", "3-1", "3-2"]]


def test_a_model_that_predicts_on_one_thread_is_not_called_from_two():
    import threading

    at_once, most = 0, 0
    lock = threading.Lock()

    def careful(X):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        found = np.asarray(X["a"] * X["b"])
        with lock:
            at_once -= 1
        return found

    verbs = ("effects", {"grid_resolution": 4}), "accumulated_local_effects", "marginal"
    for data in (table()[NAMES], lambda: pa.Table.from_pandas(table()[NAMES]).to_batches(2_000)):
        paribus.Explainer(careful, data, **QUIET).run(*verbs)
        paribus.effects([careful, careful], data, ["a"], grid_resolution=4, **QUIET)
    assert most == 1


def test_a_model_predicts_rows_in_memory_where_it_is_called():
    """Settings of scikit-learn, for one, are those of a thread."""
    import threading

    seen = set()

    def where(X):
        seen.add(threading.current_thread() is threading.main_thread())
        return np.asarray(X["a"])

    paribus.Explainer(where, table()[NAMES], **QUIET).run("effects", "accumulated_local_effects", "marginal")
    assert seen == {True}


def test_models_of_a_list_share_the_rows_that_are_sampled():
    source, count = reads()
    H = paribus.h_statistic([model(), model(10)], source, ["a", "b"], subsample=50, **QUIET)
    assert H.strength_by_model.shape == (2, 1, 1)
    assert H.provenance.passes == count["ends"] == 2


@pytest.mark.parametrize("where", ["held", "read"])
def test_results_of_one_explainer_compare_whatever_they_were_computed_with(where):
    explainer = explained(where, False)
    effects, others = explainer.effects(), explainer.run("accumulated_local_effects", "marginal")
    assert effects.provenance.fingerprint == others["accumulated_local_effects"].provenance.fingerprint
    paribus.compare(effects, others["accumulated_local_effects"], others["marginal"])


def test_methods_share_a_checkpoint_and_go_on_in_any_order(tmp_path):
    pq.write_table(pa.Table.from_pandas(table(), preserve_index=False), tmp_path / "rows.parquet")
    kept = {"checkpoint": tmp_path / "kept", **QUIET}
    first = paribus.Explainer(model(), tmp_path / "rows.parquet", **kept)
    effects, H = first.effects(), first.h_statistic()
    again = paribus.Explainer(model(), tmp_path / "rows.parquet", **kept)
    same_bits(again.effects(), effects)
    same_bits(again.h_statistic(), H)
    same_bits(first.effects(), effects)


def test_what_run_does_not_know_is_said():
    explainer = explained("held", False)
    with pytest.raises(paribus.errors.OptionError, match="'effects' is requested twice"):
        explainer.run("effects", ("effects", {"grid_resolution": 5}))
    for odd in (("effects",), ["effects"], 3, ("effects", None)):
        with pytest.raises(paribus.errors.OptionError, match="neither the name of a method nor a pair"):
            explainer.run(odd)
    with pytest.raises(paribus.errors.OptionError, match="nothing is requested"):
        explainer.run()
    with pytest.raises(paribus.errors.OptionError, match="'n_jobs' is an argument of Explainer"):
        explainer.run(("effects", {"n_jobs": 1}))
    with pytest.raises(paribus.errors.OptionError, match="partial_dependence needs 'features'"):
        explainer.run("partial_dependence")
    with pytest.raises(paribus.errors.OptionError, match="verb='effect' is not one of"):
        explainer.run("effect")
    with pytest.raises(paribus.errors.OptionError, match=r"no argument 'grid_resolutions'; did you mean"):
        explainer.run(("effects", {"grid_resolutions": 5}))
    with pytest.raises(paribus.errors.ModelError, match="effects needs a model"):
        paribus.Explainer(None, table()[NAMES], table()["y"]).effects()
    with pytest.raises(paribus.errors.ModelError, match="partial_dependence needs a model"):
        paribus.partial_dependence(None, table()[NAMES], NAMES[0])


def test_the_text_of_an_explainer_says_what_is_known():
    X = table()[[*NAMES, "kind"]]
    explainer = paribus.Explainer(model(), X.assign(more=1.0), **QUIET)
    first = repr(explainer)
    assert "LGBMRegressor" in first
    assert "9,000 rows in memory (pandas)" in first
    assert "4 numeric, 1 category" in first
    assert "unused columns: more" in first
    assert "was not evaluated yet" in first
    explainer.partial_dependence("a")
    assert "25 trees" in repr(explainer)
    read = paribus.Explainer([model(), model(10)], reads()[0], **QUIET)
    assert "2 x LGBMRegressor" in repr(read)
    assert "5 columns" in repr(read)
    read.effects(["a"])
    assert "9,000 rows read from" in repr(read)


@pytest.mark.parametrize("where", ["held", "read"])
@pytest.mark.parametrize(
    "verb", ["effects", "accumulated_local_effects", "h_statistic", "feature_importance"]
)
def test_what_is_computed_is_verified_on_the_model_itself(verb, where):
    explainer = explained(where, False)
    found = getattr(explained(where, False, verify=True), verb)()
    assert 0 <= found.provenance.verified_difference < 1e-10
    same_bits(found, getattr(explainer, verb)())


@pytest.mark.parametrize("verb", ["accumulated_local_effects", "h_statistic", "feature_importance"])
def test_what_differs_from_the_model_is_refused_where_it_is_verified(verb, monkeypatch):
    wrong = lightgbm.LGBMRegressor(n_estimators=25, verbose=-1).fit(table()[NAMES], table()["y"])
    explainer = paribus.Explainer(wrong, table()[NAMES], verify=True, **QUIET)
    getattr(explainer, verb)()  # trees are read
    monkeypatch.setattr(type(wrong), "predict", lambda self, X, **given: np.asarray(X["a"] * X["b"]))
    with pytest.raises(paribus.errors.RefusalError, match="verify=True: brute force differs by"):
        getattr(explainer, verb)()


def test_an_explanation_is_verified_but_for_its_regions():
    data = table()[:500]
    label = data["y"] > data["y"].median()
    classifier = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1).fit(data[NAMES], label)
    plain, checked = (
        paribus.Explainer(classifier, data[NAMES], label, verify=verify, **QUIET).explain()
        for verify in (False, True)
    )
    verified = (checked.effects, checked.ale, checked.importance, checked.interactions, checked.surfaces)
    assert all(0 <= part.provenance.verified_difference < 1e-10 for part in verified)
    for part in (checked.averages, checked.regions, plain.effects, plain.ale):
        assert part.provenance.verified_difference is None
    same_bits(checked.effects, plain.effects)


def test_what_cannot_be_verified_is_refused_and_what_predicts_needs_none():
    explainer = paribus.Explainer(model(), table()[[*NAMES, "kind"]], table()["y"], verify=True, **QUIET)
    with pytest.raises(
        paribus.errors.OptionError, match="verify=True has no meaning for regions; leave it out"
    ):
        explainer.regions()
    with pytest.raises(paribus.errors.OptionError, match="verify has no meaning for kind='model'"):
        explainer.feature_importance(kind="model")
    assert explainer.marginal().provenance.verified_difference is None
    with pytest.raises(paribus.errors.OptionError, match="verify=2 must be one of True, False"):
        paribus.Explainer(model(), table()[[*NAMES, "kind"]], verify=2)


def test_generators_that_need_a_fact_go_on_in_the_round_that_finds_it_out():
    def finds():
        yield ["first"]
        yield Fact("pairs", (1, 2))
        yield ["second"]
        return "found"

    def waits():
        value = yield Needed("pairs")
        yield ["after"]
        return value

    def asks_for_nothing():
        return (yield Needed("nobody finds it out"))

    running = lockstep([waits(), finds(), asks_for_nothing()])
    assert next(running) == ["first"]
    assert running.send(["state"]) == ["after", "second"]
    with pytest.raises(StopIteration) as done:
        running.send(["state", "state"])
    assert done.value.value == [(1, 2), "found", None]


def test_a_need_that_an_earlier_one_leads_to_is_met():
    def first():
        yield Needed("nobody finds it out")
        yield Fact("pairs", 7)

    def second():
        return (yield Needed("pairs"))

    with pytest.raises(StopIteration) as done:
        next(lockstep([first(), second()]))
    assert done.value.value == [None, 7]


@pytest.mark.parametrize("columns", [["a", "lists"], ["lists", "a", "b"], ["mixed", "a", "b"]])
def test_columns_that_cannot_be_varied_are_left_out_of_explanation(columns):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    X["lists"] = [[1]] * 200
    X["mixed"] = [*["x"] * 150, *[[1]] * 50]
    explainer = paribus.Explainer(lambda t: t["a"].to_numpy() ** 2, X[columns])
    known = set(columns) - {"lists", "mixed"}
    assert set(explainer.explain().effects) == known


CALLS_ON_A_FILE = {
    "h_statistic": lambda model, path: paribus.h_statistic(model, path, subsample=50, **QUIET),
    "explain": lambda model, path: paribus.explain(model, path, subsample=50, **QUIET),
    "Explainer": lambda model, path: paribus.Explainer(model, path, **QUIET).h_statistic(subsample=50),
    "list of models": lambda model, path: paribus.h_statistic([model, model], path, subsample=50, **QUIET),
}


def contexts_in_memory():
    gc.collect()
    return sum(type(thing) is RunContext for thing in gc.get_objects())  # isinstance fails for dead proxies


@pytest.mark.parametrize("call", CALLS_ON_A_FILE.values(), ids=CALLS_ON_A_FILE)
def test_nothing_but_the_result_stays_in_memory_after_a_sample_of_a_file(call, tmp_path):
    table()[["a", "b"]].head(200).to_parquet(tmp_path / "rows.parquet")

    def product(rows):
        return rows["a"].to_numpy() * rows["b"].to_numpy()

    before = contexts_in_memory()
    model = weakref.ref(product)
    result = call(product, tmp_path / "rows.parquet")
    del product
    assert contexts_in_memory() == before
    assert model() is None
    assert result.provenance.rows == 200


def test_requests_that_are_neither_names_nor_pairs_are_refused_in_one_sentence():
    explainer = paribus.Explainer(lambda t: t[:, 0], np.ones((5, 2)))
    for wrong in (([], {}), ("effects", {3: 3}), ("effects", 3), 3):
        with pytest.raises(paribus.errors.OptionError, match="neither the name of a method nor a pair"):
            explainer.run(wrong)
    with pytest.raises(
        paribus.errors.OptionError, match=r"effects has no argument 'foo_bar'.*known: 'features', "
    ):
        explainer.run(("effects", {"foo_bar": 3}))
