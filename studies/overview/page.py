"""All runs on one page."""

from __future__ import annotations

import re
from html import escape

from studies.overview.runs import Found, Unread
from studies.reporting import html
from studies.reporting.formats import plural
from studies.reporting.published import published_table, summary

TITLE = "Studies of tree ensembles, pruned"


def page(found: list[Found], unread: list[Unread], date: str) -> str:
    """Return the page.

    Parameters
    ----------
    date
        Of today.
    """
    body = [
        f'<p class="over">{plural(len(found), "run")} · {escape(date)}</p>',
        f"<h1>{TITLE}</h1>",
        _list(found),
        *(
            f'<p class="bad">{escape(one.name)} could not be read: {escape(one.reason)}</p>'
            for one in unread
        ),
        _published(found),
        *map(_section, found),
        '<p class="foot">Written by <code>forestprune study report</code>. '
        "This page needs no network and runs no script.</p>",
    ]
    return html.page(TITLE, "\n".join(filter(None, body)), wide=True)


def _list(found: list[Found]) -> str:
    entries = "".join(
        f'<li><a href="#run-{run.slug}">{escape(run.name)}</a> <small>{_facts(run)}</small>'
        f"<p>{escape(_first_sentence(run.report.conclusion) or run.study.title)}</p></li>"
        for run in found
    )
    link = '<li><a href="#published">Published and measured here</a></li>'
    return f'<ul class="runs">{entries}{link}</ul>' if found else ""


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s+(?=[A-Z])", text, maxsplit=1)[0]


def _facts(run: Found) -> str:
    """Return date, size and what is missing."""
    size = str(run.run.config.get("size", ""))
    facts = [run.study.name, size, run.extent, run.date, run.shortfall]
    wrong = len(run.report.violations)
    if wrong:
        facts.append(plural(wrong, "contradiction"))
    return escape(" · ".join(filter(None, facts)))


def _published(found: list[Found]) -> str:
    """Return published figures and ours, of all runs."""
    head = '<h2 id="published">Published and measured here</h2>'
    comparisons = [comparison for run in found for comparison in run.published]
    shown, notes = published_table(comparisons)
    if not shown.groups:
        return f"{head}<p>No run here has figures that a paper reports, too.</p>"
    return f"{head}<p>{escape(summary(comparisons))}</p>{html.table(shown)}{_notes(notes)}"


def _section(run: Found) -> str:
    report = run.report
    further = [table for table in report.tables if table not in report.shown]
    parts = [
        f'<section><h2 id="run-{run.slug}">{escape(run.name)}</h2>',
        f'<p class="over">{escape(run.study.title)}</p>',
        f'<p class="over">{_facts(run)}</p>',
        f"<p>{escape(report.conclusion)}</p>" if report.conclusion else "",
        *(f'<p class="bad">Wrong: {escape(wrong)}</p>' for wrong in report.violations),
        *map(html.table, report.shown),
        *(
            html.figure(shown, f"{run.name}/{name}.png", natural=True)
            for name, shown in run.pictures.items()
        ),
        _notes(report.notes),
        *(
            f"<details><summary>{escape(table.caption)}</summary>{html.table(table)}</details>"
            for table in further
        ),
        f"<details><summary>Machine and versions</summary>{html.told(_machine(run))}</details>",
        "</section>",
    ]
    return "\n".join(filter(None, parts))


def _notes(notes: tuple[str, ...]) -> str:
    entries = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<ul class="notes">{entries}</ul>' if entries else ""


def _machine(run: Found) -> dict[str, str]:
    """Return where a run was started last, by what is known of it."""
    known = run.run.environment
    versions = ", ".join(f"{name} {number}" for name, number in known["versions"].items())
    memory = known.get("memory_mb")
    facts = {
        "started": known.get("started"),
        "processor": known.get("cpu"),
        "cores": known.get("cores"),
        "memory": None if memory is None else f"{memory / 1000.0:,.1f} GB",
        "system": known.get("system"),
        "Python": known.get("python"),
        "versions": versions,
    }
    return {name: str(fact) for name, fact in facts.items() if fact}
