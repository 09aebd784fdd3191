"""The words in which models are written down and drawn."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.ensemble import TreeEnsemble
from forestprune.exporting.start import start_values, starts_constant
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray

if TYPE_CHECKING:
    from forestprune.pruned import PrunedEnsemble

# How many outputs and categories are listed before the rest is left out.
_MOST_OUTPUTS, _MOST_CATEGORIES = 3, 4

# Some libraries' zero, as a threshold, is a number of about this size.
_ZERO = 1e-30

_LINKS = {
    "log": "response = exp(score)",
    "signed_square": "response = sign(score) × score²",
    "softmax": "probabilities = softmax(scores)",
    "one_vs_all": "each class: probability = 1 / (1 + exp(−{factor}score))",
}


def tree_numbers(pruned: PrunedEnsemble) -> list[int]:
    """Return the numbers that the kept trees have in the source."""
    return list(np.flatnonzero(pruned.depths > 0).tolist())


def categories_left(tree: Tree, node: int) -> list[int]:
    """Return the codes that go left at a categorical split."""
    assert tree.categories is not None
    bits = tree.categories[node].astype("<u8").view(np.uint8)
    return list(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


class Wording:
    """Names, numbers and conditions of a model, as text.

    Parameters
    ----------
    model
        The trees.
    digits
        Significant digits, at least 1: thresholds have one more. None for as many as it takes
        to read the same number again.
    minus
        The sign of negative numbers.
    at_most
        The sign between a feature and its threshold.
    longest
        Names longer than this lose their middle; None for whole names.

    Raises
    ------
    InvalidInput
        When ``digits`` is not such a number.
    """

    def __init__(
        self,
        model: TreeEnsemble,
        digits: int | None,
        *,
        minus: str = "-",
        at_most: str = "<=",
        longest: int | None = None,
    ) -> None:
        valid = isinstance(digits, int | np.integer) and not isinstance(digits, bool)
        if digits is not None and not (valid and 1 <= digits <= 17):
            raise InvalidInput(f"digits must be None or an integer from 1 to 17, not {digits!r}")
        self.model, self.digits, self.minus = model, digits, minus
        self.at_most, self.longest = at_most, longest

    def number(self, value: float) -> str:
        """Return a number with all significant digits, without an exponent where it may be."""
        if self.digits is None:
            return self._signed(repr(float(value)))
        return self._signed(_rounded(float(value), self.digits))

    def bound(self, value: float) -> str:
        """Return a threshold: one digit more, but no zeros at the end."""
        if self.digits is None:
            return self.number(value)
        text = _rounded(0.0 if abs(value) < _ZERO else float(value), self.digits + 1)
        if "." in text and "e" not in text:
            text = text.rstrip("0").rstrip(".")
        return self._signed(text)

    def _signed(self, text: str) -> str:
        return text.replace("-", self.minus)

    def feature(self, j: int) -> str:
        """Return the name of a feature, or ``x[j]``."""
        names = self.model.feature_names
        return f"x[{j}]" if names is None else self.short(names[j])

    def short(self, name: object) -> str:
        """Return a name on one line, without its middle where it is too long."""
        text = " ".join(str(name).split())
        if self.longest is None or len(text) <= self.longest:
            return text
        end = self.longest // 2
        return f"{text[: self.longest - end - 1]}…{text[-end:]}"

    def condition(self, tree: Tree, node: int, *, left: bool = True) -> str:
        """Return what holds for rows that go left (or right) at a split."""
        name = self.feature(int(tree.feature[node]))
        if np.isnan(tree.threshold[node]):
            word = "in" if left else "not in"
            return f"{name} {word} {self.categories(tree, node)}"
        sign = self.at_most if left else ">"
        return f"{name} {sign} {self.bound(tree.threshold[node])}"

    def categories(self, tree: Tree, node: int) -> str:
        """Return the set of categories that go left, as text."""
        return self.category_set(int(tree.feature[node]), categories_left(tree, node))

    def category_set(self, feature: int, codes: list[int]) -> str:
        """Return a set of categories of a feature: labels where they are known, else codes."""
        known = self.model.rules.categories
        labels: Any = known[feature] if known else None
        told = [str(code) for code in codes]
        if labels is not None:
            told = [self.short(_label(labels[code])) for code in codes if code < len(labels)]
        if self.longest is not None and len(told) > _MOST_CATEGORIES:
            told = [*told[: _MOST_CATEGORIES - 1], f"{len(told) - _MOST_CATEGORIES + 1} more"]
        return "{" + ", ".join(told) + "}"

    @cached_property
    def outputs(self) -> list[str]:
        """Names of the outputs: empty for one alone."""
        count, classes = self.model.n_outputs, self.model.classes
        if count == 1:
            return [""]
        if classes is not None and len(classes) == count:
            return [self.short(label) for label in classes.tolist()]
        return [str(output) for output in range(count)]

    def values(self, tree: Tree, value: FloatArray) -> str:
        """Return the values (q,) of a node of a tree: of classes the one that stands out."""
        if self.digits is not None:  # where values cancel out, what is left of them is rounding
            small = 10.0 ** (-self.digits - 4) * float(np.abs(tree.value).max())
            value = np.where(np.abs(value) <= small, 0.0, value)
        if len(value) == 1:
            return self.number(value[0])
        only = self.only_output(tree)
        if only is not None:
            return self.number(value[only])
        if self.model.classes is not None:
            best = int(np.argmax(value))
            return f"{self.outputs[best]} {self.number(value[best])}"
        told = [self.number(one) for one in value[:_MOST_OUTPUTS]]
        return ", ".join(told) + (", …" if len(value) > _MOST_OUTPUTS else "")

    def only_output(self, tree: Tree) -> int | None:
        """Return the output that a tree is about, if it is about one of several."""
        moved = np.flatnonzero((tree.value != tree.value[0]).any(axis=0))
        return int(moved[0]) if len(moved) == 1 and self.model.n_outputs > 1 else None

    def share(self, tree: Tree, node: int) -> str:
        """Return the share of the training rows in a node; empty where it is not known."""
        if not tree.cover[0] > 0.0:
            return ""
        share = 100.0 * float(tree.cover[node] / tree.cover[0])
        return f"{share:.0f} %" if share >= 9.5 else f"{share:.2g} %"

    def boxes(self, i: int, between: str = " · ") -> list[list[str]]:
        """Return per node of tree i what a picture says there, a list of lines."""
        tree = self.model.trees[i]
        found = []
        for node in range(tree.n_nodes):
            parts = (self.values(tree, tree.value[node]), self.share(tree, node))
            figures = between.join(part for part in parts if part)
            leaf = tree.left[node] < 0
            found.append([figures] if leaf else [self.condition(tree, node), figures])
        return found

    def title(self, number: int, i: int) -> str:
        """Return what is written over a tree."""
        tree = self.model.trees[i]
        only = self.only_output(tree)
        word = "output" if self.model.classes is None else "class"
        about = "" if only is None else f", {word} {self.outputs[only]}"
        return f"tree {number}, weight {self.number(self.model.scale[i])}{about}"

    def base(self) -> str:
        """Return what is predicted without trees, as text."""
        model = self.model
        if starts_constant(model):
            return self.listed(model.constant + start_values(model))
        estimator = f"{type(model.init).__name__}(x)"
        return f"{estimator} + {self.listed(model.constant)}"

    def listed(self, values: FloatArray) -> str:
        """Return one number, or all in brackets."""
        told = [self.number(one) for one in values]
        if self.longest is not None and len(told) > _MOST_OUTPUTS:
            told = [*told[:_MOST_OUTPUTS], "…"]
        return told[0] if len(values) == 1 else f"[{', '.join(told)}]"

    def sum_of_trees(self) -> str:
        """Return how a prediction is made of the trees."""
        model = self.model
        sum_ = self.base()
        if model.n_trees > 0:
            sum_ += " + sum over the trees of weight × (mean at the leaf − mean at the root)"
        return f"{self._predicted()} = {sum_}{self._link()}"

    def _predicted(self) -> str:
        model = self.model
        if not model.link.is_identity:
            return "score" if model.n_outputs == 1 else "scores"
        if model.classes is None:
            return "prediction"
        if model.n_outputs == 1:
            return f"frequency of class {self.short(model.classes[-1])}"
        return "frequencies"

    def _link(self) -> str:
        model = self.model
        if model.link.is_identity:
            return ""
        factor = "" if model.link.factor == 1.0 else f"{self.number(model.link.factor)} × "
        if model.link.kind == "logistic":
            of = "" if model.classes is None else f" of class {self.short(model.classes[-1])}"
            return f"; probability{of} = 1 / (1 + exp(−{factor}score))"
        return "; " + _LINKS[model.link.kind].format(factor=factor)


def _label(label: object) -> str:
    """Return a category as text: whole numbers without a point."""
    return f"{label:.17g}" if isinstance(label, float) else str(label)


def _rounded(value: float, digits: int) -> str:
    """Return a number with so many significant digits; with an exponent if far from 1."""
    if value == 0.0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits}g}"
    near = float(f"{value:.{digits}g}")  # 0.9999 has become 1
    decimals = digits - 1 - int(np.floor(np.log10(abs(near))))
    return f"{value:.{max(decimals, 0)}f}"
