"""What a figure shows, in words, for those who do not see it."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.reporting.formats import plural

# Labels of a drawing that are read out.
_MOST = 40


def described(figure: Figure, name: str) -> str:
    """Return the titles, axes and legend of a figure as a text.

    Parameters
    ----------
    name
        What it is called.
    """
    panels = [words for panel in figure.axes if (words := _panel(panel))]
    legends = [panel.get_legend() for panel in figure.axes] + list(figure.legends)
    entries = dict.fromkeys(
        text.get_text() for legend in legends if legend is not None for text in legend.get_texts()
    )
    said = [f"Figure {name}", *panels]
    if not panels:
        labels = [text.get_text() for panel in figure.axes for text in panel.texts]
        said.append(f"A drawing with {plural(len(labels), 'label')}: {'; '.join(labels[:_MOST])}")
    if entries:
        said.append(f"Shown are: {'; '.join(filter(None, entries))}")
    return " ".join(". ".join(said).split()) + "."


def _panel(panel: Axes) -> str:
    """Return what a panel is of; empty for a drawing without axes."""
    title = next(filter(None, (panel.get_title(loc) for loc in ("left", "center", "right"))), "")
    across, up = panel.get_xlabel(), panel.get_ylabel()
    axes = " against ".join(filter(None, (up, across)))
    return ": ".join(filter(None, (title, axes)))
