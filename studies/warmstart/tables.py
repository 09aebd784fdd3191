"""The table of `warmstart`: objective, sweeps, what is proven, and time, way by way."""

from __future__ import annotations

from statistics import median

from studies.reporting import formats
from studies.reporting.curves import SAME
from studies.reporting.tables import Group, Table
from studies.warmstart.cell import STARTS
from studies.warmstart.paths import Paths


def start_table(found: list[Paths]) -> Table:
    """Return what each way to start reaches along the path, and what it takes."""
    header = (
        "start",
        "best at",
        "worst above best %",
        "median sweeps",
        "most sweeps",
        "proven gap %, median",
        "proven gap %, largest",
        "path s",
        "against zero start",
    )
    groups = tuple(
        Group(
            f"{paths.instance.kind}, {paths.instance.grid}",
            tuple(_row(paths, start) for start in paths.compared),
        )
        for paths in found
    )
    return Table("Along each path, by where the descent starts", header, groups)


def best_at(paths: Paths, start: str) -> int:
    """Return at how many α no other way has a lower objective."""
    return sum(above <= SAME for above in paths.above(start))


def _row(paths: Paths, start: str) -> tuple[str, ...]:
    sweeps, gaps = paths.sweeps(start), paths.gaps(start)
    known = [gap for gap in gaps if gap is not None]
    seconds = paths.rows[start]["seconds"]
    zero = paths.rows["zero"]["seconds"] if "zero" in paths.rows else None
    return (
        STARTS[start].name,
        f"{best_at(paths, start)} of {paths.length}",
        formats.percent(max(paths.above(start), default=0.0)),
        f"{median(sweeps):g}",
        f"{max(sweeps):,}",
        formats.percent(median(known) if known else None),
        formats.percent(max(known, default=None)),
        formats.seconds(seconds),
        "–" if not zero else formats.factor(seconds / zero),
    )


def point_table(found: list[Paths]) -> Table:
    """Return all objectives, bounds and sweeps."""
    header = ("α", "objective", "above best %", "best bound", "gap %", "sweeps", "nodes", "s")
    groups = []
    for paths in found:
        for start in paths.compared:
            rows = tuple(
                (
                    f"{point['alpha']:.3g}",
                    formats.objective(point["objective"]),
                    formats.percent(above),
                    formats.objective(bound),
                    formats.percent(gap),
                    f"{point['sweeps']:,}",
                    f"{point['nodes']:,}",
                    formats.seconds(point["seconds"]),
                )
                for point, above, bound, gap in zip(
                    paths.rows[start]["path"],
                    paths.above(start),
                    paths.bounds,
                    paths.gaps(start),
                    strict=False,  # others may end before this one
                )
            )
            title = f"{paths.instance.kind}, {paths.instance.grid}, {STARTS[start].name}"
            groups.append(Group(title, rows))
    return Table("All points of the paths (rows × trees)", header, tuple(groups))
