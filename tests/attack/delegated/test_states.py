"""Time, keys and states: what was good once, and is not now (openapi/DECISIONS.md §4.6)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from nacl.signing import SigningKey

from tests.attack.delegated.scene import ISSUER, People, Scene, in_two_minutes, later, printed
from tests.attack.stranger import (
    LEAVE,
    add_key,
    base58,
    from_base58,
    public,
    recovery_body,
    remove_key,
    rotation,
    signing_key,
)
from tests.fault.turned_service import Turned

INVALID = (403, "IBCT_INVALID")
EXPIRED = (410, "IBCT_EXPIRED")
REVOKED = (410, "IBCT_REVOKED")
DEACTIVATED = (410, "DID_DEACTIVATED")
GOOD = (201, None)
# Encodings of points of small order, with which some libraries accept one signature for every message.
WEAK = [
    bytes.fromhex(text)
    for text in (
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
]


@pytest.fixture
def own(people: People) -> Scene:
    """With a holder of its own, whose keys the test may change."""
    return Scene.create(people, people.target.stranger.holder())


def test_a_genuine_one_that_expired_and_a_forged_one(scene: Scene) -> None:
    """Only who has a token of the holder's learns that it is too late."""
    times = {"issuedAt": later(-60), "expiresAt": later(-1)}
    assert scene.ask(scene.body(ibct=scene.signed(scene.unsigned(**times)))).outcome == EXPIRED
    forged = scene.signed(scene.unsigned(**times), SigningKey.generate())
    assert scene.ask(scene.body(ibct=forged)).outcome == INVALID


def test_expiry_is_strict(mortals: People, turned: Turned) -> None:
    """Good to the last microsecond, and not in the first of the second that it names."""
    scene = Scene.create(mortals)
    end = in_two_minutes()
    for microseconds, outcome in ((-1, GOOD), (0, EXPIRED), (1, EXPIRED)):
        turned.stop(end + timedelta(microseconds=microseconds))
        assert scene.ask(scene.body(ibct=scene.token(expiresAt=printed(end)))).outcome == outcome


@pytest.mark.parametrize(
    ("issued", "expires", "outcome"),
    [
        (50, 3600, GOOD),
        (90, 3600, INVALID),
        (600, 3600, INVALID),
        (0, 0, INVALID),
        (0, -10, INVALID),
        (0, 10 * 365 * 86_400, INVALID),
        (0, 91 * 86_400, INVALID),
        (-89 * 86_400, 3600, GOOD),
        (-10 * 365 * 86_400, 3600, INVALID),
    ],
)
def test_times_that_no_honest_signer_writes(scene: Scene, issued: float, expires: float, outcome: object) -> None:
    token = scene.token(issuedAt=later(issued), expiresAt=later(expires))
    assert scene.ask(scene.body(ibct=token)).outcome == outcome


@pytest.mark.parametrize("by", ["id", "nonce"])
def test_a_token_that_was_called_back(scene: Scene, by: str) -> None:
    token = scene.token()
    other = scene.token()
    body = {"invoker": scene.holder.did, by: token[by]}
    assert scene.act(scene.people.mallory, "POST", "/ibcts/revoke", "delegate", body).status in (403, 404)
    assert scene.act(scene.agent, "POST", "/ibcts/revoke", "delegate", body).status in (403, 404)
    assert scene.ask(scene.body(ibct=other)).outcome == GOOD
    assert scene.act(scene.holder, "POST", "/ibcts/revoke", "delegate", body).status == 200
    assert scene.ask(scene.body(ibct=token)).outcome == REVOKED
    forged = token | {"proofValue": scene.token()["proofValue"]}
    assert scene.ask(scene.body(ibct=forged)).outcome == INVALID
    assert scene.uses == 1


def test_a_spent_one_that_was_called_back(scene: Scene) -> None:
    """Also its identical repetition gets no proof any more."""
    body = scene.body()
    assert scene.ask(body).outcome == GOOD
    called = {"invoker": scene.holder.did, "id": body["ibct"]["id"]}
    assert scene.act(scene.holder, "POST", "/ibcts/revoke", "delegate", called).status == 200
    assert scene.ask(body).outcome == REVOKED


def test_a_delegation_that_has_expired(mortals: People, turned: Turned) -> None:
    end = in_two_minutes()
    scene = Scene.create(mortals, expiresAt=printed(end))
    assert scene.ask().outcome == GOOD
    kept = scene.body()
    turned.stop(end)
    assert scene.ask(kept).outcome == (410, "DELEGATION_EXPIRED")
    assert scene.uses == 1


def test_a_delegation_that_is_not_in_force(people: People) -> None:
    scene = Scene.create(people, notBefore=later(600))
    assert scene.ask().outcome == (403, "DELEGATION_NOT_ACTIVE")
    scene = Scene.create(people)
    people.operate("POST", f"/delegations/{scene.delegation_id}/suspend")
    assert scene.ask().outcome == (403, "DELEGATION_NOT_ACTIVE")
    people.operate("POST", f"/delegations/{scene.delegation_id}/resume")
    assert scene.ask().outcome == GOOD
    scene.revoke()
    assert scene.ask().outcome == (410, "DELEGATION_REVOKED")
    assert scene.uses == 1


def test_a_credential_that_is_not_in_force(people: People) -> None:
    for purpose, outcome in (("suspension", (410, "CREDENTIAL_REVOKED")), ("revocation", (410, "CREDENTIAL_REVOKED"))):
        scene = Scene.create(people)
        kept = scene.body()
        people.operate("POST", f"/credentials/{scene.credential_id}/status", {"purpose": purpose, "value": True})
        assert scene.ask(kept).outcome == outcome
        assert scene.uses == 0


def test_a_rotated_key_inside_its_grace_and_after_it(mortals: People, turned: Turned) -> None:
    own = Scene.create(mortals)
    old = own.holder.key
    end = in_two_minutes()
    rotated = own.holder.act("rotate", rotation(own.holder.key_id, revokeOldAfter=printed(end)))
    assert rotated.status == 200
    new = signing_key(rotated.json["newKey"]["privateKey"])
    waiting = own.body(ibct=own.token(key=old))
    assert own.ask(own.body(ibct=own.token(key=old))).outcome == GOOD
    assert own.ask(own.body(ibct=own.token(key=new))).outcome == GOOD
    turned.stop(end)
    assert own.ask(waiting).outcome == INVALID
    # A stolen key could back-date: "valid when it was issued" would be the signer's own word.
    backdated = own.token(key=old, issuedAt=later(-3600))
    assert own.ask(own.body(ibct=backdated)).outcome == INVALID
    assert own.ask(own.body(ibct=own.token(key=new))).outcome == GOOD


def test_a_removed_key(own: Scene) -> None:
    second = SigningKey.generate()
    assert own.holder.act("update", add_key(public(second))).status == 200
    assert own.ask(own.body(ibct=own.token(key=second))).outcome == GOOD
    waiting = own.body(ibct=own.token(key=second))
    assert own.holder.act("update", remove_key(f"{own.holder.did}#{public(second)}")).status == 200
    assert own.ask(waiting).outcome == INVALID


def test_a_key_of_another_purpose(own: Scene) -> None:
    second = SigningKey.generate()
    assert own.holder.act("update", add_key(public(second), "assertionMethod", "capabilityDelegation")).status == 200
    assert own.ask(own.body(ibct=own.token(key=second))).outcome == INVALID


def test_keys_before_a_recovery(own: Scene) -> None:
    waiting = own.body()
    new = SigningKey.generate()
    assert own.holder.act("recover", recovery_body(public(new))).status == 200
    assert own.ask(waiting).outcome == INVALID
    assert own.ask(own.body(ibct=own.token(key=new))).outcome == GOOD


def test_a_holder_or_an_agent_who_is_gone(people: People) -> None:
    stranger = people.target.stranger
    gone = Scene.create(people, stranger.holder())
    admin = {"X-API-Key": stranger.api_key}
    kept, spent = gone.body(), gone.body()
    assert gone.ask(spent).outcome == GOOD
    assert gone.holder.act("deactivate", LEAVE).status == 200
    for body in (kept, spent):
        assert gone.ask(body).outcome == gone.ask(body, headers=admin).outcome == DEACTIVATED
    left = Scene.create(people, None, stranger.holder())
    kept = left.body()
    bearer = left.authorize(left.agent)
    assert left.agent.act("deactivate", LEAVE).status == 200
    assert left.ask(kept, headers=admin).outcome == DEACTIVATED
    assert left.ask(kept, headers=bearer).outcome == (401, "AUTH_FAILED")


def test_an_issuer_who_is_gone_is_no_reason_to_learn_more(people: People) -> None:
    """Suite 2 gives no proof any more, because the revocation list is unsigned; in suite 1 the verifier finds the issuer deactivated."""
    ivo = people.target.stranger.holder(**ISSUER)
    other = People(people.target, people.hana, people.aki, ivo, people.mallory, people.schema_id)
    scene, plain = Scene.create(other), Scene.create(other, suite=1)
    assert ivo.act("deactivate", LEAVE).status == 200
    assert scene.ask().outcome == (410, "CREDENTIAL_REVOKED")
    assert scene.uses == 0
    answer = plain.ask()
    assert answer.status == 201
    verdict = scene.target.wire.call("POST", "/api/v1/zkp/proofs/verify", answer.json["proof"])
    assert verdict.json["verified"] is False
    assert verdict.json["errors"] == ["ISSUER_DEACTIVATED"]


def test_parties_that_do_not_resolve(scene: Scene) -> None:
    unknown = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
    admin = {"X-API-Key": scene.target.stranger.api_key}
    body = scene.body(holderDid=unknown, ibct=scene.token(invoker=unknown))
    assert scene.ask(body).outcome == INVALID
    body = scene.body(agentDid=unknown, ibct=scene.token(target=unknown))
    assert scene.ask(body, headers=admin).outcome == INVALID
    for text in ("did:ids:x", "did:", "", "did:web:evil.example", unknown + "#key", unknown + "?x"):
        assert scene.ask(scene.body(holderDid=text)).status in (400, 403)
    assert scene.uses == 0


@pytest.mark.parametrize("weak", WEAK, ids=[weak.hex()[:8] for weak in WEAK])
def test_a_weak_key_comes_into_no_document_and_verifies_nothing(own: Scene, weak: bytes) -> None:
    key = "z" + base58(b"\xed\x01" + weak)
    assert own.holder.act("update", add_key(key)).outcome == (422, "INVALID_DOCUMENT")
    # The identity as R, and S = 0: good for every message under a lax verifier.
    forged = base58(weak + bytes(32))
    assert len(from_base58(forged)) == 64
    token = own.unsigned() | {"proofValue": forged}
    assert own.ask(own.body(ibct=token)).outcome == INVALID
