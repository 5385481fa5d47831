"""The numbers and texts of results, to compare them bit for bit."""

from dataclasses import fields, is_dataclass

import numpy as np


def leaves(result, path=""):
    """Yield every array, number and text of a result with its path, except its record and its notes."""
    if is_dataclass(result):
        for one in fields(result):
            if one.name not in ("provenance", "notes"):
                yield from leaves(getattr(result, one.name), f"{path}.{one.name}")
    elif isinstance(result, (tuple, list)):
        for place, one in enumerate(result):
            yield from leaves(one, f"{path}[{place}]")
    elif hasattr(result, "items"):
        for key, one in result.items():
            yield from leaves(one, f"{path}[{key!r}]")
    elif isinstance(result, (np.ndarray, str, bool, int, float, np.generic)):
        yield path, np.asarray(result)


def differing(have, want):
    """Return the paths where two results differ in a bit."""
    have, want = dict(leaves(have)), dict(leaves(want))
    assert list(have) == list(want)
    assert want
    return [path for path, array in want.items() if not _equal(have[path], array)]


def _equal(one, other):
    """Return whether two arrays have the same values; those of objects are compared one by one."""
    if one.dtype.hasobject:
        return one.tolist() == other.tolist()
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
