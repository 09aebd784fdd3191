"""Tables in LaTeX, for the packages booktabs, graphicx and amssymb."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from studies.reporting.tables import Group, Table

# Of a part of a table: as many as a page has, whichever way it is turned.
_MOST_LINES = 36

_GREEK = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma "
    "varsigma tau upsilon varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)

_SIGNS = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "^": r"\^{}",
    "~": r"\~{}",
    "<": r"$<$",
    ">": r"$>$",
    # After the end of a line these two would be options of it.
    "[": "{[}",
    "*": "{*}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "×": r"$\times$",
    "±": r"$\pm$",
    "÷": r"$\div$",
    "−": "$-$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
    "‖": r"$\Vert$",
    "·": r"$\cdot$",
    "∈": r"$\in$",
    "→": r"$\to$",
    "²": r"$^2$",
    "³": r"$^3$",
    "¹": r"$^1$",
    "₀": r"$_0$",
    "₁": r"$_1$",
    "₂": r"$_2$",
    "½": r"$\frac12$",
    "°": r"$^\circ$",
    "✓": r"\checkmark{}",
    "…": r"\dots{}",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "§": r"\S{}",
    "µ": r"$\mu$",
    "′": r"$'$",
    **{
        letter: rf"$\{name}$"
        for letter, name in zip(
            "αβγδεζηθικλμνξπρσςτυφχψωΓΔΘΛΞΠΣΦΨΩ",
            _GREEK.split(),
            strict=True,
        )
    },
}

# Of the letters with accents, and like them, those that every LaTeX has.
_LAST_LETTER, _OTHER_LETTERS = "ž", "ßæøåœðþłđÆØÅŒÐÞŁĐ"


def tabular(table: Table) -> str:
    """Return a table without a place or a number of its own."""
    lines = [f"% {_one_line(table.caption)}", rf"\begin{{tabular}}{{{_columns(table)}}}"]
    return "\n".join([*lines, *_head(table), *_body(table), r"\bottomrule", r"\end{tabular}", ""])


def floating(table: Table, label: str, notes: tuple[str, ...] = ()) -> str:
    """Return a table with caption and label; a long one in several parts, each on a page.

    Parameters
    ----------
    label
        Letters, digits, colons and hyphens.
    notes
        What is to be read below it.
    """
    parts = list(_parts(table))
    texts = []
    for number, part in enumerate(parts):
        caption = rf"\caption{{{escaped(table.caption)}}}\label{{{label}}}"
        lines = [
            r"\begin{table}[htbp]",
            r"\centering\small",
            rf"Table~\ref{{{label}}}, continued\par\smallskip" if number else caption,
            # Only what is too wide is made smaller.
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            tabular(part).rstrip("\n") + "}",
        ]
        if notes and number == len(parts) - 1:
            below = escaped(" ".join(notes))
            lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {below}}}")
        texts.append("\n".join([*lines, r"\end{table}", ""]))
    return "\n".join(texts)


def document(title: str, parts: list[str]) -> str:
    r"""Return tables as a document of their own that other documents can ``\input``, too."""
    return "\n".join(
        [
            f"% {_one_line(title)}",
            r"% A document of its own; another one takes it by \input, after its preamble has",
            r"% \usepackage{booktabs,graphicx,amssymb}",
            r"\expandafter\ifx\csname @notprerr\endcsname\documentclass",
            # Within a document LaTeX has given \documentclass this meaning.
            r"\let\forestpruneend\relax",
            r"\else",
            r"\documentclass{article}",
            r"\usepackage[T1]{fontenc}",
            r"\usepackage[a4paper,landscape,margin=15mm]{geometry}",
            r"\usepackage{booktabs,graphicx,amssymb}",
            r"\def\forestpruneend{\end{document}}",
            r"\begin{document}",
            r"\fi",
            "",
            *parts,
            r"\forestpruneend",
            "",
        ]
    )


def comment(text: str) -> str:
    """Return a text as a comment, in a line."""
    return f"% {_one_line(text)}"


def escaped(text: str) -> str:
    """Return a text as LaTeX shows it; a sign that it has no letter for by its code point."""
    return "".join(map(_sign, _one_line(text)))


def _sign(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    if character.isascii() or character in _OTHER_LETTERS:
        return character
    base = unicodedata.normalize("NFD", character)[0]
    if base.isascii() and base.isalpha() and character <= _LAST_LETTER:
        return character
    return rf"\texttt{{U+{ord(character):04X}}}"


def _one_line(text: str) -> str:
    return "".join(
        " " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character
        for character in text
    )


def _parts(table: Table) -> Iterator[Table]:
    """Yield a table in parts of so many lines that a page has them."""
    groups: list[Group] = []
    left = _MOST_LINES
    for group in table.groups:
        rows = group.rows
        while rows:
            if left < 3:  # no title without a line below it
                yield replace(table, groups=tuple(groups))
                groups, left = [], _MOST_LINES
            groups.append(Group(group.title, rows[: left - 1]))
            rows = rows[left - 1 :]
            left -= len(groups[-1].rows) + 1
    if groups or not any(group.rows for group in table.groups):
        yield replace(table, groups=tuple(groups))


def _columns(table: Table) -> str:
    return "l" + "r" * (len(table.header) - 1)


def _head(table: Table) -> list[str]:
    return [r"\toprule", _row(table.header)]


def _body(table: Table) -> list[str]:
    lines = []
    for group in table.groups:
        lines.append(r"\midrule")
        if group.title:
            title = escaped(group.title)
            lines.append(rf"\multicolumn{{{len(table.header)}}}{{l}}{{{title}}} \\")
        lines += map(_row, group.rows)
    return lines


def _row(row: tuple[str, ...]) -> str:
    return " & ".join(map(escaped, row)) + r" \\"
