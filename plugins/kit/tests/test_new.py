"""``identity plugins new`` refuses bad names in three lines, and then writes nothing."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from identity_kit.commands import KINDS, CannotMake, new_plugin

from identity_core.cli import main
from identity_core.files import install_command
from identity_core.plugin.sockets import PROVIDE_HOOKS

KIT = Path(__file__).parents[1]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plugins", "new", *arguments])


def test_there_is_kind_for_each_socket_that_hands_something_over() -> None:
    assert len(KINDS) == len(PROVIDE_HOOKS) + 1
    handed_over = {"extension"} | {
        kind.lower().removesuffix(" format").replace(" ", "-") for kind in PROVIDE_HOOKS.values()
    }
    assert set(KINDS) == handed_over


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ledger", ""),
        ("ledger", "Tape"),
        ("ledger", "2tape"),
        ("ledger", "tape-"),
        ("ledger", "ta--pe"),
        ("ledger", "ta_pe"),
        ("ledger", "../tape"),
        ("ledger", "tape\n"),
        ("ledger", "tàpe"),
        ("ledger", "{{ kind }}"),
        ("ledger", "t" * 33),
        ("ledger", "disabled"),
        ("ledger", "modules"),
        ("did-method", "my-method"),
        ("extension", "my-notes"),
        ("extension", "ledger"),
        ("extension", "serve"),
    ],
)
def test_a_name_that_would_not_do(tmp_path: Path, kind: str, name: str) -> None:
    with pytest.raises(CannotMake):
        new_plugin(kind, name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_plugin_that_is_installed_is_not_made_again(tmp_path: Path) -> None:
    answer = invoke("--kind", "ledger", "--into", str(tmp_path), "sql")
    assert answer.exit_code == 1
    assert "identity-ledger-sql" in answer.output
    assert "installed already" in answer.output
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    mine = tmp_path / "identity-keys-tape" / "mine"
    mine.parent.mkdir()
    mine.write_text("mine")
    answer = invoke("--kind", "key-store", "--into", str(tmp_path), "tape")
    assert answer.exit_code == 1
    assert answer.output.splitlines()[1] == f"  at: {mine.parent}"
    assert [mine] == list(mine.parent.iterdir())


def test_without_copier_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "copier", None)
    answer = invoke("--kind", "ledger", "--into", str(tmp_path), "tape")
    assert answer.exit_code == 1
    assert [line.split(":")[0].strip() for line in answer.output.splitlines()] == ["error", "at", "do"]
    assert install_command("identity-service[template]") in answer.output
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_kind_names_the_known_ones() -> None:
    answer = invoke("--kind", "dashboard", "tape")
    assert answer.exit_code == 2
    assert all(kind in answer.output for kind in KINDS)


def test_a_name_with_hyphens_is_a_module_with_underscores(tools: None, tmp_path: Path) -> None:
    folder = new_plugin("key-store", "my-2nd-vault", tmp_path / "not" / "there" / "yet")
    module = folder / "identity_keys_my_2nd_vault" / "__init__.py"
    assert "class My2ndVaultKeys:" in module.read_text()
    assert 'keys_my_2nd_vault = "identity_keys_my_2nd_vault"' in (folder / "pyproject.toml").read_text()
    assert "IDENTITY_PLUGINS_MY_2ND_VAULT_DIGESTS=" in (folder / "README.md").read_text()
    compile(module.read_text(), module.name, "exec")


def test_the_template_goes_into_the_wheel() -> None:
    setuptools = tomllib.loads((KIT / "pyproject.toml").read_text())["tool"]["setuptools"]
    package = KIT / "identity_kit"
    packed = {path for pattern in setuptools["package-data"]["identity_kit"] for path in package.glob(pattern)}
    # pathlib's ** yields folders before Python 3.13, setuptools' the files below them too.
    reached = {path for path in (package / "plugin_templates").rglob("*") if {path, *path.parents} & packed}
    files = {path for path in (package / "plugin_templates").rglob("*") if path.is_file()}
    assert files, "there is no template"
    assert files <= reached, 'pyproject.toml, [tool.setuptools.package-data]: identity_kit = ["plugin_templates/**"]'
