"""LightGBM's text format as a model of its own."""

from __future__ import annotations

from typing import Any

from paribus._models.files.file_libraries import LightGBMFile
from paribus._models.files.file_model import FileClassifier, FileFacts, FileModel
from paribus._models.files.json_text import parsed_json
from paribus._models.files.reading_bound import decoded
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
CATEGORIES = "\npandas_categorical:"


def read_lightgbm(content: bytes) -> FileModel:
    """Return the model in a text that LightGBM saved."""
    whole = decoded(content)
    if "\nend of trees" not in whole:
        raise ModelFileError("the line 'end of trees' is missing, so that the file is not complete")
    text, lists = LightGBMText.of(whole), _lists(whole)
    names = text.header["feature_names"].split(" ")
    columns = int(text.header["max_feature_idx"]) + 1
    for what, count in (("names", len(names)), ("infos", text.header["feature_infos"].count(" ") + 1)):
        if count != columns:
            raise ModelFileError(
                f"max_feature_idx is that of {columns:,} columns, and feature_{what} has {count:,}"
            )
    announced = len(text.header.get("tree_sizes", "").split())
    if len(text.lines["Tree"]) != announced:
        raise ModelFileError(
            f"tree_sizes announces {announced:,} trees, and there are {len(text.lines['Tree']):,}"
        )
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
    return kind(ensemble_in(text, lists, links, {}), facts)


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
