"""What a file of a pruned ensemble holds: a header and plain arrays, version 1.

The header is JSON. Next to ``format``, ``version`` and ``forestprune``, the version that wrote
it, it has

- ``source``, ``n_features``, ``feature_names``, ``allow_nan``, ``link``: see `TreeEnsemble`;
- ``rules``: see `RowRules`; null for ``missing`` is NaN, and arrays are entries ``rules.NAME``;
  ``categories`` has null or what is said of labels for each feature, or is empty;
- ``classes``: null, or that the array ``classes`` holds them; ``objects`` is true where labels
  were Python objects, which are written as numbers or texts;
- ``source_nodes``, ``alpha``, ``max_nodes``, ``validation``: see `PrunedEnsemble`;
- ``result`` and ``polishing``: the figures of the solvers' results (`_FIGURES`), with
  infinities as ``"inf"`` and ``"-inf"``; null where there was no polishing.

The arrays are

- ``feature``, ``threshold``, ``left``, ``missing_left``, ``value``, ``cover`` and, where there
  are categorical splits, ``categories``: see `Tree`, of all trees one after the other; tree i has
  the entries ``node_start[i]`` to ``node_start[i + 1]``;
- ``scale`` and ``constant``, see `TreeEnsemble`; what the ensemble starts from is in ``constant``;
- ``depths``, see `PrunedEnsemble`;
- ``result.choice``, ``result.beta``, ``result.trace`` (seconds, objective, bound), and the same
  for ``polishing``.

Not kept are a result's relaxed point, its log and the solver's further figures.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forestprune.exporting.model_contents import Arrays, pack_model, unpack_model
from forestprune.exporting.taking import Taken
from forestprune.pruned import PrunedEnsemble
from formulations.arrays import finite_floats, frozen
from solvers import Guarantee, Result, Termination
from solvers._core.result import BoundSource, TraceEntry

FORMAT = "forestprune model"
VERSION = 1

_FIGURES = ("objective", "bound", "build_seconds", "solve_seconds")
_WORDS = ("bound_source", "termination", "guarantee")


def packed(pruned: PrunedEnsemble) -> tuple[dict[str, Any], Arrays]:
    """Return the header, without what identifies the format, and the arrays.

    Raises
    ------
    InvalidInput
        As `pack_model`; when ``alpha`` or a validation error is not finite.
    """
    arrays: Arrays = {"depths": pruned.depths}
    validation = pruned.validation
    if validation is not None:
        validation = finite_floats("validation", validation).tolist()
    header = pack_model(pruned.model, arrays) | {
        "source_nodes": int(pruned.source_nodes),
        "alpha": None if pruned.alpha is None else float(finite_floats("alpha", pruned.alpha)),
        "max_nodes": pruned.max_nodes,
        "validation": validation,
    }
    header["result"] = _pack_result("result", pruned.result, arrays)
    header["polishing"] = None
    if pruned.polishing is not None:
        header["polishing"] = _pack_result("polishing", pruned.polishing, arrays)
    return header, arrays


def unpacked(header: dict[str, Any], entries: Arrays) -> PrunedEnsemble:
    """Return the ensemble that a header and arrays describe, after checking everything.

    Raises
    ------
    InvalidInput
        When anything is missing, of another type, or does not fit the rest.
    """
    taken = Taken(header, entries)
    depths = taken.array("depths", "iu", 1)
    taken.require(len(depths) == 0 or depths.min() >= 0, "depths has a negative one")
    model = unpack_model(taken)
    taken.require(
        [tree.depth for tree in model.trees] == depths[depths > 0].tolist(),
        "its trees do not have the depths it tells",
    )
    source_nodes = taken.integer("source_nodes", least=1)
    taken.require(
        model.n_nodes <= source_nodes, f"it has more nodes than its source, {source_nodes}"
    )
    result = _result(taken, "result", len(depths), source_nodes)
    polishing = None
    if taken.optional("polishing", dict) is not None:
        polishing = _result(taken, "polishing", len(depths), source_nodes)
    validation = taken.optional("validation", list)
    if validation is not None:
        taken.require(len(validation) == 2, "validation must be two errors")
        validation = tuple(taken.number_of("validation", error) for error in validation)
    max_nodes = taken.optional("max_nodes", int)
    if max_nodes is not None:
        max_nodes = taken.integer("max_nodes", least=0)
    pruned = PrunedEnsemble(
        model=model,
        depths=frozen(depths, np.int64),
        source_nodes=source_nodes,
        alpha=None if taken.header.get("alpha", "") is None else taken.number("alpha"),
        result=result,
        polishing=polishing,
        validation=validation,
        max_nodes=max_nodes,
    )
    taken.finish()
    return pruned


def _pack_result(name: str, result: Result, arrays: Arrays) -> dict[str, Any]:
    """Return the figures of a result; its arrays are added."""
    assert result.choice is not None
    assert result.beta is not None
    arrays[f"{name}.choice"] = result.choice
    arrays[f"{name}.beta"] = result.beta
    trace = [(entry.seconds, entry.objective, entry.bound) for entry in result.trace]
    arrays[f"{name}.trace"] = np.array(trace, dtype=np.float64).reshape(-1, 3)
    return (
        {"solver": result.solver, "versions": result.versions}
        | {figure: _told(getattr(result, figure)) for figure in _FIGURES}
        | {word: str(getattr(result, word)) for word in _WORDS}
    )


def _told(number: float) -> float | str:
    return float(number) if np.isfinite(number) else str(float(number))


def _result(taken: Taken, name: str, trees: int, source_nodes: int) -> Result:
    figures = taken.inner(name)
    choice = taken.array(f"{name}.choice", "biu", 1)
    taken.require(
        len(choice) in (trees, source_nodes),
        f"{name}.choice has {len(choice)} entries, for {trees} trees of {source_nodes} nodes",
    )
    beta = taken.floats(f"{name}.beta", (trees,))
    trace = taken.array(f"{name}.trace", "f", 2)
    taken.require(
        trace.shape[1] == 3 and not np.isnan(trace).any(), f"{name}.trace is not what it must be"
    )
    versions = figures.dictionary("versions")
    for package, version in versions.items():
        taken.require(isinstance(version, str), f"the version of {package!r} must be a text")
    return Result(
        solver=figures.text("solver"),
        choice=frozen(choice),
        beta=frozen(beta),
        objective=figures.number("objective", infinite=True),
        bound=figures.number("bound", infinite=True),
        bound_source=figures.word("bound_source", BoundSource),
        relaxed=None,
        termination=figures.word("termination", Termination),
        guarantee=figures.word("guarantee", Guarantee),
        build_seconds=figures.number("build_seconds"),
        solve_seconds=figures.number("solve_seconds"),
        trace=tuple(TraceEntry(*entry) for entry in trace.tolist()),
        versions=versions,
    )
