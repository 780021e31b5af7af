"""Tokens on the holder's side: what is built is what the service reads, and nothing else is ever signed."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_client import Signer, ibct
from identity_client.capability import TYPE, CapabilityExpired, CapabilityInvalid
from identity_client.challenge import build
from identity_codec import ed25519, jcs, multibase, multikey
from identity_core.domain.dids import keys

HANA = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
AKI = "did:ids:QmcRD4wkPPi6dig81r5sLj9Zm1gDCL4zgpEj9CfuRrGbzF"
UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
PAIR = keys.generate("Ed25519", os.urandom)
SIGNER = Signer(HANA, PAIR.secret)
PUBLIC = multikey.decode_public(PAIR.public)[1]
WISH = ibct.IbctTemplate(AKI, "zkp.prove.age.gte.18", UUID, timedelta(hours=1))


def unsigned(**change: str) -> dict[str, str]:
    return ibct.build(HANA, WISH, now=NOW, id="urn:uuid:1", nonce="n" * 22) | change


def test_issued_token_is_read_by_the_service() -> None:
    token = ibct.sign_token(SIGNER, WISH)
    now = datetime.now(UTC)
    capability = ibct.verify(token, [PUBLIC], now)
    assert (capability.invoker, capability.target, capability.action) == (HANA, AKI, WISH.action)
    assert capability.delegation_id == UUID
    capability.check_times(now, leeway=timedelta(0), longest=timedelta(days=90))
    assert not token["proofValue"].startswith("z") or len(multibase.base58_decode(token["proofValue"])) == 64


def test_two_tokens_share_neither_id_nor_nonce() -> None:
    first, second = ibct.sign_token(SIGNER, WISH), ibct.sign_token(SIGNER, WISH)
    assert first["id"] != second["id"]
    assert first["nonce"] != second["nonce"]


def test_the_signature_is_over_the_nine_members() -> None:
    token = ibct.sign(unsigned(), SIGNER)
    ed25519.verify(PUBLIC, jcs.canonicalize(unsigned()), multibase.base58_decode(token["proofValue"]))


@pytest.mark.parametrize(
    ("attribute", "type_", "pin", "action"),
    [
        ("age", "gte", None, "zkp.prove.age.gte"),
        ("age", "gte", 18, "zkp.prove.age.gte.18"),
        ("家族", "eq", None, "zkp.prove.%E5%AE%B6%E6%97%8F.eq"),
    ],
)
def test_actions(attribute: str, type_: str, pin: Any, action: str) -> None:
    assert ibct.action_text(attribute, type_, pin=pin) == action


@pytest.mark.parametrize("action", ["zkp.prove.*.gte", "zkp.prove.age", "zkp.prove.age.like", "age.gte", ""])
def test_no_token_is_drawn_up_for_what_is_no_action(action: str) -> None:
    with pytest.raises(ValueError):
        ibct.build(HANA, ibct.IbctTemplate(AKI, action, UUID, timedelta(hours=1)), now=NOW, id="i", nonce="n" * 22)


@pytest.mark.parametrize(
    "token",
    [
        {},
        {"challenge": "didauth:v1"},
        unsigned(type="Ticket"),
        unsigned(invoker=AKI),
        unsigned(ext="more"),
        unsigned(issuedAt="yesterday"),
        {name: text for name, text in unsigned().items() if name != "nonce"},
        ibct.sign(unsigned(), SIGNER),
        unsigned() | {"nonce": 1},
    ],
)
def test_nothing_but_an_own_unsigned_token_is_signed(token: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ibct.sign(token, SIGNER)


def test_token_is_not_signed_as_challenge_nor_challenge_as_token() -> None:
    """A naive signer of "challenges" would have signed an IBCT."""
    with pytest.raises(ValueError, match="not a DIDAuth challenge"):
        SIGNER.header(jcs.canonicalize(unsigned()).decode(), purpose="prove")
    challenge = build(
        origin="https://id.example", did=HANA, purpose=None, body_hash=None, nonce=bytes(32), expires_at=NOW
    )
    assert not challenge.startswith("{")
    assert TYPE not in challenge


def test_an_offline_check() -> None:
    token = ibct.sign(unsigned(), SIGNER)
    ibct.verify(token, [bytes(32), PUBLIC], NOW)
    with pytest.raises(CapabilityExpired):
        ibct.verify(token, [PUBLIC], NOW + timedelta(hours=1))
    with pytest.raises(CapabilityInvalid):
        ibct.verify(token, [], NOW)
    with pytest.raises(CapabilityInvalid):
        ibct.verify(token | {"action": "zkp.prove.age.gte.1"}, [PUBLIC], NOW)
    with pytest.raises(CapabilityInvalid):
        ibct.verify(ibct.sign(unsigned(target="aki"), SIGNER), [PUBLIC], NOW)


def test_the_request_that_a_token_is_for() -> None:
    token = ibct.sign(unsigned(), SIGNER)
    assert ibct.proof_request(token, "urn:uuid:c") == {
        "holderDid": HANA,
        "agentDid": AKI,
        "credentialId": "urn:uuid:c",
        "predicate": {"attributeName": "age", "type": "gte"},
        "ibct": token,
    }
    several = ibct.sign(unsigned(action="zkp.prove.age.gte zkp.prove.country.eq"), SIGNER)
    both = [{"attributeName": "age", "type": "gte"}, {"attributeName": "country", "type": "eq"}]
    assert ibct.proof_request(several, "urn:uuid:c")["predicates"] == both
    asked = ibct.proof_request(several, "urn:uuid:c", values=[18, "JP"])
    assert asked["predicates"] == [both[0] | {"value": 18}, both[1] | {"value": "JP"}]
    assert "predicate" not in asked
    for values in ([18], [18, "JP", 1], []):
        with pytest.raises(ValueError, match="names 2 predicates"):
            ibct.proof_request(several, "urn:uuid:c", values=values)
    consented = ibct.proof_request(token, "urn:uuid:c", holderConsent={})
    assert consented["predicates"] == [{"attributeName": "age", "type": "gte"}]
    assert list(map(ibct.operation_of, (ibct.proof_request(token, "urn:uuid:c"), asked, consented))) == [
        "generateDelegatedProof",
        "createDelegatedPresentation",
        "createDelegatedPresentation",
    ]
    asked = ibct.proof_request(token, "urn:uuid:c", value=False, domain="https://vera.example")
    assert asked["predicate"]["value"] is False
    assert (asked["domain"], "value" in asked) == ("https://vera.example", False)
