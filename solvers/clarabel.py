"""Clarabel: an interior-point method for quadratic objectives (Goulart and Chen 2024)."""

from __future__ import annotations

from solvers._conic import ConicSolver


class Clarabel(ConicSolver):
    """The relaxation as a quadratic program."""

    summary = "convex relaxation as a quadratic program, rounded"
    engines = ("cvxpy", "clarabel")
    engine = "CLARABEL"
    settings = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}  # noqa: RUF012
