"""The record every verb leaves in its result."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import numpy as np

from paribus._data.background import Background
from paribus._models import Model
from paribus._models.adapter import describe, library_of
from paribus._version import __version__
from paribus.results import Provenance

NO_MODEL = {
    "model": "no model",
    "model_library": "",
    "model_version": "",
    "response": "none",
    "scale": "observed",
    "model_digest": "",
}


def of_model(model: Model | None) -> dict[str, str]:
    """Return what is recorded of an adapted model."""
    if model is None:
        return NO_MODEL
    return {
        "model": model.name,
        "model_library": model.library,
        "model_version": model.version,
        "response": model.response,
        "scale": model.scale,
        "model_digest": model.digest(),
    }


def of_estimator(estimator: Any, response: str, scale: str) -> dict[str, str]:
    """Return what is recorded of a model that was not adapted, because it does not predict here."""
    library, version = library_of(estimator)
    return {
        "model": describe(estimator),
        "model_library": library,
        "model_version": version,
        "response": response,
        "scale": scale,
        "model_digest": "",
    }


def recorded(rows: Background, started: float, fingerprint: str, **facts: Any) -> Provenance:
    """Return a record of a call that began at ``started``; what does not apply is None, or 0."""
    absent: dict[str, Any] = {
        "structure": None,
        "refusals": {},
        "sampled_rows": None,
        "seed": None,
        "percentiles": None,
        "grid_resolution": None,
        "points": 0,
        "predictions": 0,
        "standard_error_rows": 0,
        "verified_difference": None,
        "passes": 1,
        "executor": "this process",
        "rank_error": None,
        "source": rows.source_label,
        "skipped": rows.skipped,
    }
    header = rows.header
    return Provenance(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        paribus=__version__,
        numpy=np.__version__,
        python=platform.python_version(),
        pandas=_imported("pandas"),
        numba=_imported("numba"),
        rows=len(rows),
        columns=len(rows.table.names),
        unused_columns=header.unused,
        unknown_categories=header.unknown,
        backend=rows.table.backend,
        fingerprint=fingerprint,
        weights=rows.weight_facts(),
        seconds=perf_counter() - started,
        **(absent | facts),
    )


def _imported(library: str) -> str | None:
    """Return the version of a library that was imported."""
    return getattr(sys.modules.get(library), "__version__", None)
