"""The mathematics: what a pruning problem is, written down once for every solver."""

from formulations.base import Formulation
from formulations.canonical import CanonicalForm
from formulations.columns import ChoiceColumns
from formulations.data import PruningData
from formulations.errors import InvalidInput
from formulations.layers import LayerPruning

__all__ = [
    "CanonicalForm",
    "ChoiceColumns",
    "Formulation",
    "InvalidInput",
    "LayerPruning",
    "PruningData",
]

DISTRIBUTION = "forestprune"
