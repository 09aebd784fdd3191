"""What a command says, whether or not its kernels have been used before."""

from __future__ import annotations

from studies.compiling import KEPT, NOT_KEPT


def without_compiling(errors: str) -> str:
    """Return what stands on stderr without the line that kernels are compiled."""
    for note in (KEPT, NOT_KEPT):
        errors = errors.replace(f"note: {note}\n", "")
    return errors
