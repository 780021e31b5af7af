"""A thief of the log key, of the database, of both, in three modes: against a DID that was created with ``strictEvidence``, and against one
that began it later, no reader accepts anything that its controller did not request. Without it some of that is accepted, and every reader
counts it (``unboundChanges``).

She writes entries as plain JSON, with nacl and the standard library alone. What she has besides: the whole public log with its evidence,
and signatures of the controller over challenges that are bound to nothing, to the purpose alone or to the body alone.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from identity_commands.verify_log import UnnamedKey, unnamed_keys, verify
from identity_did_ids import DidIds, DidIdsSettings
from nacl.signing import SigningKey

from identity_core.cli import main
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.logs import fold
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import AuthFailed, DidNotFound, DidQuarantined
from identity_core.wire import DeactivateDidRequest, RotateDidKeyRequest, ServiceInput, UpdateDidRequest
from tests import servers
from tests.attack.log_thief import jcs, multihash, sealed
from tests.attack.stranger import base58, base64url, body_hash, public, signing_key
from tests.did_use_cases import Rooms, secret_of

THIEF = SigningKey(b"\x07" * 32)
OWN = SigningKey(b"\x08" * 32)
ORIGIN = "https://id.example"
Item = dict[str, Any]
FILES = {"id": "files", "type": "LinkedDomains", "serviceEndpoint": "https://hana.example/"}
MORE = FILES | {"id": "more"}
STRICT = {"operation": "setStrictEvidence", "strictEvidence": True}


class Loot:
    """The log of a DID with the entries create, update, rotate, update, and what the thief has of its controller's signatures. Where
    ``begun``, strictEvidence begins in an entry before the first update."""

    def __init__(self, lines: list[bytes], log_key: SigningKey, hana: SigningKey, creator: SigningKey) -> None:
        self.items = [json.loads(line) for line in lines]
        self.lines, self.log_key, self._hana, self.creator = lines, log_key, hana, creator
        self.did: str = self.items[0]["state"]["id"]
        self.begun = [
            place for place, item in enumerate(self.items) if place and "strictEvidence" in item["parameters"]["change"]
        ]

    def format_time_after(self, place: int, seconds: float = 1) -> str:
        moment = datetime.fromisoformat(self.items[place]["versionTime"]) + timedelta(seconds=seconds)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def evidence(self, key: SigningKey, purpose: str = "-", digest: str = "-") -> Item:
        """A signature over a challenge that ends four minutes after the newest entry."""
        end = self.format_time_after(-1, 240)[:19] + "Z"
        text = f"didauth:v1 {ORIGIN} {self.did} {purpose} {digest} {base64url(bytes(32))} {end}"
        signature = base64url(key.sign(text.encode()).signature)
        return {"scheme": "DIDAuth", "key": public(key), "challenge": text, "signature": signature}

    def hanas(self, purpose: str = "-", digest: str = "-") -> Item:
        """Return evidence that the controller signed for another purpose."""
        return self.evidence(self._hana, purpose, digest)

    def rewritten(self, place: int, spoil: Callable[[Item], object]) -> list[bytes]:
        """The log up to an entry that the thief writes anew from the one that was in its place."""
        item = copy.deepcopy(self.items[place])
        spoil(item)
        return [*self.lines[:place], sealed(item, self.log_key, self.items[place - 1]["versionId"])]

    def appended(self, authorization: Item) -> list[bytes]:
        """One entry more, which gives the DID a key of the thief."""
        item = copy.deepcopy(self.items[-1])
        key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": public(THIEF)}
        item["versionTime"] = self.format_time_after(-1)
        step = {"operation": "addVerificationMethod", "verificationMethod": key | {"purposes": ["authentication"]}}
        change = {"operation": "update", "proofBy": "service", "authorization": authorization}
        item["parameters"] = {"change": change if "body" in authorization else change | {"operations": [step]}}
        name = f"{self.did}#{public(THIEF)}"
        item["state"]["verificationMethod"].append({"id": name, "controller": self.did} | key)
        item["state"]["authentication"].append(name)
        return [*self.lines, sealed(item, self.log_key, self.items[-1]["versionId"])]


def wish(thing: Item) -> UpdateDidRequest:
    service = ServiceInput(id=thing["id"], type=thing["type"], service_endpoint=thing["serviceEndpoint"])
    return UpdateDidRequest(operation="addService", service=service)


def as_json(thing: Item) -> Item:
    return {"operation": "addService", "service": thing}


async def lived(rooms: Rooms, *, bound: bool = True, named: bool = True, begins: bool = False) -> Loot:
    """A DID that was created, got a service, rotated to a key of its own, got a service; unless ``named`` it left the key to the service,
    and did nothing more. Where it ``begins``, strictEvidence is what it requests first."""
    made = await rooms.new_did()
    did, secret = made.version.state.did, secret_of(made)
    old = f"{did}#{made.keys[0].public}"

    async def signed(key: str, purpose: str, body: Item) -> Any:
        rooms.clock.move(seconds=1)
        return await rooms.signed(did, key, purpose, body=body if bound else None)

    if begins:
        proof = await rooms.signed(did, secret, "update", body=STRICT)
        asked = UpdateDidRequest(operation="setStrictEvidence", strict_evidence=True)
        await rooms.update(did, asked, proof, rooms.context(did, proof), if_match=None)
    for thing, key in ((FILES, secret), (None, secret), (MORE, "own")):
        if thing is None:
            body = {"oldKeyId": old, "newKeyType": "Ed25519", "newPublicKeyMultibase": public(OWN)}
            asked = RotateDidKeyRequest(old_key_id=old, new_key_type="Ed25519", new_public_key_multibase=public(OWN))
            if not named:
                del body["newPublicKeyMultibase"]
                asked = RotateDidKeyRequest(old_key_id=old, new_key_type="Ed25519")
            proof = await signed(key, "rotate", body)
            await rooms.rotate(did, asked, proof, rooms.context(did, proof), if_match=None)
            if not named:
                break
            continue
        key = secret if key != "own" else "z" + base58(b"\x80\x26" + bytes(OWN))
        proof = await signed(key, "update", as_json(thing))
        await rooms.update(did, wish(thing), proof, rooms.context(did, proof), if_match=None)
    lines = (await rooms.log(did)).splitlines()
    return Loot(lines, signing_key(rooms.custodian.pair.secret), OWN, signing_key(secret))


def with_rooms(folder: Path, story: Callable[[Rooms], Any], *, strict: bool = True) -> Any:
    async def run() -> Any:
        rooms = Rooms(folder, method=DidIds(DidIdsSettings(strict_evidence=strict)))
        try:
            return await story(rooms)
        finally:
            await rooms.close()

    return asyncio.run(run())


@pytest.fixture(scope="module", params=["created with it", "begun later"])
def loot(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Loot:
    """Logs of a DID with strictEvidence."""
    begins = request.param == "begun later"
    folder = tmp_path_factory.mktemp("loot")
    return with_rooms(folder, lambda rooms: lived(rooms, begins=begins), strict=not begins)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Loot:
    """Logs of a DID with default options, whose controller signs challenges that name the purpose and no body."""
    return with_rooms(tmp_path_factory.mktemp("plain"), lambda rooms: lived(rooms, bound=False), strict=False)


def change(item: Item) -> Item:
    return item["parameters"]["change"]


def with_service(item: Item, endpoint: str = "https://thief.example/") -> None:
    for one in item["state"]["service"]:
        one["serviceEndpoint"] = endpoint


def other_body(item: Item) -> None:
    """Another body under the same signature."""
    change(item)["authorization"]["body"]["service"]["serviceEndpoint"] = "https://thief.example/"
    item["state"]["service"][-1]["serviceEndpoint"] = "https://thief.example/"


def no_body(item: Item) -> None:
    """The form of logs that keep no bodies, with operations of the thief's."""
    del change(item)["authorization"]["body"]
    service = {"id": "more", "type": "LinkedDomains", "serviceEndpoint": "https://thief.example/"}
    change(item)["operations"] = [{"operation": "addService", "service": service}]
    item["state"]["service"][-1]["serviceEndpoint"] = "https://thief.example/"


def own_operations(item: Item) -> None:
    """Body and operations side by side."""
    no = copy.deepcopy(change(item)["authorization"]["body"])
    no_body(item)
    change(item)["authorization"]["body"] = no


def other_document(item: Item) -> None:
    item["state"]["service"][-1]["serviceEndpoint"] = "https://thief.example/"


def end_of_the_did(item: Item) -> None:
    """The evidence of an update under a deactivation."""
    authorization = {k: v for k, v in change(item)["authorization"].items() if k != "body"}
    said = {"operation": "deactivated", "proofBy": "service", "authorization": authorization}
    item["parameters"] = {"change": said, "deactivated": True, "updateKeys": []}
    did = item["state"]["id"]
    item["state"] = {"@context": item["state"]["@context"][:1], "id": did, "controller": did}


def her_key(item: Item) -> None:
    """The rotation leads to the thief's key, in the change and in the document; the body says the owner's."""
    text = json.dumps(item).replace(public(OWN), public(THIEF))
    body = change(item)["authorization"]["body"]
    item.update(json.loads(text))
    change(item)["authorization"]["body"] = body


def her_key_in_the_body(item: Item) -> None:
    item.update(json.loads(json.dumps(item).replace(public(OWN), public(THIEF))))


def longer_grace(item: Item) -> None:
    """The old key, which leaves at once, would stay an hour."""
    change(item)["revokeAt"] = "2026-01-01T02:00:00Z"


def relaxed(item: Item) -> None:
    change(item)["strictEvidence"] = False


def strict_again(item: Item) -> None:
    change(item)["strictEvidence"] = True


UPDATES = (other_body, no_body, own_operations, other_document, end_of_the_did, relaxed, strict_again)
REWRITTEN = {
    **{f"{spoil.__name__} of {place + 1}": (place, spoil) for place in (1, 3) for spoil in UPDATES},
    **{f"{spoil.__name__} of 3": (2, spoil) for spoil in (her_key, her_key_in_the_body, longer_grace, end_of_the_did)},
}
BODY = {
    "operation": "addVerificationMethod",
    "verificationMethod": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": public(THIEF)},
}
# What the thief puts under a key of her own: by what the signature that she has is bound to.
EVIDENCE: dict[str, Callable[[Loot], Item]] = {
    "bound to nothing": lambda loot: loot.hanas(),
    "bound to nothing, with a body": lambda loot: loot.hanas() | {"body": BODY},
    "bound to the purpose": lambda loot: loot.hanas("update"),
    "bound to the purpose, with a body": lambda loot: loot.hanas("update") | {"body": BODY},
    "bound to the body": lambda loot: loot.hanas("-", body_hash(BODY)) | {"body": BODY},
    "bound to another body": lambda loot: loot.hanas("update", body_hash(as_json(MORE))) | {"body": BODY},
    "bound to another body, which is shown": lambda loot: (
        loot.hanas("update", body_hash(as_json(MORE))) | {"body": as_json(MORE)}
    ),
    "bound to another purpose": lambda loot: loot.hanas("token", body_hash(BODY)) | {"body": BODY},
    "of an entry": lambda loot: copy.deepcopy(loot.items[-1]["parameters"]["change"]["authorization"]),
    "of her own key": lambda loot: loot.evidence(THIEF, "update", body_hash(BODY)) | {"body": BODY},
    "of the log key": lambda loot: loot.evidence(loot.log_key, "update", body_hash(BODY)) | {"body": BODY},
    "no object for a body": lambda loot: loot.hanas("update", body_hash([BODY])) | {"body": [BODY]},
}


def refused_by_readers(lines: list[bytes]) -> None:
    """The method as the service asks it, and the library; what the command says is tested below."""
    method = DidIds(DidIdsSettings(strict_evidence=False))
    with pytest.raises(LogInvalid):
        list(fold(method.apply, lines))
    with pytest.raises(LogInvalid):
        verify(b"\n".join(lines))


@pytest.mark.parametrize("name", REWRITTEN)
def test_the_log_key_rewrites_no_entry(loot: Loot, name: str) -> None:
    place, spoil = REWRITTEN[name]
    place += len(loot.begun)
    # Unchanged and signed again it is good, so what is refused is what the thief has changed.
    assert verify(b"\n".join(loot.rewritten(place, lambda item: None))).versions == place + 1
    refused_by_readers(loot.rewritten(place, spoil))


@pytest.mark.parametrize("name", EVIDENCE)
def test_log_key_appends_nothing_with_signature_for_something(loot: Loot, name: str) -> None:
    refused_by_readers(loot.appended(EVIDENCE[name](loot)))


def test_service_generated_key_is_reported_to_readers(tmp_path: Path) -> None:
    """The signature under such a rotation names no key: hers stands there as well as the service's. No reader can tell them apart, and
    every one can tell that the controller named neither."""
    loot = with_rooms(tmp_path, lambda rooms: lived(rooms, named=False))
    assert unnamed_keys(loot.lines) == (UnnamedKey(3, added(loot.items[2])),)
    text = json.dumps(loot.items[2]).replace(added(loot.items[2]), public(THIEF))
    hers = loot.rewritten(2, lambda item: item.update(json.loads(text)))
    assert public(THIEF) in json.dumps(verify(b"\n".join(hers)).document)
    assert unnamed_keys(hers) == (UnnamedKey(3, public(THIEF)),)
    file = tmp_path / "did.jsonl"
    file.write_bytes(b"\n".join(hers) + b"\n")
    told = CliRunner().invoke(main, ["did", "log", "verify", str(file)], prog_name="identity")
    assert told.exit_code == 0, told.output
    assert f"version 3: {public(THIEF)} was made by the service" in told.stdout
    strict = CliRunner().invoke(main, ["did", "log", "verify", str(file), "--require-named-keys"], prog_name="identity")
    assert strict.exit_code == 1
    assert '"line": 3' in strict.stderr


def test_no_key_is_reported_when_the_controller_names_each(tmp_path: Path) -> None:
    loot = with_rooms(tmp_path, lived)
    assert unnamed_keys(loot.lines) == ()
    file = tmp_path / "did.jsonl"
    file.write_bytes(b"\n".join(loot.lines) + b"\n")
    strict = CliRunner().invoke(main, ["did", "log", "verify", str(file), "--require-named-keys"], prog_name="identity")
    assert strict.exit_code == 0, strict.output


def test_a_log_that_shows_no_requests_has_no_named_keys(tmp_path: Path) -> None:
    old = with_rooms(tmp_path, lambda rooms: lived(rooms, bound=False), strict=False)
    assert unnamed_keys(old.lines) is None
    file = tmp_path / "did.jsonl"
    file.write_bytes(b"\n".join(old.lines) + b"\n")
    strict = CliRunner().invoke(main, ["did", "log", "verify", str(file), "--require-named-keys"], prog_name="identity")
    assert strict.exit_code == 1
    assert "do not show which keys" in strict.stderr


def added(item: Item) -> str:
    """The key that a rotation brought."""
    key: str = change(item)["newKey"]["publicKeyMultibase"]
    return key


def test_thief_writes_only_signed_changes(loot: Loot) -> None:
    """So nothing of the above is refused for its form."""
    lines = loot.appended(loot.hanas("update", body_hash(BODY)) | {"body": BODY})
    assert public(THIEF) in json.dumps(verify(b"\n".join(lines)).document)


# What the thief makes of a log without strictEvidence, by whether readers accept it.
ON_PLAIN: dict[str, tuple[bool, Callable[[Loot], list[bytes]]]] = {
    "a service of hers in an update": (True, lambda loot: loot.rewritten(1, own_service)),
    "her key in a rotation": (True, lambda loot: loot.rewritten(2, her_key_in_the_body)),
    "an update with a signature for any use": (True, lambda loot: loot.appended(loot.hanas())),
    "an update with a signature for another update": (True, lambda loot: loot.appended(loot.hanas("update"))),
    "an update with a signature for another body": (True, lambda loot: loot.appended(loot.hanas("-", "A" * 43))),
    "an update with a signature for a token": (False, lambda loot: loot.appended(loot.hanas("token"))),
    "the end of the DID with the evidence of an update": (False, lambda loot: loot.rewritten(1, end_of_the_did)),
    "an update with her own signature": (False, lambda loot: loot.appended(loot.evidence(THIEF))),
    "an update with a signature of the log key": (False, lambda loot: loot.appended(loot.evidence(loot.log_key))),
    "the evidence of an earlier entry": (
        False,
        lambda loot: loot.appended(copy.deepcopy(loot.items[-1]["parameters"]["change"]["authorization"])),
    ),
    "strictEvidence turned off": (False, lambda loot: loot.rewritten(1, relaxed)),
    "strictEvidence turned on without a body": (False, lambda loot: loot.rewritten(1, strict_again)),
}


def own_service(item: Item) -> None:
    change(item)["operations"][0]["service"]["serviceEndpoint"] = "https://thief.example/"
    with_service(item)


@pytest.mark.parametrize("name", ON_PLAIN)
def test_readers_count_what_log_key_can_forge_without_strict(plain: Loot, name: str) -> None:
    """The controller gave the signature of each accepted entry of the thief for another purpose."""
    is_accepted, steal = ON_PLAIN[name]
    lines = steal(plain)
    if not is_accepted:
        return refused_by_readers(lines)
    found = verify(b"\n".join(lines))
    # The first entry is the only one that no signature of the controller was needed for.
    assert found.unbound_changes == found.versions - 1
    assert "thief.example" in json.dumps(found.document) or public(THIEF) in json.dumps(found.document)
    return None


def test_changes_before_strict_evidence_stay_counted(loot: Loot) -> None:
    """A DID that begins it with its first change has no unbound one, as one that was created with it."""
    assert verify(b"\n".join(loot.lines)).unbound_changes == 0


@pytest.mark.parametrize("turn", [True, False, 1, 0, None, "true"])
def test_strict_evidence_is_neither_turned_off_nor_said_twice(loot: Loot, turn: object) -> None:
    for place in range(1 + len(loot.begun), len(loot.items)):
        refused_by_readers(loot.rewritten(place, lambda item: change(item).update(strictEvidence=turn)))


def test_the_entry_that_begins_strict_evidence_is_bound(loot: Loot) -> None:
    """The entry shows the signed body and ``strictEvidence``, and its challenge names both purpose and body."""

    def unsaid(item: Item) -> None:
        del change(item)["strictEvidence"]

    def without_body(item: Item) -> None:
        del change(item)["authorization"]["body"]
        change(item)["operations"] = [STRICT]

    def with_less(item: Item, purpose: str, digest: str) -> None:
        change(item)["authorization"] = loot.evidence(loot.creator, purpose, digest) | {"body": STRICT}

    for place in loot.begun:
        spoils: list[Callable[[Item], object]] = [
            unsaid,
            without_body,
            lambda item: change(item)["authorization"].update(body=STRICT | {"strictEvidence": False}),
            lambda item: change(item)["authorization"].update(body=as_json(FILES)),
            lambda item: change(item).update(strictEvidence=False),
            lambda item: change(item).update(strictEvidence=1),
            lambda item: with_less(item, "-", "-"),
            lambda item: with_less(item, "update", "-"),
            lambda item: with_less(item, "-", body_hash(STRICT)),
        ]
        for spoil in spoils:
            refused_by_readers(loot.rewritten(place, spoil))
        bound = loot.rewritten(place, lambda item: with_less(item, "update", body_hash(STRICT)))
        assert verify(b"\n".join(bound)).versions == place + 1, "so they are refused for what they lack"


def test_a_log_of_before_stays_valid_and_is_as_weak_as_it_was(tmp_path: Path) -> None:
    old = with_rooms(tmp_path, lambda rooms: lived(rooms, bound=False), strict=False)
    assert "strictEvidence" not in json.dumps(old.items)
    assert "body" not in json.dumps([item["parameters"] for item in old.items])
    assert verify(b"\n".join(old.lines)).versions == 4
    assert public(THIEF) in json.dumps(verify(b"\n".join(old.appended(old.hanas()))).document)


def test_a_first_entry_without_the_parameter_is_another_did(loot: Loot) -> None:
    first = copy.deepcopy(loot.items[0])
    if loot.begun:
        # Where it begins later the thief adds it.
        change(first)["strictEvidence"] = True
    else:
        assert change(first).pop("strictEvidence") is True
    body = {name: value for name, value in first.items() if name != "proof"}
    blank = json.loads(json.dumps(body | {"versionId": "{SCID}"}).replace(loot.did.split(":")[2], "{SCID}"))
    assert multihash(jcs(blank)) != loot.did.split(":")[2]
    with pytest.raises(LogInvalid):
        verify(sealed(first, loot.log_key, "0-x"))


def test_the_command_refuses_it_without_the_service(loot: Loot, tmp_path: Path) -> None:
    place, spoil = REWRITTEN["her_key of 3"]
    place += len(loot.begun)
    for lines, status in ((loot.lines, 0), (loot.rewritten(place, spoil), 1), (loot.appended(loot.hanas()), 1)):
        file = tmp_path / "did.jsonl"
        file.write_bytes(b"\n".join(lines) + b"\n")
        told = servers.run("did", "log", "verify", file)
        assert told.returncode == status, told.stdout + told.stderr


def enters(folder: Path, lines: list[bytes], did: str) -> None:
    """The thief of the database appends to the ledger what she has written, and links it as the ledger does not check when it reads."""
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger, ledger:
        (last,) = ledger.execute("SELECT max(sequence) FROM ledger_entries").fetchone()
        moment = int(datetime(2026, 1, 1).timestamp()) * 1_000_000
        row = (last + 1, did, len(lines), lines[-1], hashlib.sha256(lines[-1]).digest(), last + 1, moment, bytes(32))
        ledger.execute("INSERT INTO ledger_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def puts_into_index(folder: Path, lines: list[bytes], did: str) -> None:
    """And writes into the index that the DID has this document now."""
    document = json.dumps(json.loads(lines[-1])["state"], separators=(",", ":")).encode()
    with closing(sqlite3.connect(folder / "identity.sqlite")) as index, index:
        statement = "UPDATE did_versions SET document = ? WHERE did = ? AND version_id = ?"
        index.execute(statement, (document, did, len(lines) - 1))


THEFTS = {
    "the database": (THIEF, enters),
    "the index alone": (THIEF, puts_into_index),
    "the log key and the ledger": (None, enters),
    "the log key and both": (None, lambda *all: (enters(*all), puts_into_index(*all))),
}


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("name", THEFTS)
def test_stolen_database_admits_no_thief(tmp_path: Path, name: str, begins: bool) -> None:
    stolen, writes = THEFTS[name]

    async def story(rooms: Rooms) -> None:
        found = await lived(rooms, begins=begins)
        # She may have any signature of the controller but one for this.
        found.log_key = stolen or found.log_key
        writes(tmp_path, found.appended(found.hanas("update")), found.did)
        again = Rooms(tmp_path, method=DidIds(DidIdsSettings()))
        again.clock.time, did = rooms.clock.time, Did.parse(found.did)
        try:
            await again.catch_up()
            with pytest.raises((DidQuarantined, AuthFailed, DidNotFound)):
                await again.signed(did, "z" + base58(b"\x80\x26" + bytes(THIEF)), "token", body={})
            try:
                shown = await again.resolve(did, version_id=None, version_time=None)
            except DidQuarantined:
                return
            assert public(THIEF).encode() not in shown.version.state.document.encoded
        finally:
            await again.close()

    with_rooms(tmp_path, story, strict=not begins)


def test_a_deactivation_says_no_reason_and_needs_no_body(tmp_path: Path) -> None:
    async def story(rooms: Rooms) -> None:
        made = await rooms.new_did()
        did, body = made.version.state.did, {"confirm": True, "reason": "divorce"}
        for bound in (None, body):
            rooms.clock.move(seconds=1)
            proof = await rooms.signed(did, secret_of(made), "deactivate", body=bound)
            asked = DeactivateDidRequest(confirm=True, reason="divorce")
            if bound is None:
                with pytest.raises(AuthFailed, match="bodyHash"):
                    await rooms.deactivate(did, asked, proof, rooms.context(did, proof), if_match=None)
            else:
                await rooms.deactivate(did, asked, proof, rooms.context(did, proof), if_match=None)
        log = await rooms.log(did)
        assert b"divorce" not in log
        assert verify(log).deactivated

    with_rooms(tmp_path, story)
