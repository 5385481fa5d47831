"""Record section of a report: model, data, computation and definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from paribus._report.figures import References, definitions
from paribus._report.markup import (
    Content,
    Markup,
    at,
    element,
    fact,
    facts,
    folded,
    full_name,
    joined,
    label_of,
    long_text,
    name_of,
    section,
    share,
    table,
)
from paribus._text import NONE, brief, count
from paribus.results.explanation import Explanation
from paribus.results.model_record import ModelRecord, TargetRecord
from paribus.results.provenance import Provenance
from paribus.results.storage import Payload

# Fields of the records of model, data and computation, in the order of the page.
MODEL = (
    *("name", "library", "version", "file", "objective", "structure", "structure_digest", "trees"),
    *("leaves", "depth", "versions", "platform"),
)
DATA = (
    *("rows", "columns", "backend", "source", "weights", "sampled_rows", "seed", "unused_columns"),
    *("unknown_categories", "skipped"),
)
COMPUTATION = (
    *("estimand", "scale", "response", "evaluator", "how", "why", "predictions", "grid_resolution"),
    *("percentiles", "standard_error_rows", "rank_error", "verified_difference"),
)
FILES = 20  # files of the data that are listed, at most
TARGETS = 3  # targets in the header of the page, at most


def record_section(refs: References, about: Mapping[str, str], payload: Payload) -> Markup:
    """Return the record section."""
    explanation = refs.explanation
    given: list[Content] = []
    if about:
        given = [
            element("h3", "About"),
            element("p", "Given by the author of this page, and not checked.", class_="small"),
            facts((label_of(key), long_text(text)) for key, text in about.items()),
        ]
    hyperparameters = None
    if explanation.model.parameters:
        rows = ([name_of(name), long_text(value)] for name, value in explanation.model.parameters.items())
        parameters = table("Hyperparameters", ["Name", "Value"], rows, shown_caption=False)
        hyperparameters = folded("Hyperparameters", parameters)
    refused = ", ".join(explanation.provenance.refusals) or "none"
    return section(
        "record",
        "Record",
        *given,
        element(
            "div",
            element("h3", "Model"),
            _text_facts(_record_facts(explanation.model, MODEL)),
            hyperparameters,
            element("h3", "Data"),
            _text_facts(_data_facts(explanation)),
            _columns_table(explanation),
            element("h3", "Computation"),
            _text_facts(_record_facts(explanation.provenance, COMPUTATION)),
            element("p", f"Evaluators that were not used: {refused}. The saved data has the reasons."),
            element("h3", "Definitions"),
            definitions(),
            class_="appendix",
        ),
        element("h3", "This file"),
        _payload_facts(explanation, payload),
    )


def identity(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Yield labels and texts of the model file, the objective and the targets."""
    model = explanation.model
    if model.file is not None:
        yield "Model file", f"{model.file.name}, SHA-256 {(model.file.sha256 or '')[:12]}…"
    if model.objective is not None:
        yield "Objective", model.objective
    for target in explanation.target[:TARGETS]:
        yield "Target", target_text(target, several=len(explanation.target) > 1)
    if len(explanation.target) > TARGETS:
        yield "Target", f"and {len(explanation.target) - TARGETS} more"


def target_text(target: TargetRecord, *, several: bool = False) -> str:
    """Return the distribution of a target in one line; ``several`` adds the name of its output."""
    name = "without a name" if target.name is None else target.name
    of = f" ({target.output})" if several else ""
    if target.standard_deviation is None:
        return f"{name}, base rate {brief(target.mean)} (output {target.output})"
    assert target.lowest is not None
    assert target.median is not None
    assert target.highest is not None
    ends = f"{brief(target.lowest)}, median {brief(target.median)}, maximum {brief(target.highest)}"
    spread = f"standard deviation {brief(target.standard_deviation)}"
    return f"{name}{of}, mean {brief(target.mean)}, {spread}, minimum {ends}"


def _text_facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    return facts((name, long_text(value)) for name, value in pairs)


def _record_facts(record: ModelRecord | Provenance, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield fields of a record as labels and texts."""
    for name in names:
        yield name.replace("_", " ").capitalize(), fact(getattr(record, name))


def _data_facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Yield labels and texts of the files, the targets and the rows."""
    files = explanation.files
    if files:
        listed = [str(file) for file in files[:FILES]]
        if len(files) > FILES:
            listed.append(f"and {len(files) - FILES:,} more")
        yield "Files" if len(files) == 1 else f"{len(files):,} files", ", ".join(listed)
    for target in explanation.target:
        yield "Target", target_text(target, several=len(explanation.target) > 1)
    yield from _record_facts(explanation.provenance, DATA)


def _columns_table(explanation: Explanation) -> Markup:
    rows = (
        [
            full_name(column.name),
            column.kind,
            column.dtype or NONE,
            element("bdi", at(column.lowest)),
            element("bdi", at(column.highest)),
            share(column.missing),
            fact(column.categories),
        ]
        for column in explanation.columns
    )
    heads = ("Column", "Kind", "Type", "Lowest", "Highest", "Missing", "Categories")
    columns = table("Columns of the data", heads, rows, shown_caption=False, sortable=True)
    return folded(count(len(explanation.columns), "column"), columns, open_=len(explanation.columns) <= 30)


def _payload_facts(explanation: Explanation, payload: Payload) -> Markup:
    """Return digests of model, data and payload, and how the numbers are loaded and checked."""
    digests = {
        "Digest of the predictions": explanation.model.digest,
        "Digest of the data": explanation.provenance.fingerprint,
        "SHA-256 of the payload": payload.sha256,
    }
    if explanation.model.file is not None:
        digests["SHA-256 of the model file"] = explanation.model.file.sha256 or NONE
    load = element("code", 'paribus.load("report.html")')
    return joined(
        facts((name, element("code", digest, class_="long")) for name, digest in digests.items()),
        element(
            "p",
            "The file contains every number in full precision. ",
            load,
            " returns them without the model or the data, and refuses a damaged payload. To detect edits of "
            "the page, write the report again with the same arguments and compare the bytes. "
            "Dates, durations, threads and folders of the run are left out.",
        ),
    )
