"""What is proven and how the size was chosen, in words."""

from __future__ import annotations

from solvers import Result
from studies.own_data.account import Account
from studies.reporting.formats import objective, percent

# A gap that is as good as no bound.
_NOTHING = 0.995

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
        "one_standard_error": f"the smallest one whose error on {rows} is within one standard "
        "error of the smallest there",
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
