"""What the paper's case study reports beside what was measured."""

from __future__ import annotations

from studies.case.kind import CaseRun
from studies.case.tables import PUBLISHED
from studies.reporting.published import Compared, Comparison

_NOTE = (
    "Census data of 50,000 × 295 there, another data set here: how far the RMSE is above that of "
    "the full model of 500 trees."
)

# What is measured here, by the names of what is published.
_MODELS = {"best ten": "few", "single tree": "cart"}


def comparisons(run: CaseRun) -> tuple[Comparison, ...]:
    """Return the errors of ten trees, and of one, in percent above those of the full models."""
    full = PUBLISHED["full model"][0]
    rows = []
    for cell, row in run.cells:
        models = row.get("models")
        if not models or not models["full"]["test_rmse"]:
            continue
        for name, key in _MODELS.items():
            published = 100.0 * (PUBLISHED[name][0] / full - 1.0)
            ours = 100.0 * (models[key]["test_rmse"] / models["full"]["test_rmse"] - 1.0)
            what = f"{cell.instance.kind}: {name}"
            rows.append(Compared(what, published, ours, unit="%", better=None, note=_NOTE))
    return (Comparison("case, §5: test RMSE above the full model's", tuple(rows)),)
