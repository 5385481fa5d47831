"""Meaning of numbers as values, so that code compares fields instead of sentences."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from paribus.errors import RefusalCode


class TaggedText(str):
    """Text that prints, joins and compares like any other, and has what it means as attributes.

    The attributes are the arguments it was made of; they cannot be changed.
    """

    def __new__(cls, words: str, /, **tags: Any) -> Self:
        """Store the tags with the text."""
        self = super().__new__(cls, words)
        vars(self).update(tags)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set; make another one")

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:  # for pickle and copy
        return (), vars(self)


class Word(StrEnum):
    """One of a few words, which prints as text."""

    __repr__ = str.__repr__


class Estimand(Word):
    """The estimand; its value is printed in the provenance."""

    INTERVENTIONAL = "interventional"  #: rows keep all but the features, which are set to a value
    PATH_DEPENDENT = "path-dependent"  #: averages along the paths of the training data
    ACCUMULATED_LOCAL = "accumulated local"  #: differences between neighboring values, added up
    MARGINAL = "marginal"  #: averages over the rows that have the value
    TRAINING = "the model's own account of its training"  #: importance that the model has recorded itself
    PREDICTIVE_QUALITY = "loss of predictive quality"  #: increase of a loss when a feature is permuted


class Association(Word):
    """How it was measured how strongly two features are associated."""

    SPEARMAN = "Spearman correlation"  #: of numbers and dates
    CORRELATION_RATIO = "correlation ratio"  #: of the ranks of numbers within categories
    CRAMER = "Cramér's V"  #: of categories


class Scale(TaggedText):
    """The unit of the numbers of a result.

    As text it is printed in the provenance, such as ``"prediction, relative to age = 40"``.

    Attributes
    ----------
    base : str
        The unit of the prediction: ``"prediction"``, ``"probability"``, ``"margin"``, ...
    per : str or None
        Denominator of a slope, such as ``"unit of age"``.
    relative_to : str or None
        The point at which a centered effect is zero, such as ``"age = 40"``.
    interaction : bool
        Whether the effects of the features by themselves were taken off.
    """

    base: str
    per: str | None
    relative_to: str | None
    interaction: bool

    def __new__(
        cls, base: str, per: str | None = None, relative_to: str | None = None, interaction: bool = False
    ) -> Self:
        """Write the unit in words."""
        text = base if per is None else f"{base} per {per}"
        text += ", interaction only" * interaction
        text += "" if relative_to is None else f", relative to {relative_to}"
        tags = {"base": base, "per": per, "relative_to": relative_to, "interaction": interaction}
        return super().__new__(cls, text, **tags)

    def with_changes(self, **changes: Any) -> Scale:
        """Return the scale with some attributes changed."""
        return Scale(**vars(self) | changes)

    @property
    def has_zero(self) -> bool:
        """Whether zero is where nothing happens, rather than a prediction like others."""
        return self.interaction or self.relative_to is not None

    @property
    def is_probability(self) -> bool:
        """Whether numbers are probabilities, or slopes of them, so that outputs compare."""
        return self.base in ("probability", "survival") and not self.has_zero

    def label(self, output: str) -> str:
        """Return the label of an axis: the unit of one output, and its reference.

        >>> Scale("probability").label("approved"), Scale("probability").label("1")
        ('probability of approved', 'probability of class 1')
        >>> Scale("prediction").label("price"), Scale("survival").label("survival at 5")
        ('predicted price', 'survival at 5')
        """
        text = self.base if self.per is None else f"{self.base} per {self.per}"
        if output != "prediction":
            text = self._named(text, output)
        if self.interaction:
            text = f"joint effect on {text}"
        return text if self.relative_to is None else f"change in {text}\nfrom {self.relative_to}"

    def _named(self, text: str, output: str) -> str:
        """Return the unit with the name of an output; a number or a truth value is called a class."""
        if output.startswith(f"{text} at "):  # of a survival model at a time
            return output
        if text == "probability":
            bare = output in ("True", "False") or output.lstrip("-").replace(".", "", 1).isdigit()
            return f"probability of class {output}" if bare else f"probability of {output}"
        return f"predicted {output}" if text == "prediction" else f"{text} ({output})"


class Refusal(TaggedText):
    """Why an evaluator was not used; as text, the reason in a sentence.

    Attributes
    ----------
    evaluator : str
        Its name.
    code : RefusalCode
        The kind of reason.
    text : str
        The reason.
    part : str or None
        The step of a pipeline, or the model inside another, that is responsible.
    """

    evaluator: str
    code: RefusalCode
    text: str
    part: str | None

    def __new__(cls, evaluator: str, code: RefusalCode, text: str, part: str | None = None) -> Self:
        """Keep the reason as text."""
        return super().__new__(cls, text, evaluator=evaluator, code=code, text=str(text), part=part)
