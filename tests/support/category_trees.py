"""What passes for trees of scikit-learn 1.10, which split by sets of categories; its own walk is the law."""

from types import FunctionType

import numpy as np
from sklearn.preprocessing import OrdinalEncoder


class CategoryTree:
    """What `tree_` of scikit-learn 1.10 keeps, as far as it is known: nodes with bits of categories.

    ``kinds`` adds the field ``split_kind``; without it the number of categories of a column tells.
    """

    def __init__(self, rng, n_categories, *, depth=4, kinds=True, more=()):
        inner = 2**depth - 1
        self.node_count = 2 * inner + 1
        fields = [(name, np.intp) for name in ("left_child", "right_child", "feature")]
        fields += [("threshold", np.float64), ("left_cat_bitset", np.uint32, 8), ("impurity", np.float64)]
        fields += [("n_node_samples", np.intp), ("weighted_n_node_samples", np.float64)]
        fields += [("missing_go_to_left", np.uint8), *([("split_kind", np.int8)] if kinds else []), *more]
        # As in scikit-learn there is room for more nodes than there are.
        nodes = np.zeros(self.node_count + 5, np.dtype(fields, align=True))
        nodes["left_child"] = nodes["right_child"] = -1
        nodes["feature"] = nodes["threshold"] = -2
        self._n_categories = np.array(n_categories)
        for node in range(inner):
            feature = rng.integers(len(n_categories))
            nodes["left_child"][node], nodes["right_child"][node] = 2 * node + 1, 2 * node + 2
            nodes["feature"][node] = feature
            nodes["missing_go_to_left"][node] = rng.integers(2)
            by_category = n_categories[feature] > 0
            nodes["threshold"][node] = -np.inf if by_category else rng.normal()
            if by_category:
                nodes["left_cat_bitset"][node] = rng.integers(0, 2**32, 8)
        if kinds:
            tested = self._n_categories[np.maximum(nodes["feature"], 0)] > 0
            nodes["split_kind"] = np.where(nodes["left_child"] < 0, -1, tested)
        nodes["weighted_n_node_samples"] = 1.0
        self.nodes = nodes
        self.value = rng.normal(size=(self.node_count, 1, 1))

    def __getstate__(self):
        return {"max_depth": 4, "node_count": self.node_count, "nodes": self.nodes, "values": self.value}

    def __getattr__(self, name):
        fields = {"children_left": "left_child", "children_right": "right_child"}
        return self.nodes[fields.get(name, name)][: self.node_count]

    def predict(self, numbers):
        """Return the leaf values, walking row by row."""
        return np.array([self.value[self._leaf(row), 0, 0] for row in numbers])

    def _leaf(self, row):
        at = 0
        while self.nodes["left_child"][at] >= 0:
            node = self.nodes[at]
            x = row[node["feature"]]
            if np.isnan(x):
                left = node["missing_go_to_left"]
            elif self._n_categories[node["feature"]] > 0:
                left = int(node["left_cat_bitset"][int(x) // 32]) >> (int(x) % 32) & 1
            else:
                left = x <= node["threshold"]
            at = node["left_child"] if left else node["right_child"]
        return at


def category_forest(name, trees, frame, categorical):
    """Return what passes for an estimator of scikit-learn 1.10: it encodes categories, then asks its trees."""

    def predict(self, table):
        numbers = np.empty(table.shape, np.float32)
        numbers[:, categorical] = self._categorical_encoder.transform(table[table.columns[categorical]])
        numbers[:, ~categorical] = table[table.columns[~categorical]]
        return np.mean([tree.predict(numbers) for tree in trees], axis=0)

    # A method whose code is not of the package of its class was replaced.
    module = {**globals(), "__name__": "sklearn.tree._classes"}
    predict = FunctionType(predict.__code__, module, closure=predict.__closure__)
    body = {"predict": predict, "_support_missing_values": lambda self, X: True}
    model = type(name, (), {**body, "__module__": "sklearn.tree._classes"})()
    model.n_features_in_, model.is_categorical_ = len(categorical), categorical
    model.feature_names_in_ = np.array(frame.columns, dtype=object)
    model._categorical_encoder = OrdinalEncoder(
        dtype=np.float32,
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
    ).fit(frame[frame.columns[categorical]])
    members = [model]
    if name.startswith("RandomForest"):
        members = [type("DecisionTreeRegressor", (), body)() for _ in trees]
        model.estimators_ = members
    for member, tree in zip(members, trees, strict=True):
        member.tree_, member.n_features_in_ = tree, len(categorical)
    return model
