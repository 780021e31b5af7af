"""Every refusal states what to do, in words that lead somewhere: operations of the document, commands and distributions that exist."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from identity_core.api.contract import operations
from identity_core.errors import CODES, IdentityError
from identity_core.files import install_command
from tests.architecture.sizes import shipped
from tests.reference import DOCUMENT
from tests.unit.deploy.packages import PROJECTS, ROOT, project

MOST_WORDS = 30
TEXTS = ("*.md", "*.py", "*.toml", "*.yaml", "*.html")
# Distributions of a user's own or of examples, which the texts only assume.
OWN = {"identity-absent", "identity-keys-vault"}


def remedies() -> list[tuple[str, str]]:
    """Return every remedy with the code that it is for."""
    return [(code, text) for code, each in CODES.items() for text in (each.remedy, *each.reasons.values())]


@pytest.mark.parametrize(("code", "remedy"), remedies())
def test_remedy_is_made_of_short_sentences(code: str, remedy: str) -> None:
    assert remedy.endswith(".")
    sentences = re.split(r"[.;:] ", remedy)
    assert max(len(one.split()) for one in sentences) <= MOST_WORDS, (code, remedy)


def test_remedies_name_operations_of_the_document() -> None:
    known = {operation["operationId"] for _, _, operation in operations(DOCUMENT)}
    verbs = "|".join(sorted({re.split(r"[A-Z]", name)[0] for name in known}))
    named = {name for _, text in remedies() for name in re.findall(rf"\b(?:{verbs})[A-Z]\w+", text)}
    assert len(named) > 10
    assert named - known - {"requestId"} == set()


def reason_codes() -> Iterator[tuple[str, str]]:
    """Yield (class, reason) of each error that the code raises with a reason of one word."""
    for folder in ("identity_core", "packages", "plugins"):
        for path in shipped(folder):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    for value in _reasons(node):
                        yield node.func.id, value


def _reasons(call: ast.Call) -> Iterator[str]:
    for given in (each.value for each in call.keywords if each.arg == "details"):
        for key, value in zip(given.keys, given.values, strict=True) if isinstance(given, ast.Dict) else ():
            is_reason = isinstance(key, ast.Constant) and key.value == "reason"
            if is_reason and isinstance(value, ast.Constant) and re.fullmatch("[a-zA-Z]+", str(value.value)):
                yield str(value.value)


def test_each_reason_code_has_a_remedy() -> None:
    classes = {each.__name__: each for each in CODES.values()}
    found = {(name, reason) for name, reason in reason_codes() if name in classes}
    assert {("InvalidRequest", "time"), ("DidNotFound", "version"), ("InvalidDocument", "key")} <= found
    assert [each for each in found if each[1] not in classes[each[0]].reasons] == []


def extras() -> dict[str, set[str]]:
    """Return the distributions of this repository and their extras."""
    projects = [project(folder) for folder in (*PROJECTS, ROOT / "docs")]
    return {str(each["name"]): {*each.get("optional-dependencies", {})} for each in projects}


def named_requirements(text: str) -> Iterator[Requirement]:
    """Yield the distributions of this project that a text tells people to install."""
    for call in re.findall(r"pip install ([^\n`]*)", text):
        for word in re.findall(r"identity-[a-z0-9-]+(?:\[[a-z0-9,]+\])?", call):
            yield Requirement(word)


def test_texts_name_distributions_that_exist() -> None:
    known, named, wrong = extras(), set[str](), []
    ignored = {".venv", ".git", "node_modules", "build", "dist", "_build"}
    for path in (each for kind in TEXTS for each in ROOT.rglob(kind)):
        if ignored.isdisjoint(path.relative_to(ROOT).parts):
            for one in named_requirements(path.read_text("utf-8")):
                named.add(one.name)
                if one.name not in OWN and (one.name not in known or not one.extras <= known[one.name]):
                    wrong.append(f"{path.relative_to(ROOT)}: {one}")
    assert len(named) > 5
    assert wrong == []


def commands_that_install_folders() -> Iterator[tuple[str, str]]:
    """Yield file and arguments of each command in a text that installs folders of the checkout."""
    ignored = {".venv", ".git", "node_modules", "build", "dist", "_build", "tests"}
    for path in (each for kind in TEXTS for each in ROOT.rglob(kind)):
        if ignored.isdisjoint(path.relative_to(ROOT).parts):
            for call in re.findall(r"pip install (?:[^\n`]|\n(?=[^\n`]*`))*", path.read_text("utf-8")):
                if re.search(r"\./(?:packages|plugins)/", call):
                    yield str(path.relative_to(ROOT)), call


def test_commands_install_dependencies_from_the_checkout() -> None:
    """pip takes a missing distribution from an index, where one of the same name is another project."""
    complete = re.compile(
        r"\./packages/(?:\*|identity_codec \./packages/identity_bbs '\./packages/identity_client\[bbs\]')"
    )
    found = [*commands_that_install_folders()]
    assert len(found) > 20
    assert [each for each in found if not complete.search(each[1])] == []


def test_install_command_names_folders_in_a_checkout() -> None:
    rest = ". ./packages/*/ ./plugins/*/"
    assert install_command("identity-bbs[blst]") == f"cd {ROOT} && pip install './packages/identity_bbs[blst]' {rest}"
    assert install_command("identity-kit") == f"cd {ROOT} && pip install ./plugins/kit {rest}"
    assert install_command("pyblst") == "pip install pyblst"


@pytest.mark.parametrize("origin", [None, '{"url": "https://elsewhere.example/kernel.whl"}'])
def test_install_command_names_distribution(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: str | None
) -> None:
    monkeypatch.setattr("identity_core.files.__file__", str(tmp_path / "identity_core" / "files.py"))
    monkeypatch.setattr("identity_core.files.distribution", lambda _: SimpleNamespace(read_text=lambda _: origin))
    assert install_command("identity-kit[template]") == "pip install 'identity-kit[template]'"


def test_install_command_finds_folder_of_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    origin = json.dumps({"url": ROOT.as_uri(), "dir_info": {}})
    monkeypatch.setattr("identity_core.files.__file__", str(tmp_path / "identity_core" / "files.py"))
    monkeypatch.setattr("identity_core.files.distribution", lambda _: SimpleNamespace(read_text=lambda _: origin))
    assert install_command("identity-kit").startswith(f"cd {ROOT} && pip install ./plugins/kit ")


def test_install_command_is_read_for_known_distributions() -> None:
    known, calls = extras(), 0
    for path in (each for folder in ("identity_core", "plugins") for each in shipped(folder)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "install_command":
                for given in (each for each in node.args if isinstance(each, ast.Constant)):
                    one, calls = Requirement(str(given.value)), calls + 1
                    assert one.extras <= known[one.name], f"{path}: {one}"
    assert calls >= 8


def test_error_of_no_code_has_a_remedy() -> None:
    assert IdentityError().find_remedy()
