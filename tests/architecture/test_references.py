"""What a file cites, a reader can open: pages, paragraphs and files of this repository, or a public standard."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {".py", ".md", ".yaml", ".yml", ".toml", ".feature", ".jinja", ".ini", ".mako"}
OWN = Path(__file__).resolve()
# What is made or brought by readers, installed, or an example of a name.
NOT_OURS = {
    "0001_what_it_does.sql", "0001_x.postgresql.sql", "0001_x.sqlite.sql", "about.md", "answer.json",
    "compose.yaml", "did-witness.json", "did.json", "dist/sbom.cdx.json", "file.py", "hana.json",
    "identity.d.ts", "identity.toml", "jwks.json", "keys.toml", "my_vault.py", "openapi.json",
    "package-lock.json", "parsers.py", "plugin.py", "security.md", "test.py", "try.md", "vault.py",
    "approved.json", "book.json", "commands.md", "errors.md", "figures.md", "held.json", "operations.md",
    "agent.json", "person.json", "proof.json", "result.json", "schemas.md", "settings.md", "witness.json",
}  # fmt: skip

STANDARD = (
    r"RFC [0-9]+|JSON-RPC 2\.0|RDFC-1\.0|A2A 1\.0"
    r"|DID Core|DID Resolution|CID 1\.0|VC 2\.0|VC Data Integrity (?:EdDSA|ECDSA|BBS) 1\.0|Bitstring Status List 1\.0"
    r"|PKCS#11 [0-9.]+|did:webvh(?: 1\.0)?|OpenID4VCI 1\.0|OpenID4VP 1\.0"
    r"|draft-ietf-oauth-(?:sd-jwt-vc|status-list)|VC Data Model 2\.0|FIPS [0-9-]+"
)
PAGE = re.compile(r"(?<![\w/.@-])((?:[\w-]+/)*[\w-]+\.md)\b")
FILE = re.compile(r"`((?:[\w*.-]+/)*[\w*.-]+\.(?:py|yaml|yml|json|sql|toml|feature|mako))(?:::\w+)?`")
# A module or package by its dotted name; what follows it may be a name within.
MODULE = re.compile(r"``(?:identity_core\.)?((?:domain|ports|use_cases)(?:\.\w+)+)``")
# An example that a page or a template shows.
IMPORT = re.compile(r"^from (identity_core(?:\.\w+)*) import ([\w, ]+)$", re.MULTILINE)
SECTION = re.compile(r"§ ?([0-9]+(?:\.[0-9]+)*)")
CITED = re.compile(
    rf"(?:(?P<standard>{STANDARD})|(?P<page>[\w/-]+\.md)`*)[,)]?[\s#]+(?:§[0-9.]+(?:–[0-9]+)?(?:,| and| to|;)?[\s#]+)*$"
)
# A bare paragraph is one of the standard that was named before it.
BARE = re.compile(r"(?:[(:;,]|^|\band|\bthrough|\bpast)[\s#]*(?:§[0-9.]+(?:,| and|;)[\s#]+)*$")


@cache
def tracked() -> tuple[str, ...]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(listed.stdout.splitlines())


@cache
def is_there(cited: str) -> bool:
    """Whether a file of the repository has this path, or ends in it; templates by the names of what they make."""
    if cited in NOT_OURS or Path(cited).name in NOT_OURS:
        return True
    ends = (cited, f"*/{cited}", f"*/{cited}.jinja")
    return any(fnmatch(path, end) for path in tracked() for end in ends)


@cache
def paragraphs(page: str) -> frozenset[str]:
    """The numbers of headings and of paragraphs that begin with one in bold."""
    found: set[str] = set()
    for path in tracked():
        if path == page or path.endswith(f"/{page}"):
            text = (ROOT / path).read_text()
            found |= set(re.findall(r"^(?:#+ |\*\*)([0-9]+(?:\.[0-9]+)*)[. ]", text, re.MULTILINE))
    return frozenset(found)


def faults(text: str) -> Iterator[str]:
    """What ``text`` cites and no reader finds."""
    for page in PAGE.findall(text):
        if not is_there(page):
            yield f"the page {page}"
    for file in FILE.findall(text):
        if not is_there(file.lstrip("/")):
            yield f"the file {file}"
    for module in MODULE.findall(text):
        parts = module.split(".")
        places = [ROOT / "identity_core" / Path(*parts[:end]) for end in range(2, len(parts) + 1)]
        if not any(place.with_suffix(".py").is_file() for place in places) and not places[-1].is_dir():
            yield f"the module {module}"
    for section in SECTION.finditer(text):
        before = text[: section.start()]
        cited = CITED.search(before[-300:])
        if cited and cited["page"]:
            if section[1] not in paragraphs(cited["page"]):
                yield f"{cited['page']} §{section[1]}"
        elif not cited and not (BARE.search(before[-300:]) and re.search(STANDARD, before)):
            yield f"{before[-30:].strip()} §{section[1]}"


@cache
def names_of(module: str) -> frozenset[str]:
    """What can be imported from a module or package of the core: what it defines, imports or contains."""
    place = ROOT.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not file.is_file():
        return frozenset()
    stub = file.with_suffix(".pyi")
    tree = ast.parse((stub if stub.is_file() else file).read_text())
    found = {path.stem for path in place.glob("*") if place.is_dir()}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


def texts() -> Iterator[Path]:
    for name in tracked():
        path = ROOT / name
        if path.suffix in TEXTS and "swagger_ui/" not in name and path.is_file() and path != OWN:
            yield path


def test_examples_import_what_is_there() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name} of {module}"
        for path in texts()
        if path.suffix in (".md", ".jinja")
        for module, names in IMPORT.findall(path.read_text())
        for name in names.split(", ")
        if name.strip() not in names_of(module)
    ]
    assert found == []


def test_citations_exist() -> None:
    found = [f"{path.relative_to(ROOT)}: {fault}" for path in texts() for fault in faults(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        '"""Delegations (research/delegation.md §3.1)."""',
        '"""What ``contract.md`` decides."""',
        '"""The challenge (contract §3)."""',
        '"""Decided (openapi/DECISIONS.md §9.9)."""',
        '"""See ``domain.no_such_module.found``."""',
        '"""The tables are in ``store/no_such_file.py``."""',
        "# As the rules of style say (§5).",
    ],
)
def test_a_citation_that_leads_nowhere_is_found(text: str) -> None:
    assert list(faults(text))


@pytest.mark.parametrize(
    "text",
    [
        "(RFC 6962 §2.1.1 and §2.1.2)",
        "as RFC 9110 §7.8 allows. Trailers are read past (§6.5.1)",
        "PROTOCOL.md §4.2, §4.3",
        "`openapi/DECISIONS.md` §2.3",
        "``tests/architecture/measure.py``",
        "`cli/ledger*.py`",
    ],
)
def test_a_citation_that_leads_somewhere_is_left_alone(text: str) -> None:
    assert list(faults(text)) == []
