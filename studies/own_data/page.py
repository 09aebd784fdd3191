"""The report: one page that needs nothing else, neither a network nor a script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from studies.own_data.account import Account
from studies.own_data.bundle import MODEL
from studies.own_data.choosing import other_sizes
from studies.own_data.measuring import Scores
from studies.own_data.pictures import (
    depths_picture,
    errors_picture,
    features_picture,
    trees_picture,
)
from studies.own_data.wording import (
    change_words,
    choice_words,
    number_words,
    proof_words,
    share_words,
)
from studies.reporting import html
from studies.reporting.formats import plural, seconds
from studies.reporting.tables import Group, Table


def page(account: Account) -> str:
    """Return the report as HTML."""
    body = "\n".join(
        [
            _head(account),
            _errors(account),
            _proof(account),
            _kept(account),
            _trees(account),
            _use(),
            _foot(account),
        ]
    )
    return html.page(f"{account.target} in {account.data}, pruned", body)


def _head(account: Account) -> str:
    pruned = account.pruned
    full, left = account.scores[account.unseen]
    nodes = f"{share_words(pruned.compactness)} of {pruned.source_nodes:,}"
    name, digits = ("accuracy", 1) if account.classifies else ("R²", 3)
    figures = [
        ("trees", f"{pruned.n_trees:,}", f"of {len(pruned.depths):,}"),
        ("nodes", f"{pruned.n_nodes:,}", nodes),
        ("features", f"{pruned.n_features_used:,}", f"of {pruned.model.n_features:,}"),
        (
            f"{name}, {account.unseen} rows",
            _share(left.share, digits, account.classifies),
            f"whole ensemble {_share(full.share, digits, account.classifies)}",
        ),
    ]
    cells = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{value}<small>{under}</small></dd></div>"
        for what, value, under in figures
    )
    return "\n".join(
        [
            f'<p class="over">{escape(account.data)} · {escape(account.began[:10])}</p>',
            f"<h1>{escape(account.target)}, predicted by {_left(account)}</h1>",
            f'<p class="lead">{_lead(account, full, left)}</p>',
            f'<dl class="figures">{cells}</dl>',
        ]
    )


def _left(account: Account) -> str:
    pruned = account.pruned
    if pruned.n_trees == 0:
        return "a constant"
    return f"{plural(pruned.n_nodes, 'node')} in {plural(pruned.n_trees, 'tree')}"


def _lead(account: Account, full: Scores, left: Scores) -> str:
    pruned = account.pruned
    rows = "test rows, which decided nothing"
    if account.unseen == "training":
        rows = "the rows that it was pruned on"
    return (
        f"Of the {pruned.source_nodes:,} nodes of the {escape(account.kind)}, "
        f"{share_words(pruned.compactness)} are left. On {rows}, the {account.measure} is "
        f"{change_words(full.error, left.error)} that of the whole ensemble."
    )


def _errors(account: Account) -> str:
    parts = ["<h2>Error against size</h2>", f"<p>{escape(choice_words(account))}</p>"]
    if account.chosen.curves:
        parts.append(html.figure(errors_picture(account.chosen, account.measure), _under(account)))
    return "\n".join([*parts, _scores(account), _sizes(account)])


def _under(account: Account) -> str:
    """Return what is below the curves."""
    last = account.chosen.curves[-1].rows
    words = "Each point is a model of the path. "
    words += {
        "test": "The thick line is the error on test rows, which decided nothing; ",
        "validation": "The line is the error in validation, by which the size was chosen; ",
    }[last]
    words += "the band is one standard error of that mean on each side."
    if len(account.chosen.curves) > 1:
        how = "pruned" if account.saved else "fitted and pruned"
        words += f" The thin line is that in validation, of ensembles {how} without these rows."
    return words


def _scores(account: Account) -> str:
    name = "accuracy" if account.classifies else "R²"
    header = ["rows", "", account.measure, *([] if account.classifies else ["root"]), name]
    lines = []
    for what, pair in account.scores.items():
        for label, one in zip(("whole", "pruned"), pair, strict=True):
            root = [] if account.classifies else [number_words(one.root)]
            share = _share(one.share, 2 if account.classifies else 4, account.classifies)
            first = f"{what}, {account.rows[what]:,}" if label == "whole" else ""
            lines.append([first, label, number_words(one.error), *root, share])
    return _table(header, lines)


def _sizes(account: Account) -> str:
    """Return a table of what other sizes cost, where the size was chosen by validation."""
    curves = account.chosen.curves
    if not curves or curves[0].rows != "validation":
        return ""
    lines = []
    for part, place in other_sizes(curves[0]).items():
        row = curves[0].table.iloc[place]
        errors = [number_words(float(curve.table["error"].iloc[place])) for curve in curves]
        sizes = [f"{int(row['nodes']):,}", f"{int(row['trees']):,}", f"{row['alpha']:.3g}"]
        lines.append([f"at most {100.0 * part:.0f} % more", *sizes, *errors])
    if not lines:
        return ""
    header = ["error in validation", "nodes", "trees", "α", *(curve.rows for curve in curves)]
    return (
        f"<p>Other sizes: the smallest models whose {escape(account.measure)} in validation is so "
        "much above that of the whole ensemble, to be had with <code>--within</code>.</p>"
        + _table(header, lines)
    )


def _proof(account: Account) -> str:
    pruned = account.pruned
    what = "choice of depths" if pruned.by_depth else "choice of subtrees"
    parts = [f"<h2>How good the choice is</h2><p>{escape(proof_words(pruned.result, what))}</p>"]
    if pruned.polishing is not None:
        words = proof_words(pruned.polishing, "choice of weights for the kept trees")
        parts.append(f"<p>{escape(words)}</p>")
    parts.append(
        "<p>The objective is the mean squared error on the training rows and the price of what is "
        "kept. A proof is about these rows and this price; what new rows are like is for the "
        "errors above to say.</p>"
    )
    return "\n".join(parts)


def _kept(account: Account) -> str:
    return "\n".join(
        [
            "<h2>Depths, before and after</h2>",
            html.figure(
                depths_picture(account.chosen),
                f"Depths of {plural(len(account.pruned.depths), 'tree')}; 0 are those that were "
                "dropped.",
            ),
            "<h2>Features</h2>",
            html.figure(
                features_picture(account.chosen),
                "Share of the splits that use each feature; numbers of splits at the bars.",
            ),
        ]
    )


def _trees(account: Account) -> str:
    pruned = account.pruned
    picture, count = trees_picture(account.chosen)
    parts = ["<h2>The trees</h2>"]
    if pruned.n_trees == 0:
        return "<h2>The trees</h2><p>None is left: the model predicts a constant.</p>"
    if picture is None:
        largest = max(tree.n_nodes for tree in pruned.model.trees)
        parts.append(
            f"<p>The largest tree has {largest:,} nodes, too many to draw; "
            "<code>model.to_text()</code> says them all in words.</p>"
        )
    else:
        which = (
            "All of them."
            if count == pruned.n_trees
            else (f"The {count} that change predictions most, of {pruned.n_trees:,}.")
        )
        parts.append(html.figure(picture, which, natural=True))
    return "\n".join(parts)


def _use() -> str:
    shell = f"forestprune predict {MODEL} NEW.csv --out predictions.csv"
    python = (
        "import forestprune as fp\n\n"
        f'model = fp.PrunedEnsemble.load("{MODEL}")\n'
        "print(model.to_text())           # the trees in words\n"
        "model.to_scikit_learn()          # or to_onnx(), to_treelite()"
    )
    return (
        "<h2>Use it</h2><p>On the command line, in this folder; columns are found by their names, "
        f"and become numbers as they did here:</p><pre>{escape(shell)}</pre>"
        f"<p>In Python:</p><pre>{escape(python)}</pre>"
    )


def _foot(account: Account) -> str:
    facts = {"command": account.command, **account.options}
    facts["versions"] = ", ".join(f"{name} {number}" for name, number in account.versions.items())
    facts["began"] = f"{account.began}, took {seconds(account.seconds)} s"
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in account.notes)
    return (
        f"<h2>How it was made</h2>{notes}{html.told(facts)}"
        f'<p class="foot">Written by forestprune {escape(account.versions["forestprune"])}. '
        "This page needs no network and runs no script.</p>"
    )


def _table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return html.table(Table("", tuple(header), (Group("", tuple(map(tuple, lines))),)))


def _share(share: float, digits: int, percent: bool) -> str:
    if math.isnan(share):
        return "–"
    return f"{100.0 * share:.{digits}f} %" if percent else f"{share:.{digits}f}"
