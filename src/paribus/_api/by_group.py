"""Statistics by group of rows, in shared passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from paribus._api.data import By, GroupData, OutOfCoreData, SurveyRequest
from paribus._api.run import Rounds, RunContext, Steps, lockstep
from paribus._api.runner import Pass, digest
from paribus._contracts import NOMINAL
from paribus._data.grouping import (
    MOST_VALUES,
    QUANTILES,
    Grouping,
    GroupsByColumn,
    category_values,
    distinct_texts,
)
from paribus._data.rows import Block, Rows
from paribus._data.samples import distinct
from paribus._data.scan.open import Background, ScannedRows
from paribus._data.scan.reading import TableReader
from paribus._data.summary import Summary, SummarySpec, summarize_column
from paribus._evaluators.group_rows import ByGroup, GroupBlocks, GroupTotals, state_of_group
from paribus._evaluators.survey import survey_states
from paribus._states import Keyed
from paribus.errors import RefusalError
from paribus.notes import Note, NoteCode
from paribus.results.groups import Group, GroupedResults
from paribus.results.performance import Performance

GROUPED_ROWS = 65_536  # rows read at a time when only groups are counted


@dataclass(frozen=True, eq=False)
class GroupedStatistic:
    """A statistic that is computed for each group of rows, and has its other attributes."""

    statistic: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.statistic, name)

    def evaluate(self, context: RunContext) -> Steps:
        """Form the groups, then evaluate the statistic of each in shared passes."""
        return (yield from by_group(context, column_groups(context), self.statistic))


@dataclass(frozen=True, eq=False)
class GroupPerformance(GroupedStatistic):
    """Performance of each group of rows, by label; empty without a target."""

    def evaluate(self, context: RunContext) -> Steps:
        """Form the groups, then measure the performance of each in shared passes."""
        groups, builders = yield from each_group(context, column_groups(context), self.statistic)

        def build() -> dict[str, Performance]:
            measured = (one().performance for one in builders)
            return {group.label: own for group, own in zip(groups, measured, strict=True) if own is not None}

        return build


def _spec(by: By) -> SummarySpec:
    """Return the summary that groups need of their column; one whose codes have names is categorical."""
    named = by.names is not None
    return SummarySpec(named, MOST_VALUES, (0.25, 0.75), bins=(QUANTILES,), names=by.names)


def column_groups(context: RunContext) -> GroupsByColumn:
    """Return the groups that the argument ``by`` defines; the column of out-of-core rows is read."""
    assert not isinstance(context.data, GroupData)
    by = context.data.by
    assert by is not None
    found: GroupsByColumn = context.once(by, partial(_column_groups, context, by))
    return found


def _column_groups(context: RunContext, by: By) -> GroupsByColumn:
    if by.values is not None and by.values.kind in NOMINAL:
        codes, categories = by.values.factorized()
        by = replace(by, values=replace(by.values, codes=codes, codes_in_use=categories))  # found once
    summary = _column_summary(context, by)
    grouping = replace(GroupsByColumn.of(by.name, summary, by.cuts), column=by.values)
    if context.sampled_from is None:
        return grouping
    return replace(grouping, notes=(*grouping.notes, *_unsampled_notes(context, by, grouping, summary)))


def _unsampled_notes(
    context: RunContext, by: By, grouping: GroupsByColumn, sampled: Summary
) -> Iterator[Note]:
    """Yield the note on groups without sampled rows: values in X, and intervals that were requested."""
    whole, rows = context.sampled_from, context.rows
    assert whole is not None
    assert not isinstance(whole.data, GroupData)
    assert whole.data.by is not None
    assert isinstance(rows, Rows)
    every = _column_summary(whole, whole.data.by)
    labels: list[str] = []
    if by.cuts is not None:
        groups = grouping.codes(Block(rows.table, rows.weights, 0))
        labels = [label for group, label in enumerate(grouping.labels[:-2]) if group not in groups]
    elif every.categories is not None and sampled.categories is not None:
        known = set(sampled.categories.tolist())
        unknown = np.array([value not in known for value in every.categories.tolist()], dtype=bool)
        labels = distinct_texts(every.labels(category_values(every))[unknown])
    labels += [grouping.labels[-1]] * (every.missing > 0 and not sampled.missing)
    if labels:
        yield NoteCode.SMALL_GROUP.note(
            by=by.name, group=tuple(labels), rows=0, place=" in the sample", consequence="no result"
        )


def _column_summary(context: RunContext, by: By) -> Summary:
    """Return the summary of the grouping column; that of out-of-core rows is read."""
    spec = _spec(by)
    if by.values is None:
        return _column_data(context).summary(0, {0: spec})
    rows = context.rows
    assert isinstance(rows, Rows)
    options = {"limit": spec.limit, "percentiles": spec.percentiles, "bins": spec.bins}
    summary = summarize_column(by.values, rows.weights, nominal=spec.nominal, **options)  # type: ignore[arg-type]
    return summary.named(spec.names)


def _column_data(context: RunContext) -> OutOfCoreData:
    """Return the grouping column of out-of-core data, surveyed once."""
    data = context.data
    assert isinstance(data, OutOfCoreData)
    reading, by = data.reading, data.by
    assert by is not None

    def surveyed() -> OutOfCoreData:
        column = TableReader(
            reading.source, (by.name,), (by.name,), reading.weight, by=by.name, units=reading.units
        )
        own = OutOfCoreData(column, data.on_error, survey_name="survey-groups")
        memory = context.memory if context.memory_was_given else None
        survey = SurveyRequest(({0: _spec(by)},), (), context.threads or 1, memory)
        own.prepare(survey, context.runner, lambda table: None)
        return own

    found: OutOfCoreData = context.once(data, surveyed)
    return found


def group_contexts(context: RunContext, grouping: Grouping, seeds: tuple[int, ...]) -> Rounds:
    """Return the context of each group that has rows of positive weight, by its number."""
    shared: dict[Any, Any] = context.once(grouping, dict)  # statistics of a run share groups
    if seeds in shared:
        return shared[seeds]
    rows = context.rows
    if isinstance(rows, Rows):
        groups: Mapping[int, Background] = _groups_in_memory(rows, grouping)
    else:
        assert isinstance(rows, ScannedRows)
        if ("pass", seeds) not in shared:
            shared["pass", seeds] = _totals_pass(context, rows, grouping, seeds)
        one: Pass = shared["pass", seeds]
        (state,) = yield [one]
        if isinstance(state, RefusalError):
            raise state
        assert isinstance(one.evaluator, GroupTotals)
        groups = one.evaluator.finish(state, rows)
    shared_units = _units_in_several(groups.values())
    shared[seeds] = {
        group: context.group(
            f"{grouping.name} = {grouping.labels[group]}", group_rows, len(groups), shared_units
        )
        for group, group_rows in groups.items()
    }
    return shared[seeds]


def _units_in_several(groups: Iterable[Background]) -> bool:
    """Return whether some unit has rows in several groups; of out-of-core rows, among the sampled units.

    Samples of groups have the first units in one order, so that they have the same ones.
    """
    keys = [
        distinct(rows.units[rows.counted]) if isinstance(rows, Rows) else next(iter(rows.units.values())).keys
        for rows in groups
        if rows.units is not None
    ]
    return bool(keys) and len(distinct(np.concatenate(keys))) < sum(map(len, keys))


def _groups_in_memory(rows: Rows, grouping: Grouping) -> dict[int, Rows]:
    """Return the rows of each group that has rows of positive weight."""
    codes = grouping.codes(Block(rows.table, rows.weights, 0))
    counted = codes if rows.weights is None else codes[rows.weights > 0]
    present = np.flatnonzero(np.bincount(counted[counted >= 0]))
    return {group: rows.group(codes == group) for group in present.tolist()}


def _totals_pass(context: RunContext, rows: ScannedRows, grouping: Grouping, seeds: tuple[int, ...]) -> Pass:
    """Return the pass that counts the rows of each group."""
    read = rows
    if isinstance(grouping, GroupsByColumn):  # no other column is needed
        column = _column_data(context).rows
        assert isinstance(column, ScannedRows)
        read = replace(column, reading=replace(column.reading, weight_scale=rows.weight_scale))
    return Pass(
        f"groups-{digest(grouping.name, grouping.labels, seeds)[:8]}",
        GroupTotals(grouping, seeds),
        read.blocks(GROUPED_ROWS),
        context.threads or 1,
        identity=context.identity(rows, None, grouping.labels, seeds),
        known=survey_states(),
        rows=read,
    )


def by_group(context: RunContext, grouping: Grouping, statistic: Any) -> Steps:
    """Evaluate a statistic for each group; return the function that builds the results by group."""
    groups, builders = yield from each_group(context, grouping, statistic)
    return lambda: GroupedResults(grouping.name, groups, tuple(one() for one in builders), grouping.notes)


def each_group(context: RunContext, grouping: Grouping, statistic: Any) -> Rounds:
    """Evaluate a statistic for each group; return the groups, and the functions that build their results."""
    contexts: dict[int, RunContext] = yield from group_contexts(context, grouping, statistic.seeds)
    builders = yield from _joined(lockstep([statistic.evaluate(own) for own in contexts.values()]))
    total = context.rows.total
    groups = tuple(
        Group(grouping.labels[group], own.rows.n_weighted, own.rows.total / total)
        for group, own in contexts.items()
    )
    return groups, builders


def _joined(rounds: Rounds) -> Rounds:
    """Run rounds of passes, in which passes over out-of-core groups with the same name are one pass."""
    states: Any = None
    while True:
        try:
            passes = rounds.send(states)
        except StopIteration as done:
            return done.value
        members: dict[Any, list[Pass]] = {}
        for each in passes:
            blocks: Any = each.blocks
            key = (each.name, blocks.parts) if isinstance(blocks, GroupBlocks) else each
            members.setdefault(key, []).append(each)
        folded = yield [_whole_pass(each) for each in members.values()]
        state_of_pass = {
            each: state_of_group(state, each.blocks.group)
            if isinstance(each.blocks, GroupBlocks) and isinstance(state, Keyed)
            else state
            for group_passes, state in zip(members.values(), folded, strict=True)
            for each in group_passes
        }
        states = [state_of_pass[each] for each in passes]


def _whole_pass(passes: list[Pass]) -> Pass:
    """Return the pass over all rows that evaluates those of each group; one over other rows is unchanged."""
    first = passes[0]
    blocks = [each.blocks for each in passes if isinstance(each.blocks, GroupBlocks)]
    if not blocks:
        return first
    rows, grouping, parts = first.rows.whole, blocks[0].grouping, blocks[0].parts
    evaluators = {cut.group: each.evaluator for cut, each in zip(blocks, passes, strict=True)}
    identity = first.identity
    if identity is not None:
        settings = digest(*(each.identity["settings"] for each in passes if each.identity is not None))
        identity = {**identity, "settings": settings}
    return replace(
        first,
        name=f"{first.name}-groups",
        evaluator=ByGroup(evaluators, grouping),
        blocks=rows.blocks(max(cut.whole.size for cut in blocks), parts),
        threads=max(each.threads for each in passes),
        memory=sum(each.memory for each in passes),
        identity=identity,
        rows=rows,
    )
