"""How fast optimality is proven: gaps and times on instances of stated sizes, in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from statistics import median

from rich.console import Console
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from forestprune import (
    JointPruning,
    LayerPruning,
    Polishing,
    PruningData,
    Result,
    pruning_data,
    solve,
    solve_path,
)
from solvers import Termination, available_solvers
from studies.reporting.formats import percent, seconds
from studies.reporting.tables import Group, Table
from studies.speed import Figure, diamonds_rows

_ALPHAS = (10.0, 1.0, 0.1, 0.01)

# Seconds for an exact solver, and for an engine on the relaxation in row form.
_EXACT_LIMIT = 60.0
_ENGINE_LIMIT = 120.0


def certifying_table(console: Console) -> Table:
    """Measure all, with a line on what is being done."""
    groups = []
    for title, measure in _PARTS:
        rows = []
        with console.status(f"measuring {title}"):
            for item in measure():
                took = "" if item.seconds is None else seconds(item.seconds)
                rows.append((item.what, took, item.compared))
        groups.append(Group(title, tuple(rows)))
    caption = "Diamonds, log price standardised, trees of depth 6 unless stated; one thread"
    return Table(caption, ("", "seconds", "proven"), tuple(groups))


def relaxation_figures(rows: int = 1145, trees: int = 100, repeats: int = 9) -> Iterator[Figure]:
    """Time the own relaxation against engines on the same form, α = 1.

    Only solving is timed: setting the engine's problem up, and building the Gram matrix, are
    counted for neither side. The own time holds a descent and a rounding too.
    """
    problem = LayerPruning(_data("forest", rows, trees), 1.0)
    ready = available_solvers(problem)
    for form, engine in (("rows", "ecos"), ("gram", "clarabel")):
        if engine not in ready:
            continue
        own = f"relaxation[form={form}]"
        results = [solve(problem, own) for _ in range(repeats)]
        took = median(result.solve_seconds for result in results)
        yield Figure(own, took, f"gap {percent(results[0].gap)} %")
        label = f"{engine}[form={form}]"
        theirs = solve(problem, label, time_limit=_ENGINE_LIMIT)
        ratio = f"{theirs.solve_seconds / took:,.0f} × {own}"
        if theirs.relaxed is None or results[0].relaxed is None:
            yield Figure(label, theirs.solve_seconds, f"at least {ratio}: {theirs.termination}")
            continue
        value = problem.relaxed_objective(results[0].relaxed)
        apart = abs(problem.relaxed_objective(theirs.relaxed) - value) / abs(value)
        yield Figure(label, theirs.solve_seconds, f"{ratio}, values {apart:.1e} apart")


def forest_figures(rows: int = 50164, trees: int = 1000, repeats: int = 3) -> Iterator[Figure]:
    """Time descent and relaxation on a random forest of the paper's full scale."""
    data = _data("forest", rows, trees)
    for alpha in _ALPHAS:
        problem = LayerPruning(data, alpha)
        results = [solve(problem, "relaxation", time_limit=None) for _ in range(repeats)]
        took = median(result.build_seconds + result.solve_seconds for result in results)
        yield Figure(f"relaxation, α = {alpha:g}", took, _proven(results[0]))


def boosting_figures(rows: int, trees: int) -> Iterator[Figure]:
    """Prove boosting (learning rate 0.1) to 1e-4 by branch and bound."""
    data = _data("boosting", rows, trees)
    for alpha in _ALPHAS[1:]:
        yield _exact(LayerPruning(data, alpha), "branch_and_bound")


def highs_figures() -> Iterator[Figure]:
    """Prove by outer approximation, to 1e-4."""
    for ensemble in ("forest", "boosting"):
        small = _data(ensemble, 1145, 20, 3)
        for alpha in _ALPHAS:
            yield _exact(LayerPruning(small, alpha), "highs", f"{ensemble}, 20 trees of depth 3, ")
        large = LayerPruning(_data(ensemble, 1145, 100), 1.0)
        yield _exact(large, "highs", f"{ensemble}, 1,145 × 100, ")


def path_figures(rows: int = 15437, trees: int = 500, repeats: int = 3) -> Iterator[Figure]:
    """Time a path of 50 α with a certificate for each against the plain path."""
    problem = LayerPruning(_data("forest", rows, trees), 1.0)
    plain = 0.0
    for label in ("cbcd[local_search=False]", "cbcd", "relaxation"):
        solve(problem, label)
        paths = [solve_path(problem, solver=label, time_limit=None) for _ in range(repeats)]
        took = median(path.seconds for path in paths)
        plain = plain or took
        gaps = [result.gap for result in paths[0]]
        widest = f"gaps up to {percent(max(gaps))} %, median {percent(median(gaps))} %"
        yield Figure(label, took, f"{took / plain:.2f} × the first, {widest}")


def joint_figures(rows: int = 1145, trees: int = 100, alpha: float = 1.0) -> Iterator[Figure]:
    """Prove depths and weights together, with ridges from strong to the paper's."""
    data = _data("boosting", rows, trees)
    for alpha2 in (1.0, 0.1, 0.01):
        problem = JointPruning(data, alpha, alpha2)
        yield _exact(problem, "branch_and_bound", f"α₂ = {alpha2:g}, ")


def weight_figures(rows: int = 15437, trees: int = 500, alpha: float = 0.1) -> Iterator[Figure]:
    """Time the joint problem against Problem (1), and the best ten of all trees."""
    data = _data("boosting", rows, trees)
    first = solve(LayerPruning(data, alpha), "cbcd", time_limit=None)
    yield Figure(f"Problem (1), cbcd, α = {alpha:g}", first.solve_seconds, _proven(first))
    for label in ("cbcd[local_search=False]", "cbcd"):
        joint = JointPruning(data, alpha, 0.01)
        solve(joint, label, time_limit=0.01)
        result = solve(joint, label, time_limit=None)
        ratio = f"{result.solve_seconds / first.solve_seconds:.1f} × Problem (1)"
        yield Figure(f"joint, α₂ = 0.01, {label}", result.solve_seconds, ratio)
    subset = Polishing(data, data.depths, rho=0, n_trees=10)
    for label in ("iht", "cbcd", "branch_and_bound"):
        solve(subset, label, time_limit=0.01)
        result = solve(subset, label, time_limit=_EXACT_LIMIT)
        said = f"loss {result.objective:.6f}, {_proven(result)}"
        yield Figure(f"best 10 trees, {label}", result.build_seconds + result.solve_seconds, said)


def _exact(problem: LayerPruning | JointPruning, label: str, where: str = "") -> Figure:
    solve(problem, label, time_limit=0.01)  # what is compiled or imported is not timed
    result = solve(problem, label, time_limit=_EXACT_LIMIT, gap=1e-4)
    took = result.build_seconds + result.solve_seconds
    return Figure(f"{label}, {where}α = {problem.alpha:g}", took, _proven(result))


def _proven(result: Result) -> str:
    ended = " at the limit" if result.termination is Termination.TIME_LIMIT else ""
    return f"gap {percent(result.gap)} %{ended}"


@cache
def _data(ensemble: str, rows: int, trees: int, depth: int = 6) -> PruningData:
    X, y = diamonds_rows(rows)
    if ensemble == "forest":
        model = RandomForestRegressor(trees, max_depth=depth, random_state=0)
    else:
        model = GradientBoostingRegressor(
            n_estimators=trees, max_depth=depth, learning_rate=0.1, random_state=0
        )
    data = pruning_data(model.fit(X, y), X, y)
    for label in ("cbcd", "relaxation"):
        solve(LayerPruning(data.take_rows(slice(0, 50)), 1.0), label)
    return data


_PARTS: tuple[tuple[str, Callable[[], Iterator[Figure]]], ...] = (
    ("forest, 1,145 rows × 100 trees, the relaxation alone, α = 1", relaxation_figures),
    ("forest, 50,164 rows × 1,000 trees", forest_figures),
    ("boosting, 1,145 rows × 100 trees", lambda: boosting_figures(1145, 100)),
    ("boosting, 15,437 rows × 500 trees", lambda: boosting_figures(15437, 500)),
    ("outer approximation, 1,145 rows", highs_figures),
    ("forest, 15,437 rows × 500 trees, path of 50 α", path_figures),
    ("depths and weights together, boosting, 1,145 rows × 100 trees", joint_figures),
    ("free weights, boosting, 15,437 rows × 500 trees", weight_figures),
)
