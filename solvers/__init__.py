"""Solvers by name: each public file of this package is one."""

from solvers._core.base import Answer, Control, Solver
from solvers._core.errors import (
    EngineFailure,
    InvalidOption,
    MissingEngine,
    SolverError,
    UnknownSolver,
    UnsupportedProblem,
    close_matches,
)
from solvers._core.path import Path, solve_path
from solvers._core.registry import (
    available_solvers,
    capability_table,
    format_label,
    make_solver,
    parse_label,
    predicted_memory,
)
from solvers._core.result import BoundSource, Guarantee, Result, Termination, TraceEntry
from solvers._core.solve import solve
from solvers._core.verify import Verification, verify
from solvers._engines.process import peak_bytes
from solvers._exporting.export import Exported, export_problem

__all__ = [
    "Answer",
    "BoundSource",
    "Control",
    "EngineFailure",
    "Exported",
    "Guarantee",
    "InvalidOption",
    "MissingEngine",
    "Path",
    "Result",
    "Solver",
    "SolverError",
    "Termination",
    "TraceEntry",
    "UnknownSolver",
    "UnsupportedProblem",
    "Verification",
    "available_solvers",
    "capability_table",
    "close_matches",
    "export_problem",
    "format_label",
    "make_solver",
    "parse_label",
    "peak_bytes",
    "predicted_memory",
    "solve",
    "solve_path",
    "verify",
]

DISTRIBUTION = "forestprune"
