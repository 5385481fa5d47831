"""What was read of a model, in words: the way from the table to what predicts, and what is found there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from paribus._models.additive import Additive
from paribus._models.combination import Combination, Structure
from paribus._models.libraries import library_for
from paribus._models.model import Model
from paribus._models.preprocessing.dependencies import acting_steps, is_pipeline
from paribus._models.preprocessing.preparation import Preparation
from paribus._models.preprocessing.sources import JoinedPreparation
from paribus._models.structure import structure_of
from paribus._models.trees import Trees
from paribus._models.wrappers import handed_to

SHOWN = 3  # features that own several columns


def structure_text(model: Model) -> str:
    """Return what was read of a model, such as ``Pipeline > OneHotEncoder > Ridge: city owns 41 columns``."""
    structure = structure_of(model)
    *_, last = targets = list(_path(model.predictor.target, model.response))
    path = " > ".join(type(target).__name__ for target in targets)
    library = library_for(last)
    facts = [*_parts(structure), *_owned(structure), *([] if library is None else library.remarks(last))]
    return f"{path}: {'; '.join(facts)}" if facts else path


def _path(target: Any, response: str) -> Iterator[Any]:
    """Yield the models and steps from the outermost to the one that predicts."""
    while True:
        yield target
        inner = handed_to(target, response)
        if inner is not None:
            target = inner
        elif is_pipeline(target):
            *before, target = acting_steps(target)
            yield from before
        else:
            return


def _parts(structure: Structure) -> list[str]:
    if isinstance(structure, Trees):
        count = len(structure.ensemble.roots)
        return [f"{count:,} tree{'s' * (count != 1)}"]
    if isinstance(structure, Additive):
        return []
    count = len(structure.parts)
    return [f"{count} models"] if count > 1 else []


def _owned(structure: Structure) -> list[str]:
    """Return which features of the table own several columns of what the last step receives."""
    columns: Counter[str] = Counter()
    for preparation in _preparations(structure):
        names = preparation.context.names
        columns |= Counter(
            names[j] for owner in preparation.dependencies.owners for j in owner if len(owner) == 1
        )
    several = [(name, count) for name, count in columns.most_common() if count > 1]
    texts = [
        f"{name} {count}" if number else f"{name} owns {count} columns"
        for number, (name, count) in enumerate(several[:SHOWN])
    ]
    rest = len(several) - SHOWN
    return [", ".join([*texts, *([f"{rest} more several"] if rest > 0 else [])])] if texts else []


def _preparations(structure: Structure) -> Iterator[Preparation]:
    if isinstance(structure, Combination):
        for part in structure.parts:
            yield from _preparations(part.structure)
        return
    found = structure.ensemble.preparation if isinstance(structure, Trees) else structure.preparation
    sources = found.sources if isinstance(found, JoinedPreparation) else (found,)
    yield from (source for source in sources if source is not None)
