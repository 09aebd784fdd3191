"""The tables of `gaps`, its notes and its conclusion."""

from __future__ import annotations

import math
from itertools import groupby

from studies.gaps.problems import Attempt, Problem, relative_gap
from studies.gaps.statistics import (
    SHIFT_SECONDS,
    median,
    shifted_geometric_mean,
    time_to_gap,
)
from studies.reporting import formats
from studies.reporting.formats import plural
from studies.reporting.report import Run, machine_note
from studies.reporting.tables import NOT_RUN, Group, Table

# The solver whose distance from the optimum the conclusion is about.
JUDGED = "cbcd"

TRUE_GAP = f"{JUDGED} true gap %"
ON_TERMINAL = ("rows × trees, α", "best objective", "gap %", TRUE_GAP, "first by", "in s")

TARGET_GAPS = (0.01, 0.001, 0.0001)

# Objectives that differ by less, relatively, are the same.
_SAME = 1e-9


def problem_table(problems: list[Problem]) -> Table:
    """Return what is known of each problem: best objective, best bound, who proved it first."""
    header = (
        "rows × trees, α",
        "best objective",
        "best bound",
        "gap %",
        TRUE_GAP,
        "proven by",
        "first by",
        "in s",
    )
    groups = []
    for kind, members in groupby(problems, key=lambda problem: problem.instance.kind):
        rows = [
            (
                f"{problem.instance.grid}, {problem.alpha:g}",
                _value(problem.objective),
                _value(problem.bound),
                _percent(_gap(problem)),
                _percent(min(map(problem.gap_of, _by(problem, JUDGED)), default=math.inf)),
                f"{len(problem.proofs)} of {len(problem.attempts)}",
                problem.proofs[0].solver if problem.proofs else NOT_RUN,
                _seconds(problem.proofs[0].seconds) if problem.proofs else NOT_RUN,
            )
            for problem in members
        ]
        groups.append(Group(kind, tuple(rows)))
    return Table("What is known of each problem, from all solvers", header, tuple(groups))


def solver_table(problems: list[Problem]) -> Table:
    """Return how each solver did over all problems."""
    header = (
        "solver",
        "answers",
        "best",
        "proven",
        "gap %",
        "true gap %",
        "mean s",
        *(f"s to {100 * gap:g} %" for gap in TARGET_GAPS),
        "failed",
    )
    solvers = dict.fromkeys(a.solver for problem in problems for a in problem.attempts)
    rows = tuple(_solver_row(problems, solver) for solver in solvers)
    return Table(
        "How each solver did over all problems: counts and medians", header, (Group("", rows),)
    )


def _solver_row(problems: list[Problem], solver: str) -> tuple[str, ...]:
    own = [(problem, a) for problem in problems for a in _by(problem, solver)]
    answers = [(problem, a) for problem, a in own if a.answered]
    times_to = [[time_to_gap(a.trace, gap) for _, a in answers] for gap in TARGET_GAPS]
    return (
        solver,
        f"{len(answers)} of {len(own)}",
        str(sum(problem.excess_of(a) <= _SAME for problem, a in answers)),
        str(sum(a.proven for _, a in answers)),
        _percent(median(a.gap for _, a in answers)),
        _percent(median(problem.gap_of(a) for problem, a in answers)),
        _seconds(shifted_geometric_mean(a.seconds for _, a in answers)),
        *map(_reached, times_to),
        str(sum(a.row["status"] == "failed" for _, a in own)),
    )


def unanswered_table(problems: list[Problem]) -> tuple[Table, ...]:
    """Return a table of what has no answer, with reasons; none where all have one."""
    found: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        for a in problem.attempts:
            if not a.answered:
                reason = str(a.row.get("reason", "no answer within the time limit"))
                key = (a.solver, str(a.row["status"]).replace("_", " "), reason)
                found.setdefault(key, []).append(problem)
    if not found:
        return ()
    rows = tuple(
        (solver, status, "; ".join(p.name for p in on) if len(on) < 3 else str(len(on)), reason)
        for (solver, status, reason), on in found.items()
    )
    header = ("solver", "status", "problems", "reason")
    return (Table("Without an answer", header, (Group("", rows),)),)


def detail_table(problems: list[Problem]) -> Table:
    """Return all measurements, grouped by problem; the last row of each is the best of all."""
    header = (
        "solver",
        "objective",
        "above best %",
        "lower bound",
        "gap %",
        "true gap %",
        "build + solve s",
        "nodes",
        "guarantee",
        "bound from",
    )
    groups = []
    for problem in problems:
        rows = [_detail_row(problem, attempt) for attempt in problem.attempts]
        best = ("best of all", _value(problem.objective), NOT_RUN, _value(problem.bound))
        gap = _percent(_gap(problem))
        rows.append((*best, gap, gap, *[NOT_RUN] * 4))
        groups.append(Group(problem.name, tuple(rows)))
    return Table("All measurements (rows × trees)", header, tuple(groups))


def _detail_row(problem: Problem, attempt: Attempt) -> tuple[str, ...]:
    row = attempt.row
    if not attempt.answered:
        return (attempt.solver, str(row["status"]).replace("_", " "), *[NOT_RUN] * 8)
    return (
        attempt.solver,
        _value(attempt.objective),
        _percent(problem.excess_of(attempt)),
        _value(attempt.bound),
        _percent(attempt.gap),
        _percent(problem.gap_of(attempt)),
        _seconds(attempt.seconds),
        NOT_RUN if row.get("search_nodes") is None else f"{row['search_nodes']:,}",
        str(row["guarantee"]),
        str(row["bound_source"]).replace("_", " "),
    )


def conclusion(problems: list[Problem]) -> str:
    """Return in a sentence how far the judged solver is from the optimum, and what is proven."""
    if not problems:
        return ""
    gaps = [gap for p in problems for a in _by(p, JUDGED) if math.isfinite(gap := p.gap_of(a))]
    said = []
    if gaps:
        count = "all" if len(gaps) == len(problems) else f"{len(gaps)} of"
        said.append(
            f"{JUDGED} with local search is proven within {_at_most(max(gaps))} % of the optimum "
            f"on {count} {plural(len(problems), 'problem')} (median {_percent(median(gaps))} %)"
        )
    proofs = [problem.proofs for problem in problems if problem.proofs]
    said.append(f"{len(proofs)} of {len(problems)} are proven optimal")
    firsts = [found[0].solver for found in proofs]
    if firsts:
        ranked = sorted(dict.fromkeys(firsts), key=firsts.count, reverse=True)
        said.append("first by " + ", ".join(f"{name} ({firsts.count(name)})" for name in ranked))
    open_gaps = [_gap(problem) for problem in problems if not problem.proofs]
    if open_gaps and math.isfinite(max(open_gaps)):
        said.append(f"the largest gap left is {_at_most(max(open_gaps))} %")
    return "; ".join(said) + "."


def notes(run: Run, problems: list[Problem]) -> list[str]:
    """Return what a reader of the tables must know."""
    if not problems:
        return ["No cell has finished yet."]
    cells = [cell for cell, _ in run.cells]
    limits = ", ".join(f"{limit:g}" for limit in sorted({cell.time_limit for cell in cells}))
    depths = ", ".join(map(str, sorted({cell.instance.depth for cell in cells})))
    return [
        f"Ensembles of depth {depths}, boosting with learning rate 0.1, y standardised, node "
        "weights; objectives and α in units of the variance of y.",
        "Gap: by the solver's own bound. True gap: the objective against the best bound of all "
        "solvers, which is how far it can be from the optimum. Best: as low an objective as any "
        "solver's. Proven, and the guarantee optimal: gap at most 0.0001 % by the solver's own "
        "bound. Bound from: the Frank–Wolfe bound recomputed at a relaxed point, a search that "
        "left nothing out (exhaustion), or the engine's word less its tolerances.",
        f"Seconds: build and solve, median of up to {max(cell.repeats for cell in cells)} warm "
        f"calls in a process of its own, fewer where they take long; limit {limits} s. Imports "
        f"and compilation are not counted. Mean s: geometric mean shifted by {SHIFT_SECONDS:g} "
        "s, over all problems with an answer, at the limit or not. Seconds to a gap: median "
        "over these problems from the trace of one call; where not all reached it, so many did.",
        _check_note(problems),
        machine_note(run),
    ]


def _check_note(problems: list[Problem]) -> str:
    count = sum(math.isfinite(a.bound) for problem in problems for a in problem.attempts)
    return (
        f"Each of {plural(count, 'bound')} was compared with every solver's objective on the "
        "same problem; one that is higher by more than rounding is reported on top of this page."
    )


def _by(problem: Problem, solver: str) -> list[Attempt]:
    return [attempt for attempt in problem.attempts if attempt.solver == solver]


def _gap(problem: Problem) -> float:
    return relative_gap(problem.objective, problem.bound)


def _at_most(fraction: float) -> str:
    """Write a fraction in percent, rounded up: what is claimed must hold."""
    share = 100.0 * fraction
    if share <= 1e-4:
        return "0.0001"
    step = 10.0 ** (math.floor(math.log10(share)) - 1)
    return _percent(math.ceil(share / step - 1e-6) * step / 100.0)


def _reached(seconds: list[float]) -> str:
    """Write the median of times, and how many there are when some are missing."""
    reached = sum(map(math.isfinite, seconds))
    middle = _seconds(median(seconds))
    return middle if reached == len(seconds) else f"{middle} ({reached} of {len(seconds)})"


def _value(value: float) -> str:
    return formats.objective(value if math.isfinite(value) else None)


def _percent(fraction: float) -> str:
    return formats.percent(fraction if math.isfinite(fraction) else None)


def _seconds(amount: float) -> str:
    return formats.seconds(amount if math.isfinite(amount) else None)
