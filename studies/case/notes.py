"""What a reader of the tables of `case` must know, and what came out."""

from __future__ import annotations

from studies.case.kind import CaseRun
from studies.reporting import formats
from studies.reporting.report import machine_note, reasons


def conclusion(run: CaseRun) -> str:
    """Return in a sentence what the few trees lose, and single trees."""
    said = []
    for cell, row in run.cells:
        if not row.get("models"):
            continue
        models = row["models"]
        full, few = models["full"], models["few"]
        above = {
            key: formats.change(models[key]["test_rmse"] / full["test_rmse"])
            for key in ("few", "one", "cart", "cart_nodes")
            if full["test_rmse"] > 0.0
        }
        if above:
            said.append(
                f"{cell.instance.kind}: of {full['trees']:,} trees with {full['nodes']:,} nodes "
                f"{few['trees']} with {few['nodes']:,} nodes and {few['features']} of "
                f"{full['features']} features are left; test RMSE {above['few']} % over the full "
                f"model's. A single tree of depth {cell.instance.depth}: {above['cart']} %, one of "
                f"as many nodes: {above['cart_nodes']} %, the best single one of the forest: "
                f"{above['one']} %."
            )
            single = min(models[key]["test_rmse"] for key in ("one", "cart", "cart_nodes"))
            if single < few["test_rmse"]:
                said.append("There a single tree of that size is the better one to read.")
    return " ".join(said)


def notes(run: CaseRun) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if not any(row.get("models") for _, row in run.cells):
        return ["No case has finished yet.", *reasons(run)]
    lines = []
    for cell, row in run.cells:
        i, made = cell.instance, run.preparations[cell.instance]
        missing = (
            "no value is missing"
            if not made["missing"]
            else f"{formats.percent(made['missing'])} % of the values are missing, in "
            f"{formats.plural(made['columns_with_missing'], 'feature')}; trees send them where "
            "they learned to"
        )
        lines.append(
            f"{i.kind}: {i.rows:,} training rows, {i.held_out:,} for validation and {i.held_out:,} "
            f"for testing, {formats.plural(made['features'], 'feature')}, {missing}. RMSE in units "
            "of the response"
            + (", the logarithm of the price." if i.data == "diamonds" and not i.target else ".")
        )
        chosen = (
            "as asked for"
            if cell.alpha is not None
            else f"of {cell.values}, where the best {cell.trees} trees have at most "
            f"{cell.most_nodes:,} nodes in all and the least error on the validation rows"
        )
        if row.get("models"):
            cut = row["subsets_cut"]
            if cut:
                lines.append(
                    f"{i.kind}: {cut} of {len(row['points'])} searches for the best subset were "
                    "ended by the time limit."
                )
            lines.append(
                f"α = {row['alpha']:.3g}, {chosen}. Problem (1) there is proven within "
                f"{formats.percent(row['pruning_gap'])} % of the optimum. The best ten of its "
                "trees, Problem (2) with ρ = 0, are those that block coordinate descent finds, "
                "without a proof, weighed anew without a ridge. All α together took "
                f"{formats.seconds(row['seconds'])} s. Features of the ten: "
                f"{', '.join(row['features'])}."
            )
    return [
        *lines,
        "The test rows have no say in α, the trees or their weights. The best tree of the forest "
        "is the best subset of one whole tree; single trees are grown by scikit-learn, to the "
        "depth of the forest's or to as many nodes as the ten have; all on the training rows.",
        "Published are 7.54 % for the full model, 8.47 % for ten trees with 14 features and 10.6 % "
        "for a single tree, on census data of 50,000 × 295 at α = 15. That is another data set: "
        "only what the errors are above the full model's can be compared.",
        machine_note(run, "process"),
        *reasons(run),
    ]
