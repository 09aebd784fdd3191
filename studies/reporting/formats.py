"""How numbers are written in tables: as many digits as mean something."""

from __future__ import annotations

import math


def seconds(amount: float | None) -> str:
    """Write seconds: two significant digits below 1, three above, none after the point at 100."""
    if amount is None:
        return "–"
    if amount <= 0.0:
        return "0"
    if amount >= 99.95:
        return f"{amount:,.0f}"
    digits = 2 if amount < 1.0 else 3
    return _fixed(amount, digits)


def percent(fraction: float | None) -> str:
    """Write a fraction in percent to two significant digits; a dash where there is none."""
    if fraction is None:
        return "–"
    share = 100.0 * fraction
    if share == 0.0:
        return "0"
    if share < 1e-4:
        return "< 0.0001"
    return f"{share:,.0f}" if share >= 99.5 else _fixed(share, 2)


def change(ratio: float | None) -> str:
    """Write what a ratio differs from 1 in percent and with its sign, as in ``−0.0036``.

    A dash where there is none, or it is one to 0.
    """
    if ratio is None or not math.isfinite(ratio):
        return "–"
    share = 100.0 * (ratio - 1.0)
    if abs(share) < 1e-7:  # rounding
        return "0"
    sign = "−" if share < 0.0 else "+"
    if abs(share) < 1e-4:
        return f"{sign}0.0000"
    return sign + (f"{abs(share):,.0f}" if abs(share) >= 99.5 else _fixed(abs(share), 2))


def objective(value: float | None) -> str:
    """Write an objective or a bound to six significant digits."""
    return "–" if value is None else f"{value:#.6g}"


def megabytes(amount: float | None) -> str:
    """Write megabytes without decimals."""
    return "–" if amount is None else f"{amount:,.0f}"


def factor(ratio: float) -> str:
    """Write a ratio to two significant digits, as in ``41,000×``."""
    if ratio >= 100.0:
        step = 10 ** (math.floor(math.log10(ratio)) - 1)
        return f"{round(ratio / step) * step:,.0f}×"
    return f"{_fixed(ratio, 2)}×"


def plural(count: int, word: str) -> str:
    """Write a count with its word, as in ``1 cell`` or ``3 cells``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def to_digits(value: float, digits: int) -> str:
    """Write a number to so many significant digits, as in ``−0.0213``; 1,234 loses none."""
    if value == 0.0:
        return "0"
    sign = "−" if value < 0.0 else ""
    amount = abs(value)
    return sign + (f"{amount:,.0f}" if amount >= 10.0 ** (digits - 1) else _fixed(amount, digits))


def signed(value: float, digits: int) -> str:
    """Write a number to so many significant digits, with its sign, as in ``+0.0213``."""
    return ("+" if value > 0.0 else "") + to_digits(value, digits)


def _fixed(amount: float, digits: int) -> str:
    """Write a positive number in fixed notation with so many significant digits."""
    # The exponent of the rounded number, so that 0.0996 is 0.10 and not 0.100.
    exponent = int(f"{amount:.{digits - 1}e}".partition("e")[2])
    return f"{amount:.{max(digits - 1 - exponent, 0)}f}"
