"""Pages that need nothing else, neither a network nor a script, and what they are made of."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from matplotlib.figure import Figure

from formulations.storage import own_version
from studies.reporting.tables import Table

# A drawing of so many bytes is one of many thousand points, which dots show as well.
_MOST_SVG = 150_000


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes
    ----------
    uri
        As a ``data:`` address.
    width
        In points.
    alt
        What it shows, for those who do not see it.
    """

    uri: str
    width: float
    alt: str


def page(title: str, body: str, *, wide: bool = False) -> str:
    """Return a page.

    Parameters
    ----------
    title
        Of the window, as text.
    body
        HTML.
    wide
        Whether it is for tables of many columns rather than for text.
    """
    skeleton = (files("studies.reporting") / "page.html").read_text(encoding="utf-8")
    return Template(skeleton).substitute(
        title=escape(title),
        version=escape(own_version()),
        width="wide" if wide else "narrow",
        body=body.replace(" %", "\N{NO-BREAK SPACE}%"),
    )


def table(shown: Table) -> str:
    """Return a table, its groups under their titles; it scrolls sideways where it is too wide."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in shown.header)
    bodies = []
    for group in shown.groups:
        lines = [_line(row) for row in group.rows]
        if group.title:
            lines.insert(
                0,
                f'<tr class="group"><th colspan="{len(shown.header)}" scope="rowgroup">'
                f"<span>{escape(group.title)}</span></th></tr>",
            )
        bodies.append(f"<tbody>{''.join(lines)}</tbody>")
    caption = f"<caption><span>{escape(shown.caption)}</span></caption>" if shown.caption else ""
    region = f' role="region" aria-label="{escape(shown.caption)}"' if shown.caption else ""
    # Those without a mouse scroll what can have the focus.
    return (
        f'<div class="scroll" tabindex="0"{region}><table>{caption}<thead><tr>{head}</tr></thead>'
        f"{''.join(bodies)}</table></div>"
    )


def told(facts: dict[str, str]) -> str:
    """Return a table of words, by their names."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f'<table class="told"><tbody>{rows}</tbody></table>'


def figure(shown: Picture, caption: str, *, natural: bool = False) -> str:
    """Return a figure above its caption.

    Parameters
    ----------
    natural
        Whether it has its natural size where there is room for it, and scrolls where it would be
        too small to read; otherwise it is as wide as the page.
    """
    size = f' class="natural" style="--width: {shown.width / 12.0:.1f}rem"' if natural else ""
    return (
        f'<figure><div><img src="{shown.uri}" alt="{escape(shown.alt)}"{size}></div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def svg(drawn: Figure, alt: str) -> Picture:
    """Return a figure as lines and letters."""
    return _picture("svg+xml", _written(drawn, "svg"), drawn, alt)


def picture(drawn: Figure, alt: str) -> Picture:
    """Return a figure as lines and letters, or as dots where these are many and dots are less."""
    lines = _written(drawn, "svg")
    if len(lines) > _MOST_SVG:
        dots = _written(drawn, "png")
        if len(dots) < len(lines):
            return _picture("png", dots, drawn, alt)
    return _picture("svg+xml", lines, drawn, alt)


def _line(row: tuple[str, ...]) -> str:
    first, *cells = row
    entries = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{escape(first)}</th>{entries}</tr>'


def _written(drawn: Figure, kind: str) -> bytes:
    import matplotlib.pyplot as plt

    file = io.BytesIO()
    dated: Any = {"Date": None} if kind == "svg" else None
    # The same figure is the same text, whenever it is drawn.
    with plt.rc_context({"svg.hashsalt": "forestprune"}):
        drawn.savefig(file, format=kind, metadata=dated)
    return file.getvalue()


def _picture(kind: str, content: bytes, drawn: Figure, alt: str) -> Picture:
    coded = base64.b64encode(content).decode("ascii")
    return Picture(f"data:image/{kind};base64,{coded}", drawn.get_figwidth() * 72.0, alt)
