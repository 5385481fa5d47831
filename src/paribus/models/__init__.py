"""What we can see of a model."""

from paribus.models.adapter import adapt
from paribus.models.model import Model
from paribus.models.several import adapt_each, listed, only_one

__all__ = ["Model", "adapt", "adapt_each", "listed", "only_one"]
