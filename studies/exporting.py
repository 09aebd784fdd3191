"""`forestprune export`: write a problem to a file, for this or for other software."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from forestprune import export_problem, save_problem
from studies.errors import StudyError
from studies.reporting.formats import plural
from studies.solving import Source

_PROGRAMS = (".mps", ".lp")


def export_file(
    console: Console, source: Source, out: Path, *, presolve: bool, matrices: bool, rows: bool
) -> None:
    """Build a problem and write it.

    Parameters
    ----------
    source
        The problem.
    out
        ``.mps`` or ``.lp`` for a linear program; ``.npz`` for the problem itself, or for its
        matrices.
    presolve
        Whether to leave out choices that no better solution has.
    matrices, rows
        For ``.npz``: whether to write matrices, and with the rows of the data.

    Raises
    ------
    StudyError
        Before any work, when these do not go together or the folder is not there.
    """
    matrices = matrices or rows
    program = out.suffix in _PROGRAMS
    if not program and out.suffix != ".npz":
        raise StudyError(f"the file to write must end in .mps, .lp or .npz, not {out.name!r}")
    if program and matrices:
        raise StudyError(f"--matrices and --rows are for files that end in .npz, not {out.name!r}")
    if presolve and not program and not matrices:
        raise StudyError("--presolve is for linear programs and --matrices; a problem stays whole")
    if not out.parent.is_dir():
        raise StudyError(f"cannot write {out}: there is no folder {out.parent}")
    problem = source.problem(console)
    if program or matrices:
        exported = export_problem(problem, out, presolve=presolve, rows=rows)
        columns, trees = plural(exported.columns, "column"), plural(exported.blocks, "tree")
        what = f"{columns} of {trees} left to decide, "
        what += f"{plural(exported.products, 'product')}" if program else "as matrices"
    else:
        save_problem(problem, out)
        what = "the problem with its data"
    size = out.stat().st_size / 1e6
    console.print(f"wrote {out}: {what}, {size:,.2f} MB", highlight=False, markup=False)
