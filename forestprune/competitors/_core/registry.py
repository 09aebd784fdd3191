"""Competitors by name: the room's public files are the competitors."""

from __future__ import annotations

import pkgutil
from dataclasses import fields
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from forestprune import competitors
from forestprune.competitors._core.base import Competitor
from formulations import InvalidInput
from solvers._core.errors import InvalidOption, SolverError, close_matches
from solvers._core.registry import format_label, parse_label

# What an option of a type may be, in words.
_WORDS: dict[type, tuple[str, ...]] = {
    bool: ("True", "False"),
    NoneType: ("None",),
    int: ("a whole number",),
    float: ("a number",),
    str: ("a text",),
}


def available_competitors() -> list[str]:
    """Return the names of all competitors, without importing any."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(competitors.__path__)
        if not module.name.startswith("_")
    )


def competitor_table() -> list[dict[str, str]]:
    """Return one row a competitor: name, summary, what is exact, a path's values, options.

    Options stand with their defaults and what else they take: ``refit=False (or True)``.
    """
    rows = []
    for name in available_competitors():
        found = competitor_class(name)
        rows.append(
            {
                "competitor": name,
                "summary": found.summary,
                "exact": found.exact,
                "path over": found.over,
                "options": ", ".join(_options(found.Options)),
            }
        )
    return rows


def _options(options: type) -> list[str]:
    """Return in words what each option is by default, and what else it may be."""
    types = get_type_hints(options, include_extras=True)
    told = []
    for item in fields(options):
        default = str(item.default)
        others = ", ".join(one for one in _taken(types[item.name]) if one != default)
        told.append(f"{item.name}={default} (or {others})")
    return told


def _taken(kind: Any) -> list[str]:
    """Return in words what a type takes; what is said in `Annotated` goes before the type."""
    origin = get_origin(kind)
    if origin is Literal:
        return [str(value) for value in get_args(kind)]
    if origin in (Annotated, Union, UnionType):
        parts = kind.__metadata__ if origin is Annotated else get_args(kind)
        return [word for part in parts for word in _taken(part)]
    return [kind] if isinstance(kind, str) else list(_WORDS[kind])


@cache
def competitor_class(name: str) -> type[Competitor]:
    """Return the competitor in the file of this name.

    Raises
    ------
    InvalidInput
        With close matches and all names.
    """
    if name not in available_competitors():
        raise InvalidInput(
            f"unknown competitor {name!r}; {close_matches(name, available_competitors())}"
        )
    module = import_module(f"forestprune.competitors.{name}")
    (found,) = [
        item
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, Competitor)
        and item.__module__ == module.__name__
    ]
    return found


def make_competitor(label: str, options: dict[str, Any]) -> tuple[str, Competitor]:
    """Return the full label and a competitor with its options.

    Parameters
    ----------
    label
        A name, or a name with options such as ``lasso[refit=True]``.
    options
        Further options.

    Raises
    ------
    InvalidInput
        When the name or an option is unknown, or a value is not accepted.
    """
    try:
        name, given = parse_label(label)
    except SolverError:
        raise InvalidInput(
            f"a competitor is a name or name[option=value, …], not {label!r}"
        ) from None
    found = competitor_class(name)
    given |= options
    known = [item.name for item in fields(found.Options)]
    for option in given:
        if option not in known:
            told = close_matches(option, known) if known else "it has none"
            raise InvalidInput(f"competitor {name!r} has no option {option!r}; {told}")
    try:
        chosen = found.Options(**given)
    except InvalidOption as error:
        raise InvalidInput(f"competitor {name!r}: {error}") from None
    return format_label(name, chosen), found(chosen)
