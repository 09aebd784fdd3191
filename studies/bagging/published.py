"""What the paper's Figure 4 and its authors' files say beside what was measured."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from studies.bagging.outcomes import Outcomes
from studies.comparing.published import Told, published_line, published_rise
from studies.comparing.rises import SAME, over_folds, rise_beside
from studies.contests.methods import PUBLISHED_NAMES
from studies.reporting.published import Compared, Comparison, counts, mark
from studies.reporting.tables import NOT_RUN, Group, Table

# Of CCP there are no published files, but medians in the paper's text, by φ: test errors over
# ForestPrune's, as ratios less 1.
_CCP_RISES = {0.01: 0.78, 0.025: 0.78, 0.05: 1.1}

_TEXT = "The published median is that of the paper's text, over all its data sets."

# What the paper's text says of ForestPrune at this φ: from … to …, over all its data sets.
TEXT_PHI = 0.01
TEXT_RISE_PERCENT, TEXT_TIMES_SMALLER, TEXT_DEPTH = (1.0, 5.0), (10.0, 20.0), (5.0,)


class Beside(NamedTuple):
    """Published figures of ForestPrune beside ours, at one φ.

    Attributes
    ----------
    errors, nodes
        Of the models that are chosen.
    at_nodes
        The published errors beside those of our models within as many nodes.
    rises
        What the competitors' errors are above ForestPrune's.
    """

    errors: Comparison
    nodes: Comparison
    at_nodes: Comparison
    rises: Comparison


def published_rise_of(told: Collection[Told], method: str, phi: float) -> float | None:
    """Return the published median rise over ForestPrune, or None.

    Over these data sets, but for CCP: over all of the paper.
    """
    name = PUBLISHED_NAMES.get(method)
    if name is None or not any(one.name for one in told):
        return None
    if name == "ccp":
        return _CCP_RISES.get(phi)
    return published_rise("bagging", told, name, phi=phi)


def beside(found: Outcomes) -> dict[float, Beside]:
    """Return published figures beside ours by φ, if there are any of a data set at hand."""
    return {phi: _beside(found, phi) for phi in found.phis} if found.is_published else {}


def published_comparisons(found: Outcomes) -> tuple[Comparison, ...]:
    """Return published errors and sizes beside ours for every data set at hand, if any has some."""
    return tuple(comparison for one in beside(found).values() for comparison in one)


def _beside(found: Outcomes, phi: float) -> Beside:
    errors, nodes, at_nodes = [], [], []
    for data in found.data:
        lines = found.of(method=found.own, phi=phi, data=data)
        told = found.told[data]
        line = published_line("bagging", dataset=told.name, phi=phi) or {}
        mse, spread = line.get("forestprune_mse"), line.get("forestprune_mse_sd")
        budget = line.get("node_budget")
        errors.append(over_folds(data, told, mse, lines["test"], spread))
        nodes.append(over_folds(data, told, budget, lines["nodes"]))
        if budget is not None:
            within = found.at_nodes(data, budget)
            at_nodes.append(over_folds(data, told, mse, within["test"], spread))
    where = f"bagging, {found.protocol} protocol, φ = {phi:g}"
    return Beside(
        Comparison(f"{where}: test MSE of ForestPrune", tuple(errors)),
        Comparison(f"{where}: nodes of ForestPrune", tuple(nodes)),
        Comparison(
            f"{where}: test MSE of ForestPrune within the published number of nodes",
            tuple(at_nodes),
        ),
        Comparison(f"{where}: test MSE of others over ForestPrune", tuple(_rises(found, phi))),
    )


def _rises(found: Outcomes, phi: float) -> Iterator[Compared]:
    """Yield the median rises of the paper's competitors beside the published ones."""
    for method in found.rivals:
        told = published_rise_of(found.told.values(), method, phi)
        if told is not None:
            note = _TEXT if PUBLISHED_NAMES[method] == "ccp" else SAME
            yield rise_beside(method, told, found.rises(method, phi), note)


def published_tables(found: Outcomes) -> tuple[Table, ...]:
    """Return one table of published errors and ours, as chosen and at the published sizes.

    None where nothing is published of the data sets at hand.
    """
    header = (
        "",
        "published MSE",
        "nodes",
        "ours",
        "nodes",
        "within",
        "ours at published nodes",
        "within",
    )
    groups = [Group(f"φ = {phi:g}", tuple(_data_rows(one))) for phi, one in beside(found).items()]
    of_path = "best by validation rows" if found.protocol == "sound" else "one of the smallest α"
    caption = (
        "Published test MSE and ours, means over folds ± one standard deviation: of the model that "
        f"is chosen, and of the {of_path} among those with at most the published number of nodes. "
        "Within: at most the published mean and one deviation"
    )
    return (Table(caption, header, tuple(groups)),) if groups else ()


def _data_rows(one: Beside) -> Iterator[tuple[str, ...]]:
    """Yield a row for each data set with published figures, and how many errors are within."""
    chosen, sizes = ({row.name: row for row in of.rows} for of in (one.errors, one.nodes))
    for row in one.at_nodes.rows:
        error, nodes = chosen[row.name], sizes[row.name]
        yield (
            row.name,
            _mean(error.published, error.spread),
            _count(nodes.published),
            _mean(error.ours, error.ours_spread),
            _count(nodes.ours),
            mark(error.within),
            _mean(row.ours, row.ours_spread),
            mark(row.within),
        )
    if counts((one.errors,))[1]:
        yield ("within", "", "", "", "", _how_many(one.errors), "", _how_many(one.at_nodes))


def _mean(mean: float | None, spread: float | None) -> str:
    if mean is None:
        return NOT_RUN
    return f"{mean:.4f}" if spread is None else f"{mean:.4f} ± {spread:.4f}"


def _count(nodes: float | None) -> str:
    return NOT_RUN if nodes is None else f"{nodes:,.0f}"


def _how_many(comparison: Comparison) -> str:
    """Return how many of the figures that are judged are within what is published."""
    within, told = counts((comparison,))
    return f"{within} of {told}" if told else NOT_RUN
