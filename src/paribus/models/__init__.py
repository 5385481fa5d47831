"""What we can see of a model."""

from paribus.models.adapter import adapt
from paribus.models.model import Model

__all__ = ["Model", "adapt"]
