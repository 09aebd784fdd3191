"""Data sets whose target is known by their name: the papers' list, and some more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from studies.datasets.files import stem

# What stands before the number of a data set at OpenML.
OPENML = "openml:"


@dataclass(frozen=True)
class Known:
    """What is known of a data set.

    Attributes
    ----------
    targets
        Names of the column to predict, as different sources of the data set write it.
    openml
        Its number at OpenML; None where it is not there, or not known to be the same.
    outputs
        Other things to predict, measured together with the target.
    identifiers
        Columns that name or number the rows.
    orders
        Columns whose categories have an order, worst first.
    log
        Whether the logarithm of the target is predicted.
    """

    targets: tuple[str, ...]
    openml: int | None = None
    outputs: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    log: bool = False

    @property
    def target(self) -> str:
        """Name of the column to predict, or the first of its names."""
        return self.targets[0]

    def target_among(self, columns: Collection[str]) -> str:
        """Return the name that the target has in a table; where it has none, any."""
        return next((name for name in self.targets if name in columns), self.target)

    def no_features(self, target: str) -> set[str]:
        """Return columns that are no features where one of the outputs is predicted."""
        outputs = {*self.targets, *self.outputs}
        return {*outputs, *self.identifiers} - {target} if target in outputs else set()


# Quality grades of diamonds, worst first.
_GRADES = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": ["J", "I", "H", "G", "F", "E", "D"],
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}

# By the names under which the authors of ForestPrune (Liu and Mazumder, AISTATS 2023) published
# figures. The rank of humandevel is that of its target.
PUBLISHED: dict[str, Known] = {
    "Mercedes_Benz_Greener_Manufacturing": Known(("y",), 42570),
    "Moneyball": Known(("RS",), 41021),
    "abalone": Known(("Class_Rings", "Class_number_of_rings"), 42726),
    "autoMpg": Known(("class",), 196),
    "balloon": Known(("residual",), 512, identifiers=("id",)),
    "bank32nh": Known(("rej",), 558),
    "boston": Known(("MEDV",), 531),
    "cpu_small": Known(("usr",), 227),
    "elevators": Known(("Goal",), 216),
    "house_16H": Known(("price",), 574),
    "houses": Known(("median_house_value", "medianHouseValue"), 537),
    "humandevel": Known(("hdi",), identifiers=("rank", "country")),
    "kin8nm": Known(("y",), 189),
    "mtp": Known(("oz203",), 405),
    "no2": Known(("no2_concentration",), 547),
    "pol": Known(("foo",), 201),
    "puma32H": Known(("thetadd6",), 308),
    "socmob": Known(("counts_for_sons_current_occupation",), 541),
    "space_ga": Known(("ln(VOTES/POP)",), 507),
    "stock": Known(("company10",), 223),
    "tecator": Known(("fat",), 505, outputs=("moisture", "protein")),
    "us_crime": Known(("ViolentCrimesPerPop",), 42730),
    "wind": Known(("MAL",), 503),
    "wine_quality": Known(("quality",), 287),
}

# Other names of those.
_ALSO = {"cal_housing": "houses"}

# us_crime_unnormalized has other columns and rows than the published us_crime.
KNOWN: dict[str, Known] = {
    **PUBLISHED,
    **{name: PUBLISHED[published] for name, published in _ALSO.items()},
    "diamonds": Known(("price",), orders=_GRADES, log=True),
    "us_crime_unnormalized": Known(("ViolentCrimesPerPop",)),
}


def known_as(name: str) -> str | None:
    """Return the name of a known data set: of itself, a file's path, or ``openml:ID``."""
    if name.startswith(OPENML):
        numbered = {
            f"{OPENML}{known.openml}": one for one, known in PUBLISHED.items() if known.openml
        }
        return numbered.get(name)
    inside = stem(Path(name))
    return inside if inside in KNOWN else None


def published_name(name: str) -> str | None:
    """Return under which name the authors of ForestPrune published figures for a data set.

    Parameters
    ----------
    name
        As `load` takes it: the name of a data set, a file's path, or ``openml:ID``.

    Returns
    -------
    str or None
        None where there are no published figures for it.
    """
    known = known_as(name)
    if known is None:
        return None
    known = _ALSO.get(known, known)
    return known if known in PUBLISHED else None
