"""A library of trees with two leaves, and its reader."""

import numpy as np

from paribus._models.ensemble import LEAF, Encoding, Ensemble
from paribus._models.libraries.library import Library
from paribus._models.predictor import Link
from paribus.errors import RefusalError


class Stumps:
    """The model of another library: for each tree a column, a threshold and what is added on either side."""

    def __init__(self, *stumps):
        self.stumps = stumps

    def predict(self, X):
        return sum(np.where(X[:, column] <= at, low, high) for column, at, low, high in self.stumps)


class ToyTrees(Library):
    """What paribus has to know of it."""

    module = "toy_trees"
    title = "Toy Trees"

    def read_trees(self, model):
        if type(model) is not Stumps:
            raise RefusalError(f"{type(model).__name__} is not a class of {self.title}")
        column, at, low, high = map(np.array, zip(*model.stumps, strict=True))
        root = 3 * np.arange(len(column))  # each tree is its root and two leaves
        nodes = np.arange(3 * len(column))
        tests = np.isin(nodes, root)
        return Ensemble(
            roots=root.astype(np.int32),
            column=np.where(tests, column.repeat(3), LEAF).astype(np.int32),
            threshold=np.where(tests, at.repeat(3), 0.0),
            left=np.where(tests, nodes + 1, 0).astype(np.int32),
            right=np.where(tests, nodes + 2, 0).astype(np.int32),
            missing_left=np.zeros(len(nodes), bool),  # NaN <= threshold is false
            value=np.stack([np.zeros(len(low)), low, high], axis=1).reshape(-1, 1),
            output=np.zeros(len(root), np.int32),
            base=np.zeros(1),
            encodings=tuple(Encoding(feature) for feature in range(column.max() + 1)),
            links={"predict": Link()},
        )
