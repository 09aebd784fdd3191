"""README and guides, taken apart: snippets, command lines, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
DOCUMENTS = {
    path.relative_to(SOURCE).as_posix(): path
    for path in (SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md")))
    if path.is_file()
}

# What a fence may say after its language.
_MARKS = ("requires", "title")
_FENCE = re.compile(r"```(?P<info>[^`]*)")
_INLINE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Snippet:
    """A fenced block.

    Attributes
    ----------
    document, line
        Where its first line stands.
    language
        ``"python"``, ``"sh"`` or ``"text"``: what the block of Python before it prints.
    text
        What is between the fences.
    requires
        Packages that a reader may not have.
    title
        The file that the block is the content of, if any.
    """

    document: str
    line: int
    language: str
    text: str
    requires: tuple[str, ...] = ()
    title: str = ""

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.document}:{self.line}"


def snippets(document: str) -> list[Snippet]:
    """Return the fenced blocks of a document; what cannot be checked is an error."""
    found: list[Snippet] = []
    lines = DOCUMENTS[document].read_text(encoding="utf-8").splitlines()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines, 1):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        if opened is None:
            opened = (number, fence["info"])
            continue
        begin, info = opened
        opened = None
        language, *marks = info.split() or [""]
        given = dict(mark.split("=", 1) for mark in marks)
        if language not in ("python", "sh", "text") or not set(given) <= set(_MARKS):
            raise ValueError(f"{document}:{begin}: a block {info!r} would not be checked")
        requires = tuple(filter(None, given.get("requires", "").split(",")))
        text = "\n".join(lines[begin : number - 1]) + "\n"
        found.append(Snippet(document, begin + 1, language, text, requires, given.get("title", "")))
    if opened is not None:
        raise ValueError(f"{document}:{opened[0]}: a block that does not end")
    return found


def prose(document: str) -> str:
    """Return a document without its fenced blocks."""
    text = DOCUMENTS[document].read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def inline_code(document: str) -> list[str]:
    """Return what stands between backquotes outside of blocks."""
    return [" ".join(code.split()) for code in _INLINE.findall(prose(document))]


def links(document: str) -> list[str]:
    """Return the targets of links and pictures."""
    return _LINK.findall(prose(document))


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a Markdown file, as GitHub makes them."""
    text = re.sub(
        r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    headings = re.findall(r"^#+ +(.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def command_lines(document: str) -> Iterator[tuple[str, list[str]]]:
    """Yield place and words of every command of the shell, in blocks and in the text.

    The place of one in a block has a line; in the text arguments may be left out.
    """
    for snippet in snippets(document):
        if snippet.language == "sh":
            for line in snippet.text.replace("\\\n", " ").splitlines():
                yield from ((snippet.place, words) for words in _commands(line))
    for code in inline_code(document):
        if code.startswith("forestprune "):
            yield from ((document, words) for words in _commands(code))


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each command of a line, without what is redirected or piped."""
    words: list[str] = []
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    for word in [*reader, ";"]:
        if word in ("&&", "||", "|", ";", ">", "<"):
            if words:
                yield words
            words = []
        else:
            words.append(word)
