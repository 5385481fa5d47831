"""Fitted models from files, loaded by the library that wrote them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import weakref
from collections.abc import Callable, Collection
from typing import Any

from paribus._data.scan.listing import names_store, without_secret
from paribus._models.libraries import PACKAGES
from paribus._models.libraries.catboost import PROBABILITY
from paribus.errors import ModelFileError, OptionError, ParibusError

SUPPORTED = "XGBoost (JSON, UBJSON), LightGBM (text), CatBoost (cbm, JSON) or skops"
# Pickles since protocol 2, and compressed files, such as joblib writes.
PICKLE = re.compile(rb"\x80[\x02-\x05]|\x1f\x8b|\x78[\x01\x5e\x9c\xda]|BZh|\xfd7zXZ|\x5d\x00\x00")
SAFE = ["numpy.dtype"]  # not trusted by skops, but creating it runs no code of the file
SHOWN = 20  # types in a message
INCOMPLETE = "it is not complete; save the model again"
# Name and SHA-256 of the file of each model that was read, by the id of the model.
FILES: dict[int, tuple[str, str]] = {}


def read_model(path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> Any:
    """Load a fitted model from a file with the library that wrote it, which must be installed.

    The format is recognized by the content of the file, whatever its extension. Pickles and joblib files
    are refused, because loading them can run any code.

    >>> import tempfile, lightgbm, paribus
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> booster = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y).booster_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     booster = booster.save_model(f"{folder}/model.txt")
    ...     model = paribus.read_model(f"{folder}/model.txt")
    >>> type(model)
    <class 'lightgbm.basic.Booster'>

    Parameters
    ----------
    path : str or path
        The file: XGBoost JSON or UBJSON, LightGBM text, CatBoost cbm or JSON, or skops.
    trusted : list of str
        Types of a skops file that skops does not trust by default, such as ``"sklearn.tree._tree.Tree"``.
        Review the list in the error before you pass them. ``numpy.dtype`` need not be named.

    Returns
    -------
    model
        ``xgboost.Booster``, ``lightgbm.Booster``, or the object in a skops file. For CatBoost
        ``CatBoostClassifier`` if the loss is one of classes, else ``CatBoostRegressor``.

    Examples
    --------
    >>> effect = paribus.partial_dependence(model, X, "bmi")
    >>> effect.provenance.structure
    'Booster: 5 trees'
    """
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in trusted):
        raise OptionError(f"trusted={trusted!r} must be a list of types, such as ['sklearn.tree._tree.Tree']")
    given = f"path={without_secret(str(path))!r}"
    if names_store(path):
        raise ModelFileError(
            f"{given} is an address, and model files are read from a disk; copy it first by "
            "pyarrow.fs.copy_files(address, path)"
        )
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"{given} cannot be read: {reason}; pass a file of {SUPPORTED}") from error
    title, load = _loader(content, given)
    try:
        model = load(os.fspath(path), content, list(trusted))
    except ImportError as error:
        module = (error.name or title).split(".")[0].lower()
        raise ModelFileError(
            f"{given} is a file of {title}, and {module} is not installed; "
            f"pip install {INSTALLED_BY.get(module, module)}"
        ) from error
    except ParibusError as error:
        raise ModelFileError(f"{given} is a file of {title}: {error}") from error
    except Exception as error:
        text = " ".join(str(error).partition("Stack trace")[0].split())[:400]
        raise ModelFileError(
            f"{given} begins as a file of {title}, which cannot load it: {type(error).__name__}: {text}; "
            "save the model again"
        ) from error
    FILES[id(model)] = os.path.basename(path), hashlib.sha256(content).hexdigest()
    weakref.finalize(model, FILES.pop, id(model))
    return model


def _loader(content: bytes, given: str) -> tuple[str, Callable[[str, bytes, list[str]], Any]]:
    """Return the library that wrote a file, and the function that loads it."""
    for title, (begins, load) in FORMATS.items():
        if begins.match(content):
            return title, load
    instead = (
        "save the model by save_model of its library or by skops.io.dump; or load it yourself, if you trust "
        "who wrote it, and pass the object"
    )
    if PICKLE.match(content):
        raise ModelFileError(
            f"{given} is a pickle or compressed, as joblib writes it, and is refused, because loading it can "
            f"run any code; {instead}"
        )
    raise ModelFileError(f"{given} is not a file of {SUPPORTED}; {instead}")


def _xgboost_model(path: str, content: bytes, trusted: list[str]) -> Any:
    import xgboost

    if not content.rstrip().endswith(b"}"):  # of which XGBoost may crash
        raise ModelFileError(INCOMPLETE)
    return xgboost.Booster(model_file=bytearray(content))  # a path would be read by its extension


def _lightgbm_model(path: str, content: bytes, trusted: list[str]) -> Any:
    import lightgbm

    last = content.rstrip().rpartition(b"\n")[2]
    if last != b"end of parameters" and not last.startswith(b"pandas_categorical:"):
        raise ModelFileError(INCOMPLETE)  # LightGBM may crash, or load a part of the trees
    return lightgbm.Booster(model_file=path)


def _catboost_model(path: str, content: bytes, trusted: list[str]) -> Any:
    import catboost

    file_format = "cbm" if content.startswith(b"CBM1") else "json"
    if file_format == "json":
        json.loads(content)  # of an incomplete text CatBoost would load a part of the trees
    loss = catboost.CatBoost().load_model(path, file_format).get_params().get("loss_function", "")
    has_classes = loss.partition(":")[0] in PROBABILITY
    model = catboost.CatBoostClassifier() if has_classes else catboost.CatBoostRegressor()
    return model.load_model(path, file_format)


def _skops_model(path: str, content: bytes, trusted: list[str]) -> Any:
    from skops import io

    unnamed = [name for name in io.get_untrusted_types(file=path) if name not in (*trusted, *SAFE)]
    if unnamed:
        more = f" and {len(unnamed) - SHOWN} more" if len(unnamed) > SHOWN else ""
        raise ModelFileError(
            f"it holds types that skops does not trust: {', '.join(unnamed[:SHOWN])}{more}; if you trust who "
            f"wrote it, pass trusted={unnamed[:SHOWN]!r}, on the command line --trust "
            f"{' --trust '.join(unnamed[:SHOWN])}"
        )
    model = io.load(path, trusted=[*trusted, *SAFE])
    if not hasattr(model, "predict"):
        raise ModelFileError(f"it holds a {type(model).__name__}, which has no predict; save a fitted model")
    return model


FORMATS = {
    "XGBoost": (re.compile(rb'\{[iUIlL]|\s*\{\s*"(learner|version)"'), _xgboost_model),
    "LightGBM": (re.compile(rb"tree\r?\n"), _lightgbm_model),
    "CatBoost": (re.compile(rb'CBM1|\s*\{\s*"(ctr_data|features_info|model_info|trees)"'), _catboost_model),
    "skops": (re.compile(rb"PK\x03\x04"), _skops_model),
}
INSTALLED_BY = {**PACKAGES, "skops": "'paribus[skops]'"}
