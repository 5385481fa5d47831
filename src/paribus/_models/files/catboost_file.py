"""CatBoost's JSON as a model of its own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from paribus._contracts import Array
from paribus._models.files.file_libraries import CatBoostFile
from paribus._models.files.file_model import FileClassifier, FileFacts, FileModel
from paribus._models.libraries.catboost import LOG_LINK, PROBABILITY, ensemble_in, loss_in
from paribus._models.libraries.library import MOST_COLUMNS, counted
from paribus._models.link import Link

SEVERAL_LABELS = ("MultiLogloss", "MultiCrossEntropy")
TWO_OUTPUTS = {"predict": "it predicts a mean and a variance, which have different links"}


def read_catboost(document: Mapping[str, Any], file_format: str) -> FileModel:
    """Return the model in a JSON that CatBoost exported."""
    info = document.get("model_info") or {}
    loss = loss_in(info)
    is_classifier = loss in PROBABILITY
    links, refused = {"decision_function": Link()}, {}
    if is_classifier:
        links["predict"] = links["predict_proba"] = PROBABILITY[loss]
    elif loss == "RMSEWithUncertainty":
        refused = TWO_OUTPUTS
    else:
        links["predict"] = Link("exp") if loss in LOG_LINK else Link()
    ensemble = ensemble_in(document, links, refused)
    features = document["features_info"]
    numeric = [feature["flat_feature_index"] for feature in features.get("float_features") or ()]
    names = _names(features)
    facts = FileFacts(
        file_format=file_format,
        library=CatBoostFile(),
        version=_release(info),
        objective=loss,
        columns=len(names),
        names=names if len(set(names)) == len(names) else None,
        numbers=frozenset(numeric),
        classes=_classes(info) if is_classifier else None,
        several_labels=loss in SEVERAL_LABELS,
    )
    return (FileClassifier if is_classifier else FileModel)(ensemble, facts)


def _names(features: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of all columns; one without is called by its position, as CatBoost calls it."""
    listed = [*(features.get("float_features") or ()), *(features.get("categorical_features") or ())]
    named = {feature["flat_feature_index"]: feature.get("feature_id") for feature in listed}
    columns = counted("a number of columns", max(named, default=-1) + 1, 0, MOST_COLUMNS)
    return tuple(str(named.get(column) or column) for column in range(columns))


def _classes(info: Mapping[str, Any]) -> Array | None:
    """Return the classes by name, None where a model was fitted on probabilities."""
    found = (info.get("class_params") or {}).get("class_names") or ()
    return np.array(found) if len(found) > 1 and all(isinstance(one, (str, int)) for one in found) else None


def _release(info: Mapping[str, Any]) -> str:
    """Return the version in what CatBoost writes about its build."""
    words = str(info.get("catboost_version_info", "")).split()
    return next((word.rstrip(".")[:20] for last, word in pairwise(words) if last == "release"), "")
