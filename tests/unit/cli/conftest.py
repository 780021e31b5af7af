"""A running service for the commands that call one, and a way to run commands in this process."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from identity_commands.local_server import LocalServer

from identity_core.cli import main
from tests.servers import local_server

GENEROUS = {
    f"IDENTITY_THROTTLE_{bucket}_{limit}": "10000"
    for bucket in ("ADDRESS", "CHALLENGE", "KEY")
    for limit in ("PER_SECOND", "BURST")
}


SHARED = pytest.StashKey[LocalServer]()


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> LocalServer:
    """One server for the session, however many modules import this: to pytest the fixture of each is another."""
    if SHARED not in request.config.stash:
        stack = contextlib.ExitStack()
        request.config.stash[SHARED] = stack.enter_context(local_server(environment=GENEROUS))
        request.config.add_cleanup(stack.close)
    return request.config.stash[SHARED]


@dataclass
class Commands:
    """Runs ``identity`` in this process."""

    environment: dict[str, str]

    def __call__(self, *arguments: str | Path, **more: Any) -> Result:
        words = [str(word) for word in arguments]
        return CliRunner().invoke(main, words, env=self.environment, prog_name="identity", **more)

    def ok(self, *arguments: str | Path, **more: Any) -> str:
        result = self(*arguments, **more)
        assert result.exit_code == 0, result.output + repr(result.exception)
        return result.stdout

    def json(self, *arguments: str | Path, **more: Any) -> Any:
        return json.loads(self.ok(*arguments, "--json", **more))

    def refused(self, *arguments: str | Path, status: int = 1, **more: Any) -> list[str]:
        """The three lines."""
        result = self(*arguments, **more)
        assert result.exit_code == status, result.output + repr(result.exception)
        assert isinstance(result.exception, SystemExit)
        lines = result.stderr.splitlines()
        assert [line[:6] for line in lines] == ["error:", "  at: ", "  do: "], result.stderr
        assert all(len(line) > 7 for line in lines)
        assert result.stdout == ""
        return lines


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no settings of the person who runs the tests."""
    import os

    for name in list(os.environ):
        if name.startswith("IDENTITY_") and name not in ("IDENTITY_VECTORS", "IDENTITY_ROUNDS"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("API_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def identity(here: Path) -> Iterator[Commands]:
    """Commands on the working directory. ``serve`` configures logging; the loggers get their levels back, and lose its handlers."""
    loggers = [logging.getLogger(name) for name in (None, "identity", "identity_core", "uvicorn")]
    levels, handlers = [one.level for one in loggers], {*logging.root.handlers}
    yield Commands({})
    for one, level in zip(loggers, levels, strict=True):
        one.setLevel(level)
    for handler in {*logging.root.handlers} - handlers:
        logging.root.removeHandler(handler)


@pytest.fixture
def remote(server: LocalServer, here: Path) -> Commands:
    """Commands that call the running service, with its API key."""
    return Commands({"IDENTITY_URL": server.url, "IDENTITY_API_KEY": server.api_key})


@pytest.fixture
def wallet(remote: Commands, here: Path) -> Path:
    """The keys file of a new DID."""
    path = here / "hana.json"
    remote.ok("did", "create", "--keys", path)
    return path


@pytest.fixture
def read_wallet(wallet: Path) -> Callable[[], dict[str, Any]]:
    """What the keys file holds now."""
    return lambda: json.loads(wallet.read_text())
