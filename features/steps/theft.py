"""Eve with a copy of the log key, Hana who finds what she did, and the operator who replaces the key."""

from __future__ import annotations

import asyncio
import copy
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_bdd import given, parsers, then, when

from features.machine import Machine
from tests.attack.log_thief import STOLEN, appended, make_the_key, sealed
from tests.attack.stranger import public
from tests.fault.service_process import eventually

HERS = "https://eve.example/"
# The rotation waits for what is on its way to the ledger: twice this deadline.
SHORT = {"IDENTITY_LEDGER_DEADLINE_SECONDS": "2"}


def log_of(machine: Machine, name: str) -> list[bytes]:
    ended = machine.identity("did", "log", "get", machine.dids[name])
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.encode().splitlines()


def with_eves(lines: list[bytes], *, names_her_key: bool = False) -> list[bytes]:
    """The log with one more entry: what the last one says, and a service of Eve's. ``names_her_key``: it says that her copy is
    the key of the log."""
    last = json.loads(lines[-1])
    item = copy.deepcopy(last)
    moment = datetime.fromisoformat(last["versionTime"]) + timedelta(seconds=1)
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in last["versionTime"] else "%Y-%m-%dT%H:%M:%SZ"
    item["versionTime"] = moment.strftime(form)
    item["state"]["service"].append({"id": f"{last['state']['id']}#eve", "type": "X", "serviceEndpoint": HERS})
    if names_her_key:
        item["parameters"]["updateKeys"] = [public(STOLEN)]
    change = item["parameters"].get("change")
    if change is not None:
        # The log of did:ids says who asked: Hana's own signature, over what she asked for.
        change["authorization"]["body"] = change["authorization"]["body"] | {
            "service": {"id": "eve", "type": "X", "serviceEndpoint": HERS}
        }
    return [*lines, sealed(item, STOLEN, last["versionId"])]


def read(folder: Path, did: str, lines: list[bytes], witness_file: Path | None = None) -> Any:
    """What the package ``did-webvh`` makes of the log, with nothing changed in it."""
    reader = pytest.importorskip("did_webvh.core.resolver", reason="pip install identity-did-webvh[test]")
    verifier = pytest.importorskip("did_webvh.verify")
    file = folder / "did.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    resolver = reader.DidResolver(verifier.WebvhVerifier())
    return asyncio.run(resolver.resolve(did, reader.LocalHistoryResolver(file, witness_file)))


def verified(machine: Machine, name: str, lines: list[bytes], *more: str | Path) -> int:
    """The exit code of the command on a file."""
    file = machine.apart / "log.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    return machine.identity("did", "log", "verify", file, "--did", machine.dids[name], *more).returncode


@given("a machine with a service of whose log key Eve has a copy")
def copied(machine: Machine) -> None:
    machine.settings["IDENTITY_PLUGINS_WEBVH_HOST"] = "id.example"
    asyncio.run(make_the_key(machine.data))
    machine.start()


@given(parsers.parse('{name} has a DID of the method "{method}" with a service'))
def has_did(machine: Machine, name: str, method: str) -> None:
    keys = machine.apart / f"{name}.json"
    machine.dids[name] = machine.run_json("did", "create", "--method", method, "--keys", keys)["did"]
    machine.run_json("did", "update", "--keys", keys, "--add-service", "own", "LinkedDomains", "https://own.example/")


@when(parsers.parse("Eve writes into the ledger that the DID of {name} has a service of hers"))
def writes(machine: Machine, name: str) -> None:
    lines = log_of(machine, name)
    machine.dids["robbed"] = machine.dids[name]
    forged = with_eves(lines)
    asyncio.run(appended(machine.data, machine.dids[name], forged[-1], after=len(lines)))
    (machine.apart / "forged.jsonl").write_bytes(b"\n".join(forged))


@when("the operator replaces the log key, which was compromised")
def replaces(machine: Machine) -> None:
    words = ("keys", "rotate", "log", "--compromised", "--data-dir", machine.data)
    done = machine.run_json(*words, environment=SHORT)
    assert done["generation"] == 2
    assert len(done["retired"]) == 1


@when(parsers.parse("{name} recovers the DID as it was in version {version:d}"))
def recovers(machine: Machine, name: str, version: int) -> None:
    keys = machine.apart / f"{name}.json"
    machine.run_json("did", "recover", "--keys", keys, "--restore-version", str(version), "--keep-keys")


@then("the service refuses to go on with the DID")
def refuses(machine: Machine) -> None:
    (name,) = (name for name, did in machine.dids.items() if did == machine.dids["robbed"] and name != "robbed")
    keys = machine.apart / f"{name}.json"
    ended = machine.identity("did", "update", "--keys", keys, "--add-service", "more", "X", "https://own.example/")
    assert ended.returncode == 1
    assert "DID_QUARANTINED" in ended.stderr


@then(parsers.parse("the audit of the operator finds the DID of {name}"))
def finds(machine: Machine, name: str) -> None:
    key = machine.run_json("ledger", "key")["verifierKey"]
    assert machine.running is not None
    ended = machine.identity("ledger", "audit", "--logs", "--url", machine.running.wire.url, "--key", key, "--json")
    assert ended.returncode == 1
    assert machine.dids[name] in [one["where"] for one in json.loads(ended.stdout)["findings"]]


@then("the DID of anybody else can be changed")
def others(machine: Machine) -> None:
    has_did(machine, "Vera", "ids")


@then(parsers.parse("the DID of {name} shows a service of Eve"))
def shows(machine: Machine, name: str) -> None:
    # The index follows what others write into the ledger.
    eventually(
        lambda: HERS in json.dumps(machine.run_json("did", "resolve", machine.dids[name])), "Eve's service is shown"
    )


@then(parsers.parse("the DID of {name} shows no service of Eve"))
def shows_none(machine: Machine, name: str) -> None:
    document = json.dumps(machine.run_json("did", "resolve", machine.dids[name]))
    assert HERS not in document
    assert "https://own.example/" in document


@then(parsers.parse("{name} finds {count:d} versions where she made {own:d}"))
def finds_versions(machine: Machine, name: str, count: int, own: int) -> None:
    assert machine.run_json("did", "history", machine.dids[name])["total"] == count == own + 1


@then(parsers.parse('the log of {name} is taken by "identity did log verify" and by the reader "did-webvh"'))
def resolve_last_state(machine: Machine, name: str) -> None:
    lines = log_of(machine, name)
    assert verified(machine, name, lines) == 0, machine.ended
    result = read(machine.apart, machine.dids[name], lines)
    assert result.document == json.loads(lines[-1])["state"], result.resolution_metadata


@then(parsers.parse('the log of {name} with the entry of Eve is refused by "identity did log verify"'))
def entry_refused(machine: Machine, name: str) -> None:
    lines = (machine.apart / "forged.jsonl").read_bytes().splitlines()
    assert verified(machine, name, lines[:-1]) == 0
    assert verified(machine, name, lines) == 1


@then(parsers.parse('the log of {name} with one more entry of Eve is refused by "identity did log verify"'))
def one_more_refused(machine: Machine, name: str) -> None:
    lines = log_of(machine, name)
    for names_her_key, says in ((False, "may not sign"), (True, "was not committed to")):
        assert verified(machine, name, with_eves(lines, names_her_key=names_her_key)) == 1
        assert machine.ended is not None
        assert says in machine.ended.stderr


@then(parsers.parse('the log of {name} with one more entry of Eve is refused by the reader "did-webvh"'))
def one_more_refused_there(machine: Machine, name: str) -> None:
    lines = log_of(machine, name)
    for names_her_key in (False, True):
        result = read(machine.apart, machine.dids[name], with_eves(lines, names_her_key=names_her_key))
        assert result.document is None
        assert "error" in result.resolution_metadata


@then(parsers.parse("the log of {name} with one more entry of Eve is taken by who has no more than the log"))
def one_more_taken(machine: Machine, name: str) -> None:
    lines = with_eves(log_of(machine, name))
    assert verified(machine, name, lines) == 0
    assert HERS in json.dumps(read(machine.apart, machine.dids[name], lines).document)


@then(
    parsers.parse(
        'the log of {name} with one more entry of Eve is refused by "identity did log verify" with the history of the service'
    )
)
def refused_with_history(machine: Machine, name: str) -> None:
    """A reader has a history that contains the retirement, and a proof of the place of the true entries."""
    key, kept, proof = machine.run_json("ledger", "key")["verifierKey"], machine.apart / "kept", machine.apart / "proof"
    machine.run_json("ledger", "verify", machine.dids[name], "--key", key, "--save", kept)
    proof.write_text(machine.identity("ledger", "prove", machine.dids[name]).stdout)
    known = ("--service-history", kept, "--key", key, "--proof", proof)
    lines = log_of(machine, name)
    assert verified(machine, name, lines, *known) == 0, machine.ended
    assert verified(machine, name, with_eves(lines), *known) == 1
    assert machine.ended is not None
    assert "signed by a retired key" in machine.ended.stderr
