"""Readers of model files of CatBoost, LightGBM and XGBoost, without these libraries."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from paribus._models.ensemble import Ensemble
from paribus._models.files.documents import LEAF_BYTES, NODE_BYTES, check_room, decoded, parsed_json
from paribus._models.files.file_model import FileClassifier, FileFacts, FileModel
from paribus._models.libraries.catboost import LOG_LINK, PROBABILITY, CatBoost, catboost_ensemble, loss_in
from paribus._models.libraries.library import MOST_COLUMNS, Library, counted, whole
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
    trees_and_weights,
    xgboost_ensemble,
)
from paribus._models.parameters import package_of
from paribus._models.predictor import Link
from paribus._text import count
from paribus.errors import ModelFileError

SEVERAL_LABELS = ("MultiLogloss", "MultiCrossEntropy")
TWO_OUTPUTS = {"predict": "it predicts a mean and a variance, which have different links"}


def read_catboost(document: Mapping[str, Any], file_format: str) -> FileModel:
    """Return the model in a JSON export of CatBoost."""
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
    names = _catboost_column_names(features)
    words = str(info.get("catboost_version_info", "")).split()
    release = (word.rstrip(".")[:20] for last, word in pairwise(words) if last == "release")
    parameters = (info.get("class_params") or {}) if is_classifier else {}
    classes = parameters.get("class_names") or ()
    # A model that was fitted on probabilities has no names of classes.
    named = len(classes) > 1 and all(isinstance(one, (str, int)) for one in classes)
    facts = FileFacts(
        file_format=file_format,
        library=CatBoostFile(),
        version=next(release, ""),
        objective=loss,
        columns=len(names),
        names=names if len(set(names)) == len(names) else None,
        numbers=frozenset(numeric),
        classes=np.array(classes) if named else None,
        several_labels=loss in SEVERAL_LABELS,
    )
    return (FileClassifier if is_classifier else FileModel)(ensemble, facts)


def _catboost_column_names(features: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of all columns. CatBoost names a column without a name by its position."""
    listed = [*(features.get("float_features") or ()), *(features.get("categorical_features") or ())]
    named = {feature["flat_feature_index"]: feature.get("feature_id") for feature in listed}
    columns = counted("a number of columns", max(named, default=-1) + 1, 0, MOST_COLUMNS)
    return tuple(str(named.get(column) or column) for column in range(columns))


CLASSES = ("binary", "multiclass", "multiclassova")  # objectives that predict probabilities of classes
# Lines with a number per leaf or inner node, or with the sets of categorical splits.
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
    """Return the model in a LightGBM text file."""
    whole_text = decoded(content)
    if "\nend of trees" not in whole_text:
        raise ModelFileError("the line 'end of trees' is missing, so that the file is not complete")
    text, lists = LightGBMText.of(whole_text), _pandas_category_lists(whole_text)
    columns = _check_counts(text)
    names = text.header["feature_names"].split(" ")
    link = link_of(text.objective)
    links = {"predict": link, "decision_function": Link()}
    version = text.header.get("version", "")  # of the format; the version of the library is not recorded
    objective = text.objective[0] if text.objective else "custom"
    if objective in CLASSES:
        links["predict_proba"] = link
    facts = FileFacts(
        file_format="LightGBM text",
        library=LightGBMFile(),
        version=f"format {version[:20]}" if version else "",
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
    """Return the number of columns. Refuse wrong counts, and files that need too much memory."""
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
    """Refuse trees at other positions than ``tree_sizes`` gives, by which LightGBM finds them."""
    at = text.find("\nTree=0\n") + 1
    for number, size in enumerate(sizes.split()):
        begin = f"Tree={number}\n"
        if not text.startswith(begin, at):
            raise ModelFileError(f"tree {number:,} does not begin where tree_sizes says")
        at += whole("tree_sizes", size)
    if sizes.strip() and not text.startswith("end of trees", at):
        raise ModelFileError("its trees do not end where tree_sizes says")


def _pandas_category_lists(whole: str) -> list[list[Any]]:
    """Return the categories of pandas columns, which are at the end of the file."""
    start = whole.rfind(CATEGORIES_MARK)
    if start < 0:
        return []
    found = parsed_json(whole[start + len(CATEGORIES_MARK) :].strip().encode())
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(categories, list) for categories in found):
        raise ModelFileError("pandas_categorical is not a list of lists of categories")
    return [plain_categories(categories) for categories in found]


# Link of probabilities by objective of a classification. For some of them predict returns labels.
PROBABILITY_LINKS = {"binary:logistic": "sigmoid", "multi:softprob": "softmax", "multi:softmax": "softmax"}
# Lists of a tree: with an item per node, and with the sets of categorical splits.
PER_NODE = ("left_children", "right_children", "split_indices", "split_conditions", "default_left")
CATEGORY_FIELDS = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
LABELS = {"multi:softmax": "largest", "binary:hinge": "positive"}


def read_xgboost(document: Mapping[str, Any], file_format: str) -> FileModel:
    """Return the model in an XGBoost document. All trees are used, as in ``Booster.predict``."""
    learner = document["learner"]
    if not isinstance(learner, dict):
        raise ModelFileError("its 'learner' is not an object")
    objective = objective_in(learner)
    link, links = OBJECTIVES[objective], {"decision_function": Link()}
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
    """Refuse a wrong number of trees, and lists of different lengths, before lists are joined."""
    model, _ = trees_and_weights(booster)
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
    """A library for models read from files, whose trees are already read."""

    margin_keywords: ClassVar[Mapping[str, Any]] = {"margin": True}

    def is_own(self, model: Any) -> bool:
        """Return whether the class of a model is one of paribus. A user's subclass is excluded."""
        return package_of(model) == "paribus"

    def categories(self, model: Any) -> Mapping[int, Any] | None:
        """Return the categories in the file."""
        found: Mapping[int, Any] | None = model.facts.categories
        return found

    def numbers(self, model: Any, columns: int) -> frozenset[int]:
        """Return the numeric columns in the file."""
        found: frozenset[int] = model.facts.numbers
        return found

    def importance(self, model: Any) -> Any:
        """Return None, because gains are not read."""
        return None

    def read_trees(self, model: Any) -> Ensemble:
        """Return the trees of the file."""
        ensemble: Ensemble = model.ensemble
        return ensemble

    def written_by(self, model: Any) -> tuple[str, str] | None:
        """Return the library that wrote the file, and its version."""
        return self.module, model.facts.version

    def remarks(self, model: Any) -> list[str]:
        """Return a remark that predictions are those of the trees in the file."""
        return [f"read from a file ({model.facts.file_format}), and not compared with its library"]


class XGBoostFile(FileLibrary, XGBoost):
    """Files of XGBoost."""


class LightGBMFile(FileLibrary, LightGBM):  # type: ignore[misc]
    """Files of LightGBM."""


class CatBoostFile(FileLibrary, CatBoost):
    """Files of CatBoost. Unlike CatBoost, they accept categories from any frame library."""

    pandas = False
