"""A machine with a service, and the people at its command line."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.fault.service_process import API_KEY, ROOT, Running, service


@dataclass
class Machine:
    """``disk`` is what can be lost; ``apart`` holds the operator's key, wallets, backups and what a monitor keeps. ``settings`` are
    variables of the service and of every command."""

    disk: Path
    apart: Path
    stack: contextlib.ExitStack
    running: Running | None = None
    ended: subprocess.CompletedProcess[str] | None = None
    dids: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.disk / "data"

    def start(self) -> None:
        self.disk.mkdir(exist_ok=True)
        self.running = self.stack.enter_context(service(self.data, environment=self.settings))

    def identity(
        self, *words: str | Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
        inherited |= servers.PATIENT | {"API_KEY": API_KEY, "IDENTITY_API_KEY": API_KEY, "PYTHONPATH": str(ROOT)}
        if self.running is not None:
            inherited["IDENTITY_URL"] = self.running.wire.url
        self.ended = servers.run(*words, environment=inherited | self.settings | dict(environment or {}))
        return self.ended

    def run_json(self, *words: str | Path, environment: Mapping[str, str] | None = None) -> Any:
        """What a command says that does what it is asked."""
        ended = self.identity(*words, "--json", environment=environment)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return json.loads(ended.stdout)

    def restore(self, *more: str | Path) -> None:
        self.disk.mkdir()
        backup, key = self.apart / "backups" / "monday", self.apart / "key"
        self.identity("backup", "restore", backup, "--key-file", key, "--data-dir", self.data, *more, "--json")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with contextlib.ExitStack() as stack:
        made = Machine(tmp_path / "disk", tmp_path / "apart", stack)
        (made.apart / "backups").mkdir(parents=True)
        (made.apart / "key").write_bytes(os.urandom(32))
        (made.apart / "key").chmod(0o600)
        yield made
