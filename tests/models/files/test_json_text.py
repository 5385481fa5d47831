"""JSON of anybody's making, in text and in binary: the same, and within bounds."""

import json
import struct
import time

import numpy as np
import pytest
import xgboost

from paribus._models.files.documents import CHUNK, DEEPEST, MOST_VALUES, parsed_bytes, parsed_json, parsed_ubj
from paribus.errors import ModelFileError


def size(number):
    return b"L" + struct.pack(">q", number)


def same(one, other):
    """Return whether a document in text says what one in binary says, up to single precision."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(other, np.ndarray):
        return np.array_equal(np.array(one, other.dtype), other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_a_binary_document_says_what_the_text_says(booster):
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(200, 2)), rng.integers(0, 5, 200)]
    data = xgboost.DMatrix(
        X, X[:, 0] + (X[:, 2] == 1), feature_types=["q", "q", "c"], enable_categorical=True
    )
    model = xgboost.train({"max_depth": 3, "booster": booster}, data, 3)
    text, binary = json.loads(model.save_raw("json")), parsed_ubj(bytes(model.save_raw("ubj")))
    assert same(text, binary)
    assert parsed_json(bytes(model.save_raw("json"))) == text


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "1 bytes are announced"),
        (b"[" * 10**6, "nested more than 64"),
        (b"[" + b"[]" * 10**6, "more than any model"),
        (b"[" + b"Z" * 10**6, "more than any model"),
        (b"[#" + size(2**62) + b"Z" * 10**6, "more than any model"),
        (b"[$L#" + size(2**40), "8,796,093,022,208 bytes are announced"),
        (b"[$T#" + size(2**40), "type without numbers"),
        (b"[$i", "announced"),
        (b"{" + size(2**62), "announced"),
        (b"{" + size(-1), "no size"),
        (b"S" + size(2**63 - 1) + b"a", "announced"),
        (b"{d", "no size"),
        (b"N", "not a type"),
        (b"[]]", "1 bytes follow its end"),
    ],
)
def test_binary_claims_are_compared_with_the_bytes_that_are_left(content, why):
    started = time.process_time()
    with pytest.raises(ModelFileError, match=why):
        parsed_ubj(content)
    assert time.process_time() - started < 5
    assert MOST_VALUES < 10**7


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"a":' + b"[" * 10**6, "times its size|nested more than 500"),
        (b'{"a":"' + b"x" * 10**6 + b'",' + b'"b":' + b"[" * 501, "nested more than 500"),
        (b'{"a":[' + b"[]," * 10**6 + b"1]}", "times its size"),
        (b'{"a":[' + b"1," * 4 * 10**6 + b"1]}", "times its size"),
        (b'{"a":"' + b"\\n" * 1_000_001 + b'"}', "escaped"),
        (b'{"a":' + b"9" * 10**6 + b"}", "300 digits in a row"),
        (b'{"a":0.' + b"9" * 301 + b"}", "300 digits in a row"),
        (b"{" + b",".join(b'"%x" :0.12345678' % key for key in range(100_100)) + b"}", "different keys"),
        (b'{"a":1', "not JSON"),
        (b'{"a":"\xff"}', "not JSON"),
    ],
)
def test_text_that_would_become_too_large_is_refused_before_it_is_parsed(content, why):
    with pytest.raises(ModelFileError, match=why):
        parsed_json(content)


def test_brackets_within_text_are_no_nesting():
    names = ["[" * 2 * DEEPEST, '\\"[{' * DEEPEST, "\\", "]]]"]
    content = json.dumps({"names": names, "next": "x" * CHUNK + "[" * 2 * DEEPEST + "x" * CHUNK}).encode()
    assert parsed_json(content)["names"] == names
    assert parsed_bytes(b'{"a": "\xc3\xa9"}') > 5 * len(b'{"a": "\xc3\xa9"}')
