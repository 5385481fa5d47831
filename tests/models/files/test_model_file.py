"""A model read from a file is that of its library, without the library, whatever the file holds."""

import bz2
import gzip
import json
import pickle
import subprocess
import sys
import tracemalloc
from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import catboost
import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

import paribus
from fuzz_model_files import FORMATS, _binary, mutate_and_explain
from paribus._models.files import documents, model_file
from paribus._models.files.documents import parsed_ubj
from paribus.errors import ModelFileError, OptionError
from selection import nightly

ROWS = 300
QUIET = {
    "xgboost": {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "enable_categorical": True},
    "lightgbm": {"n_estimators": 4, "num_leaves": 6, "verbose": -1, "n_jobs": 1, "min_data_per_group": 5},
    "catboost": {
        "iterations": 4,
        "depth": 3,
        "verbose": 0,
        "allow_writing_files": False,
        "thread_count": 1,
        "cat_features": ["word two"],
        "one_hot_max_size": 9,
    },
}


@cache
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["x", "y", "z"])
    frame.loc[::13, "z"] = np.nan
    words = rng.choice([*"abcde"], ROWS)
    target = 2 + frame["x"] + frame["y"] * (words == "a") + (words > "c")
    return frame.assign(**{"word two": words}), np.exp(target / 4).to_numpy()


def fitted(kind, target, **options):
    """Return a fitted model and the table it was fitted on."""
    frame, y = table()
    library, kind = kind
    if library is not catboost:
        frame = frame.assign(**{"word two": frame["word two"].astype("category")})
    target = {
        "number": y,
        "two": y > 1.5,
        "three": np.digitize(y, [1.5, 2.0]),
        "rank": np.digitize(y, [1.5, 2.0]),
    }[target]
    more = {"group": [100, 200]} if "Ranker" in kind else {}
    model = getattr(library, kind)(**QUIET[library.__name__], **options)
    return model.fit(frame, target, **more), frame


def saved(model, folder, written):
    """Save a model as its library does, under a name that says nothing."""
    path = folder / "some.model"
    if written == "lightgbm":
        model.booster_.save_model(path)
    elif written == "catboost":
        model.save_model(str(path), format="json")
    else:
        path.write_bytes(model.get_booster().save_raw(written))
    return path


def native(model, frame):
    """Return what the library's own native model predicts."""
    if isinstance(model, catboost.CatBoost):
        return model.predict_proba(frame) if hasattr(model, "predict_proba") else model.predict(frame)
    if isinstance(model, xgboost.XGBModel):
        return model.get_booster().predict(xgboost.DMatrix(frame, enable_categorical=True))
    return model.booster_.predict(frame)


MODELS = [
    (("json", "ubj"), (xgboost, "XGBRegressor"), "number", {"objective": "count:poisson"}),
    (("ubj",), (xgboost, "XGBRegressor"), "number", {"booster": "dart", "rate_drop": 0.5}),
    (("json", "ubj"), (xgboost, "XGBClassifier"), "two", {}),
    (("json", "ubj"), (xgboost, "XGBClassifier"), "three", {}),
    (("json",), (xgboost, "XGBRanker"), "rank", {}),
    (("lightgbm",), (lightgbm, "LGBMRegressor"), "number", {"objective": "poisson"}),
    (
        ("lightgbm",),
        (lightgbm, "LGBMRegressor"),
        "number",
        {"boosting": "rf", "subsample": 0.5, "subsample_freq": 1},
    ),
    (("lightgbm",), (lightgbm, "LGBMClassifier"), "two", {}),
    (("lightgbm",), (lightgbm, "LGBMClassifier"), "three", {}),
    (("lightgbm",), (lightgbm, "LGBMRanker"), "rank", {}),
    (("catboost",), (catboost, "CatBoostRegressor"), "number", {"loss_function": "Poisson"}),
    (("catboost",), (catboost, "CatBoostRegressor"), "number", {"grow_policy": "Lossguide"}),
    (("catboost",), (catboost, "CatBoostClassifier"), "two", {}),
    (("catboost",), (catboost, "CatBoostClassifier"), "three", {}),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("written", "kind", "target", "options"), MODELS)
def test_a_file_predicts_and_is_explained_as_its_model(tmp_path, written, kind, target, options):
    model, frame = fitted(kind, target, **options)
    tolerance = 3e-6 if kind[0] is xgboost else 1e-9
    theirs = paribus.effects(model, frame, grid_resolution=5, n_jobs=1)
    for one in written:
        read = paribus.read_model(saved(model, tmp_path, one))
        own, expected = read.predict(frame), native(model, frame)
        if expected.ndim == 2 and own.ndim == 1:
            expected = expected[:, 1]
        np.testing.assert_allclose(own, expected, rtol=0, atol=tolerance)
        assert hasattr(read, "predict_proba") == hasattr(model, "predict_proba")
        if hasattr(read, "predict_proba"):
            np.testing.assert_allclose(
                read.predict_proba(frame), model.predict_proba(frame), rtol=0, atol=tolerance
            )
        ours = paribus.effects(read, frame, grid_resolution=5, n_jobs=1)
        assert ours.provenance.evaluator == theirs.provenance.evaluator
        assert "not compared with its library" in ours.provenance.structure
        assert ours.provenance.model_library == kind[0].__name__
        np.testing.assert_allclose(
            ours.to_frame()["average"], theirs.to_frame()["average"], rtol=0, atol=tolerance
        )
        assert [str(name).replace("_", " ") for name in read.feature_names_in_] == list(frame.columns)
        assert repr(read).endswith("4 columns)")


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("ubj", (xgboost, "XGBClassifier")),
        ("lightgbm", (lightgbm, "LGBMClassifier")),
        ("catboost", (catboost, "CatBoostClassifier")),
    ],
)
def test_a_file_predicts_as_well_as_its_model(tmp_path, written, kind):
    model, frame = fitted(kind, "two")
    y = np.arange(len(frame)) % 2
    own, theirs = (
        paribus.explain(one, frame, y, interactions=False, progress=False).performance
        for one in (paribus.read_model(saved(model, tmp_path, written)), model)
    )
    assert [one.name for one in own.metrics] == [one.name for one in theirs.metrics]
    np.testing.assert_allclose(
        [one.value for one in own.metrics], [one.value for one in theirs.metrics], rtol=1e-4, atol=1e-6
    )


def test_margins_and_labels_are_those_of_the_booster(tmp_path):
    model, frame = fitted((xgboost, "XGBRegressor"), "number", objective="count:poisson")
    read = paribus.read_model(saved(model, tmp_path, "json"))
    margin = model.get_booster().predict(xgboost.DMatrix(frame, enable_categorical=True), output_margin=True)
    np.testing.assert_allclose(read.predict(frame, margin=True), margin, rtol=0, atol=3e-6)
    effect = paribus.partial_dependence(read, frame, "x", response_method="decision_function", n_jobs=1)
    assert effect.provenance.scale.base == "margin"
    data = xgboost.DMatrix(frame, table()[1] > 1.5, enable_categorical=True)
    for objective, classes in (("multi:softmax", {"num_class": 2}), ("binary:hinge", {})):
        booster = xgboost.train({"objective": objective, "max_depth": 3, **classes}, data, 3)
        path = tmp_path / "labels"
        path.write_bytes(booster.save_raw("ubj"))
        np.testing.assert_array_equal(paribus.read_model(path).predict(frame), booster.predict(data))


def test_columns_are_found_by_name_in_any_order_and_library(tmp_path):
    model, frame = fitted((catboost, "CatBoostClassifier"), "three")
    read = paribus.read_model(saved(model, tmp_path, "catboost"))
    expected = read.predict(frame)
    np.testing.assert_array_equal(read.classes_, model.classes_)
    for other in (frame[["word two", "z", "y", "x"]].assign(more=1.0), frame.to_numpy(dtype=object)):
        np.testing.assert_array_equal(read.predict(other), expected)
    with pytest.raises(paribus.errors.TableError, match="no column 'z'"):
        read.predict(frame.drop(columns="z"))
    with pytest.raises(paribus.errors.TableError, match=r"3 columns, and .* was fitted on 4"):
        read.predict(frame.to_numpy(dtype=object)[:, :3])
    again = pickle.loads(pickle.dumps(read))
    np.testing.assert_array_equal(again.predict(frame), expected)


@pytest.mark.nightly
def test_all_formats_are_read_and_explained_without_their_libraries(tmp_path):
    paths = []
    for number, (written, kind, target, options) in enumerate((MODELS[2], MODELS[5], MODELS[12])):
        model, _ = fitted(kind, target, **options)
        for one in written:
            paths.append((tmp_path / f"{number}{one}").as_posix())
            saved(model, tmp_path, one).rename(paths[-1])
    table()[0].to_parquet(tmp_path / "rows.parquet")
    code = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("xgboost", "lightgbm", "catboost", "sklearn"):
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
import pandas, paribus
rows = pandas.read_parquet({(tmp_path / "rows.parquet").as_posix()!r})
for path in {paths!r}:
    model = paribus.read_model(path)
    effect = paribus.partial_dependence(model, rows, "x", grid_resolution=3, n_jobs=1)
    print(model.facts.file_format, effect.provenance.evaluator)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    formats = ["XGBoost JSON", "XGBoost UBJ", "LightGBM text", "CatBoost JSON"]
    assert done.stdout.splitlines() == [f"{one} tree_exact" for one in formats]


class Writes:
    """What writes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickles_are_refused_and_do_not_run(tmp_path):
    trace, path = tmp_path / "trace", tmp_path / "model.json"
    contents = [pickle.dumps(Writes(trace), protocol) for protocol in range(6)]
    contents += [gzip.compress(contents[-1]), bz2.compress(contents[-1])]
    for compress in (0, 3, ("xz", 3), ("lzma", 3)):
        joblib.dump(Writes(trace), path, compress=compress)
        contents.append(path.read_bytes())
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"can run any code .* and is refused; .*pass the object"):
            paribus.read_model(path)
    assert not trace.exists()
    pickle.loads(contents[0])
    assert trace.exists()  # so that it would have run


def test_other_formats_are_refused_with_the_way_out(tmp_path):
    model, _ = fitted((catboost, "CatBoostRegressor"), "number")
    path = tmp_path / "model"
    model.save_model(str(path))
    with pytest.raises(ModelFileError, match=r'CatBoost\'s binary format, .* format="json"'):
        paribus.read_model(path)
    old = np.float32(0.5).tobytes() + bytes([3, 0, 0, 0]) + bytes(128) + bytes([14]) + bytes(7)
    for content, text in (
        (old + b"reg:squarederror" + bytes([6]) + bytes(7) + b"gbtree", "deprecated binary"),
        (b"binf" + bytes(100), "deprecated binary"),
        (b'[{"nodeid": 0}]', "no base score"),
        (b'{"name": "tree", "tree_info": []}', "dump_model"),
        (b'{"some": 1}', "not a model of XGBoost or CatBoost"),
        (b"hello", "not a supported model file, such as XGBoost JSON"),
        (b"", "is an empty file; pass a file of XGBoost JSON or UBJ"),
        (b"tree\nversion=v4\n", "not complete"),
        (b"PK\x03\x04 and no more", "damaged zip"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=text) as refused:
            paribus.read_model(path)
        assert str(path) in str(refused.value)
    for name, text in ((tmp_path, "is a folder"), (tmp_path / "none", "does not exist"), ("a\0b", "a.x00b")):
        with pytest.raises(ModelFileError, match=text):
            paribus.read_model(name)


def test_files_that_are_not_what_they_announce_are_refused(tmp_path):
    path = tmp_path / "model"
    boosted, _ = fitted((lightgbm, "LGBMClassifier"), "three")
    text = boosted.booster_.model_to_string()
    tree = text[text.index("\nTree=3\n") : text.index("\nTree=4\n")]
    for old, new, why in (
        ("max_feature_idx=3", "max_feature_idx=2000000000", "a number of columns of 2000000001"),
        ("max_feature_idx=3", "max_feature_idx=30", "31 columns, and feature_names has 4"),
        ("cat_boundaries=0 1", "cat_boundaries=0 9 1", "more than are listed|sets of categories"),
        ("num_leaves=6", "num_leaves=6 6", "num_leaves has 13 numbers for 12 trees"),
        ("feature_infos=", "feature_infos=none ", "feature_infos has 5"),
        ("num_leaves=6", "num_leaves=2000000000", "other leaves"),
        (tree, "", "announces 12 trees, and there are 11"),
        ("num_leaves=6\n", "", "num_leaves has 11 numbers for 12 trees"),
        ("\nleft_child=", "\nleft_child=1 ", "left_child has other nodes"),
        ("\nthreshold=", "\nthreshold=1-", "not numbers separated by spaces|could not be read"),
        ("\nshrinkage=", "\nslope=", "'slope'"),
        ("multiclass num_class:3", "hinge", "'hinge'"),
        ("pandas_categorical:", "pandas_categorical:" + "[" * 10**6, "nested more than|times its size"),
        ("pandas_categorical:", 'pandas_categorical:{"a": 1} ', "not JSON|not a list of lists"),
    ):
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ModelFileError, match=why):
            paribus.read_model(path)
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert repr(paribus.read_model(path)).startswith(
        "FileClassifier(LightGBM text, objective='multiclass', 12 trees"
    )
    json = fitted((xgboost, "XGBClassifier"), "three")[0].get_booster().save_raw("json").decode()
    for old, new, why in (
        ('"num_trees":"12"', '"num_trees":"13"', "announces 13 trees, and there are 12"),
        ('"num_class":"3"', '"num_class":"99999"', "announces 99,999 outputs|could not be broadcast"),
        ('"num_feature":"4","num_t', '"num_feature":"3","num_t', "num_feature is 3, and there are 4 names"),
        ('"learner":{', '"learner":1,"other":{', "'learner' is not an object"),
        ("multi:softprob", "multi:odd", "'multi:odd'"),
        ('"left_children":[', '"left_children":[-1,', "lists of its tree 0 differ in length"),
        ('"categories_sizes":[', '"categories_sizes":[1000000', "more than are listed"),
        ('"word two"', f'"{"w" * 1_001}"', "a name of a column has 1,001 characters"),
    ):
        path.write_text(json.replace(old, new, 1))
        with pytest.raises(ModelFileError, match=why):
            paribus.read_model(path)


def test_size_and_memory_are_bounded(tmp_path, monkeypatch):
    path = tmp_path / "model"
    for kind, one in (((xgboost, "XGBRegressor"), "ubj"), ((lightgbm, "LGBMRegressor"), "lightgbm")):
        size = len(saved(fitted(kind, "number")[0], tmp_path, one).rename(path).read_bytes())
        monkeypatch.setattr(documents, "memory", lambda bound, size=size: 2 * size)
        with pytest.raises(ModelFileError, match=r"may take 0\.0 GB of memory, and half of what is free"):
            paribus.read_model(path)
    monkeypatch.setattr(model_file, "MOST_BYTES", size - 1)
    with pytest.raises(ModelFileError, match=f"has {size:,} bytes, more than the {size - 1:,} that are read"):
        paribus.read_model(path)


def test_a_small_file_takes_little_memory_and_one_that_grows_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text('{"learner": 1}')
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        paribus.read_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
    size = path.stat().st_size
    path.write_text('{"learner": 12}')
    monkeypatch.setattr(model_file.os, "fstat", lambda handle: SimpleNamespace(st_size=size))
    with pytest.raises(ModelFileError, match=f"has more than {size} bytes, or is growing"):
        model_file._checked_content(path)


HEADER = b"""tree
num_tree_per_iteration=1
max_feature_idx=0
objective=regression
feature_names=x
feature_infos=[0:1]
tree_sizes=%s
"""
TREE = b"""
Tree=0
num_leaves=%s
split_feature=0
threshold=0.5
decision_type=2
left_child=-1
right_child=-2
leaf_value=%s
shrinkage=1

end of trees
"""
# How a file begins, what fills it, and how it ends.
LARGE = {
    "nested lists": (b'{"learner":', b"[", b""),
    "an integer": (b'{"learner":', b"9", b"}"),
    "text": (b'{"learner":"', b"x", b'"}'),
    "text beyond ASCII": ('{"learner":"\U0001f600'.encode(), b"x", b'"}'),
    "numbers": (b'{"learner":[', b"0.12345,", b"1]}"),
    "short texts": (b'{"learner":[', b'"1234567",', b"1]}"),
    "binary lists": (b"{L" + bytes(7) + b"\1a", b"[", b""),
    "binary text": (b"{L" + bytes(7) + b"\1aSL" + b"\x10" + bytes(7), b"x", b""),
    "binary values": (b"{L" + bytes(7) + b"\1a[", b"i\1", b""),
    "trees of no bytes": (HEADER.partition(b"%s")[0], b"0 ", b"0\n" + TREE % (b"2", b"1 2")),
    "numbers of leaves": (HEADER % b"10" + TREE.partition(b"%s")[0], b"0 ", b"\nend of trees\n"),
    "leaves": (HEADER % b"10" + (TREE % (b"2", b"@")).partition(b"@")[0], b"0 ", b"1\nend of trees\n"),
    "lines": (b"tree\n", b"\n\n", b"\nend of trees\n"),
    "a line": (b"tree\n", b"0 ", b"\nend of trees\n"),
}


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_large_files_end_in_one_sentence_within_the_memory_stated(tmp_path):
    """20 MB of each; peaks are those of a process that does nothing else."""
    code = """
import re, sys
from pathlib import Path
import paribus
def peak():  # that of getrusage begins at the peak of the parent
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
try:
    paribus.read_model(sys.argv[1])
except paribus.errors.ModelFileError as error:
    print((peak() - before) / float(sys.argv[2]), error)
"""
    size, path = 20_000_000, tmp_path / "model"
    for what, (head, unit, tail) in LARGE.items():
        path.write_bytes(head + unit * (size // len(unit)) + tail)
        done = subprocess.run(
            [sys.executable, "-c", code, str(path), str(size)], capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, (what, done.stderr[-500:])
        times, sentence = done.stdout.strip().split(" ", 1)
        assert float(times) > 0.9, what  # the file itself, so that it is measured
        assert float(times) < 20, what
        assert len(sentence) < 600, what
        assert "\n" not in sentence, what


def test_trees_of_any_depth_are_read_without_recursion(tmp_path):
    leaves = 5_000
    inner = np.arange(leaves - 1)
    lines = {
        "num_leaves": [leaves],
        "split_feature": 0 * inner,
        "threshold": inner + 0.5,
        "decision_type": 0 * inner + 2,
        "left_child": -1 - inner,
        "right_child": np.append(inner[1:], -leaves),
        "leaf_value": np.arange(leaves),
        "leaf_count": np.ones(leaves, int),
        "internal_count": leaves - inner,
    }
    tree = "".join(f"{name}={' '.join(map(str, numbers))}\n" for name, numbers in lines.items())
    path = tmp_path / "model"
    tree = f"Tree=0\n{tree}\n"
    path.write_text(f"{HEADER.decode() % len(tree)}\n{tree}end of trees\n")
    rows = np.array([[0.0], [17.0], [4_321.0], [9_999.0]])
    np.testing.assert_array_equal(paribus.read_model(path).predict(rows), [0, 17, 4_321, leaves - 1])


def test_trusted_is_a_list_of_names(tmp_path):
    import skops.io

    path = tmp_path / "model"
    path.write_bytes(skops.io.dumps([1]))
    for trusted in ("sklearn.tree._tree.Tree", 3, [int]):
        with pytest.raises(OptionError, match="trusted="):
            paribus.read_model(path, trusted=trusted)


@pytest.mark.filterwarnings("ignore")  # a damaged file may well make a library complain
@pytest.mark.parametrize("cases", [4, *nightly(60)])
def test_damaged_files_are_refused_or_explained(tmp_path, cases):
    """A few of the cases of ``make random``; a crash ends these tests."""
    ends = Counter(
        mutate_and_explain(file_format, np.random.default_rng(seed), tmp_path)
        for file_format in FORMATS
        for seed in range(cases)
    )
    assert ends["refused"] > ends["read, as its library"] > 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda split: split.update(border=7.5), "not the test of its split"),
        (lambda split: split.update(split_index=True), "not the test of its split"),
        (lambda split: split.pop("split_index"), "split_index"),
        (lambda split: split.update(float_feature_index="1"), "not the test of its split"),
    ],
    ids=["border", "boolean", "missing", "text"],
)
def test_a_split_of_catboost_says_the_test_of_its_number(tmp_path, change, why):
    model, _ = fitted((catboost, "CatBoostRegressor"), "number")
    path = saved(model, tmp_path, "catboost")
    document = json.loads(path.read_text())
    splits = [split for tree in document["oblivious_trees"] for split in tree["splits"]]
    change(next(split for split in splits if split["split_type"] == "FloatFeature"))
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=why):
        paribus.read_model(path)


def test_borders_of_catboost_ascend(tmp_path):
    model, _ = fitted((catboost, "CatBoostRegressor"), "number")
    path = saved(model, tmp_path, "catboost")
    document = json.loads(path.read_text())
    borders = next(
        one["borders"] for one in document["features_info"]["float_features"] if len(one["borders"]) > 1
    )
    borders.reverse()
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="borders of a feature do not ascend"):
        paribus.read_model(path)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("is_linear=0", "is_linear=2", "linear trees"),
        ("leaf_value=", "leaf_value=0", "does not begin where tree_sizes says"),
        ("\n\n\nend of", "\n\n\n\nend of", "do not end where tree_sizes says"),
        ("num_class=1", "num_class=", "num_class '' is not an integer"),
        ("num_class=1", "num_class=2", "num_class is 2, and num_tree_per_iteration 1"),
        ("max_feature_idx=3", "max_feature_idx=\N{ARABIC-INDIC DIGIT THREE}", "is not an integer"),
    ],
)
def test_lightgbm_text_that_its_library_reads_otherwise_is_refused(tmp_path, old, new, why):
    model, _ = fitted((lightgbm, "LGBMRegressor"), "number")
    text, path = model.booster_.model_to_string(), tmp_path / "model"
    assert old in text
    path.write_text(text)
    paribus.read_model(path)
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=why):
        paribus.read_model(path)


@pytest.mark.parametrize("written", ["json", "ubj"])
@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("default_left", -1, "default_left are not all 0 or 1"),
        ("split_type", 1, "split_type and sets of categories are of different nodes"),
        ("left_children", 0.5, "left_children are not all integers"),
        ("categories", 2**31 - 1, "sets of categories out of range"),
    ],
)
def test_xgboost_numbers_that_its_library_reads_otherwise_are_refused(tmp_path, written, key, value, why):
    model, _ = fitted((xgboost, "XGBRegressor"), "number")
    path = saved(model, tmp_path, written)
    parsed = parsed_ubj if written == "ubj" else json.loads
    document = parsed(path.read_bytes())
    tree = next(
        tree for tree in document["learner"]["gradient_booster"]["model"]["trees"] if len(tree["categories"])
    )
    numbers = np.asarray(tree[key]).tolist()
    at = len(numbers) - 1 if key in ("split_type", "default_left") else 0
    numbers[at] = value
    tree[key] = numbers if written == "json" else np.array(numbers, None if value != 0.5 else np.float32)
    path.write_bytes(_binary(document) if written == "ubj" else json.dumps(document).encode())
    with pytest.raises(ModelFileError, match=why):
        paribus.read_model(path)


def test_the_order_of_stored_categories_is_theirs(tmp_path):
    model, _ = fitted((xgboost, "XGBRegressor"), "number")
    path = saved(model, tmp_path, "json")
    document = json.loads(path.read_text())
    cats = document["learner"]["gradient_booster"]["model"]["cats"]
    cats["sorted_idx"][0] = cats["sorted_idx"][1]
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="sorted_idx is not the order"):
        paribus.read_model(path)


def test_a_key_that_stands_twice_is_refused(tmp_path):
    model, _ = fitted((xgboost, "XGBRegressor"), "number")
    path = saved(model, tmp_path, "json")
    path.write_bytes(path.read_bytes().replace(b'"num_class":"0"', b'"num_class":"7","num_class":"0"'))
    with pytest.raises(ModelFileError, match="same key twice"):
        paribus.read_model(path)
    with pytest.raises(ModelFileError, match="stands twice"):
        parsed_ubj(b"{i\x01ai\x01i\x01ai\x02}")
