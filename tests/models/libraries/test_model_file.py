"""A model read from a file is that of its library: the same effects, and errors that name the file."""

import bz2
import gzip
import hashlib
import pickle
import sys
from functools import cache
from pathlib import Path

import catboost
import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler

import paribus
from paribus.errors import ModelFileError, OptionError

TREE = "sklearn.tree._tree.Tree"
ROWS = 300
SETTINGS = {
    xgboost: {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "enable_categorical": True},
    lightgbm: {"n_estimators": 4, "num_leaves": 6, "verbose": -1, "n_jobs": 1, "min_data_per_group": 5},
    catboost: {
        "iterations": 4,
        "depth": 3,
        "verbose": 0,
        "allow_writing_files": False,
        "thread_count": 1,
        "cat_features": ["two words"],
        "one_hot_max_size": 9,
    },
}


@cache
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["x", "y", "z"])
    frame.loc[::13, "z"] = np.nan
    words = rng.choice([*"abcde"], ROWS)
    target = np.exp((2 + frame["x"] + frame["y"] * (words == "a") + (words > "c")) / 4)
    return frame.assign(**{"two words": words}), target.to_numpy()


def fitted(library, name, target, **options):
    """Return a fitted model, its table and its target."""
    frame, y = table()
    if library is not catboost:
        frame = frame.assign(**{"two words": frame["two words"].astype("category")})
    targets = {"number": y, "two": (y > 1.5).astype(int), "three": np.digitize(y, [1.5, 2.0])}
    model = getattr(library, name)(**SETTINGS[library], **options)
    return model.fit(frame, targets[target]), frame, targets[target]


def saved(model, folder, file_format):
    """Save a model as its library does, under a name that says nothing about the format."""
    path = folder / "some.model"
    if file_format in ("json", "ubj"):
        path.write_bytes(model.get_booster().save_raw(file_format))
    elif file_format == "text":
        model.booster_.save_model(path)
    elif file_format == "skops":
        skops.io.dump(model, path)
    else:
        model.save_model(str(path), format=file_format.removeprefix("catboost "))
    return path


MODELS = [
    (("json", "ubj"), xgboost, "XGBRegressor", "number", {"objective": "count:poisson"}),
    (("json", "ubj"), xgboost, "XGBClassifier", "two", {}),
    (("ubj",), xgboost, "XGBClassifier", "three", {}),
    (("text",), lightgbm, "LGBMRegressor", "number", {"objective": "poisson"}),
    (("text",), lightgbm, "LGBMClassifier", "two", {}),
    (("text",), lightgbm, "LGBMClassifier", "three", {}),
    (
        ("catboost cbm", "catboost json"),
        catboost,
        "CatBoostRegressor",
        "number",
        {"loss_function": "Poisson"},
    ),
    (("catboost cbm", "catboost json"), catboost, "CatBoostClassifier", "two", {}),
    (("catboost cbm",), catboost, "CatBoostClassifier", "three", {}),
]
NAMES = [f"{name} {target}" for _, _, name, target, _ in MODELS]


@pytest.mark.parametrize(("formats", "library", "name", "target", "options"), MODELS, ids=NAMES)
def test_effects_of_a_file_are_those_of_the_fitted_model(tmp_path, formats, library, name, target, options):
    model, frame, _ = fitted(library, name, target, **options)
    for response in ("auto", "decision_function"):
        expected = paribus.effects(model, frame, grid_resolution=5, response_method=response)
        for file_format in formats:
            read = paribus.read_model(saved(model, tmp_path, file_format))
            effects = paribus.effects(read, frame, grid_resolution=5, response_method=response)
            assert effects.provenance.evaluator == expected.provenance.evaluator == "tree_exact"
            assert effects.provenance.model_library == library.__name__
            assert set(effects) == set(expected) == set(frame.columns)
            for feature in effects:
                assert effects[feature].grid_values[0].tolist() == expected[feature].grid_values[0].tolist()
                np.testing.assert_allclose(effects[feature].average, expected[feature].average, rtol=1e-12)


@pytest.mark.parametrize("file_format", ["ubj", "text", "catboost cbm"])
def test_a_file_of_two_classes_has_the_performance_of_its_model(tmp_path, file_format):
    library, name = {
        "ubj": (xgboost, "XGBClassifier"),
        "text": (lightgbm, "LGBMClassifier"),
        "catboost cbm": (catboost, "CatBoostClassifier"),
    }[file_format]
    model, frame, y = fitted(library, name, "two")
    read, expected = (
        paribus.explain(one, frame, y, interactions=False, progress=False).performance
        for one in (paribus.read_model(saved(model, tmp_path, file_format)), model)
    )
    assert [metric.name for metric in read.metrics] == [metric.name for metric in expected.metrics]
    values = [[metric.value for metric in one.metrics] for one in (read, expected)]
    np.testing.assert_allclose(*values, rtol=1e-6)


def test_types_of_the_returned_models(tmp_path):
    for formats, library, name, target, options in MODELS:
        model, _, _ = fitted(library, name, target, **options)
        read = paribus.read_model(saved(model, tmp_path, formats[0]))
        assert type(read) is {xgboost: xgboost.Booster, lightgbm: lightgbm.Booster}.get(library, type(model))
        if library is catboost and target == "three":
            assert read.classes_.tolist() == model.classes_.tolist() == [0, 1, 2]


def test_a_sum_of_catboost_models_which_records_no_loss(tmp_path):
    model, frame, _ = fitted(catboost, "CatBoostRegressor", "number")
    path = saved(catboost.sum_models([model, model]), tmp_path, "catboost cbm")
    np.testing.assert_allclose(paribus.read_model(path).predict(frame), 2 * model.predict(frame), rtol=1e-12)


def test_columns_are_found_by_name_and_text_becomes_categories(tmp_path):
    for file_format, library, name in (
        ("ubj", xgboost, "XGBRegressor"),
        ("text", lightgbm, "LGBMRegressor"),
        ("catboost json", catboost, "CatBoostRegressor"),
    ):
        if library is xgboost and not hasattr(xgboost.Booster, "get_categories"):
            continue  # versions before 3.1 store no categories
        model, frame, _ = fitted(library, name, "number")
        read = paribus.read_model(saved(model, tmp_path, file_format))
        turned = table()[0][["two words", "z", "y", "x"]].assign(more=1.0)
        effect, expected = (
            paribus.partial_dependence(one, rows, "two words")
            for one, rows in ((read, turned), (model, frame))
        )
        assert effect.grid_values[0].tolist() == expected.grid_values[0].tolist()
        assert sorted(effect.grid_values[0]) == [*"abcde"]
        np.testing.assert_allclose(effect.average, expected.average, rtol=1e-12)


def test_types_in_skops_files_are_named_by_the_user(tmp_path):
    frame, y = table()
    forest = RandomForestClassifier(2, max_depth=3, random_state=0)
    model = make_pipeline(StandardScaler(), forest).fit(frame[["x", "y"]], y > 1.5)
    path = saved(model, tmp_path, "skops")
    with pytest.raises(ModelFileError, match=rf"trust: {TREE}; .*trusted=\['{TREE}'\].* --trust {TREE}$"):
        paribus.read_model(path)
    read = paribus.read_model(path, trusted=[TREE])
    effect, expected = (paribus.partial_dependence(one, frame[["x", "y"]], "x") for one in (read, model))
    assert effect.provenance.evaluator == expected.provenance.evaluator == "tree_exact"
    np.testing.assert_array_equal(effect.average, expected.average)
    for trusted in (TREE, [int]):
        with pytest.raises(OptionError, match="trusted="):
            paribus.read_model(path, trusted=trusted)


def test_types_of_numpy_need_not_be_named_and_functions_must(tmp_path):
    frame, y = table()
    codes = frame[["x"]].round()
    model = make_pipeline(OrdinalEncoder(dtype=np.dtype("float32")), LinearRegression()).fit(codes, y)
    path = saved(model, tmp_path, "skops")
    assert "numpy.dtype" in skops.io.get_untrusted_types(file=path)
    np.testing.assert_array_equal(paribus.read_model(path).predict(codes), model.predict(codes))
    model = make_pipeline(FunctionTransformer(np.nan_to_num), LinearRegression()).fit(codes, y)
    with pytest.raises(ModelFileError, match=r"does not trust: numpy\.nan_to_num;"):
        paribus.read_model(saved(model, tmp_path, "skops"))
    with pytest.raises(ModelFileError, match=r"some\.model.* holds a list, which has no predict"):
        paribus.read_model(saved([1], tmp_path, "skops"))


def test_boosters_in_pipelines_of_skops_files(tmp_path):
    frame, y = table()
    booster = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1)
    model = make_pipeline(StandardScaler(), booster).fit(frame[["x", "y"]], y)
    path = saved(model, tmp_path, "skops")
    read = paribus.read_model(path, trusted=skops.io.get_untrusted_types(file=path))
    effect, expected = (paribus.partial_dependence(one, frame[["x", "y"]], "x") for one in (read, model))
    assert effect.provenance.evaluator == "tree_exact"
    np.testing.assert_array_equal(effect.average, expected.average)


FILES = [
    ("json", xgboost, "XGBRegressor"),
    ("ubj", xgboost, "XGBRegressor"),
    ("text", lightgbm, "LGBMRegressor"),
    ("catboost cbm", catboost, "CatBoostRegressor"),
    ("catboost json", catboost, "CatBoostRegressor"),
    ("skops", None, None),
]
FORMATS = [file_format for file_format, _, _ in FILES]


def file_of(file_format, library, name, folder):
    """Return the path of a saved model of any format."""
    if library is None:
        frame, y = table()
        return saved(LinearRegression().fit(frame[["x"]], y), folder, file_format)
    return saved(fitted(library, name, "number")[0], folder, file_format)


@pytest.mark.parametrize(("file_format", "library", "name"), FILES, ids=FORMATS)
def test_a_missing_library_is_one_sentence(tmp_path, monkeypatch, file_format, library, name):
    path = file_of(file_format, library, name, tmp_path)
    module = "skops" if library is None else library.__name__
    installed_by = r"'paribus\[skops\]'" if library is None else module
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ModelFileError, match=rf"some\.model.* {module} is not installed; pip install {installed_by}$"
    ):
        paribus.read_model(path)


@pytest.mark.parametrize(("file_format", "library", "name"), FILES, ids=FORMATS)
def test_a_truncated_file_is_an_error_that_names_it(tmp_path, file_format, library, name):
    path = file_of(file_format, library, name, tmp_path)
    content = path.read_bytes()
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ModelFileError, match=r"some\.model'.*; save the model again$") as refused:
            paribus.read_model(path)
        assert len(str(refused.value)) < 700
        assert "\n" not in str(refused.value)


class Writes:
    """An object that writes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickles_are_refused_and_do_not_run(tmp_path):
    trace, path = tmp_path / "trace", tmp_path / "model.json"
    contents = [pickle.dumps(Writes(trace), protocol) for protocol in range(2, 6)]
    contents += [gzip.compress(contents[-1]), bz2.compress(contents[-1])]
    for compress in (0, 3, ("xz", 3), ("lzma", 3)):
        joblib.dump(Writes(trace), path, compress=compress)
        contents.append(path.read_bytes())
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"model\.json.*can run any code; save .*pass the object"):
            paribus.read_model(path)
    for protocol in range(2):  # text, which nothing recognizes
        path.write_bytes(pickle.dumps(Writes(trace), protocol))
        with pytest.raises(ModelFileError, match="is not a file of XGBoost"):
            paribus.read_model(path)
    assert not trace.exists()
    pickle.loads(contents[0])
    assert trace.exists()  # so that it would have run


def test_other_files_are_refused_with_the_formats_that_are_read(tmp_path):
    path = tmp_path / "model"
    for content in (
        b"hello",
        b"",
        b"binf",
        b'[{"nodeid": 0}]',
        b'{"name": "tree", "tree_info": []}',
        b'{"some": 1}',
    ):
        path.write_bytes(content)
        with pytest.raises(
            ModelFileError, match=r"is not a file of XGBoost \(JSON, UBJSON\), .*; save"
        ) as refused:
            paribus.read_model(path)
        assert str(path) in str(refused.value)
    for name, text in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file"), ("a\0b", "null")):
        with pytest.raises(ModelFileError, match=f"cannot be read: .*{text}.*; pass a file of XGBoost"):
            paribus.read_model(name)


def test_the_record_names_the_file_and_its_digest(tmp_path):
    frame, _ = table()
    for file_format, library, name in FILES:
        path = file_of(file_format, library, name, tmp_path)
        read = paribus.read_model(path)
        rows = frame[["x"]] if library is None else frame
        record = paribus.explain(read, rows, interactions=False, progress=False).model
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        assert (record.file.name, record.file.sha256) == ("some.model", sha256)
