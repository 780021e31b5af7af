"""The pages of the site as text for language models: ``llms.txt`` lists them, ``llms-full.txt`` contains them (llmstxt.org)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_TREE = re.compile(r"```\{toctree\}\n:caption: ([^\n]+)\n(?::\w+:[^\n]*\n)*\n(.*?)```", re.DOTALL)
_INCLUDE = re.compile(r"```\{(?:include|literalinclude)\} (\S+)\n(?:.*?\n)??```", re.DOTALL)
_MARKUP = re.compile(r"^(?:\(\S+\)=|:{3,}.*|```\{(?:toctree|raw|image)\}.*?```)\n?", re.MULTILINE | re.DOTALL)
# Headings, tables, lists, fences, quotes and lines of HTML.
_NO_PROSE = re.compile(r"[#|>(*<:-]|```|\d+\. ")


def text_files(root: Path) -> dict[str, str]:
    """Return ``llms.txt`` and ``llms-full.txt`` of the documentation in the folder ``root``, by name."""
    index = (root / "index.md").read_text("utf-8")
    lines = [f"# {_title(index)}", "", f"> {_summary(index)}"]
    whole = [_plain(index)]
    for caption, names in _TREE.findall(index):
        lines += ["", f"## {caption}", ""]
        for name in names.split():
            text = _included((root / f"{name}.md").read_text("utf-8"), (root / name).parent)
            lines.append(f"- [{_title(text)}]({name}.html): {_summary(text)}")
            whole.append(_plain(text))
    return {"llms.txt": "\n".join(lines) + "\n", "llms-full.txt": "\n\n".join(whole) + "\n"}


def write_text_files(root: Path, folder: Path) -> None:
    """Write the two files into the built site ``folder``."""
    for name, text in text_files(root).items():
        (folder / name).write_text(text, encoding="utf-8")


def _included(text: str, folder: Path) -> str:
    return _INCLUDE.sub(lambda found: (folder / found[1]).read_text("utf-8"), text)


def _plain(text: str) -> str:
    return _MARKUP.sub("", text).strip()


def _title(text: str) -> str:
    return next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))


def _summary(text: str) -> str:
    """Return the first sentence of the first paragraph in prose."""
    paragraph = next(_paragraphs(_MARKUP.sub("", text)), "")
    sentence = re.match(r".*?[.](?=\s|$)", paragraph)
    return sentence[0] if sentence else paragraph.rstrip(":")


def _paragraphs(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text):
        line = " ".join(block.split())
        if line and not _NO_PROSE.match(line):
            yield line
