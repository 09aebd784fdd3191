"""Random draws that depend on what they are for, never on who draws first."""

from __future__ import annotations

import numpy as np

from formulations.kernels.compiled import view_kernel

_ODD = np.uint64(0x9E3779B97F4A7C15)


@view_kernel
def mix(key: np.uint64, number: np.uint64) -> np.uint64:
    """Hash a key with a number; the finaliser is that of SplitMix64 (Steele et al., 2014)."""
    z = (key ^ (number * _ODD)) + _ODD
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@view_kernel
def below(key: np.uint64, number: np.uint64, end: int) -> int:
    """Draw from 0 … end − 1; end is far below 2³², so that the share of each is even."""
    high = mix(key, number) >> np.uint64(32)
    return int(np.int64((high * np.uint64(end)) >> np.uint64(32)))
