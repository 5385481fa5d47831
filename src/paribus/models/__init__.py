"""What we can see of a model."""

from paribus.models.adapt import adapt
from paribus.models.model import Model

__all__ = ["Model", "adapt"]
