"""Solvers by name: the package's public files are the solvers."""

from __future__ import annotations

import ast
import pkgutil
import re
from dataclasses import fields
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import solvers
from formulations import (
    CoefficientFormulation,
    Formulation,
    JointPruning,
    JointSubtreePruning,
    LayerPruning,
    Polishing,
    SubtreePruning,
)
from solvers._core.base import Solver
from solvers._core.errors import (
    InvalidOption,
    MissingEngine,
    UnknownSolver,
    UnsupportedProblem,
    close_matches,
)

_LABEL = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<options>.*)\])?")


def solver_names() -> list[str]:
    """Return the names of all solvers, without importing any."""
    return sorted(
        module.name
        for module in pkgutil.iter_modules(solvers.__path__)
        if not module.name.startswith("_")
    )


@cache
def solver_class(name: str) -> type[Solver[Any]]:
    """Return the solver class in the file of this name.

    Raises
    ------
    UnknownSolver
        With close matches and all names.
    """
    if name not in solver_names():
        raise UnknownSolver(f"unknown solver {name!r}; {close_matches(name, solver_names())}")
    module = import_module(f"solvers.{name}")
    (found,) = [
        item
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, Solver)
        and item.__module__ == module.__name__
    ]
    return found


def parse_label(label: str) -> tuple[str, dict[str, Any]]:
    """Split a label such as ``cbcd[local_search=False]`` into a name and options.

    Raises
    ------
    UnknownSolver, InvalidOption
        When the label does not have this form.
    """
    match = _LABEL.fullmatch(label.strip()) if isinstance(label, str) else None
    if match is None:
        raise UnknownSolver(f"a solver is a name or name[option=value, …], not {label!r}")
    options: dict[str, Any] = {}
    for part in filter(None, map(str.strip, (match["options"] or "").split(","))):
        name, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals or not name.isidentifier():
            raise InvalidOption(f"options in a label read name=value, not {part!r} as in {label!r}")
        options[name] = _value(text)
    return match["name"].strip(), options


def format_label(name: str, options: Any) -> str:
    """Return the label of a solver with the options that differ from their defaults."""
    changed = [
        f"{item.name}={getattr(options, item.name)}"
        for item in fields(options)
        if getattr(options, item.name) != item.default
    ]
    return f"{name}[{','.join(changed)}]" if changed else name


def make_solver(
    label: str, options: dict[str, Any] | None = None, problem: Formulation | None = None
) -> tuple[str, Solver[Any]]:
    """Return the full label and a solver with its options.

    Parameters
    ----------
    label
        A name, or a name with options.
    options
        Further options.
    problem
        What it is to solve; `require_ready` says whether it can.

    Raises
    ------
    UnknownSolver, InvalidOption
        When the name or an option is unknown, or a value is not accepted.
    """
    name, given = parse_label(label)
    found = solver_class(name)
    given |= options or {}
    known = [item.name for item in fields(found.Options)]
    for option in given:
        if option not in known:
            raise InvalidOption(
                f"solver {name!r} has no option {option!r}; "
                + (close_matches(option, known) if known else "it has none")
            )
    chosen = found.Options(**given)
    fitting = found if problem is None else fitting_class(found, problem) or found
    return format_label(name, chosen), fitting(chosen)


def fitting_class(found: type[Solver[Any]], problem: Formulation) -> type[Solver[Any]] | None:
    """Return what runs under a solver's name on a problem of this kind, or None."""
    for candidate in (found, found.for_coefficients):
        if candidate is not None and isinstance(problem, candidate.takes):
            return candidate
    return None


def unsupported(found: type[Solver[Any]], problem: Formulation) -> str | None:
    """Return why a solver cannot take a problem, or None when it can."""
    fitting = fitting_class(found, problem)
    if fitting is None and isinstance(problem, JointSubtreePruning):
        return "where coefficients are free, it takes depths and not subtrees"
    if fitting is None:
        free = isinstance(problem, CoefficientFormulation)
        return f"it takes problems whose coefficients are {'fixed' if free else 'free'}"
    return fitting.unsupported(problem)


def missing_engines(found: type[Solver[Any]]) -> list[str]:
    """Return the packages that a solver needs and that are not installed."""
    return [engine for engine in found.engines if find_spec(engine) is None]


def require_ready(name: str, found: type[Solver[Any]], problem: Formulation) -> None:
    """Check that a solver can run here and takes the problem.

    Raises
    ------
    MissingEngine, UnsupportedProblem
        With what to install, or with the reason and the solvers that can.
    """
    missing = missing_engines(found)
    if missing:
        raise MissingEngine(
            f"solver {name!r} needs {', '.join(missing)}: pip install {' '.join(missing)}"
        )
    reason = unsupported(found, problem)
    if reason is not None:
        raise UnsupportedProblem(
            f"solver {name!r} cannot take this problem: {reason}. "
            f"Solvers that can: {', '.join(available_solvers(problem)) or 'none installed'}"
        )


def available_solvers(problem: Formulation | None = None) -> list[str]:
    """Return the solvers whose engines are installed and, if given, that take the problem."""
    return [
        name
        for name in solver_names()
        if not missing_engines(solver_class(name))
        and (problem is None or unsupported(solver_class(name), problem) is None)
    ]


def predicted_memory(problem: Formulation, label: str) -> int | None:
    """Return about how many bytes a solver needs at its peak, or None when little."""
    return make_solver(label, problem=problem)[1].predicted_bytes(problem)


def capability_table() -> list[dict[str, str]]:
    """Return one row a solver.

    Name, method, the kinds of problems it takes, summary, proof, options, engines, and whether
    it is ready.
    """
    rows = []
    for name in solver_names():
        found = solver_class(name)
        rows.append(
            {
                "solver": name,
                "method": found.method,
                "problems": ", ".join(_kinds(found)),
                "summary": found.summary,
                "bound": found.proof,
                "options": ", ".join(
                    f"{item.name}={item.default}" for item in fields(found.Options)
                ),
                "engines": ", ".join(found.engines) or "built in",
                "status": _status(found),
            }
        )
    return rows


def _kinds(found: type[Solver[Any]]) -> list[str]:
    """Return the kinds of problems that a solver or its companion is written for."""
    classes = [item for item in (found, found.for_coefficients) if item is not None]
    kinds = (LayerPruning, SubtreePruning, Polishing, JointPruning, JointSubtreePruning)
    return [
        problem.kind
        for problem in kinds
        if any(issubclass(problem, item.takes) for item in classes)
    ]


def _status(found: type[Solver[Any]]) -> str:
    missing = missing_engines(found)
    status = f"missing: {', '.join(missing)}" if missing else "ready"
    return f"{status} (needs a licence; {found.caveat})" if found.caveat else status


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
