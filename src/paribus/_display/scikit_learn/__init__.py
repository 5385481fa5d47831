"""scikit-learn's own display, fed with our results: a notebook that has one changes its import.

The curves come from one pass of paribus, the drawing from scikit-learn. What it refuses to draw, or draws
wrong, is drawn here.
"""

from paribus._display.scikit_learn.display import PartialDependenceDisplay

__all__ = ["PartialDependenceDisplay"]
