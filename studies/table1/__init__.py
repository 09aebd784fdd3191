"""The study `table1`: how long solvers take on a grid of sizes."""

from studies.table1.study import TABLE1

__all__ = ["TABLE1"]
