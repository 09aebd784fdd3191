"""Prune tree ensembles by optimisation, and know how good the answer is.

Everything users need is imported from here; see the README.
"""

from importlib import import_module as _import_module

for _name in ("formulations", "solvers"):
    # The two names are generic: another distribution may have installed its own.
    if getattr(_import_module(_name), "DISTRIBUTION", None) != "forestprune":
        raise ImportError(
            f"the package {_name!r} that Python finds is not forestprune's but "
            f"{_import_module(_name).__file__}; install forestprune in an environment of its own"
        )

from forestprune.ensemble import TreeEnsemble
from forestprune.plots import plot_path
from forestprune.pruned import PrunedEnsemble
from forestprune.pruning import prune, pruning_data
from forestprune.readers import read_ensemble
from formulations import (
    InvalidInput,
    JointPruning,
    LayerPruning,
    Polishing,
    PruningData,
    SubtreePruning,
    cut_trees,
    load_problem,
    save_problem,
)
from solvers import (
    Guarantee,
    Path,
    Result,
    SolverError,
    Termination,
    available_solvers,
    capability_table,
    export_problem,
    solve,
    solve_path,
    verify,
)

__all__ = [
    "Guarantee",
    "InvalidInput",
    "JointPruning",
    "LayerPruning",
    "Path",
    "Polishing",
    "PrunedEnsemble",
    "PruningData",
    "Result",
    "SolverError",
    "SubtreePruning",
    "Termination",
    "TreeEnsemble",
    "available_solvers",
    "capability_table",
    "cut_trees",
    "export_problem",
    "load_problem",
    "plot_path",
    "prune",
    "pruning_data",
    "read_ensemble",
    "save_problem",
    "solve",
    "solve_path",
    "verify",
]
