"""Features given as names, positions, masks or tuples, resolved to columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from paribus._text import count
from paribus.errors import FeatureError, GridError, InputError, OptionError, did_you_mean

Feature: TypeAlias = str | int
Features: TypeAlias = Feature | Sequence[Any] | Mapping[Any, Any]


@dataclass(frozen=True)
class Header:
    """Names of the columns: ``given`` of X as the user passed it, ``names`` of those the model gets.

    Both are the names that results report. A position in ``features`` counts in ``given``, a column of a
    grid in ``names``. ``unused`` are the columns of X that the call does not use. ``unknown`` describes
    the values of columns that are not among the model's categories. ``columns`` are the columns the model
    gets if some of ``names`` stand for several of them, else empty.
    """

    names: tuple[str, ...]
    given: tuple[str, ...]
    unused: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Header | tuple[str, ...]) -> Header:
        """Return a header as it is, or the header of a table whose columns all go to the model."""
        return names if isinstance(names, Header) else cls(names, names)

    def grouped(self, groups: Mapping[str, tuple[int, ...]]) -> Header:
        """Return the header with groups of columns as one feature each, at the place of the first column.

        Positions in X stay as they are; the names of groups of several columns follow.
        """
        first = {columns[0]: name for name, columns in groups.items()}
        taken = {column for columns in groups.values() for column in columns[1:]}
        names = tuple(first.get(j, own) for j, own in enumerate(self.names) if j not in taken)
        renamed = {self.names[columns[0]]: name for name, columns in groups.items() if len(columns) == 1}
        given = tuple(renamed.get(own, own) for own in self.given)
        given += tuple(name for name in groups if name not in given)
        return Header(names, given, self.unused, self.unknown, self.names)

    def passed(self, feature: int) -> int:
        """Return the position in X, as the user passed it, of a column the model gets."""
        return feature if self.given == self.names else self.given.index(self.names[feature])


Names: TypeAlias = Header | tuple[str, ...]
WITH_TARGET = ("explain", "marginal", "feature_importance")  # functions that use a target
SHOWN = 100  # characters of ``features`` in a message


def check_no_target(features: Any, names: Names, rows: int | None, verb: str) -> None:
    """Raise `FeatureError` if ``features`` looks like a target, which other libraries take in this place.

    ``rows`` is the number of rows of X if it is known. A mask with one boolean per column of X and
    positions that are all different do select columns.
    """
    if isinstance(features, (Mapping, set, frozenset)) or not _is_list(features):
        return
    columns, tokens = len(Header.of(names).given), list(features)
    groups = [tuple(token) if _is_list(token) else (token,) for token in tokens]
    values = [value for group in groups for value in group]
    floats = any(isinstance(value, (float, np.floating)) for value in values)
    if not (hasattr(features, "columns") or floats or _is_vector(groups, values, columns, rows)):
        return
    way_out = (
        "pass the target as y="
        if verb in WITH_TARGET
        else f"{verb} uses no target, so omit it; {', '.join(WITH_TARGET)} and Explainer take one as y="
    )
    entries = count(len(features), "entry", "entries")
    raise FeatureError(
        f"features= has {entries} and X {count(columns, 'column')}; features "
        f"are names or positions of columns, each once, and these look like the values of a target: {way_out}"
    )


def _is_vector(groups: list[tuple[Any, ...]], values: list[Any], columns: int, rows: int | None) -> bool:
    """Return whether ``features`` has values of rows: too many, repeated, or not positions of columns."""
    single, size = len(values) == len(groups), len(groups)
    is_mask = single and all(isinstance(value, (bool, np.bool_)) for value in values)
    if any(len(group) > columns for group in groups):
        return True
    if single and size != columns and (size > columns or (is_mask and size == rows)):
        return True
    if is_mask:
        return False
    numbers = [value for value in values if isinstance(value, (int, np.integer))]
    repeated = len(set(map(repr, groups))) < size
    if size == rows and size > 1:
        return repeated or (len(numbers) == len(values) and not all(0 <= n < columns for n in numbers))
    return single and len(set(map(int, numbers))) < len(numbers)


def resolve(features: Any, names: Names) -> tuple[int, ...]:
    """Return the columns of one effect: a name, a position, a mask, or several varied together.

    >>> resolve(["age", 0], ("income", "age"))
    (1, 0)
    """
    tokens = _tokens(features, names)
    if len(tokens) == 1 and _is_group(tokens[0]):
        tokens = _tokens(tokens[0], names)
    if any(_is_group(token) for token in tokens):
        raise FeatureError(
            f"features={_features_text(features)} requests several effects; "
            "effects() computes many in one call"
        )
    if not tokens:
        raise FeatureError("features is empty; name at least one column, or call effects() for all")
    result = tuple(position(token, names) for token in tokens)
    if len(set(result)) < len(result):
        raise FeatureError(f"features={_features_text(features)} names the same column twice")
    return result


def resolve_many(features: Any, names: Names) -> tuple[tuple[int, ...], ...]:
    """Return the columns of each effect in a list of features and tuples."""
    found = tuple(resolve(token, names) for token in _tokens(features, names))
    if not found:
        raise FeatureError("features is empty; omit it for all features")
    return tuple(dict.fromkeys(found))


def resolve_each(features: Any, names: Names, named: bool) -> tuple[tuple[int, ...], tuple[Feature, ...]]:
    """Return the columns of single features in a list, and each as requested, by name or position.

    None requests every column: by name if ``named``, which says that X has column names, else by position.
    """
    header = Header.of(names)
    if features is None:
        every = tuple(range(len(header.names)))
        return every, header.names if named else tuple(map(header.passed, every))
    found: dict[int, Feature] = {}
    for token in _tokens(features, names):
        group = resolve(token, names)
        if len(group) > 1:
            raise FeatureError(
                f"features={_features_text(features)} has a group of features; pass single ones"
            )
        if group[0] in found:
            raise FeatureError(f"features={_features_text(features)} names {header.names[group[0]]!r} twice")
        found[group[0]] = token if isinstance(token, str) else header.passed(group[0])
    if not found:
        raise FeatureError("features is empty; omit it for all features")
    return tuple(found), tuple(found.values())


def resolve_groups(
    features: Any, names: Names, named: bool
) -> tuple[tuple[tuple[int, ...], ...], tuple[Feature | tuple[Feature, ...], ...]]:
    """Return the columns of features and groups of features in a list, and each as requested."""
    if features is None:
        every, tokens = resolve_each(None, names, named)
        return tuple((j,) for j in every), tokens
    found: dict[tuple[int, ...], Feature | tuple[Feature, ...]] = {}
    for token in _tokens(features, names):
        group, own = resolve_each(token if _is_group(token) else [token], names, named)
        if group in found:
            raise FeatureError(f"features={_features_text(features)} requests {token!r} twice")
        found[group] = own if _is_group(token) else own[0]
    if not found:
        raise FeatureError("features is empty; omit it for all features")
    return tuple(found), tuple(found.values())


def split_groups(features: Any, names: Names) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """Return features with the names of groups in place of mappings, and the columns of each group.

    A mapping is one entry per feature. Within a list, others may refer to its names. A column by its own
    name or position needs no group.

    >>> split_groups([{"city": ["A", "B"]}, ("city", "age")], ("age", "A", "B"))
    (['city', ('city', 'age')], {'city': (1, 2)})
    """
    if isinstance(features, Mapping):
        features = [features]
    if not isinstance(features, (list, tuple)) or not any(isinstance(one, Mapping) for one in features):
        return features, {}
    tokens: list[Any] = []
    groups: dict[str, tuple[int, ...]] = {}
    for one in features:
        for name, columns in one.items() if isinstance(one, Mapping) else ():
            found = tuple(position(token, names) for token in _tokens(columns, names))
            if len(found) != 1 or (name != columns and name != Header.of(names).names[found[0]]):
                _check_group(name, found, groups, names)
                groups[name] = found
            tokens.append(name)
        if not isinstance(one, Mapping):
            tokens.append(one)
    return tokens, groups


def _check_group(
    name: Any, columns: tuple[int, ...], groups: Mapping[str, tuple[int, ...]], names: Names
) -> None:
    """Raise unless a group has a new name, and columns that no other group has."""
    header = Header.of(names)
    if not isinstance(name, str) or name in (*header.names, *groups):
        raise FeatureError(f"features: {name!r} must be text, and not the name of another feature")
    if not columns:
        raise FeatureError(f"features: {name!r} has no columns; list at least one")
    taken = [column for group in (*groups.values(), columns) for column in group]
    twice = [header.names[column] for column in columns if taken.count(column) > 1]
    if twice:
        raise FeatureError(f"features: column {twice[0]!r} is listed twice; a column belongs to one feature")


def resolve_set(argument: str, features: Any, names: Names) -> frozenset[int]:
    """Return a possibly empty set of columns, such as ``categorical_features``."""
    if features is None:
        return frozenset()
    try:
        return frozenset(position(token, names) for token in _tokens(features, names))
    except FeatureError as error:
        raise FeatureError(f"{argument}: {error}") from error


def values_by_position(custom_values: Any, names: Names, requested: set[int]) -> dict[int, Any]:
    """Return ``custom_values`` by column; a key that is not a requested feature is an error."""
    if custom_values is None:
        return {}
    if not isinstance(custom_values, Mapping):
        raise GridError(f"custom_values must map features to values, not {custom_values!r}")
    own = Header.of(names).names
    given: dict[int, Any] = {}
    for token, values in custom_values.items():
        try:
            feature = position(token, names)
        except InputError as error:
            raise GridError(f"custom_values: {error}") from error
        if feature not in requested:
            raise GridError(
                f"custom_values has values for {own[feature]!r}, which is not among the features "
                f"requested ({', '.join(repr(own[j]) for j in sorted(requested))})"
            )
        if feature in given:
            raise GridError(f"custom_values names {own[feature]!r} twice, by name and by position")
        given[feature] = values
    return given


def names_of_codes(category_names: Any, names: Names, by: str | None) -> dict[str, dict[Any, str]]:
    """Return the name of each code, by column of X or the grouping variable ``by``."""
    form = "a list of names by code, as in {'city': ['Oslo', 'Rome']}, or a mapping such as {1: 'Oslo'}"
    if not isinstance(category_names, (Mapping, type(None))):
        raise OptionError(f"category_names={category_names!r} must map features to {form}")
    columns = Header.of(names).given
    by_feature: dict[str, dict[Any, str]] = {}
    for token, given in (category_names or {}).items():
        try:
            feature = by if by is not None and token == by else columns[_column_position(token, columns)]
        except FeatureError as error:
            raise FeatureError(f"category_names: {error}") from error
        if feature in by_feature:
            raise OptionError(f"category_names has {feature!r} twice; give it by name or by position")
        if isinstance(given, (set, frozenset)) or not (isinstance(given, Mapping) or _is_list(given)):
            raise OptionError(f"category_names of {feature!r} is {given!r}; pass {form}")
        by_code = dict(given if isinstance(given, Mapping) else enumerate(given))
        _check_names(feature, by_code)
        by_feature[feature] = {code: str(name) for code, name in by_code.items()}
    return by_feature


def _check_names(feature: str, by_code: Mapping[Any, Any]) -> None:
    """Raise unless the keys are numbers and their names are distinct texts."""
    taken: set[str] = set()
    for code, name in by_code.items():
        if not isinstance(code, (int, float, np.number)) or code != code:
            raise OptionError(f"category_names of {feature!r} has the code {code!r}; codes must be numbers")
        if not isinstance(name, str) or not name.strip():
            raise OptionError(f"category_names of {feature!r} has the name {name!r}; names must be text")
        if name in taken:
            raise OptionError(
                f"category_names of {feature!r} has {name!r} twice; give each code its own name"
            )
        taken.add(name)


def position(token: Any, names: Names) -> int:
    """Return the position, among the columns the model gets, of a column of X given by name or position."""
    header = Header.of(names)
    passed = header.given[_column_position(token, header.given)]
    if passed not in header.names and passed in header.columns:
        raise FeatureError(f"feature {passed!r} is set together with other columns; name the group instead")
    if passed not in header.names:
        raise FeatureError(
            f"feature {passed!r} is a column of X that the model does not use, so predictions do not depend "
            f"on it; omit it"
        )
    return header.names.index(passed)


def _column_position(token: Any, names: tuple[str, ...]) -> int:
    token = _tuple_label(token, names)
    if isinstance(token, str):
        if token not in names:
            raise FeatureError(f"feature {token!r} is not a column of X{did_you_mean(token, names)}")
        return names.index(token)
    if isinstance(token, (int, np.integer)) and not isinstance(token, (bool, np.bool_)):
        inside = 0 <= token < len(names)
        named = str(token) in names
        if not inside:
            way_out = f"; write '{token}' for the column of that name" if named else ""
            raise FeatureError(
                f"feature {token} is not a column of X, which has 0 to {len(names) - 1}{way_out}"
            )
        if named and names[token] != str(token):
            raise FeatureError(
                f"feature {token} is ambiguous: the column named {token} or the one at position {token}; "
                f"write '{token}' for the name, or rename the columns"
            )
        return int(token)
    raise FeatureError(f"feature {_features_text(token)} is neither a column name nor a position")


def _tuple_label(token: Any, names: tuple[str, ...]) -> Any:
    """Return the name of a column whose label is a tuple, as in a pandas MultiIndex, else the token."""
    if not isinstance(token, tuple) or (text := str(token)) not in names:
        return token
    if all(entry in names or (isinstance(entry, int) and 0 <= entry < len(names)) for entry in token):
        raise FeatureError(
            f"feature {text} is ambiguous: the column of that name, or several columns together; write "
            f"{text!r} for the column, or {list(token)} for the columns"
        )
    return text


def _features_text(features: Any) -> str:
    """Return features as text, or their type if the text is long, such as that of a series."""
    text = repr(features)
    short = len(text) <= SHOWN and "\n" not in text
    return text if short or not hasattr(features, "__len__") else f"<{type(features).__name__}>"


def _is_list(value: Any) -> bool:
    """Return whether a value is a list, an array, a series or similar, but not text."""
    return hasattr(value, "__len__") and not isinstance(value, str) and getattr(value, "ndim", 1) > 0


def _is_group(token: Any) -> bool:
    return isinstance(token, (list, tuple, np.ndarray))


def _tokens(features: Any, names: Names) -> list[Any]:
    """Return ``features`` as a list; a mask of booleans becomes the positions it marks."""
    if isinstance(features, (set, frozenset, Mapping)):
        raise FeatureError(f"features={_features_text(features)} is unordered; pass a list")
    if isinstance(features, np.ndarray) and features.ndim == 0:
        features = features.item()
    given = Header.of(names).given
    features = _tuple_label(features, given)
    if isinstance(features, str) or not hasattr(features, "__len__"):
        return [features]
    tokens = [_tuple_label(token, given) for token in features]
    if tokens and all(isinstance(token, (bool, np.bool_)) for token in tokens):
        if len(tokens) != len(given):
            masked, columns = count(len(tokens), "boolean"), count(len(given), "column")
            raise FeatureError(f"a mask of {masked} was given and X has {columns}")
        return [j for j, chosen in enumerate(tokens) if chosen]
    return tokens
