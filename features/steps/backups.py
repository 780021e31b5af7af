"""A machine with a service, and its operator at the command line."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pytest_bdd import given, parsers, then, when

from tests import servers
from tests.fault.service_process import API_KEY, ROOT, Running, service


@dataclass
class Machine:
    """``disk`` is what can be lost; ``apart`` holds the operator's key, wallets, backups and what a monitor keeps."""

    disk: Path
    apart: Path
    stack: contextlib.ExitStack
    running: Running | None = None
    ended: subprocess.CompletedProcess[str] | None = None
    dids: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.disk / "data"

    def start(self) -> None:
        self.disk.mkdir(exist_ok=True)
        self.running = self.stack.enter_context(service(self.data))

    def identity(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
        environment |= servers.PATIENT | {"API_KEY": API_KEY, "IDENTITY_API_KEY": API_KEY, "PYTHONPATH": str(ROOT)}
        if self.running is not None:
            environment["IDENTITY_URL"] = self.running.wire.url
        self.ended = servers.run(*words, environment=environment)
        return self.ended

    def told(self, *words: str | Path) -> Any:
        """What a command says that does what it is asked."""
        ended = self.identity(*words, "--json")
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


@given("a machine with a service")
def with_a_service(machine: Machine) -> None:
    machine.start()


@given(parsers.parse('the operator has a DID "{name}" registered'))
def registered(machine: Machine, name: str) -> None:
    machine.dids[name] = machine.told("did", "create", "--keys", machine.apart / f"{name}.json")["did"]


@given("the operator backs it up while it runs")
def backed_up(machine: Machine) -> None:
    target = machine.apart / "backups" / "monday"
    machine.told("backup", "create", target, "--key-file", machine.apart / "key", "--data-dir", machine.data)


@given("a monitor keeps a checkpoint of the log")
def kept(machine: Machine) -> None:
    key = machine.told("ledger", "key")["verifierKey"]
    ended = machine.identity("ledger", "checkpoint", "--key", key, "--save", machine.apart / "checkpoint")
    assert ended.returncode == 0, ended.stderr


@given("the machine loses its disk")
def lost(machine: Machine) -> None:
    assert machine.running is not None
    machine.running.kill()
    machine.running = None
    shutil.rmtree(machine.disk)


@when("the operator restores the backup")
def restores(machine: Machine) -> None:
    machine.restore()


@when("the operator restores the backup with the checkpoint of the monitor")
def restores_with_checkpoint(machine: Machine) -> None:
    machine.restore("--checkpoint", machine.apart / "checkpoint")
    assert machine.ended is not None
    assert machine.ended.returncode == 0, machine.ended.stderr


@when("the operator accepts the rollback")
def accepts(machine: Machine) -> None:
    machine.identity("ledger", "accept-rollback", "--yes", "--data-dir", machine.data)


@when(parsers.parse('the operator accepts the rollback under the name "{name}"'))
def accepts_under(machine: Machine, name: str) -> None:
    machine.told("ledger", "accept-rollback", "--yes", "--data-dir", machine.data, "--new-origin", name)


@when("the service is started again")
def again(machine: Machine) -> None:
    machine.start()


@then(parsers.parse('the command refuses: "{says}"'))
def refuses(machine: Machine, says: str) -> None:
    assert machine.ended is not None
    assert machine.ended.returncode == 1
    assert says in machine.ended.stderr


@then(parsers.parse("{count:d} ledger entry is said to be lost"))
def said_to_be_lost(machine: Machine, count: int) -> None:
    assert machine.ended is not None
    assert json.loads(machine.ended.stdout)["entriesLost"] == count


@then(parsers.parse('the service does not start: "{says}"'))
def does_not_start(machine: Machine, says: str) -> None:
    machine.identity("serve", "--port", "0", "--data-dir", machine.data)
    refuses(machine, says)


@then(parsers.parse('the DID "{name}" is resolved'))
def is_resolved(machine: Machine, name: str) -> None:
    ended = machine.identity("did", "resolve", machine.dids[name])
    assert ended.returncode == 0, ended.stderr
    assert machine.dids[name] in ended.stdout


@then(parsers.parse('the DID "{name}" is not found'))
def is_not_found(machine: Machine, name: str) -> None:
    ended = machine.identity("did", "resolve", machine.dids[name])
    assert ended.returncode == 1
    assert "DID_NOT_FOUND" in ended.stdout + ended.stderr


@then(parsers.parse('the log is called "{name}"'))
def is_called(machine: Machine, name: str) -> None:
    assert machine.told("ledger", "key")["verifierKey"].startswith(f"{name}+")
