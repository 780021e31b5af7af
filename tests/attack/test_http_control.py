"""Keys that may sign, and keys that may not: in grace, after it, removed, spent, of another kind or under the other scheme.

openapi/DECISIONS.md §2.10.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from nacl.signing import SigningKey

from tests.attack.conftest import Target
from tests.attack.stranger import (
    LEAVE,
    Holder,
    add_key,
    header,
    public,
    recovery_body,
    remove_key,
    rotation,
    service,
    signing_key,
)
from tests.fault.turned_service import Turned, turned_service

FAILED = (401, "AUTH_FAILED")
REQUIRED = (401, "AUTH_REQUIRED")
FORBIDDEN = (403, "FORBIDDEN")
INVALID = (422, "INVALID_DOCUMENT")
GONE = (410, "DID_DEACTIVATED")


def rotated(hana: Holder, **grace: float) -> SigningKey:
    """Rotates the key and returns the old one; with ``grace`` it stays for a while."""
    body = rotation(hana.key_id)
    if grace:
        body["revokeOldAfter"] = (datetime.now(UTC) + timedelta(**grace)).strftime("%Y-%m-%dT%H:%M:%SZ")
    answer = hana.act("rotate", body)
    assert answer.status == 200, answer.body
    old, hana.key = hana.key, signing_key(answer.json["newKey"]["privateKey"])
    return old


def test_a_key_in_grace_signs_in_and_changes_no_key(target: Target) -> None:
    hana = target.stranger.holder()
    old = rotated(hana, hours=1)
    mine = public(SigningKey.generate())
    for act, body in (
        ("deactivate", LEAVE),
        ("rotate", rotation(hana.key_id)),
        ("rotate", rotation(f"{hana.did}#{public(old)}")),
        ("update", remove_key(hana.key_id)),
        ("update", add_key(mine)),
        ("update", {"operations": [service("a"), add_key(mine)]}),
        ("update", {"operations": [service("a"), remove_key(hana.key_id)]}),
    ):
        assert hana.act(act, body, key=old).outcome == FORBIDDEN, (act, body)
    assert hana.act("recover", recovery_body(mine), key=old).outcome == FAILED
    assert hana.act("update", service(), key=old).status == 200
    # A key in grace does not count as one that is left.
    assert hana.act("update", remove_key(hana.key_id)).outcome == INVALID
    assert hana.act("update", remove_key(f"{hana.did}#{public(old)}")).status == 200
    assert hana.act("update", service("later"), key=old).outcome == FAILED


def test_key_is_invalid_after_grace_without_entry(tmp_path: Path) -> None:
    with turned_service(tmp_path) as turned:
        outlived(turned)


def outlived(turned: Turned) -> None:
    hana = turned.running.stranger.holder(strictEvidence=False)
    old = rotated(hana, minutes=2)
    early = header(hana.did, old.sign(hana.challenge().encode()).signature)
    assert hana.act("update", service(), key=old).status == 200
    turned.wait(121)
    assert hana.send("update", service("a"), early).outcome == FAILED
    assert hana.act("update", service("b"), key=old).outcome == FAILED
    assert len(hana.log().splitlines()) == 3
    assert hana.resolve().json["didDocumentMetadata"]["versionId"] == 4
    assert hana.act("update", service("c")).status == 200
    assert verify(hana.log(), now=datetime.now(UTC) + timedelta(minutes=3)).versions == 5


def test_a_key_that_was_rotated_at_once_or_removed_is_nothing(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    early = hana.challenge()
    old = rotated(hana)
    assert hana.send("update", service(), header(hana.did, old.sign(early.encode()).signature)).outcome == FAILED
    assert hana.act("update", service(), key=old).outcome == FAILED
    second = SigningKey.generate()
    assert hana.act("update", add_key(public(second))).status == 200
    assert hana.act("update", service(), key=second).status == 200
    assert hana.act("update", remove_key(f"{hana.did}#{public(second)}")).status == 200
    assert hana.act("update", service("x"), key=second).outcome == FAILED


def test_an_old_key_never_comes_back(target: Target) -> None:
    """Forward security: anyone who finds an old private key must not be able to have it registered again."""
    hana = target.stranger.holder()
    first_recovery = hana.recovery
    assert first_recovery is not None
    old = rotated(hana)
    extra = SigningKey.generate()
    assert hana.act("update", add_key(public(extra))).status == 200
    assert hana.act("update", add_key(public(extra))).outcome == INVALID
    assert hana.act("update", remove_key(f"{hana.did}#{public(extra)}")).status == 200
    answer = hana.act("recover", recovery_body(public(SigningKey.generate()), revoke=False))
    assert answer.status == 200, answer.body
    hana.recovery = signing_key(answer.json["keys"]["recovery"]["privateKey"])
    for back in (public(old), public(extra), public(first_recovery)):
        assert hana.act("update", add_key(back)).outcome == INVALID
        assert hana.act("rotate", rotation(hana.key_id, back)).outcome == INVALID
        assert hana.act("recover", recovery_body(back)).outcome == INVALID
        successor = {"newRecoveryKey": {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": back}}
        assert hana.act("recover", recovery_body(public(SigningKey.generate()), **successor)).outcome == INVALID
    assert verify(hana.log()).versions == 5


def test_keys_of_other_purposes_do_not_authenticate(target: Target) -> None:
    hana = target.stranger.holder(
        additionalKeys=[
            {"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]},
            {"type": "Ed25519", "purpose": ["assertionMethod"]},
            {"type": "Ed25519", "purpose": ["capabilityInvocation", "capabilityDelegation"]},
        ]
    )
    keys = hana.created["keys"]
    others = [keys["keyAgreement"], keys["assertionMethod"], *keys.get("additional", [])]
    assert len(others) == 3
    for other in others:
        # The bytes of the X25519 key are also a valid Ed25519 seed; the key that follows from it is not registered.
        assert hana.act("update", service(), key=signing_key(other["privateKey"])).outcome == FAILED


def test_no_key_works_under_the_other_scheme(target: Target) -> None:
    hana = target.stranger.holder()
    recovery, body = hana.recovery, recovery_body(public(SigningKey.generate()))
    assert recovery is not None
    for act, change in (("update", service()), ("deactivate", LEAVE), ("rotate", rotation(hana.key_id))):
        assert hana.act(act, change, key=recovery).outcome == FAILED
        assert hana.act(act, change, key=recovery, scheme="RecoveryKey").outcome == REQUIRED
        assert hana.act(act, change, key=hana.key, scheme="RecoveryKey").outcome == REQUIRED
    assert hana.act("recover", body, key=hana.key).outcome == FAILED
    assert hana.act("recover", body, key=hana.key, scheme="DIDAuth").outcome == REQUIRED
    assert hana.act("recover", body, key=recovery, scheme="DIDAuth").outcome == REQUIRED
    assert hana.act("recover", body).status == 200


def test_a_recovery_key_serves_once(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    spent = hana.recovery
    second_challenge = hana.challenge()
    answer = hana.act("recover", recovery_body(public(SigningKey.generate())))
    assert answer.status == 200, answer.body
    assert spent is not None
    late = header(hana.did, spent.sign(second_challenge.encode()).signature, "RecoveryKey")
    body = recovery_body(public(SigningKey.generate()))
    assert hana.send("recover", body, late).outcome == FAILED
    assert hana.act("recover", body, key=spent).outcome == FAILED
    # Everything that was there before is gone, and what takes its place works.
    assert hana.act("update", service()).outcome == FAILED
    hana.recovery = signing_key(answer.json["keys"]["recovery"]["privateKey"])
    assert hana.act("recover", body).status == 200


def test_a_did_without_a_recovery_key_cannot_be_recovered(target: Target) -> None:
    hana = target.stranger.holder(recoveryKey=False)
    for key in (hana.key, SigningKey.generate()):
        body = recovery_body(public(SigningKey.generate()))
        assert hana.act("recover", body, key=key).outcome == FAILED


def test_recovery_ends_every_grace(target: Target) -> None:
    hana = target.stranger.holder()
    old = rotated(hana, hours=1)
    fresh = SigningKey.generate()
    assert hana.act("recover", recovery_body(public(fresh))).status == 200
    for key in (old, hana.key):
        assert hana.act("update", service(), key=key).outcome == FAILED
    assert hana.act("update", service(), key=fresh).status == 200


def test_nothing_revives_what_is_deactivated(target: Target) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    recovery = hana.recovery
    assert recovery is not None
    left = [header(hana.did, hana.key.sign(hana.challenge().encode()).signature) for _ in range(2)]
    rescue = header(hana.did, recovery.sign(hana.challenge().encode()).signature, "RecoveryKey")
    assert hana.act("deactivate", LEAVE).status == 200
    assert hana.send("update", service(), left[0]).outcome == GONE
    assert hana.send("deactivate", LEAVE, left[1]).outcome == GONE
    assert hana.send("recover", recovery_body(public(SigningKey.generate())), rescue).outcome == GONE
    assert hana.ask().outcome == GONE


def test_deactivated_did_is_gone_with_any_header(target: Target) -> None:
    """The specification: after a deactivation all later requests for the DID give 410."""
    hana, other = target.stranger.holder(), target.stranger.holder()
    headers = ["Bearer x", "Basic eDp5", "DIDAuth", header(other.did, bytes(64)), header(hana.did, bytes(64))]
    headers += [f"{scheme} {value}" for scheme in ("DIDAuth", "RecoveryKey") for value in ("!!!", "e30=", "x" * 4000)]
    bodies = {
        "update": service(),
        "deactivate": LEAVE,
        "rotate": rotation(hana.key_id),
        "recover": recovery_body(public(SigningKey.generate())),
    }
    sent = [(act, body, value) for act, body in bodies.items() for value in headers]
    outcomes = {hana.send(act, body, value).outcome for act, body, value in sent}
    assert outcomes == {FAILED, REQUIRED}
    assert hana.act("deactivate", LEAVE).status == 200
    for act, body, value in sent:
        assert hana.send(act, body, value).outcome == GONE, (act, value)
    assert verify(hana.log()).deactivated


@pytest.mark.parametrize("confirm", [False, None, "true", 1, 0, "yes", [True]])
def test_only_true_confirms(target: Target, confirm: Any) -> None:
    hana = target.stranger.holder(strictEvidence=False)
    body = {"confirm": confirm}
    # A challenge that is not bound to the body: the number among these bodies is none of the tests' own JCS.
    value = header(hana.did, hana.key.sign(hana.challenge().encode()).signature)
    expected = (422, "CONFIRMATION_REQUIRED") if confirm is False else (400, "INVALID_REQUEST")
    assert hana.send("deactivate", body, value).outcome == expected
    assert hana.resolve().status == 200


def test_weak_etag_of_proxy_names_version(target: Target) -> None:
    hana = target.stranger.holder()
    headers = {"Authorization": hana.signed("update", service()), "If-Match": 'W/"1"'}
    assert target.wire.call("PATCH", hana.path(), service(), headers).status == 200


def test_if_match_takes_a_list(target: Target) -> None:
    """RFC 9110 §13.1.1: the condition is true if any listed tag matches."""
    hana = target.stranger.holder()
    headers = {"Authorization": hana.signed("update", service()), "If-Match": '"7", "1"'}
    assert target.wire.call("PATCH", hana.path(), service(), headers).status == 200


def test_if_match_of_another_version_changes_nothing(target: Target) -> None:
    hana = target.stranger.holder()
    for tag, status in (
        ('"2"', 412),
        ('"0"', 412),
        ('"2", "3"', 412),
        ('"1" "2"', 400),
        ("", 400),
        ("1", 400),
        ('W/"2"', 412),
        ('W/ "1"', 400),
        ('w/"1"', 400),
        ('W/W/"1"', 400),
        ('"1", *', 400),
        ('"1.x\u00e9"', 400),
    ):
        headers = {"Authorization": hana.signed("update", service()), "If-Match": tag}
        answer = target.wire.call("PATCH", hana.path(), service(), headers)
        assert answer.status == status, (tag, answer.body)
    assert len(hana.log().splitlines()) == 1
