"""The mathematics: what a pruning problem is, written down once for every solver.

"FP §2.2" in a docstring is a place in Liu and Mazumder, "ForestPrune: Compact Depth-Pruned Tree
Ensembles", AISTATS 2023; problems have its numbers.
"""

from formulations.base import Formulation
from formulations.choices import ChoiceFormulation
from formulations.coefficients import CoefficientFormulation, FreeFormulation
from formulations.cutting import cut_trees
from formulations.data import PruningData
from formulations.errors import InvalidInput
from formulations.joint import JointPruning
from formulations.joint_subtrees import JointSubtreePruning
from formulations.layers import LayerPruning
from formulations.polishing import Polishing
from formulations.rewritings.canonical import CanonicalForm
from formulations.rewritings.columns import ChoiceColumns
from formulations.rewritings.regression import NormalEquations, Regression
from formulations.rewritings.subtree_columns import SubtreeColumns
from formulations.storage import load_problem, save_problem
from formulations.subtrees import SubtreePruning

__all__ = [
    "CanonicalForm",
    "ChoiceColumns",
    "ChoiceFormulation",
    "CoefficientFormulation",
    "Formulation",
    "FreeFormulation",
    "InvalidInput",
    "JointPruning",
    "JointSubtreePruning",
    "LayerPruning",
    "NormalEquations",
    "Polishing",
    "PruningData",
    "Regression",
    "SubtreeColumns",
    "SubtreePruning",
    "cut_trees",
    "load_problem",
    "save_problem",
]

DISTRIBUTION = "forestprune"
