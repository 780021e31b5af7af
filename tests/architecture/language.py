"""Counters of the language rules: first words of docstrings, refused words, names, and the length of lines and sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.sizes import parsed

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CODE = ("identity_core", "plugins", "packages", "openapi", "docs", "deploy", "tests", "tools", "features")
SHIPPED = ("identity_core", "plugins", "packages")
# The pages of the site, every page that the README names, and the README of each folder.
PROSE = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs",
    "deploy",
    "examples",
    "features",
    "identity_core",
    "openapi",
    "packages",
    "plugins",
    "tests",
    "tools",
)

FIRST_WORDS = frozenset(re.findall(r"\w+", "what who where of those that whoever whose whom if it they"))
SPEECH = re.compile(r"\b(?:says?|said|saying|tells?|told|telling|believes?|believed)\b", re.IGNORECASE)
BARE_NAMES = frozenset(
    re.findall(
        r"\w+",
        "said says told tells given kept asked beside whence of by on at to from with within without opened shown seen"
        " held made taken left known found done gone put born spent standing due",
    )
)
# Names that plugins of other authors define or override, so that a new name would leave theirs without effect.
PORT_NAMES = frozenset(
    {"plugins/kit/identity_kit/conformance/prover.py asked", "plugins/prover_bbs/tests/test_conformance.py asked"}
)
REFUSED_WORDS = re.compile(
    r"\b(?:whoever|nobody|no one|somebody|someone|octets?|patience|in the place of|goes on|taken back|turns? out)\b",
    re.IGNORECASE,
)


# Names that are stored or on the wire: a media type, a type of ASN.1, labels in proofs, nonces of recorded proofs, members of
# reports and refusals, columns of table models, a user of Unix; and old names, which leave in 1.2.
STORED_NAMES = re.compile(
    r"""application/octet-stream|OCTET\ STRING|(?:return\ |set_digest\()b"octets"
    |nonce\ of\ (?:the\ verifier,\ 31|16\ and\ more)\ octets"
    |"octets":\ (?:charge\.most_octets|file\.stat|len\(data\)|status\.st_size|900\})|\{octets\}\ bytes
    |^\ {4}octets:\ (?:int|bytes)\ =\ Field\(sa_type=|(?:"|``)nobody(?:"|``)
    |^\ {4}octets\ =\ OldMember\(|crypto\.bbs(?:\.|\ import\ core,\ )octets|`[A-Z]\w+\.octets`|[`"]identity_bbs\.octets[`"]""",
    re.VERBOSE,
)
SQL = re.compile(r"\b(?:INSERT INTO|SELECT|UPDATE|WHERE|CREATE INDEX)\b")
COLUMN = re.compile(r"(?<![:\w])octets\b")


def files(folders: tuple[str, ...], ending: str) -> Iterator[Path]:
    """Yield the files of the repository with this ending, without what tools generate."""
    for folder in folders:
        top = ROOT / folder
        for path in [top] if top.is_file() else sorted(top.rglob(f"*{ending}")):
            parts = path.relative_to(ROOT).parts
            if not {"node_modules", "build", "_build", "generated", ".venv", "site"} & set(parts):
                yield path


Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def definitions_of(path: Path) -> tuple[Definition, ...]:
    """Return modules, classes and functions of a file. Several rules read them, and a file has many other nodes."""
    return tuple(node for node in ast.walk(parsed(path)) if isinstance(node, Definition))


def definitions(folders: tuple[str, ...]) -> Iterator[tuple[Path, Definition]]:
    """Yield modules, classes and functions of Python files."""
    for path in files(folders, ".py"):
        for node in definitions_of(path):
            yield path, node


def wrong_docstrings(words: frozenset[str] = FIRST_WORDS) -> list[str]:
    """Return the places of docstrings that begin with a relative clause, a condition or a pronoun."""
    found = []
    for path, node in definitions(SHIPPED):
        text = ast.get_docstring(node)
        if text and text.split()[0].strip(".,:`").lower() in words:
            found.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}")
    return found


def speaking_docstrings() -> list[str]:
    """Return the places of docstrings in which a program speaks or believes. Identifiers in code marks do not count."""
    found = []
    for path, node in definitions(SHIPPED):
        text = re.sub(r"``.*?``", "", ast.get_docstring(node) or "", flags=re.DOTALL)
        if "tests" not in path.parts and SPEECH.search(text):
            found.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}")
    return found


def missing_docstrings() -> list[str]:
    """Return public classes and functions of the core's ports, the plugin API and the packages that have no docstring.

    A function within a function, and a member of a private class, is not public.
    """
    found = []
    for path in files(("identity_core/ports", "identity_core/plugin", "packages"), ".py"):
        if "tests" not in path.parts:
            found += [
                f"{path.relative_to(ROOT)}:{node.lineno}" for node in public(parsed(path)) if not documented(node)
            ]
    return found


def public(node: ast.AST) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the public classes and functions of a module or class, and their members."""
    for child in getattr(node, "body", ()):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from public(child)


def documented(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a class or function has a docstring."""
    return bool(ast.get_docstring(node))


def bare_names() -> list[str]:
    """Return functions whose whole name is a participle, a preposition or a pronoun, except ``PORT_NAMES``."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, node in definitions(SHIPPED)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.strip("_") in BARE_NAMES
        and f"{path.relative_to(ROOT)} {node.name}" not in PORT_NAMES
    ]


def long_test_names() -> list[str]:
    """Return test functions whose name has more than 60 characters."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, node in definitions((*SHIPPED, "tests", "tools", "features"))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and len(node.name) > 60
    ]


def unclear_test_names() -> list[str]:
    """Return test functions whose name begins with a relative pronoun or a preposition, and names no subject."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, node in definitions((*SHIPPED, "tests", "tools", "features"))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and re.match(r"test_(?:what|who|whoever|whom|whose|where|those|of|that)_", node.name)
    ]


def bare_test_helpers() -> list[str]:
    """Return functions of tests, features and tools whose whole name is a participle, a preposition or a pronoun."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, node in definitions(("tests", "tools", "features"))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.strip("_") in BARE_NAMES
    ]


def refused_words() -> list[str]:
    """Return the lines of code and prose with a word that the style refuses, except protocol pages and these counters."""
    found = []
    for path in (
        *files(CODE, ".py"),
        *files((*PROSE, "plugins"), ".md"),
    ):
        lists_words = path.parent == HERE and ("language" in path.name or path.name == "measure.py")
        if path.name.startswith("PROTOCOL") or lists_words:
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            found += [f"{path.relative_to(ROOT)}:{number}"] * len(REFUSED_WORDS.findall(without_stored_names(line)))
    return found


def without_stored_names(line: str) -> str:
    """Return a line without names that are stored or on the wire. A column counts as one only in a line of SQL."""
    code, mark, comment = STORED_NAMES.sub("", line).partition("  # ")
    return (COLUMN.sub("", code) if SQL.search(code) else code) + mark + comment


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of a Markdown page, without code, tables and headings."""
    text = re.sub(r"^(```|:::|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    kept = [line if not re.match(r"\s*\||#| {4,}\S|\(\w+\)=", line) else "" for line in text.splitlines()]
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(kept)):
        if block.strip():
            yield " ".join(block.split())


def pages() -> Iterator[Path]:
    """Yield the prose pages, without the protocol pages, which are specifications."""
    for path in files(PROSE, ".md"):
        if not path.name.startswith("PROTOCOL"):
            yield path


def long_sentences() -> list[str]:
    """Return the sentences of more than 30 words in the prose pages."""
    found = []
    for path in pages():
        for block in paragraphs(path.read_text("utf-8")):
            found += [
                f"{path.relative_to(ROOT)}: {sentence[:60]}"
                for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z`*])", block)
                if len(sentence.split()) > 30
            ]
    return found


def long_lines() -> list[str]:
    """Return the prose lines of more than 120 characters, tables and code blocks apart."""
    found = []
    for path in pages():
        text = re.sub(r"^(```|:::).*?^\1", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        found += [
            f"{path.relative_to(ROOT)}: {line[:60]}"
            for line in text.splitlines()
            if len(line) > 120 and not re.match(r"\s*\|| {4,}\S", line)
        ]
    return found
