"""Tables that hypothesis draws, and a model of two outputs that is defined everywhere."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

POINTS = np.array([-1.0, 0.0, 0.5, 2.0])
finite = st.floats(-100, 100, allow_subnormal=False)
tables = hnp.arrays(float, st.tuples(st.integers(2, 25), st.just(3)), elements=finite)
tables_with_gaps = hnp.arrays(
    float, st.tuples(st.integers(2, 25), st.just(3)), elements=finite | st.just(float("nan"))
)
# For tests whose examples are costly: 12, and more with --hypothesis-profile=laws.
few = settings(max_examples=settings.default.max_examples // 2)


def model(X):
    """Two outputs with interactions, defined everywhere."""
    a, b, c = (np.nan_to_num(X[:, j], nan=3.0 + j) for j in range(3))
    return np.stack([a * b + np.sin(c), np.abs(a - c) + b], axis=1)
