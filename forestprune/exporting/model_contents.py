"""Ensembles as a header and arrays of a file, and back after checking everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.ensemble import TreeEnsemble
from forestprune.exporting.labels import pack_labels, unpack_labels
from forestprune.exporting.start import start_values
from forestprune.exporting.taking import Taken
from forestprune.exporting.tree_contents import pack_trees, unpack_trees
from forestprune.links import Link
from forestprune.rows import RowRules
from formulations.arrays import frozen

Arrays = dict[str, npt.NDArray[Any]]

_DTYPES, _SPARSE = ("float32", "float64"), ("zero", "missing", "refused")


def pack_model(model: TreeEnsemble, arrays: Arrays) -> dict[str, Any]:
    """Return what the header says of an ensemble; its arrays are added.

    Raises
    ------
    InvalidInput
        When it starts from an estimator that does not predict a constant, or has labels that
        are no plain array.
    """
    arrays["scale"] = model.scale
    # In one sum, as `TreeEnsemble.offset` has it: predictions stay the same bit for bit.
    arrays["constant"] = model.constant + start_values(model)
    pack_trees(model.trees, model.n_outputs, arrays)
    told = None
    if model.classes is not None:
        told = pack_labels("classes", model.classes, arrays)
    return {
        "source": model.source,
        "n_features": int(model.n_features),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "allow_nan": bool(model.allow_nan),
        "classes": told,
        "link": {"kind": model.link.kind, "factor": float(model.link.factor)},
        "rules": _pack_rules(model.rules, arrays),
    }


def unpack_model(taken: Taken) -> TreeEnsemble:
    """Return the ensemble after checking everything about it.

    Raises
    ------
    InvalidInput
        When anything is missing, of another type, or does not fit the rest.
    """
    n_features = taken.integer("n_features", least=1)
    names = taken.optional("feature_names", list)
    if names is not None:
        taken.require(
            len(names) == n_features and all(isinstance(name, str) for name in names),
            f"feature_names must be {n_features} texts",
        )
    constant = taken.floats("constant", (None,))
    outputs = len(constant)
    taken.require(outputs > 0, "constant must have an output")
    trees = unpack_trees(taken, n_features, outputs)
    scale = taken.floats("scale", (len(trees),))
    with np.errstate(over="ignore", invalid="ignore"):
        taken.require(
            all(
                np.isfinite(gamma * (tree.value - tree.value[0])).all()
                for gamma, tree in zip(scale, trees, strict=True)
            ),
            "scale is too large for its trees: what they add must be finite",
        )
    told = taken.inner("link")
    link = Link(told.text("kind"), told.number("factor"))
    about, classes = taken.optional("classes", dict), None
    if about is not None:
        classes = unpack_labels(taken, "classes", about)
        each = link.kind in ("softmax", "one_vs_all") or len(classes) > 2
        taken.require(
            len(classes) > 0 and outputs == (len(classes) if each else 1),
            f"it has {outputs} outputs for {len(classes)} classes",
        )
    return TreeEnsemble(
        trees=tuple(trees),
        scale=frozen(scale),
        constant=frozen(constant),
        init=None,
        n_features=n_features,
        feature_names=None if names is None else tuple(names),
        source=taken.text("source"),
        allow_nan=taken.boolean("allow_nan"),
        classes=classes,
        link=link,
        rules=_rules(taken, n_features),
    )


def _pack_rules(rules: RowRules, arrays: Arrays) -> dict[str, Any]:
    if rules.zero_is_missing is not None:
        arrays["rules.zero_is_missing"] = rules.zero_is_missing
    categories = [
        None if labels is None else pack_labels(f"rules.categories.{j}", labels, arrays)
        for j, labels in enumerate(rules.categories)
    ]
    return {
        "dtype": rules.dtype,
        "allow_infinite": bool(rules.allow_infinite),
        "sparse": rules.sparse,
        "sparse_missing": bool(rules.sparse_missing),
        "missing": None if np.isnan(rules.missing) else float(rules.missing),
        "zero_is_missing": rules.zero_is_missing is not None,
        "categories": categories,
        "spaces_replaced": bool(rules.spaces_replaced),
    }


def _rules(taken: Taken, n_features: int) -> RowRules:
    told = taken.inner("rules")
    for name, accepted in (("dtype", _DTYPES), ("sparse", _SPARSE)):
        taken.require(
            told.text(name) in accepted,
            f"{name!r} in its header must be one of {', '.join(accepted)}",
        )
    zero = None
    if told.boolean("zero_is_missing"):
        zero = frozen(taken.array("rules.zero_is_missing", "b", 1))
        taken.require(len(zero) == n_features, f"zero_is_missing must have {n_features} entries")
    stored = told.sequence("categories")
    taken.require(
        len(stored) in (0, n_features), f"categories must be there for {n_features} features"
    )
    labels = [
        None if about is None else unpack_labels(taken, f"rules.categories.{j}", about)
        for j, about in enumerate(stored)
    ]
    missing = told.header.get("missing", 0)
    if missing is not None:
        most = float(np.finfo(told.text("dtype")).max)
        taken.require(
            abs(told.number("missing")) <= most,
            f"'missing' in its header must be a number of type {told.text('dtype')}",
        )
    return RowRules(
        dtype=told.text("dtype"),
        allow_infinite=told.boolean("allow_infinite"),
        sparse=told.text("sparse"),
        sparse_missing=told.boolean("sparse_missing"),
        missing=np.nan if missing is None else told.number("missing"),
        zero_is_missing=zero,
        categories=tuple(labels),
        spaces_replaced=told.boolean("spaces_replaced"),
    )
