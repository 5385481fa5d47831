"""Models from files of CatBoost, LightGBM and XGBoost, without these libraries."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from paribus._contracts import Array
from paribus._models.ensemble import Ensemble
from paribus._models.files.documents import LEAF_BYTES, NODE_BYTES, check_room, decoded, parsed_json
from paribus._models.files.file_model import FileClassifier, FileFacts, FileModel
from paribus._models.libraries.catboost import LOG_LINK, PROBABILITY, CatBoost, catboost_ensemble, loss_in
from paribus._models.libraries.library import MOST_COLUMNS, Curves, Library, counted, whole
from paribus._models.libraries.lightgbm import (
    LightGBM,
    LightGBMText,
    lightgbm_ensemble,
    link_of,
    pandas_categories,
    plain_categories,
)
from paribus._models.libraries.xgboost import (
    OBJECTIVES,
    STEP,
    XGBoost,
    categories_in,
    objective_in,
    xgboost_ensemble,
)
from paribus._models.predictor import Link
from paribus._text import count
from paribus.errors import ModelFileError

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
    ensemble = catboost_ensemble(document, links, refused)
    features = document["features_info"]
    numeric = [feature["flat_feature_index"] for feature in features.get("float_features") or ()]
    names = _names(features)
    facts = FileFacts(
        file_format=file_format,
        library=CatBoostFile(),
        version=_catboost_release(info),
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


def _catboost_release(info: Mapping[str, Any]) -> str:
    """Return the version in what CatBoost writes about its build."""
    words = str(info.get("catboost_version_info", "")).split()
    return next((word.rstrip(".")[:20] for last, word in pairwise(words) if last == "release"), "")


CLASSES = (
    "binary",
    "multiclass",
    "multiclassova",
)  # objectives whose predictions are probabilities of classes
# Lines with a number of each leaf, of each inner node, or of what tests of categories are made of.
MANY = (
    "leaf_value",
    "threshold",
    "internal_count",
    "leaf_count",
    "num_cat",
    "cat_boundaries",
    "cat_threshold",
)
CATEGORIES_MARK = "\npandas_categorical:"


def read_lightgbm(content: bytes) -> FileModel:
    """Return the model in a text that LightGBM saved."""
    whole_text = decoded(content)
    if "\nend of trees" not in whole_text:
        raise ModelFileError("the line 'end of trees' is missing, so that the file is not complete")
    text, lists = LightGBMText.of(whole_text), _lists(whole_text)
    columns = _check_counts(text)
    names = text.header["feature_names"].split(" ")
    link = link_of(text.objective)
    links = {"predict": link, "decision_function": Link()}
    objective = text.objective[0] if text.objective else "custom"
    if objective in CLASSES:
        links["predict_proba"] = link
    facts = FileFacts(
        file_format="LightGBM text",
        library=LightGBMFile(),
        version=_lightgbm_release(text),
        objective=objective,
        columns=columns,
        names=tuple(names) if len(set(names)) == columns else None,
        categories={feature: tuple(known) for feature, known in pandas_categories(lists, text).items()},
    )
    kind = FileClassifier if objective in CLASSES else FileModel
    model = kind(lightgbm_ensemble(text, lists, links, {}), facts)
    _check_sizes(whole_text, text.header.get("tree_sizes", ""))
    return model


def _check_counts(text: LightGBMText) -> int:
    """Return the number of columns; nothing is split that has more parts than are announced, or too many."""
    columns = counted(
        "a number of columns", whole("max_feature_idx", text.header["max_feature_idx"]) + 1, 0, MOST_COLUMNS
    )
    for name in ("feature_names", "feature_infos"):
        count = text.header[name].count(" ") + 1
        if count != columns:
            raise ModelFileError(f"max_feature_idx is that of {columns:,} columns, and {name} has {count:,}")
    trees, sizes = len(text.lines["Tree"]), text.header.get("tree_sizes", "").strip()
    announced = sizes.count(" ") + 1 if sizes else 0
    if trees != announced:
        raise ModelFileError(f"tree_sizes announces {announced:,} trees, and there are {trees:,}")
    classes, margins = (
        whole(name, text.header.get(name, "1")) for name in ("num_class", "num_tree_per_iteration")
    )
    if classes != margins:
        raise ModelFileError(f"num_class is {classes}, and num_tree_per_iteration {margins}")
    check_room(NODE_BYTES * sum(text.count(name) for name in MANY))
    return columns


def _check_sizes(text: str, sizes: str) -> None:
    """Refuse trees that do not lie where ``tree_sizes`` says: LightGBM reads them from there."""
    at = text.find("\nTree=0\n") + 1
    for number, size in enumerate(sizes.split()):
        begin = f"Tree={number}\n"
        if not text.startswith(begin, at):
            raise ModelFileError(f"tree {number:,} does not begin where tree_sizes says")
        at += whole("tree_sizes", size)
    if sizes.strip() and not text.startswith("end of trees", at):
        raise ModelFileError("its trees do not end where tree_sizes says")


def _lightgbm_release(text: LightGBMText) -> str:
    """Return the version of the format, which is all the file says."""
    version = text.header.get("version", "")
    return f"format {version[:20]}" if version else ""


def _lists(whole: str) -> list[list[Any]]:
    """Return the categories of pandas columns, which stand after everything else."""
    start = whole.rfind(CATEGORIES_MARK)
    if start < 0:
        return []
    found = parsed_json(whole[start + len(CATEGORIES_MARK) :].strip().encode())
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(categories, list) for categories in found):
        raise ModelFileError("pandas_categorical is no list of lists of categories")
    return [plain_categories(categories) for categories in found]


# Of objectives that are classifications the link of probabilities; labels are what predict returns of some.
PROBABILITY_LINKS = {"binary:logistic": "sigmoid", "multi:softprob": "softmax", "multi:softmax": "softmax"}
# Lists of a tree: a number of each node, and what its tests of categories are made of.
PER_NODE = ("left_children", "right_children", "split_indices", "split_conditions", "default_left")
CATEGORY_FIELDS = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
LABELS = {"multi:softmax": "largest", "binary:hinge": "positive"}


def read_xgboost(document: Mapping[str, Any], file_format: str) -> FileModel:
    """Return the model in a document that XGBoost saved; every tree counts, as in ``Booster.predict``."""
    learner = document["learner"]
    if not isinstance(learner, dict):
        raise ModelFileError("its 'learner' is no object")
    objective = objective_in(learner)
    link, links = OBJECTIVES[objective][0], {"decision_function": Link()}
    refused = {} if link is not None else {"predict": STEP.format(objective)}
    if link is not None:
        links["predict"] = link
    if objective in PROBABILITY_LINKS:
        links["predict_proba"] = Link(PROBABILITY_LINKS[objective])  # type: ignore[arg-type]
    columns = whole("num_feature", learner["learner_model_param"]["num_feature"])
    names = tuple(map(str, learner.get("feature_names") or ()))
    if names and len(names) != columns:
        raise ModelFileError(f"num_feature is {columns:,}, and there are {len(names):,} names of columns")
    _check_trees(learner["gradient_booster"])
    ensemble = xgboost_ensemble(learner, links, refused)
    facts = FileFacts(
        file_format=file_format,
        library=XGBoostFile(),
        version=".".join(str(part)[:10] for part in document.get("version", ()))[:40],
        objective=objective,
        columns=columns,
        names=names or None,
        categories=categories_in(learner),
        labels=LABELS.get(objective),  # type: ignore[arg-type]
    )
    return (FileClassifier if objective in PROBABILITY_LINKS else FileModel)(ensemble, facts)


def _check_trees(booster: Mapping[str, Any]) -> None:
    """Refuse other trees than are announced, and a tree whose lists differ, before any list is joined."""
    model = booster.get("gbtree", booster)["model"]
    announced, trees = whole("num_trees", model["gbtree_model_param"]["num_trees"]), model["trees"]
    if announced != len(trees) or announced != int(model["iteration_indptr"][-1]):
        raise ModelFileError(f"num_trees announces {count(announced, 'tree')}, and there are {len(trees):,}")
    nodes, width = 0, 1
    for number, tree in enumerate(trees):
        sizes = {name: len(tree[name]) for name in PER_NODE}
        if len(set(sizes.values())) > 1:
            raise ModelFileError(f"lists of its tree {number:,} differ in length: {sizes}")
        nodes += sizes["left_children"] + sum(len(tree[name]) for name in CATEGORY_FIELDS)
        width = max(width, whole("size_leaf_vector", tree["tree_param"]["size_leaf_vector"]))
    check_room(nodes * (NODE_BYTES + LEAF_BYTES * width))


class FileLibrary(Library):
    """A library whose model was read from a file: the trees that were read are the model."""

    def is_own(self, model: Any) -> bool:
        """Return whether a model is one that was read from a file, and no subclass of it."""
        return type(model).__module__.split(".")[0] == "paribus"

    def margin(self, model: Any) -> Mapping[str, Any]:
        """Return the keyword of the margin."""
        return {"margin": True}

    def categories(self, model: Any) -> Mapping[int, Any] | None:
        """Return the categories that the file keeps."""
        found: Mapping[int, Any] | None = model.facts.categories
        return found

    def numbers(self, model: Any, columns: int) -> frozenset[int]:
        """Return the columns that the file says are numbers."""
        found: frozenset[int] = model.facts.numbers
        return found

    def importance(self, model: Any) -> Any:
        """Return None: gains are not read."""
        return None

    def training_curves(self, model: Any) -> Curves:
        """Return none: files keep no scores."""
        return {}

    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of the file."""
        ensemble: Ensemble = model.ensemble
        return ensemble

    def written_by(self, model: Any) -> tuple[str, str] | None:
        """Return the library that wrote the file, and its version."""
        return self.module, model.facts.version

    def remarks(self, model: Any) -> list[str]:
        """Return that predictions are those of the trees themselves."""
        return [f"read from a file ({model.facts.file_format}), and not compared with its library"]


class XGBoostFile(FileLibrary, XGBoost):
    """Files of XGBoost."""


class LightGBMFile(FileLibrary, LightGBM):  # type: ignore[misc]
    """Files of LightGBM."""


class CatBoostFile(FileLibrary, CatBoost):
    """Files of CatBoost, whose categories may come in tables of any library."""

    pandas = False
