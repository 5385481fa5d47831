"""What we can see of a model."""

from paribus.models.adapter import adapt
from paribus.models.model import Model
from paribus.models.several import adapt_each, listed, only_one
from paribus.models.structure import prefetch_structure, structure_digest, structure_of

__all__ = [
    "Model",
    "adapt",
    "adapt_each",
    "listed",
    "only_one",
    "prefetch_structure",
    "structure_digest",
    "structure_of",
]
