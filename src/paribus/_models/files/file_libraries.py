"""What there is to know of models in files: that of their libraries, without their code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paribus._models.ensemble import Ensemble
from paribus._models.libraries.catboost import CatBoost
from paribus._models.libraries.library import Curves, Library
from paribus._models.libraries.lightgbm import LightGBM
from paribus._models.libraries.xgboost import XGBoost


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
