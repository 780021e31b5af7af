"""Retries by a key that the change itself ended: they get the lost answer of that request, and nothing else."""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.attack.conftest import Target
from tests.attack.stranger import (
    ACTS,
    PREFIX,
    Answer,
    Holder,
    add_key,
    body_hash,
    header,
    public,
    recovery_body,
    remove_key,
    rotation,
    service,
)

FAILED = (401, "AUTH_FAILED")


@dataclass
class Change:
    """A change that ends the key which signs it, and an idempotency key for it."""

    holder: Holder
    act: str
    body: Any
    key: SigningKey
    name: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def scheme(self) -> str:
        return "RecoveryKey" if self.act == "recover" else "DIDAuth"

    def send(self, *, named: bool = False, **other: Any) -> Answer:
        """Send it with a fresh challenge; ``other`` replaces fields."""
        act, body = other.get("act", self.act), other.get("body", self.body)
        name, key = other.get("name", self.name), other.get("key", self.key)
        text = self.holder.challenge(act, body_hash(body))
        signature = key.sign(text.encode()).signature
        value = header(text if named else self.holder.did, signature, other.get("scheme", self.scheme))
        headers: Mapping[str, str] = {"Authorization": value} | ({} if name is None else {"Idempotency-Key": name})
        return self.holder.wire.call(ACTS[act][0], self.holder.path(act), body, headers)


def recovery(holder: Holder) -> Change:
    assert holder.recovery is not None
    return Change(holder, "recover", recovery_body(public(SigningKey.generate())), holder.recovery)


def rotation_now(holder: Holder) -> Change:
    return Change(holder, "rotate", rotation(holder.key_id), holder.key)


ENDING = pytest.mark.parametrize("make", [recovery, rotation_now], ids=["recover", "rotate"])


@ENDING
@pytest.mark.parametrize("named", [False, True])
def test_retry_gets_the_lost_answer(either: Target, make: Callable[[Holder], Change], named: bool) -> None:
    change = make(either.stranger.holder())
    first = change.send(named=named)
    assert first.status == 200, first.body
    assert b"privateKey" in first.body
    either.wire.close()
    for _ in range(3):
        again = change.send(named=named)
        assert (again.status, again.body) == (200, first.body)
        assert again.headers["idempotent-replayed"] == "true"
    assert len(change.holder.log().splitlines()) == 2


def test_removal_of_the_own_key_can_be_repeated(target: Target) -> None:
    hana = target.stranger.holder()
    assert hana.act("update", add_key(public(SigningKey.generate()))).status == 200
    change = Change(hana, "update", remove_key(hana.key_id), hana.key)
    first = change.send()
    assert first.status == 200, first.body
    assert change.send().body == first.body
    assert change.send(name=str(uuid.uuid4())).outcome == FAILED


@ENDING
def test_former_key_opens_nothing_else(target: Target, make: Callable[[Holder], Change]) -> None:
    """Refuse another body, operation, idempotency key, signer or DID, in the way in which any unknown key is refused."""
    holder = target.stranger.holder()
    change = make(holder)
    assert change.send().status == 200
    versions = holder.log()
    # Of the same DID, and not the key of the first attempt.
    other_scheme = "DIDAuth" if change.scheme == "RecoveryKey" else "RecoveryKey"
    refused = [
        change.send(body=change.body | {"unknown": "member"}),
        change.send(body=change.body | {"restoreVersion" if change.act == "recover" else "revokeOldAfter": "x"}),
        change.send(name=str(uuid.uuid4())),
        change.send(name=None),
        change.send(key=SigningKey.generate()),
        change.send(act="update", body=service(), scheme="DIDAuth"),
        change.send(act="deactivate", body={"confirm": True}, scheme="DIDAuth"),
        change.send(act="recover" if change.act == "rotate" else "rotate", scheme=other_scheme),
    ]
    if change.act == "recover":
        # It was in force during the attempt, and did not make it.
        refused.append(change.send(key=holder.key))
    assert [answer.outcome for answer in refused] == [FAILED] * len(refused)
    assert len({frozenset(answer.json["error"]["details"]) for answer in refused}) == 1
    other = Change(target.stranger.holder(), change.act, change.body, change.key, change.name)
    assert other.send().outcome == FAILED
    assert holder.log() == versions
    assert change.send().status == 200


@ENDING
def test_short_idempotency_key_is_refused(target: Target, make: Callable[[Holder], Change]) -> None:
    """The thief of an ended key reads the body in the public history, and guesses the Idempotency-Key."""
    change = make(target.stranger.holder())
    change.name = "rotate-12"
    refused = change.send()
    assert (refused.outcome, len(change.holder.log().splitlines())) == ((400, "INVALID_REQUEST"), 1)
    assert "UUID" in refused.json["error"]["details"]["remedy"]
    change.name = "0123456789abcdef"
    assert change.send().body == change.send().body


@ENDING
def test_replayed_request_is_refused(target: Target, make: Callable[[Holder], Change]) -> None:
    """A recorded request holds a challenge that is used."""
    change = make(target.stranger.holder())
    value = change.holder.signed(change.act, change.body, key=change.key, scheme=change.scheme)
    headers = {"Authorization": value, "Idempotency-Key": change.name}
    path = change.holder.path(change.act)
    assert change.holder.wire.call("POST", path, change.body, headers).status == 200
    assert change.holder.wire.call("POST", path, change.body, headers).outcome == FAILED
    assert change.send().status == 200


@ENDING
def test_expired_answer_is_refused(target: Target, make: Callable[[Holder], Change]) -> None:
    change = make(target.stranger.holder())
    assert change.send().status == 200
    with contextlib.closing(sqlite3.connect(target.data_dir / "identity.sqlite", timeout=30)) as other, other:
        other.execute("UPDATE idempotency_keys SET begun_at = begun_at - 86401000000")
    assert change.send().outcome == FAILED
    assert change.send(name=str(uuid.uuid4())).outcome == FAILED


def test_request_that_failed_opens_nothing(target: Target) -> None:
    """A refused attempt stores no answer, so a key that is ended later gets none."""
    hana = target.stranger.holder()
    failed = Change(hana, "update", remove_key(hana.key_id), hana.key)
    assert failed.send().outcome == (422, "INVALID_DOCUMENT")
    assert rotation_now(hana).send().status == 200
    assert failed.send().outcome == FAILED


def test_second_change_is_not_open_to_the_first_key(target: Target) -> None:
    """The key that was rotated reads its own answer, and not that of the change which its successor makes with the same Idempotency-Key."""
    hana, second = target.stranger.holder(), SigningKey.generate()
    first = Change(hana, "rotate", rotation(hana.key_id, public(second)), hana.key)
    assert first.send().status == 200
    change = Change(hana, "rotate", rotation(f"{hana.did}#{public(second)}"), second, first.name)
    # Another body under the same key.
    assert change.send().outcome == (422, "IDEMPOTENCY_MISMATCH")
    own = Change(hana, "rotate", change.body, second)
    answer = own.send()
    assert answer.status == 200
    assert own.send().body == answer.body
    assert own.send(key=hana.key).outcome == FAILED
    assert first.send().status == 200


def test_in_force_key_gets_the_answer_as_before(target: Target) -> None:
    hana, second = target.stranger.holder(), SigningKey.generate()
    change = Change(hana, "rotate", rotation(hana.key_id, public(second)), hana.key)
    first = change.send()
    assert change.send(key=second).body == first.body
    assert hana.wire.call("GET", f"{PREFIX}/dids/{hana.did}").status == 200


def test_rotated_api_key_guesses_no_answer_of_its_successor(target: Target) -> None:
    """During its grace period, a stolen API key sends what its successor sent."""
    admin = {"X-API-Key": target.stranger.api_key}
    made = target.wire.call("POST", f"{PREFIX}/admin/api-keys", {"name": "old", "admin": True}, admin).json
    old = {"X-API-Key": made["apiKey"]}
    place, body = f"{PREFIX}/admin/api-keys/{made['record']['id']}/rotate", {"graceSeconds": 600}
    rotated = target.wire.call("POST", place, body, old | {"Idempotency-Key": "1"})
    assert rotated.status == 201, rotated.body
    new = {"X-API-Key": rotated.json["apiKey"]}
    assert target.wire.call("POST", place, body, old | {"Idempotency-Key": "1"}).outcome == (403, "FORBIDDEN")
    wish = {"method": "ids"}
    created = target.wire.call("POST", f"{PREFIX}/dids", wish, new | {"Idempotency-Key": "1"})
    again = target.wire.call("POST", f"{PREFIX}/dids", wish, new | {"Idempotency-Key": "1"})
    assert (created.status, again.body) == (201, created.body)
    thief = target.wire.call("POST", f"{PREFIX}/dids", wish, old | {"Idempotency-Key": "1"})
    assert thief.outcome == (403, "FORBIDDEN")


def test_rotated_api_key_changes_no_api_keys(target: Target) -> None:
    """A thief of an old admin key can use it in its grace period, and must not make the theft last."""
    admin = {"X-API-Key": target.stranger.api_key}
    keys = f"{PREFIX}/admin/api-keys"
    made = target.wire.call("POST", keys, {"name": "old", "admin": True}, admin).json
    old, place = {"X-API-Key": made["apiKey"]}, f"{keys}/{made['record']['id']}"
    rotation = {"graceSeconds": 600}
    named = old | {"Idempotency-Key": "a-key-of-sixteen-characters"}
    rotated = target.wire.call("POST", f"{place}/rotate", rotation, named)
    successor = f"{keys}/{rotated.json['record']['id']}"
    for method, path, body in (
        ("POST", keys, {"name": "mine", "admin": True}),
        ("POST", f"{place}/rotate", {"graceSeconds": 600}),
        ("POST", f"{successor}/rotate", {}),
        ("PATCH", successor, {"expiresAt": "2099-01-01T00:00:00Z"}),
        ("DELETE", successor, None),
    ):
        refused = target.wire.call(method, path, body, old)
        assert refused.outcome == (403, "FORBIDDEN"), (method, path)
        assert "successor" in refused.json["error"]["details"]["remedy"]
    assert target.wire.call("GET", keys, None, old).status == 200
    assert target.wire.call("POST", f"{place}/rotate", rotation, named).body == rotated.body
    new = {"X-API-Key": rotated.json["apiKey"]}
    assert target.wire.call("POST", f"{place}/rotate", rotation, new).outcome == (400, "INVALID_REQUEST")
    assert target.wire.call("DELETE", place, None, new).status == 200


def test_own_rotation_with_a_name_needs_a_grace_period(target: Target) -> None:
    """A key that ends at once could not fetch a lost answer, and its successor would be lost."""
    admin = {"X-API-Key": target.stranger.api_key}
    keys = f"{PREFIX}/admin/api-keys"
    made = target.wire.call("POST", keys, {"name": "self", "admin": True}, admin).json
    own, place = {"X-API-Key": made["apiKey"]}, f"{keys}/{made['record']['id']}/rotate"
    named = own | {"Idempotency-Key": "another-key-of-sixteen"}
    refused = target.wire.call("POST", place, {}, named)
    assert refused.outcome == (400, "INVALID_REQUEST")
    assert "graceSeconds" in refused.json["error"]["details"]["remedy"]
    named = own | {"Idempotency-Key": "a-third-key-of-sixteen"}
    first = target.wire.call("POST", place, {"graceSeconds": 60}, named)
    assert (first.status, target.wire.call("POST", place, {"graceSeconds": 60}, named).body) == (201, first.body)
