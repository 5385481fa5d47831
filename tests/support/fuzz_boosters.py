"""Dumps of boosters with something wrong in them: they are read as trees or refused, and nothing else happens.

The libraries themselves are never given a damaged dump, which may end the process; what passes for a model hands
it to the readers alone.
"""

import copy
import json
import re
from functools import cache
from types import SimpleNamespace

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from category_trees import CategoryTree, category_forest
from paribus._data.read import table_of
from paribus._models.libraries import catboost as catboost_reader
from paribus._models.predictor import as_outputs
from paribus._models.structure import read_trees as read
from paribus._models.trees import trees_for
from paribus.errors import ParibusError

ODD = (
    None,
    True,
    -1,
    0,
    1,
    2,
    7,
    2**31 - 1,
    2**31,
    2**40,
    2**63,
    2**80,
    1e300,
    float("inf"),
    float("nan"),
    0.5,
)
ODD += ("", "x", "1", "-1", "nan", "999999999999", [], {}, [[]], [None], [-1, 5], {"a": 1})
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
ROWS = 40


def mutate_and_read(rng):
    """Damage one dump and read it; return what came of it, ``"read"`` or ``"refused"``."""
    cases = _cases()
    case = cases[rng.integers(len(cases))]
    for _ in range(int(rng.integers(1, 4))):
        try:
            ensemble = read(case.damaged(rng), case.table)
            trees_for(ensemble, "predict", None, case.table, case.answer)
        except ParibusError as error:
            if not 20 < len(str(error)) < 1_000:
                raise AssertionError("no sentence or two") from error
            return "refused"
    return "read"


@cache
def _cases():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 3))
    words = rng.choice([*"abcd"], 300)
    target = numbers[:, 0] + numbers[:, 1] * (words == "a") + (words > "b")
    frame = pd.DataFrame(numbers, columns=["x", "y", "z"]).assign(word=words)
    known = frame.assign(word=frame.word.astype("category"))
    return (
        *_xgboost_cases(numbers, known, target),
        *_lightgbm_cases(numbers, known, target),
        *_catboost_cases(frame, target),
        *_sklearn_cases(numbers, known, target),
    )


def _case(model, table, damaged):
    few = table_of(table[:ROWS], None)
    return SimpleNamespace(
        table=few, answer=as_outputs(model.predict(few.native), ROWS, "model"), damaged=damaged
    )


def _xgboost_cases(numbers, known, target):
    options = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1}
    for model, table, y in (
        (xgboost.XGBRegressor(**options, enable_categorical=True), known, target),
        (xgboost.XGBRegressor(**options, booster="dart", rate_drop=0.5), numbers, target),
        (
            xgboost.XGBRegressor(**options, multi_strategy="multi_output_tree"),
            numbers,
            np.c_[target, -target],
        ),
    ):
        text = model.fit(table, y).get_booster().save_raw("json").decode()

        def damaged(rng, text=text):
            raw = _damaged_json(text, rng)
            return _standing("Booster", "xgboost.core", save_raw=lambda raw_format: raw)

        yield _case(model, table, damaged)


def _lightgbm_cases(numbers, known, target):
    options = {"n_estimators": 3, "num_leaves": 6, "verbose": -1, "n_jobs": 1}
    for model, table in (
        (lightgbm.LGBMRegressor(**options, min_data_per_group=5, cat_smooth=1), known),
        (lightgbm.LGBMRegressor(**options, boosting="rf", bagging_fraction=0.5, bagging_freq=1), numbers),
    ):
        booster = model.fit(table, target).booster_
        text = booster.model_to_string()
        text = text[: text.index("\nparameters:")]

        def damaged(rng, text=text, levels=booster.pandas_categorical):
            raw = _damaged_text(text, rng)
            fields = {"model_to_string": lambda: raw, "pandas_categorical": levels}
            return _standing("Booster", "lightgbm.basic", **fields)

        yield _case(model, table, damaged)


def _catboost_cases(frame, target):
    options = {"iterations": 3, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    for growth, size in (("SymmetricTree", 9), ("Depthwise", 9), ("SymmetricTree", 1)):
        model = catboost.CatBoostRegressor(
            **options, grow_policy=growth, cat_features=["word"], one_hot_max_size=size, max_ctr_complexity=1
        ).fit(frame, target)
        whole = json.loads(catboost_reader._exported(model))
        whole["model_info"] = {"params": {"loss_function": {"type": "RMSE"}}}  # the rest is not read
        text = json.dumps(whole)

        def damaged(rng, text=text, names=model.feature_names_):
            raw = _damaged_json(text, rng)

            def save_model(path, format):
                with open(path, "wb") as file:
                    file.write(raw)

            fields = {"is_fitted": lambda: True, "save_model": save_model, "feature_names_": names}
            return _standing("CatBoostRegressor", "catboost.core", **fields)

        yield _case(model, frame, damaged)


def _sklearn_cases(numbers, known, target):
    forest = RandomForestRegressor(3, max_depth=3, random_state=0).fit(numbers, target)

    def damaged_forest(rng):
        damaged = copy.copy(forest)
        damaged.estimators_ = [copy.copy(tree) for tree in forest.estimators_]
        for tree in damaged.estimators_:
            tree.tree_ = _Tree(tree.tree_)
        chosen = damaged.estimators_[rng.integers(3)].tree_
        chosen.nodes = _damaged_nodes(chosen.nodes, rng)
        return damaged

    boosted = HistGradientBoostingRegressor(max_iter=3, max_depth=3).fit(known, target)

    def damaged_boosted(rng):
        damaged = copy.copy(boosted)
        damaged._predictors = [[copy.copy(tree) for tree in trees] for trees in boosted._predictors]
        (tree,) = damaged._predictors[rng.integers(3)]
        tree.nodes = _damaged_nodes(tree.nodes, rng)
        if rng.random() < 0.2:
            tree.raw_left_cat_bitsets = tree.raw_left_cat_bitsets[: rng.integers(3)]
        return damaged

    frame = known.assign(word=known["word"].astype(str))
    categorical = np.array([False, False, False, True])
    trees = [CategoryTree(np.random.default_rng(seed), [-1, -1, -1, 4], depth=3) for seed in range(3)]
    split = category_forest("RandomForestRegressor", trees, frame, categorical)

    def damaged_split(rng):
        damaged = copy.copy(split)
        damaged.estimators_ = [copy.copy(tree) for tree in split.estimators_]
        chosen = damaged.estimators_[rng.integers(3)]
        kept, chosen.tree_ = chosen.tree_, object.__new__(CategoryTree)
        vars(chosen.tree_).update(vars(kept), nodes=_damaged_nodes(kept.nodes, rng))
        return damaged

    return (
        _case(forest, numbers, damaged_forest),
        _case(boosted, known, damaged_boosted),
        _case(split, frame, damaged_split),
    )


class _Tree:
    """A tree of scikit-learn whose nodes can be written."""

    def __init__(self, tree):
        state = tree.__getstate__()
        self.nodes, self.value = state["nodes"].copy(), state["values"]
        self.node_count = state["node_count"]

    def __getstate__(self):
        return {"max_depth": 3, "node_count": self.node_count, "nodes": self.nodes, "values": self.value}

    def __getattr__(self, name):
        fields = {"children_left": "left_child", "children_right": "right_child"}
        return self.nodes[fields.get(name, name)]


def _standing(name, module, **fields):
    """Return what passes for an object of a library, with the fields given."""
    standing = type(name, (), {"__module__": module})()
    vars(standing).update(fields)
    return standing


def _damaged_nodes(nodes, rng):
    if rng.random() < 0.1:
        return nodes[: rng.integers(len(nodes))]
    if rng.random() < 0.1:
        kept = [name for name in nodes.dtype.names if rng.random() < 0.9]
        return nodes[kept]
    damaged = nodes.copy()
    raw = damaged.view(np.uint8).reshape(len(nodes), -1)
    for _ in range(int(rng.integers(1, 5))):
        name, place = nodes.dtype.names[rng.integers(len(nodes.dtype.names))], rng.integers(len(nodes))
        if rng.random() < 0.3:
            raw[place, rng.integers(raw.shape[1])] ^= 1 << rng.integers(8)
        elif rng.random() < 0.5:
            damaged[name][place] = damaged[name][rng.integers(len(nodes))]
        else:
            with np.errstate(all="ignore"):
                damaged[name][place] = np.array(rng.choice([-2, -1, 0, 3, 2**31, 2**40])).astype(
                    nodes.dtype[name].base
                )
    return damaged


def _damaged_json(text, rng):
    """Return a JSON text as bytes, damaged as a text or at some place of what it says."""
    if rng.random() < 0.3:
        return _damaged_text(text, rng).encode()
    whole = json.loads(text)
    for _ in range(int(rng.integers(1, 3))):
        _damage(whole, rng)
    return json.dumps(whole).encode()


def _damage(whole, rng):
    """Replace, leave out, repeat or exchange something at a random place."""
    at = whole
    while True:
        keys = list(at) if isinstance(at, dict) else range(len(at))
        if not len(keys):
            return
        key = keys[rng.integers(len(keys))]
        below = at[key]
        if not isinstance(below, (dict, list)) or not below or rng.random() < 0.1:
            break
        at = below
    way = rng.integers(5)
    if way == 0:
        del at[key]
    elif way == 1 and isinstance(at, list):
        at.insert(key, copy.deepcopy(below))
    elif way == 2 and isinstance(below, (int, float)):
        at[key] = below + int(rng.choice([-1, 1, 2, -100, 100, 2**20]))
    elif way == 3:
        other = keys[rng.integers(len(keys))]
        at[key], at[other] = at[other], below
    else:
        at[key] = copy.deepcopy(ODD[rng.integers(len(ODD))])  # or a list might come to hold itself


def _damaged_text(text, rng):
    way = rng.integers(5)
    if way == 0:
        return text[: rng.integers(len(text))]
    if way == 1:
        first, size = rng.integers(len(text)), rng.integers(1, 200)
        return text[:first] + text[first + size :]
    if way == 2:
        first, size = rng.integers(len(text)), rng.integers(1, 200)
        return text[: first + size] + text[first:]
    if way == 3:
        found = list(NUMBER.finditer(text))
        chosen = found[rng.integers(len(found))]
        odd = (
            "-1",
            "0",
            "1",
            "7",
            "99",
            "2147483648",
            "1e300",
            "-1e300",
            "nan",
            "inf",
            "0.5",
            "",
            "x",
            "1 2",
        )
        return text[: chosen.start()] + odd[rng.integers(len(odd))] + text[chosen.end() :]
    raw = bytearray(text.encode())
    for _ in range(int(rng.integers(1, 6))):
        raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
    return raw.decode(errors="replace")
