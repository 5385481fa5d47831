"""What stands first: the notes of all parts, worst first, and what was checked and found fine."""

from __future__ import annotations

from paribus.notes import NoteCode
from paribus.results.schema import Record, record


@record
class Check(Record):
    """One kind of caveat that was looked for.

    Attributes
    ----------
    code : NoteCode
        The kind.
    found : int
        Number of notes of that kind.
    muted : bool
        Whether they are left out of the verdict.
    """

    code: NoteCode
    found: int
    muted: bool
