"""skops files: types that the user names, sizes that are looked at, trees that are checked before they predict."""

import io
import json
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._models.files.skops_file import check_sklearn_trees
from paribus.errors import ModelFileError, RefusalError

TREE = "sklearn.tree._tree.Tree"
HIST = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
RNG = np.random.default_rng(0)
X = np.c_[RNG.normal(size=(200, 2)), RNG.integers(0, 4, 200)]
Y = X[:, 0] + (X[:, 2] == 1)


def written(model, folder):
    path = folder / "model.txt"
    path.write_bytes(skops.io.dumps(model))
    return path


def test_types_that_are_not_trusted_are_listed_and_named_by_the_user(tmp_path):
    path = written(make_pipeline(StandardScaler(), RandomForestRegressor(2, max_depth=3)).fit(X, Y), tmp_path)
    with pytest.raises(
        ModelFileError, match=rf"does not trust: {TREE}; .*trusted=\['{TREE}'\].* --trust {TREE}$"
    ):
        paribus.read_model(path)
    model = paribus.read_model(path, trusted=[TREE])
    effect = paribus.partial_dependence(model, X, 0, grid_resolution=3, n_jobs=1)
    assert effect.provenance.evaluator == "tree_exact"
    assert "coef_" in vars(paribus.read_model(written(LinearRegression().fit(X, Y), tmp_path)))


def test_types_of_numpy_need_not_be_named(tmp_path):
    encoded = OrdinalEncoder(dtype=np.dtype("float32"))
    model = make_pipeline(encoded, LinearRegression()).fit(X[:, 2:], Y)
    path = written(model, tmp_path)
    assert "numpy.dtype" in skops.io.get_untrusted_types(file=path)
    read = paribus.read_model(path)
    np.testing.assert_array_equal(read.predict(X[:, 2:]), model.predict(X[:, 2:]))
    function = make_pipeline(FunctionTransformer(np.nan_to_num), LinearRegression()).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"does not trust: numpy\.nan_to_num;"):  # a function is no type
        paribus.read_model(written(function, tmp_path))


def test_boosters_within_are_refused(tmp_path):
    import lightgbm

    model = make_pipeline(StandardScaler(), lightgbm.LGBMRegressor(n_estimators=2, verbose=-1))
    path = written(model.fit(X, Y), tmp_path)
    trusted = ["collections.OrderedDict", "lightgbm.basic.Booster", "lightgbm.sklearn.LGBMRegressor"]
    with pytest.raises(
        ModelFileError, match=r"without checks; .*skops\.io\.load and pass the object"
    ) as refused:
        paribus.read_model(path, trusted=trusted)
    assert "save_model of its library" in str(refused.value)
    loaded = skops.io.load(path, trusted=trusted)  # the way out that the sentence names
    effect = paribus.partial_dependence(loaded, X, 0, grid_resolution=3, n_jobs=1)
    assert effect.provenance.evaluator == "tree_exact"


def test_without_skops_the_sentence_says_what_to_install(tmp_path, monkeypatch):
    path = written(LinearRegression().fit(X, Y), tmp_path)
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(ModelFileError, match=r"pip install 'paribus\[skops\]'"):
        paribus.read_model(path)


def archive(folder, **members):
    path = folder / "model"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("_", "."), content)
    return path


def test_archives_that_become_larger_than_they_say_are_refused(tmp_path, monkeypatch):
    schema = json.dumps({"protocol": 1})
    claims = io.BytesIO()
    np.lib.format.write_array_header_1_0(claims, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    objects = io.BytesIO()
    np.save(objects, np.array([{}], dtype=object))
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as file:
        file.writestr("data.npy", claims.getvalue())
    for members, why in (
        ({"other": "1"}, "without the schema.json"),
        ({"schema_json": "[" * 10**6}, "times its size|nested"),
        ({"schema_json": schema, "1_npy": claims.getvalue()}, "larger than it is"),
        ({"schema_json": schema, "1_npy": objects.getvalue()}, "holds objects"),
        ({"schema_json": schema, "1_npz": inner.getvalue()}, "larger than it is"),
    ):
        with pytest.raises(ModelFileError, match=why):
            paribus.read_model(archive(tmp_path, **members))
    bomb = archive(tmp_path, schema_json=schema, a_npy=bytes(10**8))
    with pytest.raises(ModelFileError, match=r"would become [\d,]+ times as large"):
        paribus.read_model(bomb)
    monkeypatch.setattr("paribus._models.files.documents.memory", lambda bound: 2 * 10**8)
    with pytest.raises(ModelFileError, match=r"may take 0\.3 GB of memory"):
        paribus.read_model(bomb)


def damaged(tree, **fields):
    """Return a tree of scikit-learn with another number in its first node."""
    make, args, state = tree.__reduce__()
    state = dict(state, nodes=state["nodes"].copy())
    for name, number in fields.items():
        if name == "node_count":
            state["node_count"] = number
        else:
            state["nodes"][name][0] = number
    other = make(*args)
    other.__setstate__(state)
    return other


@pytest.mark.parametrize(
    "fields",
    [
        {"left_child": 10**6},
        {"left_child": 0},
        {"right_child": -7},
        {"feature": 10**6},
        {"feature": -5},
        {"node_count": 3},
    ],
)
def test_trees_that_point_elsewhere_are_refused_before_they_predict(tmp_path, fields):
    model = RandomForestRegressor(2, max_depth=3).fit(X, Y)
    path = written(model, tmp_path)
    paribus.read_model(path, trusted=[TREE])
    nodes = skops.io.load(path, trusted=[TREE])
    nodes.estimators_[1].tree_ = damaged(nodes.estimators_[1].tree_, **fields)
    with pytest.raises(RefusalError):
        check_sklearn_trees(make_pipeline(nodes))


def test_columns_that_a_forest_does_not_have_are_refused():
    for model in (RandomForestRegressor(2), GradientBoostingRegressor(n_estimators=2)):
        check_sklearn_trees(model.fit(X, Y))
        model.n_features_in_ = 2
        with pytest.raises(RefusalError, match="columns out of range"):
            check_sklearn_trees(model)
        del model.n_features_in_
        with pytest.raises(RefusalError, match="does not say of how many columns"):
            check_sklearn_trees(model)
    isolating = IsolationForest(n_estimators=2, max_features=2, random_state=0).fit(X)
    check_sklearn_trees(isolating)
    isolating.estimators_features_[0] = isolating.estimators_features_[0][:1]
    with pytest.raises(RefusalError, match="columns out of range"):
        check_sklearn_trees(isolating)
    with pytest.raises(RefusalError, match="no owner"):
        check_sklearn_trees([DecisionTreeRegressor(max_depth=2).fit(X, Y).tree_])


def test_trees_of_histogram_boosting_are_checked_with_their_categories(tmp_path):
    path = written(HistGradientBoostingRegressor(max_iter=2).fit(X, Y), tmp_path)
    assert paribus.read_model(path, trusted=[HIST]).predict(X).shape == (200,)
    model = HistGradientBoostingRegressor(max_iter=2, categorical_features=[2]).fit(X, Y)
    tree = next(one for (one,) in model._predictors if one.nodes["is_categorical"].any())
    node = np.flatnonzero(tree.nodes["is_categorical"])[0]
    for name, number in (("bitset_idx", 1000), ("feature_idx", 1), ("left", 10**6), ("right", 0)):
        kept = tree.nodes[name][node]
        tree.nodes[name][node] = number
        with pytest.raises(RefusalError):
            check_sklearn_trees(model)
        tree.nodes[name][node] = kept
    check_sklearn_trees(model)


def changed(model, folder, change):
    """Return a file of a model whose first tree, and whose arrays by their files, were changed."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    waiting = [schema]
    while not (isinstance(waiting[-1], dict) and waiting[-1].get("__loader__") == "TreeNode"):
        one = waiting.pop()
        parts = one.values() if isinstance(one, dict) else one
        waiting += [part for part in parts if isinstance(part, (dict, list))]
    change(waiting[-1], members, schema)
    members["schema.json"] = json.dumps(schema).encode()
    path = folder / "changed.skops"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def more_outputs(tree, members, schema):
    tree["__reduce__"]["args"]["content"][2] |= {"content": "4000000", "__id__": 1}


def no_length(tree, members, schema):
    array = io.BytesIO()
    np.save(array, np.array(1))
    members[tree["content"]["content"]["nodes"]["file"]] = array.getvalue()


def other_part_of_the_id(tree, members, schema):
    number = tree["__reduce__"]["args"]["content"][2]
    number["__id__"] = 1
    schema["content"] |= {"before": {**number, "content": "4000000"}}


def no_arguments(tree, members, schema):
    del tree["__reduce__"]["args"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (more_outputs, r"4000000 outputs, and numbers of classes of \(1,\)"),
        (no_length, r"nodes of shape \(\) and values of"),
        (other_part_of_the_id, "one id and are not the same"),
        (no_arguments, "not made as scikit-learn makes one"),
    ],
)
def test_trees_that_cannot_be_made_are_refused_before_skops_makes_them(tmp_path, change, why):
    model = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    whole = paribus.read_model(changed(model, tmp_path, lambda *parts: None), trusted=[TREE])
    assert (whole.predict(X) == model.predict(X)).all()
    with pytest.raises(ModelFileError, match=why):
        paribus.read_model(changed(model, tmp_path, change), trusted=[TREE])
