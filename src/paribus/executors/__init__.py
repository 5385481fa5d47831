"""Who folds: evaluates blocks and merges their states."""

from paribus.executors.local import Local

__all__ = ["Local"]
