"""Model files with something wrong in them: each is refused in one sentence, or predicts as its library does.

The kernels follow what was read without looking where it points, so that a file which is read is also explained.
Its library loads the same file in another process, which a damaged file may end, and predicts the same rows. A file
that the library does not load has no other predictions: its trees were read, and damage lies in what is not read.
"""

import copy
import io
import json
import struct
import zipfile
from functools import cache
from types import SimpleNamespace

import catboost
import lightgbm
import numpy as np
import pandas as pd
import skops.io
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest, RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

import paribus
from fuzz_boosters import NUMBER, _damaged_json, _damaged_nodes, _damaged_text
from library_predictions import predicted_by_library
from paribus._models.files.documents import parsed_ubj
from paribus._models.libraries import catboost as catboost_reader
from paribus.errors import ParibusError

FORMATS = ("xgboost_json", "xgboost_ubj", "lightgbm_text", "catboost_json", "skops")
ROWS = 40
TRUSTED = ["sklearn.tree._tree.Tree", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]
explained = set()  # digests of what was explained in this process already
EXTREMES = (
    2**31 - 1,
    2**31,
    2**32,
    2**63,
    10**30,
    -1,
    -2,
    -(2**31),
    0,
    float("nan"),
    float("inf"),
    1e308,
    5e-324,
)
ODD_TEXT = (
    "\ud7ff\U0010ffff",
    "\u202e\0",
    "e\u0301" * 50,
    "1" * 5_000,
    "\N{ARABIC-INDIC DIGIT THREE}",
    "nan",
    "-0",
)
SIZES = (0, 1, 2, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**64 - 1)


def mutate_and_explain(file_format, rng, folder):
    """Damage one file, read it, predict and explain; return how that ended."""
    cases = _cases(file_format)
    case = cases[rng.integers(len(cases))]
    damaged = DAMAGED[file_format](case.content, rng)
    if rng.random() < 0.1:
        other = cases[rng.integers(len(cases))].content
        damaged = _spliced(damaged, other, rng)
    path = folder / "model"
    path.write_bytes(damaged)
    try:
        model = paribus.read_model(path, trusted=TRUSTED)
    except ParibusError as error:
        _check_sentence(error)
        return "refused"
    try:
        compared = _compare_with_library(file_format, model, case.rows, path)
        digest = _digest(model)
        if digest is None or digest not in explained:  # else the damage is where nothing is read
            _explain(model, case.rows[:ROWS], with_pairs=rng.random() < 0.05)
        explained.add(digest)
    except ParibusError as error:
        _check_sentence(error)
        return "read, and refused rows"
    return f"read, {compared}"


def _compare_with_library(file_format, model, rows, path):
    """Fail where a library loads other predictions from a file; return how the comparison ended."""
    if file_format == "skops":  # the model is the object that skops loaded
        return "as its library"
    margin = file_format == "catboost_json"  # of which the file says nothing else when it is loaded
    ours = model.predict(rows, margin=True) if margin else model.predict(rows)
    theirs = predicted_by_library(file_format.partition("_")[0], path, rows)
    if isinstance(theirs, str):
        return theirs
    assert ours.shape == theirs.shape, f"{ours.shape} instead of {theirs.shape}"
    size = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)
    far = ~np.isclose(ours, theirs, rtol=1e-4, atol=1e-6 * size, equal_nan=True)
    assert not far.any(), (
        f"{ours[far][0]!r} instead of {theirs[far][0]!r} in {far.sum()} of {far.size} numbers"
    )
    return "as its library"


def _digest(model):
    """Return a digest of the trees of a file and of how they are read, None of other models."""
    ensemble = getattr(model, "ensemble", None)
    if ensemble is None:
        return None
    arrays = [one.tobytes() for one in vars(ensemble).values() if isinstance(one, np.ndarray)]
    sets = [one.listed.tobytes() for one in ensemble.category_sets]
    facts = {name: one for name, one in vars(model.facts).items() if name != "library"}
    encodings = [repr(dict(vars(one), splits=None)) for one in ensemble.encodings]
    return hash((*arrays, *sets, *encodings, repr(ensemble.links), repr(facts)))


def _check_sentence(error):
    if not 20 < len(str(error)) < 2_000 or "\n" in str(error).strip():
        raise AssertionError(f"no sentence or two: {error!s:.300}") from error


def _explain(model, table, *, with_pairs):
    paribus.effects(model, table, n_jobs=1, grid_resolution=4)
    if with_pairs:
        paribus.h_statistic(model, table, [0, 1], n_jobs=1, subsample=ROWS)


@cache
def _cases(file_format):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 3))
    numbers[::17, 2] = np.nan
    words = rng.choice([*"abcd"], 300)
    target = numbers[:, 0] + numbers[:, 1] * (words == "a") + (words > "b")
    frame = pd.DataFrame(numbers, columns=["x", "y", "z"]).assign(word=words)
    known = frame.assign(word=frame.word.astype("category"))
    if file_format.startswith("xgboost"):
        written = file_format.removeprefix("xgboost_")
        return [_case(bytes(one.save_raw(written)), known) for one in _xgboost_models(known, target)]
    if file_format == "lightgbm_text":
        return [_case(text, known) for text in _lightgbm_texts(known, target)]
    if file_format == "catboost_json":
        return [_case(text, frame) for text in _catboost_texts(frame, target)]
    complete = np.nan_to_num(numbers)
    return [_case(content, complete) for content in _skops_files(complete, target)]


def _case(content, rows):
    rows = rows.copy()
    if isinstance(rows, pd.DataFrame):
        rows.iloc[:4, :2] = [[0.0, 1e30], [-1e30, 0.0], [1e30, 1e-40], [-1e-40, -1e30]]
    return SimpleNamespace(content=content, rows=rows)


def _xgboost_models(known, target):
    options = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1, "enable_categorical": True}
    yield xgboost.XGBRegressor(**options).fit(known, target).get_booster()
    yield xgboost.XGBClassifier(**options).fit(known, np.digitize(target, [0, 1])).get_booster()
    yield xgboost.XGBRegressor(**options, booster="dart", rate_drop=0.5).fit(known, target).get_booster()


def _lightgbm_texts(known, target):
    options = {"n_estimators": 3, "num_leaves": 6, "verbose": -1, "n_jobs": 1, "min_data_per_group": 5}
    models = (
        lightgbm.LGBMRegressor(**options).fit(known, target),
        lightgbm.LGBMClassifier(**options).fit(known, np.digitize(target, [0, 1])),
    )
    for model in models:
        text = model.booster_.model_to_string()
        start, end = text.index("\nparameters:"), text.index("\npandas_categorical:")
        yield (text[:start] + text[end:]).encode()  # parameters are not read


def _catboost_texts(frame, target):
    options = {"iterations": 3, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    for growth, size in (("SymmetricTree", 9), ("Depthwise", 9), ("SymmetricTree", 1)):
        model = catboost.CatBoostRegressor(
            **options, grow_policy=growth, cat_features=["word"], one_hot_max_size=size, max_ctr_complexity=1
        ).fit(frame, target)
        whole = json.loads(catboost_reader._exported(model))
        whole["model_info"] = {"params": {"loss_function": {"type": "RMSE"}}}  # the rest is not read
        yield json.dumps(whole).encode()


def _skops_files(numbers, target):
    models = (
        DecisionTreeRegressor(max_depth=3).fit(numbers, target),
        RandomForestClassifier(3, max_depth=3, random_state=0).fit(numbers, target > 0),
        HistGradientBoostingRegressor(max_iter=3, max_depth=3).fit(numbers, target),
        IsolationForest(n_estimators=3, max_features=2, random_state=0).fit(numbers),
    )
    return [skops.io.dumps(model) for model in models]


def _spliced(one, other, rng):
    cut = rng.integers(1, len(one) + 1)
    return one[:cut] + other[rng.integers(len(other)) :]


def _damage_meanly(whole, rng):
    """Damage a document where it is read as sizes, children or types; one such place is found at random."""
    places = list(_places(whole))
    at, key = places[rng.integers(len(places))]
    below, way = at[key], rng.integers(6)
    if isinstance(below, np.ndarray) and len(below) and rng.random() < 0.7:
        known = (*EXTREMES, len(below), *below[:3].tolist())
        extreme = float(known[rng.integers(len(known))])
        at[key] = below.copy()
        at[key][rng.integers(len(below))] = np.array(extreme).astype(below.dtype)
    elif way == 0:  # another type of the same
        at[key] = (str(below)[:99], [below], {"a": below}, not below if np.isscalar(below) else 1)[
            rng.integers(4)
        ]
    elif way == 1:
        at[key] = _nested(int(rng.choice([3, 70, 120])), below)
    elif way == 2:
        at[key] = str(rng.choice(ODD_TEXT))
    elif way == 3:
        at[key] = EXTREMES[rng.integers(len(EXTREMES))]
    elif way == 4:  # what is elsewhere in the document
        other, name = places[rng.integers(len(places))]
        at[key] = copy.deepcopy(other[name])
    elif isinstance(below, (list, np.ndarray)) and len(below):  # every item the same, or in another order
        mixed = [below[place] for place in rng.integers(len(below), size=len(below))]
        at[key] = np.array(mixed, below.dtype) if isinstance(below, np.ndarray) else mixed
    else:
        at[key] = EXTREMES[rng.integers(len(EXTREMES))]


def _places(whole):
    """Yield every object and list with each of its keys; of long lists a few."""
    waiting = [whole]
    while waiting:
        one = waiting.pop()
        keys = one if isinstance(one, dict) else range(len(one))
        for key in list(keys)[:40]:
            yield one, key
            if isinstance(one[key], (dict, list)):
                waiting.append(one[key])


def _nested(depth, inside):
    for _ in range(depth):
        inside = [inside] if depth % 2 else {"a": inside}
    return inside


def _with_a_key_twice(text, rng):
    """Return a JSON text in which the value of a key stands again, under another key or the same."""
    starts = [at for at in range(len(text)) if text.startswith('":', at)]
    end = starts[rng.integers(len(starts))]
    start = text.rindex('"', 0, end)
    odd = ["1", "-1", "[]", "{}", "null", "1e999", '"x"', "[1,2]", "NaN", "1" * 5_000]
    odd += ["[" * depth + "]" * depth for depth in (400, 600, 5_000)]
    value = odd[rng.integers(len(odd))]
    return f'{text[:start]}{text[start:end]}":{value},{text[start:]}'


def _flipped(content, rng):
    raw = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
    return bytes(raw)


def _binary(value):
    """Return a binary JSON, as XGBoost writes it."""
    if isinstance(value, dict):
        keys = b"".join(
            _sized(str(key).encode(errors="replace")) + _binary(one) for key, one in value.items()
        )
        return b"{" + keys + b"}"
    if isinstance(value, np.ndarray) and value.ndim:
        kind = {"i1": b"i", "u1": b"U", "i2": b"I", "i4": b"l", "i8": b"L", "f4": b"d", "f8": b"D"}[
            value.dtype.str[1:]
        ]
        return (
            b"[$"
            + kind
            + b"#L"
            + struct.pack(">q", len(value))
            + value.astype(value.dtype.newbyteorder(">")).tobytes()
        )
    if isinstance(value, (list, tuple)):
        return b"[" + b"".join(map(_binary, value)) + b"]"
    if isinstance(value, str):
        return b"S" + _sized(value.encode(errors="replace"))
    if value is None or isinstance(value, bool):
        return b"Z" if value is None else b"FT"[value : value + 1]
    if isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**63:
        return b"L" + struct.pack(">q", value)
    return b"D" + struct.pack(">d", value)


def _sized(text):
    return b"L" + struct.pack(">q", len(text)) + text


def _damaged_binary(content, rng):
    """Return a binary JSON with other bytes, sizes, numbers or an end."""
    way = rng.integers(9)
    if way >= 5:
        document = parsed_ubj(content)
        for _ in range(int(rng.integers(1, 3))):
            _damage_meanly(document, rng)
        return _binary(document)
    if way == 0:
        return content[: rng.integers(1, len(content))]
    if way == 1:
        return _flipped(content, rng)
    raw = bytearray(content)
    if way == 2:  # a size
        places = [at for at in range(len(raw) - 9) if raw[at] == ord("L")]
        at = places[rng.integers(len(places))]
        raw[at + 1 : at + 9] = SIZES[rng.integers(len(SIZES))].to_bytes(8, "big")
    elif way == 3:  # a number, wherever one may be
        at, width = rng.integers(len(raw) - 8), int(rng.choice([1, 4, 8]))
        extreme = (b"\0", b"\xff", b"\x7f\xff\xff\xff\xff\xff\xff\xff", b"\x7f\x80\0\0", b"\0\0\0\x01")
        raw[at : at + width] = (extreme[rng.integers(5)] * 8)[:width]
    else:  # a type
        raw[rng.integers(len(raw))] = b"[]{}$#iUIlLdDSCZTFN"[rng.integers(19)]
    return bytes(raw)


def _damaged_archive(content, rng):
    """Return a skops file whose bytes, schema or arrays are damaged."""
    if rng.random() < 0.2:
        return _flipped(content, rng) if rng.random() < 0.7 else content[: rng.integers(1, len(content))]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = "schema.json" if rng.random() < 0.4 else list(members)[rng.integers(len(members))]
    if name == "schema.json":
        members[name] = _damaged_document(members[name], rng)
    elif rng.random() < 0.1:  # an array that belongs elsewhere
        members[name] = members[list(members)[rng.integers(len(members))]]
    else:
        members[name] = _damaged_array(members[name], rng)
    damaged = io.BytesIO()
    with zipfile.ZipFile(damaged, "w") as archive:
        for name, data in members.items():
            if rng.random() > 0.01:
                archive.writestr(name, data)
    return damaged.getvalue()


def _damaged_array(data, rng):
    array = np.load(io.BytesIO(data))
    if array.dtype.names is None or rng.random() < 0.2:
        return _flipped(data, rng)
    damaged = io.BytesIO()
    np.save(damaged, _damaged_nodes(array, rng))
    return damaged.getvalue()


def _damaged_lightgbm(content, rng):
    """Return a text whose lines are left out, repeated, exchanged or hold extreme numbers."""
    text, way = content.decode(), rng.integers(8)
    if way < 3:
        return _damaged_text(text, rng).encode()
    lines = text.split("\n")
    one, other = rng.integers(len(lines), size=2)
    name, _, value = lines[one].partition("=")
    if way == 3:
        del lines[one]
    elif way == 4:
        lines.insert(other, lines[one])
    elif way == 5:  # the numbers of another line under this name
        lines[one] = name + "=" + lines[other].partition("=")[2]
    elif way == 6:
        found = list(NUMBER.finditer(value))
        for match in reversed(found if rng.random() < 0.1 else found[rng.integers(1 + len(found)) :][:1]):
            extreme = str(EXTREMES[rng.integers(len(EXTREMES))])
            value = value[: match.start()] + extreme + value[match.end() :]
        lines[one] = f"{name}={value}"
    else:
        odd = (*ODD_TEXT, "[" * 600 + "]" * 600, json.dumps(_nested(70, 1)), value[::-1], f"{value} {value}")
        lines[one] = f"{name}={odd[rng.integers(len(odd))]}"
    return "\n".join(lines).encode()


def _damaged_document(content, rng):
    """Return a JSON text damaged as a text or in what it says."""
    way = rng.random()
    if way < 0.4:
        return _damaged_json(content.decode(), rng)
    if way < 0.5:
        return _with_a_key_twice(content.decode(), rng).encode()
    document = json.loads(content)
    for _ in range(int(rng.integers(1, 3))):
        _damage_meanly(document, rng)
    return json.dumps(document).encode()


DAMAGED = {
    "xgboost_json": _damaged_document,
    "xgboost_ubj": _damaged_binary,
    "lightgbm_text": _damaged_lightgbm,
    "catboost_json": _damaged_document,
    "skops": _damaged_archive,
}
