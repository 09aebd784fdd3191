"""The methods that are compared, in the order of tables and figures, with their names."""

from __future__ import annotations

# ForestPrune itself is the first in every table; these come from the competitors' labels.
_NAMES = {
    "forestprune": "ForestPrune",
    "forestprune[polish=None]": "ForestPrune, not polished",
    "forestprune[alpha2=0.01]": "ForestPrune, α₂ = 0.01",
    "forestprune[shape=subtree]": "ForestPrune, subtrees",
    "forestprune[joint=True]": "ForestPrune, joint",
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
