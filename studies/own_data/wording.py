"""What is proven and how the size was chosen, in words."""

from __future__ import annotations

from solvers import Result
from studies.own_data.account import Account
from studies.own_data.choosing import Size
from studies.reporting.formats import objective, percent

# A gap that is as good as no bound.
_NOTHING = 0.995
# An error that has risen by more than this share is worth a hint.
_MUCH = 0.1

_SOURCES = {
    "frank_wolfe": "the bound is the least value of a linearisation of the convex relaxation, "
    "recomputed from the data and not taken from the solver",
    "dual": "the bound is a dual value of the perspective relaxation, recomputed from the data "
    "and not taken from the solver",
    "split": "the bound is that of a perspective relaxation with a split Gram matrix",
    "closed_form": "the problem is a linear system, solved exactly",
    "exhaustion": "a search left no better choice out",
    "engine": "the bound is the word of the solver's engine, lowered by its tolerances",
}


def change_words(full: float, left: float) -> str:
    """Say how the error of what is left compares, to go on with "that of the whole ensemble"."""
    if full == 0.0:
        return "the same as" if left == 0.0 else "above"
    change = left / full - 1.0
    if abs(change) < 5e-4:
        return "the same as"
    return f"{100.0 * abs(change):.1f} % {'above' if change > 0.0 else 'below'}"


def cost_words(account: Account) -> str:
    """Say how the error has changed, and what to ask for where it has risen much."""
    full, left = (one.error for one in account.scores[account.unseen])
    rows = "test rows" if account.unseen == "test" else "the rows that it was pruned on"
    words = (
        f"On {rows}, the {account.measure} is {change_words(full, left)} that of the whole ensemble"
    )
    more = _more_accurate(account.size)
    if left <= (1.0 + _MUCH) * full or not more:
        return f"{words}."
    return f"{words}; larger and more accurate: {more}"


def _more_accurate(size: Size) -> str:
    """Return options for a larger model; none where the most accurate one was asked for."""
    if size.max_nodes is not None:
        return "a larger --max-nodes"
    if size.alpha is not None:
        return "a smaller --alpha" if size.alpha > 0.0 else ""
    return {
        "best": "",
        "one_standard_error": "--choose best, --within 0.05",
        "within": "--choose best, a smaller --within",
    }[size.rule]


def choice_words(account: Account) -> str:
    """Say how the size was chosen."""
    size, curves = account.size, account.chosen.curves
    if size.max_nodes is not None:
        few = " Of its trees the best few were then kept." if account.few_trees else ""
        return (
            f"At most {size.max_nodes:,} nodes were asked for; this is the largest model that a "
            f"search for α found within that.{few}"
        )
    if size.alpha is not None:
        return f"The weight of the size was given: α = {size.alpha:g} times the variance of y."
    table = curves[0].table
    alpha = float(table["alpha"].iloc[curves[0].chosen])
    rows = f"{account.rows['validation']:,} rows of validation"
    rule = {
        "best": f"the one with the smallest error on {rows}",
        "one_standard_error": f"the smallest one whose error on {rows} is above the smallest "
        "there by at most one standard error, of that error and of the difference to it",
        "within": f"the smallest one whose error on {rows} is at most "
        f"{100.0 * size.number:.3g} % above that of the whole ensemble",
    }[size.rule]
    words = f"Of {len(table)} models along a path of α this is {rule} (α = {alpha:.3g})."
    if account.chosen.polished is not None:
        before, after = account.chosen.polished
        kept = "new ones were taken" if after < before else "they were left as they are"
        words += (
            f" With the trees’ own weights that error is {number_words(before)}, with new ones "
            f"{number_words(after)}: {kept}."
        )
    return words


def proof_words(result: Result, what: str) -> str:
    """Say what is proven of a result.

    Parameters
    ----------
    what
        What was chosen, in the singular: "choice of depths".
    """
    value = _six(result.objective)
    local = ""
    if result.guarantee == "local":
        local = " Changing any single tree would not improve it."
    if not result.gap < _NOTHING:
        return (
            f"This {what} has an objective of {value}. No useful bound is known, so it is not "
            f"proven how near to the best one that is.{local}"
        )
    source = _SOURCES[str(result.bound_source)]
    bound = _six(result.bound)
    if result.guarantee == "optimal":
        return (
            f"This {what} is proven to be the best one: its objective is {value}, and none has "
            f"one below {bound}. {source[0].upper()}{source[1:]}."
        )
    return (
        f"This {what} is proven to be within {percent(result.gap)} % of the best one: its "
        f"objective is {value}, and none has one below {bound}.{local} "
        f"{source[0].upper()}{source[1:]}."
    )


def _six(value: float) -> str:
    return number_words(value) if abs(value) >= 1e5 else objective(value)


def share_words(share: float) -> str:
    """Write a share in percent."""
    return f"{percent(share)} %"


def number_words(value: float) -> str:
    """Write a number with five digits, and no exponent where that can be read."""
    return f"{value:,.0f}" if 1e5 <= value < 1e10 else f"{value:.5g}"
