"""A machine that loses its disk, and its operator at the command line."""

from __future__ import annotations

import json
import shutil

from pytest_bdd import given, parsers, then, when

from features.machine import Machine


@given("a machine with a service")
def with_a_service(machine: Machine) -> None:
    machine.start()


@given(parsers.parse('the operator has a DID "{name}" registered'))
def registered(machine: Machine, name: str) -> None:
    machine.dids[name] = machine.run_json("did", "create", "--keys", machine.apart / f"{name}.json")["did"]


@given("the operator backs it up while it runs")
def backed_up(machine: Machine) -> None:
    target = machine.apart / "backups" / "monday"
    machine.run_json("backup", "create", target, "--key-file", machine.apart / "key", "--data-dir", machine.data)


@given("a monitor keeps a checkpoint of the log")
def save_checkpoint_in_monitor(machine: Machine) -> None:
    key = machine.run_json("ledger", "key")["verifierKey"]
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
    machine.run_json("ledger", "accept-rollback", "--yes", "--data-dir", machine.data, "--new-origin", name)


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
    assert machine.run_json("ledger", "key")["verifierKey"].startswith(f"{name}+")
