"""What the sections of a page refer to: panels of features, and definitions of codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paribus._report.markup import Markup, element, joined
from paribus._report.phrases import name_of
from paribus.notes import Note, NoteCode
from paribus.results.explanation import Explanation
from paribus.results.feature_table import FeatureRow
from paribus.results.shape import Shape
from paribus.results.verdict import notes_of

CURVES = 60  # that have read-outs: those of more would make a page twice as large


@dataclass(frozen=True)
class References:
    """Ranks and shapes of features by name; ids are made of ranks, as names may be anything."""

    explanation: Explanation

    @property
    def readouts(self) -> bool:
        """Whether points show their numbers to a pointer, which few curves have room for."""
        return len(self.ranks) * len(self.explanation.output_names) <= CURVES

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Rank of each feature, the strongest first."""
        return {name: rank for rank, name in enumerate(self.explanation.feature_names, 1)}

    @cached_property
    def shapes(self) -> dict[str, list[Shape]]:
        """Shapes of each feature, in the order of the outputs."""
        found: dict[str, list[Shape]] = {name: [] for name in self.ranks}
        for shape in self.explanation.shapes:
            found.setdefault(shape.feature, []).append(shape)
        return found

    @cached_property
    def notes(self) -> list[Note]:
        """Every note that the verdict counts, without muted ones."""
        return notes_of(self.explanation)

    @cached_property
    def notes_of(self) -> dict[str, list[Note]]:
        """Notes about each feature by itself."""
        found: dict[str, list[Note]] = {}
        for note in self.notes:
            if note.feature is not None:
                found.setdefault(note.feature, []).append(note)
        return found

    @cached_property
    def rows(self) -> dict[str, FeatureRow]:
        """What is known of each feature over all outputs."""
        return {row.feature: row for row in self.explanation.table}

    def widest(self, name: str) -> Shape | None:
        """Return the shape of the output that a feature moves most."""
        return max(self.shapes.get(name, ()), key=lambda shape: np.nan_to_num(shape.range), default=None)

    def feature(self, name: str, longest: int = 40) -> Markup:
        """Return a feature as a link to its panel, or as text if it has none."""
        shown = name_of(name, longest)
        rank = self.ranks.get(name)
        return shown if rank is None else element("a", shown, href=f"#feature-{rank}")

    def features(self, names: Iterable[str]) -> Markup:
        """Return features that belong together."""
        return joined((" × " * (place > 0), self.feature(str(name))) for place, name in enumerate(names))

    def pair(self, names: Iterable[str]) -> str:
        """Return the id of the surface of some features."""
        return "pair-" + "-".join(str(self.ranks.get(str(name), 0)) for name in names)


def code_link(code: NoteCode) -> Markup:
    """Return a code as a link to its definition on the page."""
    return element("a", code.value, href=f"#{code.value}", class_="code")


def badge(code: NoteCode) -> Markup:
    """Return the severity of a code as a word."""
    return element("span", code.severity.capitalize(), class_=f"badge {code.severity}")
