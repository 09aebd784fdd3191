"""Prune tree ensembles by optimisation, and know how good the answer is.

Everything users need is imported from here; see the README.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

for _name in ("formulations", "solvers"):
    # The two names are generic: another distribution may have installed its own.
    if getattr(_import_module(_name), "DISTRIBUTION", None) != "forestprune":
        raise ImportError(
            f"the package {_name!r} that Python finds is not forestprune's but "
            f"{_import_module(_name).__file__}; install forestprune in an environment of its own"
        )

from forestprune.competitors._core.compete import compete, compete_path
from forestprune.competitors._core.registry import (
    available_competitors,
    competitor_table,
    make_competitor,
)
from forestprune.ensemble import TreeEnsemble
from forestprune.estimators import (
    ForestPrunerClassifier,
    ForestPrunerCV,
    ForestPrunerRegressor,
)
from forestprune.pictures.convergence import plot_convergence
from forestprune.pictures.depths import plot_depths
from forestprune.pictures.features import plot_features
from forestprune.pictures.path import plot_path
from forestprune.pictures.trees import plot_trees
from forestprune.pruned import PrunedEnsemble
from forestprune.pruning import prune, pruning_data
from forestprune.readers import read_ensemble
from formulations import (
    InvalidInput,
    JointPruning,
    JointSubtreePruning,
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

if TYPE_CHECKING:
    from forestprune.forgetful.forest import ForgetfulForestClassifier, ForgetfulForestRegressor
    from forestprune.forgetful.river import RiverClassifier as RiverClassifier
    from forestprune.forgetful.river import RiverRegressor as RiverRegressor
    from forestprune.forgetful.tree import ForgetfulTreeClassifier, ForgetfulTreeRegressor

# Imported when they are asked for: those for streams have many kernels, two need river.
_LATER = {
    "ForgetfulForestClassifier": "forestprune.forgetful.forest",
    "ForgetfulForestRegressor": "forestprune.forgetful.forest",
    "ForgetfulTreeClassifier": "forestprune.forgetful.tree",
    "ForgetfulTreeRegressor": "forestprune.forgetful.tree",
    "RiverClassifier": "forestprune.forgetful.river",
    "RiverRegressor": "forestprune.forgetful.river",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(_LATER[name]), name)


__all__ = [
    "ForestPrunerCV",
    "ForestPrunerClassifier",
    "ForestPrunerRegressor",
    "ForgetfulForestClassifier",
    "ForgetfulForestRegressor",
    "ForgetfulTreeClassifier",
    "ForgetfulTreeRegressor",
    "Guarantee",
    "InvalidInput",
    "JointPruning",
    "JointSubtreePruning",
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
    "available_competitors",
    "available_solvers",
    "capability_table",
    "compete",
    "compete_path",
    "competitor_table",
    "cut_trees",
    "export_problem",
    "load_problem",
    "make_competitor",
    "plot_convergence",
    "plot_depths",
    "plot_features",
    "plot_path",
    "plot_trees",
    "prune",
    "pruning_data",
    "read_ensemble",
    "save_problem",
    "solve",
    "solve_path",
    "verify",
]
