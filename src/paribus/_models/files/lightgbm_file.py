"""LightGBM's text format as a model of its own."""

from __future__ import annotations

from typing import Any

from paribus._models.files.file_libraries import LightGBMFile
from paribus._models.files.file_model import FileClassifier, FileFacts, FileModel
from paribus._models.files.json_text import parsed_json
from paribus._models.files.reading_bound import NODE_BYTES, check_room, decoded
from paribus._models.libraries.library import MOST_COLUMNS, counted, whole
from paribus._models.libraries.lightgbm import (
    LightGBMText,
    ensemble_in,
    link_of,
    pandas_categories,
    plain_categories,
)
from paribus._models.link import Link
from paribus.errors import ModelFileError

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
CATEGORIES = "\npandas_categorical:"


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
        version=_release(text),
        objective=objective,
        columns=columns,
        names=tuple(names) if len(set(names)) == columns else None,
        categories={feature: tuple(known) for feature, known in pandas_categories(lists, text).items()},
    )
    kind = FileClassifier if objective in CLASSES else FileModel
    model = kind(ensemble_in(text, lists, links, {}), facts)
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


def _release(text: LightGBMText) -> str:
    """Return the version of the format, which is all the file says."""
    version = text.header.get("version", "")
    return f"format {version[:20]}" if version else ""


def _lists(whole: str) -> list[list[Any]]:
    """Return the categories of pandas columns, which stand after everything else."""
    start = whole.rfind(CATEGORIES)
    if start < 0:
        return []
    found = parsed_json(whole[start + len(CATEGORIES) :].strip().encode())
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(categories, list) for categories in found):
        raise ModelFileError("pandas_categorical is no list of lists of categories")
    return [plain_categories(categories) for categories in found]
