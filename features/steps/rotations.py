"""Hana's view of the keys of a service, before and after the operator replaces one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_bdd import given, parsers, then, when

from features.machine import Machine
from features.steps.theft import SHORT
from tests.attack.stranger import PREFIX, Answer
from tests.fault.service_process import API_KEY, eventually


@dataclass(frozen=True)
class Keys:
    """The public keys in use: of log entries, of checkpoints, of access tokens."""

    log: str
    checkpoint: str
    token: str


@dataclass(frozen=True)
class Noted:
    """What Hana has kept; ``checkpoint`` is a file."""

    document: object
    token: str
    checkpoint: Path
    keys: Keys


@given("a machine with a service")
def begun(machine: Machine) -> None:
    machine.start()


@given("Hana notes her DID, a token, a checkpoint and the keys of the service", target_fixture="noted")
def notes(machine: Machine) -> Noted:
    keys, kept = in_use(machine), machine.apart / "checkpoint"
    machine.run_json("ledger", "checkpoint", "--key", keys.checkpoint, "--save", kept)
    return Noted(document(machine), new_token(machine), kept, keys)


@when(parsers.re('the operator replaces the key of "(?P<key>[a-z]+)"(?P<how>, which was compromised)?'))
def replaces(machine: Machine, key: str, how: str | None) -> None:
    words = ("keys", "rotate", key, "--data-dir", machine.data, *(["--compromised"] if how else []))
    done = machine.run_json(*words, environment=SHORT)
    assert done.get("key", "log") == key


@then("her DID resolves to the same document")
def resolves(machine: Machine, noted: Noted) -> None:
    assert document(machine) == noted.document


@then("the token of before and a new one are taken")
def tokens(machine: Machine, noted: Noted) -> None:
    assert [list_dids(machine, token).status for token in (noted.token, new_token(machine))] == [200, 200]


@then(parsers.re("the token of before is (?P<fate>taken|refused), and a new one is taken"))
def after_theft(machine: Machine, noted: Noted, fate: str) -> None:
    wanted = 200 if fate == "taken" else 401
    eventually(lambda: list_dids(machine, noted.token).status == wanted, f"the token of before is {fate}")
    assert list_dids(machine, new_token(machine)).status == 200


@then("the log has grown from the checkpoint, as the key of before and the service's own DID lead to it")
def grown(machine: Machine, noted: Noted) -> None:
    words = ("ledger", "verify", machine.dids["Hana"], "--key", noted.keys.checkpoint, "--held", noted.checkpoint)
    # A service has its own DID from its first rotation on; the operator passes it to the verifier.
    own = machine.run_json("ledger", "key")["serviceDid"]
    assert machine.run_json(*words, *(("--service-did", own) if own else ()))["versions"] >= 2


@then(parsers.re("the key of before (?P<how>leads|does not lead) to the checkpoint"))
def leads(machine: Machine, noted: Noted, how: str) -> None:
    ended = machine.identity("ledger", "checkpoint", "--key", noted.keys.checkpoint)
    assert ended.returncode == (0 if how == "leads" else 1), ended.stderr
    # The service's own DID leads to it all the same; the operator passes it to the verifier.
    own = machine.run_json("ledger", "key")["serviceDid"]
    words = ("ledger", "verify", machine.dids["Hana"], "--key", noted.keys.checkpoint, "--service-did", own)
    assert machine.run_json(*words, "--held", noted.checkpoint)["versions"] == 2


@then(parsers.parse('of the keys that she noted another one is in use for "{key}" alone'))
def another(machine: Machine, noted: Noted, key: str) -> None:
    def changed() -> set[str]:
        now = in_use(machine)
        return {name for name in ("log", "checkpoint", "token") if getattr(now, name) != getattr(noted.keys, name)}

    eventually(lambda: changed() == {key} - {"seal"}, f"another key is in use for {key} alone")


def in_use(machine: Machine) -> Keys:
    """The keys as anyone sees them: that of the log in a DID that is new."""
    assert machine.running is not None
    first = machine.running.stranger.holder().log().splitlines()[0]
    jwks = call(machine, "GET", "/.well-known/jwks.json").json
    return Keys(
        json.loads(first)["proof"][0]["verificationMethod"],
        call(machine, "GET", f"{PREFIX}/ledger/key").json["verifierKey"],
        jwks["keys"][0]["kid"],
    )


def document(machine: Machine) -> object:
    answer = call(machine, "GET", f"{PREFIX}/dids/{machine.dids['Hana']}")
    assert answer.status == 200, answer.body
    return answer.json["didDocument"]


def new_token(machine: Machine) -> str:
    body, header = {"grant_type": "client_credentials"}, {"X-API-Key": API_KEY}
    answer = call(machine, "POST", f"{PREFIX}/auth/token", body, header)
    assert answer.status == 200, answer.body
    return str(answer.json["access_token"])


def list_dids(machine: Machine, token: str) -> Answer:
    return call(machine, "GET", f"{PREFIX}/dids", None, {"Authorization": f"Bearer {token}"})


def call(
    machine: Machine, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    if machine.running is None:
        pytest.fail("the service does not run")
    return machine.running.wire.call(method, path, body, headers)
