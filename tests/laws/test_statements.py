"""The law of statements: values of notes and sentences are those of the raw rows, and none contradicts another."""

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest

from paribus.notes import NoteCode
from statement_cases import random_case
from statements import NOT_IN_EXPLANATIONS, RECOMPUTED, SENTENCES, UNCHECKED, Rows

CHECKED = 20  # configurations of each change; the others run at night
CONFIGURATIONS = 200
BATCH = 10  # configurations of a nightly test
RELATIVE = 1e-6
COUNTED = Counter()


@cache
def small(seed):
    return Rows(random_case(seed, most_rows=450, resolutions=(12,)))


def large(seed):
    return Rows(random_case(seed, most_rows=5_000))


def numbers_in(value):
    """Yield the numbers in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, np.ndarray)):
        for part in value:
            yield from numbers_in(part)
    elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        yield float(value)


def check_values(where, stated, expected, scale=1.0):
    """Compare the values of a statement with those that were computed again; return how many numbers."""
    compared = 0
    for name, want in expected.items():
        if want is None:
            continue
        have, want = list(numbers_in(stated[name])), list(numbers_in(want))
        np.testing.assert_allclose(have, want, rtol=RELATIVE, atol=1e-7 * scale, err_msg=f"{where}: {name}")
        compared += len(have)
    return compared


def check_notes(rows):
    for note in rows.explanation.notes:
        if note.code not in RECOMPUTED:
            continue
        where = f"{note.code.name} {note}"
        expected = RECOMPUTED[note.code](rows, note.values)
        scale = 1.0 if rows.predicted.size == 0 else max(1e-9, np.nanmax(np.abs(rows.predicted)))
        COUNTED[note.code.name] += check_values(where, note.values, expected, scale)
        COUNTED["notes"] += 1
        left = {
            name
            for name, value in note.values.items()
            if list(numbers_in(value)) and expected.get(name) is None and (note.code, name) not in UNCHECKED
        }
        assert not left, f"{where}: no function computes {left}"


def check_sentences(rows):
    scale = max(1e-9, np.abs(rows.predicted).max())
    for sentence in rows.explanation.sentences:
        (function,) = (each for words, each in SENTENCES.items() if re.match(words, sentence.text))
        expected = function(rows, sentence.values)
        COUNTED[function.__name__] += check_values(sentence.text, sentence.values, expected, scale)
        COUNTED["sentences"] += 1


@pytest.mark.parametrize("seed", range(CHECKED))
def test_values_of_notes_are_those_of_the_rows(seed):
    check_notes(small(seed))


@pytest.mark.parametrize("seed", range(CHECKED))
def test_values_of_sentences_are_those_of_the_rows(seed):
    check_sentences(small(seed))


# Codes --------------------------------------------------------------------------------------------------


def test_every_code_is_computed_again_or_says_why_not():
    assert not set(RECOMPUTED) & set(NOT_IN_EXPLANATIONS)
    assert {*RECOMPUTED, *NOT_IN_EXPLANATIONS} == set(NoteCode)
