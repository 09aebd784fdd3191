"""What the rows say: where polishing pays, which method is best at a size, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterator

from studies.reporting.curves import ROUNDING, SAME, Curve, by_instance, couples, matched
from studies.reporting.formats import plural
from studies.spec import PRUNED

# Up to this part of the full model's nodes a model is small, and above the other it is large.
SMALL, LARGE = 0.05, 0.2


def conclusion(curves: list[Curve], budgets: tuple[float, ...]) -> str:
    """Return in a few sentences what came out; of paths that are not there nothing is said.

    Parameters
    ----------
    budgets
        Parts of the full model's nodes at which the methods are compared.
    """
    said = [_ridge_sentence(curves), _subset_sentence(curves, budgets)]
    said += [_best_sentence(curves, budgets), _joint_sentence(curves)]
    return " ".join(filter(None, said))


def contradictions(curves: list[Curve]) -> Iterator[str]:
    """Yield each bound of the joint problem, ρ = 2, above what any path reaches of it."""
    for own in by_instance(curves):
        for one in (curve for curve in own if _is_ridge(curve) or _is_joint_ridge(curve)):
            for other in filter(_is_joint_ridge, own):
                for reached, joint in matched(one, other):
                    excess = (joint["bound"] or 0.0) - reached["joint_objective"]
                    if excess > ROUNDING:
                        yield (
                            f"{one.instance.kind}, {one.instance.grid}, "
                            f"α = {joint['alpha']:.3g}: the bound {joint['bound']!r} of "
                            f"{other.name} is {excess:.2g} above the objective "
                            f"{reached['joint_objective']!r} of {one.name}"
                        )


def _ridge_sentence(curves: list[Curve]) -> str:
    """Say at how many α new weights for the same trees lower the test error."""
    pairs = [
        (one.share(before), after["test_mse"] < before["test_mse"])
        for one, other in couples(curves, _is_pruned, _is_ridge)
        for before, after in matched(one, other)
        if before["trees"]
    ]
    if not pairs:
        return ""
    shares, lower = zip(*pairs, strict=True)
    small = [won for won, share in zip(lower, shares, strict=True) if share <= SMALL]
    large = [won for won, share in zip(lower, shares, strict=True) if share > LARGE]
    parts = [
        f"{sum(some)} of {len(some)} with {size} {100 * limit:g} %"
        for some, size, limit in ((small, "at most", SMALL), (large, "more than", LARGE))
        if some
    ]
    detail = f" ({', '.join(parts)} of the nodes)" if parts else ""
    return (
        f"Ridge polishing lowers the test error of {sum(lower)} of "
        f"{plural(len(lower), 'pruned model')}{detail}."
    )


def _subset_sentence(curves: list[Curve], budgets: tuple[float, ...]) -> str:
    """Say at how many budgets a few polished trees are better than all of them as they are."""
    won = [
        after["test_mse"] < before["test_mse"]
        for one, other in couples(curves, _is_pruned, _is_subset)
        for budget in budgets
        if (before := one.best_within(budget)) and (after := other.best_within(budget))
    ]
    if not won:
        return ""
    return (
        f"At node budgets, polishing to a few trees beats pruning alone at "
        f"{sum(won)} of {len(won)}."
    )


def _best_sentence(curves: list[Curve], budgets: tuple[float, ...]) -> str:
    """Say how often each method has the least test error at a budget."""
    winners = []
    for own in by_instance(curves):
        for budget in budgets:
            found = [(c.name, point) for c in own if (point := c.best_within(budget)) is not None]
            if len(found) > 1:
                winners.append(min(found, key=lambda item: item[1]["test_mse"])[0])
    if not winners:
        return ""
    ranked = sorted(dict.fromkeys(winners), key=winners.count, reverse=True)
    counts = "; ".join(f"{name} ({winners.count(name)})" for name in ranked)
    return f"Least test error at {plural(len(winners), 'budget')}: {counts}."


def _joint_sentence(curves: list[Curve]) -> str:
    """Say how often the joint problem's own objective is no worse than in two steps."""
    values = [
        (steps["joint_objective"], joint["joint_objective"])
        for one, other in couples(curves, _is_ridge, _is_joint_ridge)
        for steps, joint in matched(one, other)
    ]
    if not values:
        return ""
    no_worse = sum(joint <= steps + SAME * abs(steps) for steps, joint in values)
    return (
        f"The joint problem's objective is at most that of pruning, then ridge, at {no_worse} of "
        f"{len(values)} α."
    )


def _is_pruned(curve: Curve) -> bool:
    return curve.cell.method == PRUNED


def _is_ridge(curve: Curve) -> bool:
    return curve.cell.method.polish == "ridge" and not curve.cell.method.joint


def _is_subset(curve: Curve) -> bool:
    return curve.cell.method.polish == "best_subset" and not curve.cell.method.joint


def _is_joint_ridge(curve: Curve) -> bool:
    return curve.cell.method.polish == "ridge" and curve.cell.method.joint
