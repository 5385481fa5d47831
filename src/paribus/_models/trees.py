"""The trees behind a model's predictions, if they can be read and give the model's own predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from paribus._contracts import Floats
from paribus._data.table import Table
from paribus._models.ensemble import LEAF, Ensemble
from paribus._models.link import Link
from paribus.errors import ModelError, RefusalCode, RefusalError

TOLERANCE = 1e-4  # of the spread of predictions, between our sum over leaves and the model's own
SINGLE, DOUBLE = 1e-5, 1e-9  # of their size: sums of leaves in single precision, and in double
LARGEST = 900.0  # the power of two that a response may reach such that sums of it do not overflow


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble, the link to the response requested, and which outputs of the link are reported.

    ``columns`` None reports them all. ``bound`` is a number that no output exceeds, None if any may. With
    ``both`` the one output is the probability of the second of two classes, and the first comes before it.
    """

    ensemble: Ensemble
    link: Link
    columns: tuple[int, ...] | None
    bound: float | None
    both: bool = False

    def outputs(self, margins: Floats, *, overwrite: bool = False) -> Floats:
        """Return the outputs ``(o, ...)`` of margins ``(m, ...)``, which ``overwrite`` allows to replace."""
        outputs = self.link.apply(margins, overwrite=overwrite)
        if self.both:
            return np.concatenate([1.0 - outputs, outputs])
        return outputs if self.columns is None else outputs[list(self.columns)]


def trees_for(
    ensemble: Ensemble, response: str, columns: tuple[int, ...] | None, sample: Table, prediction: Floats
) -> Trees:
    """Return the trees for a response, or refuse; they must predict ``sample`` as the model did.

    ``columns`` are those the adapter picked of the model's outputs, ``prediction (n, o)`` what was picked.
    """
    link = ensemble.links.get(response)
    if link is None:
        why = ensemble.refused.get(response, f"its trees do not determine {response}")
        raise RefusalError(
            why, RefusalCode.NONLINEAR_LINK if response in ensemble.refused else RefusalCode.UNSUPPORTED
        )
    both = columns is None and link.name == "sigmoid" and (ensemble.n_margins, prediction.shape[1]) == (1, 2)
    picked = None if both else _picked(ensemble, columns, prediction.shape[1])
    if picked is not None and link.linear:
        ensemble, picked = _only(ensemble, picked), None
    trees = Trees(ensemble, link, picked, bound_of(ensemble, link), both)
    try:
        ours = trees.outputs(ensemble.margins(ensemble.numbers(sample)).T).T
    except ModelError as error:
        raise RefusalError(f"its trees were read, but {error}", RefusalCode.DATA) from error
    refuse_difference(ours, prediction, f"on {len(sample)} rows")
    return trees


def refuse_difference(ours: Floats, prediction: Floats, where: str, parts: str = "trees") -> None:
    """Refuse sums over leaves, or other ``parts``, ``(n, o)`` that are not what the model predicts."""
    worst = np.abs(ours - prediction).max(initial=0.0)
    spread = np.ptp(prediction, axis=0).max(initial=0.0)
    if not worst <= TOLERANCE * spread + rounding_of(prediction):
        raise RefusalError(
            f"its {parts} were read, but their sum differs from its prediction by {worst:.2g} {where}",
            RefusalCode.DIFFERS,
        )


def rounding_of(prediction: Floats) -> float:
    """Return what a library may lose by adding leaves, which shows in the precision of its predictions."""
    finite = prediction[np.isfinite(prediction)]
    with np.errstate(over="ignore"):  # of what single precision cannot hold
        single = bool((finite.astype(np.float32) == finite).all())
    return (SINGLE if single else DOUBLE) * float(np.abs(finite).max(initial=0.0))


def _picked(ensemble: Ensemble, columns: tuple[int, ...] | None, outputs: int) -> tuple[int, ...] | None:
    if ensemble.n_margins == outputs:
        return None
    if columns is not None and len(columns) == outputs and max(columns) < ensemble.n_margins:
        return columns
    text = f"its trees add up to {ensemble.n_margins} margins, and it has {outputs} outputs"
    raise RefusalError(text, RefusalCode.UNSUPPORTED)


def _only(ensemble: Ensemble, columns: tuple[int, ...]) -> Ensemble:
    """Return the ensemble of some of the margins, which add up by themselves."""
    kept = list(columns)
    if ensemble.value.shape[1] > 1:
        output = np.zeros_like(ensemble.output)
        return replace(ensemble, value=ensemble.value[:, kept], base=ensemble.base[kept], output=output)
    positions = np.full(ensemble.n_margins, -1, np.int32)
    positions[kept] = np.arange(len(kept))
    if (positions[ensemble.output] < 0).any():
        raise RefusalError("some of its trees add to outputs that are not reported", RefusalCode.UNSUPPORTED)
    return replace(ensemble, output=positions[ensemble.output], base=ensemble.base[kept])


def bound_of(ensemble: Ensemble, link: Link) -> float | None:
    """Return a power of two that no output exceeds, None where that is not known from the link alone.

    Trees whose predictions, or squares of them, may overflow when they are added up are refused.
    """
    if link.linear:  # whose outputs are not summed row by row
        leaf, base = (float(np.abs(values).max(initial=0.0)) for values in (ensemble.value, ensemble.base))
        _bounded(2.0 * math.log2((len(ensemble.roots) * leaf + base) * abs(link.scale) + 1.0), "squares")
        return None
    if link.name in ("sigmoid", "softmax"):
        return 1.0
    if link.name == "isolation":  # of a depth, which is not negative
        return 2.0 ** math.ceil(math.log2(1.0 + abs(link.shift)))
    largest = np.zeros(len(ensemble.roots))
    leaf = ensemble.column == LEAF
    np.maximum.at(largest, ensemble.tree[leaf], np.abs(ensemble.value[leaf]).max(axis=1))
    margin = float(np.abs(ensemble.base).max() + largest.sum()) * abs(link.scale)
    exponent = margin / math.log(2.0) if link.name == "exp" else 2.0 * math.log2(margin + 1.0)
    _bounded(exponent, "predictions")
    return None


def _bounded(exponent: float, of: str) -> None:
    """Refuse trees whose predictions, or squares of them, may reach a power of two whose sums overflow."""
    if exponent > LARGEST:
        raise RefusalError(
            f"its {of} may reach 2^{exponent:.0f}, and sums of such overflow", RefusalCode.UNSUPPORTED
        )
