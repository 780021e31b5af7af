"""What every command owes: help that comes at once, options that the README names, errors in three lines."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from identity_core.cli import main
from identity_core.settings import SettingsError, load
from tests.unit.cli.conftest import Commands

ROOT = Path(__file__).resolve().parents[3]
# What takes long to import, and what help has no use for.
HEAVY = (
    "connexion starlette uvicorn sqlmodel sqlalchemy alembic jsonschema jsonschema_rs limits redis psycopg"
    " rich prometheus_client pyblst py_ecc identity_core.bootstrap identity_core.api"
)


def every_command(
    group: click.Command = main, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None, name
            yield from every_command(command, (*path, name))


COMMANDS = dict(every_command())
LEAVES = {path: command for path, command in COMMANDS.items() if not isinstance(command, click.Group)}


def test_the_commands_of_the_issue_are_there() -> None:
    wanted = """serve; demo; doctor; version; config show; plugins list; plugins check; auth sign; did create; did resolve;
    did update; did rotate; did recover; did deactivate; did history; did log get; did log verify; keys create;
    keys list; keys show; keys update; keys rotate; keys revoke; proof verify"""
    assert {tuple(one.split()) for one in wanted.split(";")} <= set(LEAVES)


GROUPS = [path for path in COMMANDS if path not in LEAVES]


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_help_of_a_group(identity: Commands, path: tuple[str, ...]) -> None:
    assert identity.ok(*path, "--help").startswith(f"Usage: {' '.join(('identity', *path))} ")


@pytest.mark.parametrize("path", [(), ("did",), ("did", "create"), ("ledger", "evm", "deploy")], ids=" ".join)
def test_short_option_prints_help(identity: Commands, path: tuple[str, ...]) -> None:
    assert identity.ok(*path, "-h") == identity.ok(*path, "--help")


def test_no_command_uses_the_short_option_of_help() -> None:
    assert [path for path, one in COMMANDS.items() for each in one.params if "-h" in each.opts] == []


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_each_command_prints_json_if_asked(path: tuple[str, ...]) -> None:
    options = {name: one for one in LEAVES[path].params for name in one.opts if isinstance(one, click.Option)}
    assert "--json" in options
    assert [name for name, one in options.items() if isinstance(one, click.Option) and not one.help] == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_describes_command_and_options(path: tuple[str, ...]) -> None:
    """Each text is a sentence: it begins with a capital letter or a term, and ends with a full stop or a default."""
    command = COMMANDS[path]
    texts = {"command": command.help or ""} | {
        one.opts[0]: one.help or "" for one in command.params if isinstance(one, click.Option)
    }
    wrong = {
        name: text
        for name, text in texts.items()
        if not re.match(r"[A-Z`]|nextCursor|tlog-policy|tlog-proof|did:key", text.strip())
        or (name != "command" and not re.search(r"[.\]]$", text.strip()))
    }
    assert wrong == {}


def test_help_imports_little() -> None:
    """Half a second is not measured here: what costs more than that is not imported."""
    script = f"""
import functools, importlib.metadata, sys
importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)
from identity_core.cli import main
for path in {[list(path) for path in COMMANDS]!r}:
    main([*path, "--help"], standalone_mode=False)
heavy = [name for name in {HEAVY!r}.split() if name in sys.modules]
sys.exit("imported: " + " ".join(heavy) if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]


def test_garbage_collection_is_rare_during_import() -> None:
    script = "import gc; before = gc.get_threshold()[0]; import identity_core.cli; print(gc.get_threshold()[0] > 10 * before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "True\n"


def test_the_first_help_imports_no_group() -> None:
    script = (
        "import sys; from identity_core.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    of_commands = {"identity_core.cli.serve", "identity_api_keys.commands", "identity_operations.commands"}
    assert of_commands.isdisjoint(done.stdout.split())


def command_lines() -> list[str]:
    """The lines of the README's code blocks that call the command, one for each part of a pipe."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = [line for line in text.splitlines() if line.startswith("    ")]
    parts = [part.strip() for line in blocks for part in re.split(r"\||&&|;", line)]
    return [part for part in parts if re.match(r"(\.venv/bin/)?identity( |$)", part)]


def test_the_readme_calls_the_command() -> None:
    assert len(command_lines()) >= 5


@pytest.mark.parametrize("line", command_lines())
def test_the_readme_names_commands_and_options_that_exist(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    path: tuple[str, ...] = ()
    while words and (*path, words[0]) in COMMANDS:
        path = (*path, words.pop(0))
    assert path in LEAVES, line
    known = {name for one in LEAVES[path].params for name in (*one.opts, *one.secondary_opts)} | {"-h", "--help"}
    assert {word.partition("=")[0] for word in words if re.match("-+[a-z]", word)} <= known, line


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["nothing"], 2, "No such command"),
        (["--nothing"], 2, "No such option"),
        (["did", "resolve"], 2, "Missing argument"),
        (["did", "resolve", "did:ids:x", "--version-id", "0"], 2, "Invalid value"),
        (["did", "resolve", "did:ids:x", "--url", "http://127.0.0.1:1"], 1, "does not answer"),
        (["did", "resolve", "did:ids:x", "--url", "no url"], 2, "not an address of a service"),
        (["did", "create", "--url", "http://127.0.0.1:1"], 2, "say where the private keys shall go"),
        (["did", "create", "--keys", "a", "--show-secrets"], 2, "say where the private keys shall go"),
        (["did", "create", "--show-secrets", "--key-type", "RSA"], 1, "INVALID_DOCUMENT"),
        (["did", "create", "--keys", "no/such/folder", "--url", "http://127.0.0.1:1"], 2, "No such file"),
        (["did", "create", "--show-secrets", "--api-key", "idk_live"], 2, "takes a file or -"),
        (["demo", "--api-key", "no/such/file"], 2, "there is no such API key"),
        (["did", "update", "--keys", "none.json"], 2, "there is nothing to change"),
        (["did", "rotate", "--keys", "none.json"], 2, "there is no such keys file"),
        (["did", "deactivate", "--keys", "none.json"], 2, "final"),
        (["did", "log", "verify", "none.jsonl"], 2, "No such file"),
        (["keys", "list"], 2, "there is no such data directory"),
        (["keys", "create", "--name", "a"], 2, "--admin or --scopes"),
        (["keys", "create", "--name", "a", "--admin", "--scopes", "dids:create"], 2, "--admin or --scopes"),
        (["keys", "create", "--name", "a", "--admin", "--burst", "0"], 2, "Invalid value"),
        (["keys", "create", "--name", "a", "--admin", "--config", "none.toml"], 2, "does not exist"),
        (["config", "show", "--config", "none.toml"], 2, "does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_have_three_lines(identity: Commands, arguments: list[str], status: int, says: str) -> None:
    assert says in identity.refused(*arguments, status=status)[0]


def test_a_wrong_setting_says_where_it_stands(identity: Commands, here: Path) -> None:
    (here / "identity.toml").write_text("[server]\nprot = 1\n")
    for arguments in (["serve"], ["doctor"], ["config", "show"], ["keys", "list"], ["plugins", "list"]):
        lines = identity.refused(*arguments, status=2)
        assert "identity.toml:2" in lines[1]
        assert "server.port" in lines[2]


def test_client_variables_change_no_installation() -> None:
    """Anyone who calls a service and keeps one has both in one environment; a variable that no command knows is still refused."""
    read = {
        parameter.envvar
        for command in LEAVES.values()
        for parameter in command.params
        if isinstance(parameter.envvar, str) and parameter.envvar.startswith("IDENTITY_")
    }
    assert {"IDENTITY_URL", "IDENTITY_LEDGER_KEY", "IDENTITY_TOKEN"} <= read
    for variable in {*read, "IDENTITY_ORIGIN"} - {"IDENTITY_CONFIG"}:
        assert load(environment={variable: "x"}).server.port == 8080, variable
    with pytest.raises(SettingsError):
        load(environment={"IDENTITY_LEDGER_KEYS": "x"})


def test_unexpected_error_has_three_lines(identity: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("two\nlines \x1b[31m")

    monkeypatch.setattr("identity_core.cli.installed_distributions", broken)
    lines = identity.refused("version")
    assert lines[0] == "error: unexpected RuntimeError: two lines \\x1b[31m"
    assert "test_commands.py" in lines[1]


def test_a_group_alone_shows_its_help(identity: Commands) -> None:
    result = identity("keys")
    assert result.exit_code == 2
    assert "Usage: identity keys" in result.output


def test_version(identity: Commands) -> None:
    body = identity.json("version")
    assert re.fullmatch(r"[0-9]+\.[0-9a-f]{8}", body["build"])
    assert body["interface"] == "1.0.0"
    assert f"identity {body['version']} " in identity.ok("version")
