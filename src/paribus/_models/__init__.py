"""Adapted models and their structure."""

from paribus._models.adapter import adapt, adapt_models, as_model_list
from paribus._models.predictor import Model
from paribus._models.structure import (
    is_called,
    model_of_part,
    prefetch_structure,
    rounding_notes,
    structure_digest,
    structure_of,
    structure_text,
    trees_of,
)

__all__ = [
    "Model",
    "adapt",
    "adapt_models",
    "as_model_list",
    "is_called",
    "model_of_part",
    "prefetch_structure",
    "rounding_notes",
    "structure_digest",
    "structure_of",
    "structure_text",
    "trees_of",
]
