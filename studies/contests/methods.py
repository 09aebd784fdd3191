"""The methods that are compared, in the order of tables and figures, with their names."""

from __future__ import annotations

from studies.contests.candidates import PUBLISHED_RIDGE

# ForestPrune, with α₂ chosen along with α; with α₂ as in the published experiments; without new
# weights; with subtrees in place of layers; and with depths and weights chosen together.
TUNED, POLISHED = "forestprune", f"forestprune[alpha2={PUBLISHED_RIDGE:g}]"
PLAIN, SUBTREES = "forestprune[polish=None]", "forestprune[shape=subtree]"
JOINT = "forestprune[joint=True]"

# Labels of competitors; ForestPrune itself is the first in every table.
_NAMES = {
    TUNED: "ForestPrune",
    PLAIN: "ForestPrune, not polished",
    POLISHED: f"ForestPrune, α₂ = {PUBLISHED_RIDGE:g}",
    SUBTREES: "ForestPrune, subtrees",
    JOINT: "ForestPrune, joint",
    "first_k": "first k trees",
    "first_k[average=False]": "first k trees, 1/n kept",
    "lasso": "lasso",
    "lasso[columns=source]": "lasso, 1/n kept",
    "lasso[refit=True]": "lasso, refitted",
    "bsts": "BSTS",
    "ccp": "CCP",
    "depth_cap": "depth cap",
    "rule_lasso": "node lasso",
}

# Their names in the published tables.
PUBLISHED_NAMES = {
    "first_k": "baseline",
    "first_k[average=False]": "baseline",
    "lasso": "lasso",
    "lasso[columns=source]": "lasso",
    "bsts": "bsts",
    "ccp": "ccp",
}


def method_name(label: str) -> str:
    """Return a method's name for people: the label of one that is not known."""
    return _NAMES.get(label, label)


def named_labels() -> list[str]:
    """Return the labels with options that have a name for people."""
    return [label for label in _NAMES if "[" in label]
