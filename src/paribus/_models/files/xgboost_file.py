"""XGBoost's JSON, and the same in binary, as a model of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paribus._models.files.file_libraries import XGBoostFile
from paribus._models.files.file_model import FileClassifier, FileFacts, FileModel
from paribus._models.files.reading_bound import LEAF_BYTES, NODE_BYTES, check_room
from paribus._models.libraries.library import whole
from paribus._models.libraries.xgboost import OBJECTIVES, STEP, categories_in, ensemble_in, objective_in
from paribus._models.link import Link
from paribus._text import count
from paribus.errors import ModelFileError

# Of objectives that are classifications the link of probabilities; labels are what predict returns of some.
PROBABILITY = {"binary:logistic": "sigmoid", "multi:softprob": "softmax", "multi:softmax": "softmax"}
# Lists of a tree: a number of each node, and what its tests of categories are made of.
PER_NODE = ("left_children", "right_children", "split_indices", "split_conditions", "default_left")
CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
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
    if objective in PROBABILITY:
        links["predict_proba"] = Link(PROBABILITY[objective])  # type: ignore[arg-type]
    columns = whole("num_feature", learner["learner_model_param"]["num_feature"])
    names = tuple(map(str, learner.get("feature_names") or ()))
    if names and len(names) != columns:
        raise ModelFileError(f"num_feature is {columns:,}, and there are {len(names):,} names of columns")
    _check_trees(learner["gradient_booster"])
    ensemble = ensemble_in(learner, links, refused)
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
    return (FileClassifier if objective in PROBABILITY else FileModel)(ensemble, facts)


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
        nodes += sizes["left_children"] + sum(len(tree[name]) for name in CATEGORIES)
        width = max(width, whole("size_leaf_vector", tree["tree_param"]["size_leaf_vector"]))
    check_room(nodes * (NODE_BYTES + LEAF_BYTES * width))
