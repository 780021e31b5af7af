"""identity plugins and identity config: plain data first, then what people and programs see of it."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from identity_commands.options import installed_plugins
from identity_operations.commands.plugins_check import check_plugins

from identity_core.cli import main
from identity_core.settings import StartError, load

GOOD = """
from identity_core.plugin import Provider, hookimpl
from tests.unit.plugin.parts import {thing}
@hookimpl
def {hook}():
    return Provider("toy", lambda settings, context: {thing}(), summary="A toy")
"""
TENANTS = {
    "identity_provide_did_method": "GoodMethod",
    "identity_provide_ledger_backend": "GoodLedger",
    "identity_provide_key_store": "GoodKeys",
    "identity_provide_custodian": "GoodCustodian",
}


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A settings file that loads a toy for every socket and no installed plugin's name."""
    for number, (hook, thing) in enumerate(TENANTS.items()):
        monkeypatch.delitem(sys.modules, f"toy_plugin_{number}", raising=False)
        (tmp_path / f"toy_plugin_{number}.py").write_text(GOOD.format(hook=hook, thing=thing))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "identity.toml"
    path.write_text(
        'key_stores = ["toy"]\ndid.method = "toy"\nledger.backend = "toy"\ncustodian.backend = "toy"\n'
        f"[plugins]\nmodules = {json.dumps([f'toy_plugin_{n}' for n in range(len(TENANTS))])}\n"
    )
    return path


def test_list_builds_nothing(toys: Path) -> None:
    rows = {(row.hook, row.name): row for row in installed_plugins(load(file=toys)).installed()}
    assert {rows[hook, "toy"].state for hook in TENANTS} == {"chosen"}
    assert not (toys.parent / "identity-data").exists()


def test_check_builds_what_is_chosen_and_leaves_nothing(toys: Path) -> None:
    check = check_plugins(load(file=toys))
    assert check.problems == []
    assert {row.state for row in check.plugins if row.name == "toy"} == {"active"}
    assert not (toys.parent / "identity-data").exists()


def test_check_names_every_problem(toys: Path) -> None:
    settings = load(file=toys, overrides={"ledger.backend": "gone", "custodian.backend": "gone"})
    problems = check_plugins(settings).problems
    assert [str(problem).split(" ")[0] for problem in problems] == ["ledger.backend", "custodian.backend"]


def test_start_error_stops_the_list(toys: Path) -> None:
    (toys.parent / "toy_plugin_0.py").write_text("x = 1\n")
    with pytest.raises(StartError, match="toy_plugin_0"):
        installed_plugins(load(file=toys)).installed()


def test_the_commands_speak_text_and_json(toys: Path) -> None:
    runner = CliRunner()
    text = runner.invoke(main, ["plugins", "list", "--config", str(toys)])
    assert text.exit_code == 0
    assert "toy" in text.output
    assert text.output.startswith("NAME")
    rows = json.loads(runner.invoke(main, ["plugins", "list", "--config", str(toys), "--json"]).output)
    assert {"name": "toy", "hook": "identity_provide_custodian", "state": "chosen"}.items() <= next(
        row for row in rows if row["hook"] == "identity_provide_custodian" and row["name"] == "toy"
    ).items()
    checked = runner.invoke(main, ["plugins", "check", "--config", str(toys)])
    assert checked.exit_code == 0
    assert "can be had" in checked.output
    toys.write_text(toys.read_text().replace('ledger.backend = "toy"', 'ledger.backend = "gone"'))
    checked = runner.invoke(main, ["plugins", "check", "--config", str(toys)])
    assert checked.exit_code == 1
    gone = [
        "problem: ledger.backend names gone, but no plugin provides the ledger gone.",
        f"  at: file {toys}:3 (ledger.backend)",
    ]
    assert checked.output.splitlines()[-3:-1] == gone
    assert re.fullmatch("  do: Choose one that is installed: .*toy.*", checked.output.splitlines()[-1])
    (problem,) = json.loads(runner.invoke(main, ["plugins", "check", "--config", str(toys), "--json"]).output)[
        "problems"
    ]
    assert "gone" in problem
    assert "\n" not in problem


@pytest.mark.parametrize("arguments", [("plugins", "list"), ("plugins", "check"), ("config", "show")])
def test_a_wrong_plugin_table_is_answered_in_its_own_three_lines(toys: Path, arguments: tuple[str, str]) -> None:
    toys.write_text(toys.read_text() + "[plugins.sealed]\npasphrase = 1\n")
    answer = CliRunner().invoke(main, [*arguments, "--config", str(toys)])
    line = len(toys.read_text().splitlines())
    assert answer.exit_code == 2
    assert answer.output.splitlines() == [
        "error: plugins.sealed.pasphrase is not a setting of the plugin sealed.",
        f"  at: file {toys}:{line} (plugins.sealed.pasphrase)",
        "  do: Did you mean plugins.sealed.passphrase?",
    ]


def test_config_show_writes_values_as_a_settings_file_holds_them(toys: Path) -> None:
    text = CliRunner().invoke(main, ["config", "show", "--config", str(toys)]).output
    lines = [line for line in text.splitlines() if not line.endswith("= (unset)")]
    shown = tomllib.loads("\n".join(lines))
    assert shown["key_stores"] == ["toy"]
    assert shown["anchoring"]["worker"] is True
    assert shown["data_dir"] == "identity-data"


def test_config_show_masks_secrets_and_names_origins(toys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENTITY_THROTTLE_REDIS_URL", "redis://:hunter2@localhost/0")
    runner = CliRunner()
    text = runner.invoke(main, ["config", "show", "--origin", "--changed", "--config", str(toys)]).output
    assert "hunter2" not in text
    assert 'throttle.redis_url = "redis://' in text
    assert "# environment IDENTITY_THROTTLE_REDIS_URL" in text
    assert f'ledger.backend = "toy"    # file {toys}:3' in text
    rows = json.loads(runner.invoke(main, ["config", "show", "--json", "--config", str(toys)]).output)
    assert {row["key"]: row["value"] for row in rows}["data_dir"] == "identity-data"
