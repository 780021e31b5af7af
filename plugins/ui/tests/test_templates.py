"""Words that no template may contain, and third-party files that must be unchanged."""

import hashlib
import posixpath
import re
import tomllib
from pathlib import Path

import pytest
from identity_ui.catalogues import HERE, TEMPLATES
from identity_ui.render import MODULES, STATIC, static_versions

FOLDER = Path(__file__).parents[1]

PAGES = sorted(TEMPLATES.glob("*.html"))
# Unescaped output; what needs unsafe-eval or unsafe-inline; what htmx does on its own; markup of elsewhere.
FORBIDDEN = {
    "unescaped": r"\|\s*safe\b|autoescape|Markup\(",
    "evaluated": r"hx-on|['\"]js:|hx-vals|hx-confirm|hx-trigger=\"[^\"]*\[|javascript:",
    "inline": r"\sstyle=|<style|\son[a-z]+=",
    "elsewhere": r"(?:src|href|action)=\"(?:https?:)?//",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_template_says_nothing_that_the_policy_would_refuse(page: Path) -> None:
    text = page.read_text()
    assert {name: found for name, words in FORBIDDEN.items() if (found := re.findall(words, text))} == {}
    for element in re.findall(r"<[a-z]+ [^>]*\bhx-[a-z]+=[^>]*>", text):
        assert 'hx-nonce="{{ nonce }}"' in element
    for script in re.findall(r"<script[^>]*>", text):
        assert script.startswith('<script nonce="{{ nonce }}" src="/ui/static/')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_word_that_people_read_can_be_translated(page: Path) -> None:
    text = re.sub(r"{%-? *trans.*?endtrans *-?%}|{#.*?#}|{%.*?%}|{{.*?}}", " ", page.read_text(), flags=re.DOTALL)
    words = re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^>]*>", " ", text))
    assert set(words) <= {"DID"}


def test_vendored_files_are_what_the_page_says() -> None:
    rows = re.findall(r"\| `static/(\S+)` \|.*\| `([0-9a-f]{64})` \|", (FOLDER / "README.md").read_text())
    assert {name for name, _ in rows} == {"htmx.js", "hx-csp.js", "uplot.js", "uplot.css"}
    for name, digest in rows:
        assert hashlib.sha256((HERE / "static" / name).read_bytes()).hexdigest() == digest
    own = {
        "example.json",
        "ui.css",
        "ui.js",
        "signing.js",
        "keys.js",
        "api_keys.js",
        "plots.js",
        "icon.svg",
        "icons.svg",
        *MODULES,
    }
    assert set(STATIC) == {name for name, _ in rows} | own
    files = {str(path.relative_to(HERE / "static")) for path in (HERE / "static").rglob("*") if path.is_file()}
    assert files == set(STATIC) | {"LICENSE.htmx", "LICENSE.uplot", "client/proofs/LICENSE.noble"}


def test_every_file_goes_into_the_wheel() -> None:
    patterns = tomllib.loads((FOLDER / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    packed = {path for pattern in patterns["identity_ui"] for path in HERE.glob(pattern)}
    files = {path for name in ("templates", "static", "locale") for path in (HERE / name).rglob("*") if path.is_file()}
    assert len(files) > 25
    assert files <= packed


def test_no_file_asks_for_another_and_ours_write_no_markup() -> None:
    for name in STATIC:
        text = (HERE / "static" / name).read_text()
        assert "sourceMappingURL" not in text
        assert not name.endswith(".css") or re.findall(r"url\((?![\"']?data:)|@import", text) == []
    script = "".join(
        (HERE / "static" / name).read_text()
        for name in ("ui.js", "signing.js", "keys.js", "api_keys.js", "plots.js", *MODULES)
    )
    assert re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|Function\(", script) == []


def test_modules_find_each_other_under_one_version() -> None:
    """Each imported module exists under the same address: an old one is never mixed with a new one."""
    assert len({static_versions()[name] for name in MODULES}) == 1
    found = set()
    for name in MODULES:
        text = (HERE / "static" / name).read_text()
        imports = re.findall(r"""^(?:import|export) [^;]*?from "([^"]+)";|^import "([^"]+)";""", text, re.MULTILINE)
        found |= {posixpath.normpath(posixpath.join(posixpath.dirname(name), one or other)) for one, other in imports}
        dynamic = re.findall(r"""\bimport\("(\./[^"]+)"\)""", text)
        assert text.count("import(") == len(dynamic)
        found |= {posixpath.normpath(posixpath.join(posixpath.dirname(name), one)) for one in dynamic}
    assert found == set(MODULES) - {"checking.js", "proof_check.js"}


FREE_TEXTS = {"purpose", "suspendedReason", "revocationReason", "statusReason", "schemaId", "attributeName", "domain"}
ISOLATED = ("<bdi>", "bdi >")
"""With its attribute ``lang``, which is taken out before, or without."""
SHOWN = re.compile(r"(?<![=\"'{])(.{0,5})\{\{ (?:one|proof|found|credential)\.(\w+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_free_texts_are_isolated(page: Path) -> None:
    """A right-to-left control in the text of an agent must not reorder what a person reads around it."""
    # An option of a form has no markup in it, and an attribute is not shown.
    shown = re.sub(
        r"<option.*?</option>|\b[\w-]+=\"(?:[^\"{]|\{\{.*?\}\}|\{(?!\{))*\"", "", page.read_text(), flags=re.DOTALL
    )
    assert [name for before, name in SHOWN.findall(shown) if name in FREE_TEXTS and not before.endswith(ISOLATED)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_own_pages(page: Path) -> None:
    """No link leads to a text that another party wrote, such as a verifier: it could be a ``javascript:`` URI."""
    # ``back`` is the redirection URI of an authorization, and ``explanation`` and ``place`` are made by the service.
    links = set(re.findall(r"\b(?:href|src|action|formaction)=\"(\{\{.*?\}\})", page.read_text()))
    assert links <= {"{{ back }}", "{{ explanation }}", "{{ place }}"}
