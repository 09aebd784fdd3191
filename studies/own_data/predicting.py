"""`forestprune predict`: a saved model on another table."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from rich.console import Console

from forestprune import PrunedEnsemble
from formulations import InvalidInput
from formulations.archive import replacing
from studies.own_data.bundle import Columns, read_model
from studies.own_data.features import features_of, require_taken
from studies.own_data.measuring import scores
from studies.own_data.tables import read_table
from studies.own_data.task import rows_of
from studies.reporting.formats import plural

_ENDINGS = (".csv", ".csv.gz")


def predict_table(
    console: Console, model: Path, data: str, out: Path | None, *, probabilities: bool
) -> None:
    """Write predictions for the rows of a table, in their order, as CSV.

    Parameters
    ----------
    console
        For what is said; errors and notes, so that the output stays a table.
    model
        The file of a model, or the folder that `forestprune prune` wrote.
    data
        A table, as `read_table` takes it.
    out
        File to write; None for the standard output.
    probabilities
        Whether to add the probability of each class.

    Raises
    ------
    InvalidInput, OSError
        When one of them does not serve; then nothing is written.
    """
    if out is not None and not out.name.lower().endswith(_ENDINGS):
        raise InvalidInput(f"--out must end in {' or '.join(_ENDINGS)}, not {out.name!r}")
    if out is not None and not out.parent.is_dir():
        raise InvalidInput(f"--out: cannot write to {str(out)!r}: its folder does not exist")
    pruned, columns = read_model(model)
    if probabilities and pruned.classes is None:
        raise InvalidInput("--proba is for classes, but this model predicts a number")
    rows = read_table(data).rows
    if columns is None:
        columns = Columns(features_of(pruned.model, rows, None), "")
    X = columns.encoding.encode(rows)
    require_taken(X, pruned.model.allow_nan, f"the model, of a {pruned.model.source},")
    for name, count in columns.encoding.unseen(rows).items():
        cells = plural(count, "cell")
        _say(console, f"note: column {name!r} has {cells} of a category that the fit did not see")
    table = pd.DataFrame({"prediction": pruned.predict(X)})
    if probabilities:
        assert pruned.classes is not None
        chances = pruned.predict_proba(X)
        for place, label in enumerate(pruned.classes.tolist()):
            table[f"P({label})"] = chances[:, place]
    if out is None:
        table.to_csv(sys.stdout, index=False)
        return
    with replacing(out) as written:
        table.to_csv(written, index=False)
    _say(console, f"{plural(len(table), 'prediction')} in {out}{_scored(pruned, columns, rows)}")


def _scored(pruned: PrunedEnsemble, columns: Columns, rows: pd.DataFrame) -> str:
    """Return how good they are, where the table has the target in every row."""
    if columns.target not in rows or rows[columns.target].isna().any():
        return ""
    classes = pruned.classes is not None
    score = scores(pruned, rows_of(rows, rows[columns.target], columns, classes, pruned.model))
    told = f"accuracy {score.share:.4f}" if classes else f"R² {score.share:.4f}"
    return f"; {told} against {columns.target!r}"


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
