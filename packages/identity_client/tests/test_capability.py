"""Attackers do not run our minting code: tokens here are built by hand, altered, and signed by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_client.capability import (
    Capability,
    CapabilityExpired,
    CapabilityInvalid,
    delegation_id,
    signatures_of,
    signing_input_of,
)
from identity_codec import ed25519, jcs, multibase
from identity_codec.values import replace

NOW = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
PAIR = ed25519.generate(bytes(range(32)))
PLACES = ("https://id.example/api/v1/delegations/",)
UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
UNSIGNED = {
    "id": "urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e",
    "type": "InvocationBoundCapabilityToken",
    "invoker": "did:ids:hana",
    "target": "did:ids:aki",
    "action": "zkp.prove.age.gte.18",
    "delegationRef": f"urn:uuid:{UUID}",
    "nonce": "lG5q8Zl3uT0yWm7r2vXc1A",
    "issuedAt": "2026-01-05T09:00:00Z",
    "expiresAt": "2026-01-05T10:00:00Z",
}


def signed(**change: Any) -> dict[str, Any]:
    unsigned = UNSIGNED | change
    return unsigned | {"proofValue": multibase.base58_encode(PAIR.sign(jcs.canonicalize(unsigned)))}


def check(token: dict[str, Any], now: datetime = NOW) -> Capability:
    capability = Capability.parse(token, places=PLACES)
    capability.check_parties("did:ids:hana", "did:ids:aki")
    capability.check_times(now, leeway=timedelta(seconds=60), longest=timedelta(days=90))
    capability.check_signature([PAIR.public])
    capability.check_unexpired(now)
    return capability


def reason(token: dict[str, Any], now: datetime = NOW) -> str:
    with pytest.raises(CapabilityInvalid) as refused:
        check(token, now)
    return str(refused.value.details["reason"])


def test_a_genuine_token_is_read() -> None:
    token = signed()
    capability = check(token)
    assert (capability.delegation_id, capability.nonce) == (UUID, UNSIGNED["nonce"])
    assert capability.encoded == jcs.canonicalize(token)
    assert capability.signing_input == jcs.canonicalize(UNSIGNED)
    assert (capability.issued_at, capability.expires_at) == (NOW - timedelta(minutes=30), NOW + timedelta(minutes=30))


def test_a_token_does_not_print_what_was_signed() -> None:
    token = signed()
    capability = check(token)
    for kept in (repr(capability.encoded), repr(capability.signing_input), repr(capability.signatures)):
        assert kept not in repr(capability)


def test_a_life_that_is_too_long_is_refused_with_the_limit() -> None:
    with pytest.raises(CapabilityInvalid) as refused:
        check(signed(expiresAt="2027-01-05T10:00:00Z"))
    assert refused.value.details == {"reason": "the token is valid for longer than 90 days", "maxDays": 90}


def test_order_of_members_does_not_matter() -> None:
    assert check(dict(reversed(signed().items()))) == check(signed())


@pytest.mark.parametrize("member", sorted(signed()))
def test_every_altered_character_is_found(member: str) -> None:
    token = signed()
    for place in range(len(token[member])):
        old = token[member][place]
        altered = token[member][:place] + ("1" if old == "2" else "2") + token[member][place + 1 :]
        if altered == token[member]:
            continue
        with pytest.raises((CapabilityInvalid, CapabilityExpired)) as refused:
            check(token | {member: altered})
        assert refused.type is CapabilityInvalid


@pytest.mark.parametrize("member", sorted(signed()))
def test_a_missing_member(member: str) -> None:
    token = signed()
    del token[member]
    assert reason(token) == "a token has exactly its ten members"


def test_an_unknown_member_is_refused_even_when_it_was_signed() -> None:
    assert reason(signed(ext="allow more")) == "a token has exactly its ten members"


@pytest.mark.parametrize("type_", ["", "invocationBoundCapabilityToken", "InvocationBoundCapabilityToken ", "Ticket"])
def test_the_type_is_constant(type_: str) -> None:
    assert reason(signed(type=type_)).startswith("type ")


@pytest.mark.parametrize("member", ["id", "action", "delegationRef"])
@pytest.mark.parametrize(("length", "good"), [(0, False), (1, True), (2048, True), (2049, False)])
def test_lengths(member: str, length: int, good: bool) -> None:
    token = signed(**{member: "a" * length})
    if good:
        check(token)
    else:
        assert reason(token) == f"{member} has 1 to 2048 characters"


@pytest.mark.parametrize(
    ("nonce", "good"),
    [("a" * 15, False), ("a" * 16, True), ("a" * 256, True), ("a" * 257, False), ("é" * 16, True), ("é" * 129, False)],
)
def test_nonces(nonce: str, good: bool) -> None:
    token = signed(nonce=nonce)
    if good:
        assert check(token).nonce == nonce
    else:
        assert reason(token).startswith("nonce ")


def test_two_forms_of_one_text_are_two_nonces() -> None:
    composed, decomposed = "é" * 16, "e\u0301" * 16
    assert check(signed(nonce=composed)).nonce_digest != check(signed(nonce=decomposed)).nonce_digest
    assert reason(signed(nonce=composed) | {"nonce": decomposed}).startswith("the signature")


@pytest.mark.parametrize("member", ["issuedAt", "expiresAt"])
@pytest.mark.parametrize(
    "text",
    [
        "1767605400",
        "2026-01-05",
        "2026-W02-1T09:00:00Z",
        "20260105T090000Z",
        "2026-01-05T09:00:00",
        "2026-01-05 09:00:00Z",
        "2026-02-30T09:00:00Z",
        "2026-01-05T23:59:60Z",
        "2026-01-05T24:00:00Z",
        "2026-01-05T09:00:00Z\n",
        "2026-01-05T09:00Z",
        "２026-01-05T09:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "",
    ],
)
def test_times_that_are_none(member: str, text: str) -> None:
    assert "RFC 3339" in reason(signed(**{member: text})) or text == ""


def test_an_offset_is_read_and_kept_as_it_was_signed() -> None:
    token = signed(issuedAt="2026-01-05T11:00:00.25+02:00")
    assert check(token).issued_at == datetime(2026, 1, 5, 9, 0, 0, 250_000, tzinfo=UTC)
    assert reason(token | {"issuedAt": "2026-01-05T09:00:00.25Z"}).startswith("the signature")


def test_how_far_ahead_a_holders_clock_may_be() -> None:
    check(signed(issuedAt="2026-01-05T09:31:00Z"))
    assert reason(signed(issuedAt="2026-01-05T09:31:01Z")) == "issuedAt lies in the future"


def test_how_long_a_token_may_be_good() -> None:
    check(signed(expiresAt="2026-04-05T09:00:00Z"))
    assert "longer" in reason(signed(expiresAt="2026-04-05T09:00:01Z"))
    assert "after issuedAt" in reason(signed(expiresAt="2026-01-05T09:00:00Z"))


def test_expiry_is_strict_and_asked_after_the_signature() -> None:
    token = signed()
    check(token, NOW + timedelta(minutes=30, microseconds=-1))
    with pytest.raises(CapabilityExpired):
        check(token, NOW + timedelta(minutes=30))
    forged = token | {"action": "zkp.prove.age.gte.21"}
    assert reason(forged, NOW + timedelta(hours=9)).startswith("the signature")


def test_the_parties_are_those_of_the_request() -> None:
    assert reason(signed(invoker="did:ids:mallory")) == "invoker is not the holderDid of the request"
    assert reason(signed(target="did:ids:mallory")) == "target is not the agentDid of the request"


# proofValue


def test_the_multibase_form_is_accepted_too() -> None:
    token = signed()
    check(token | {"proofValue": "z" + token["proofValue"]})


def test_every_other_prefix_is_refused() -> None:
    token = signed()
    raw = multibase.base58_decode(token["proofValue"])
    for text in ("m" + token["proofValue"], "f" + raw.hex(), "u" + multibase.base64url_encode(raw), raw.hex()):
        with pytest.raises(CapabilityInvalid):
            check(token | {"proofValue": text})


def test_bare_signature_beginning_with_z_is_decoded() -> None:
    """One in three hundred bare signatures does."""
    found = 0
    for number in range(2000):
        token = signed(nonce=f"a nonce with number {number}")
        if token["proofValue"].startswith("z"):
            found += 1
            check(token)
    assert found > 0


def test_a_text_with_two_readings_is_tried_both_ways() -> None:
    # z1 and 85 digits: with its z 64 bytes as a bare text, without it a zero byte and 63 more.
    text = "z1" + multibase.base58_encode(b"\x7f" * 62 + b"\x01")[:85].ljust(85, "2")
    as_multibase, as_bare = signatures_of(text)
    assert (as_multibase, as_bare) == (multibase.base58_decode(text[1:]), multibase.base58_decode(text))
    good = Capability.parse(signed(), places=())
    for readings in ((bytes(64), *good.signatures), (*good.signatures, bytes(64))):
        replace(good, signatures=readings).check_signature([PAIR.public])
    with pytest.raises(CapabilityInvalid):
        replace(good, signatures=(as_multibase, as_bare)).check_signature([PAIR.public])


@pytest.mark.parametrize(
    "text",
    ["", "1" * 63, "1" * 91, "z" * 200_000, "0" * 88, "l" * 88, "2" * 88 + "\n", "２" * 88, "1" * 65, "1" * 90],
)
def test_a_proof_value_that_is_no_signature(text: str) -> None:
    token = signed() | {"proofValue": text}
    spent = []
    for _ in range(3):
        started = time.thread_time()
        with pytest.raises(CapabilityInvalid):
            check(token)
        spent.append(time.thread_time() - started)
    assert min(spent) < 0.05, "a text that is too long is not even read"


@pytest.mark.parametrize(("length", "read"), [(63, False), (65, True), (90, True), (91, False)])
def test_how_long_a_proof_value_may_be(length: int, read: bool) -> None:
    told = "proofValue is not a signature of 64 bytes in base58btc" if read else "proofValue has 64 to 90 characters"
    assert reason(signed() | {"proofValue": "1" * length}) == told


def test_a_malleated_signature_is_refused() -> None:
    order = 2**252 + 27742317777372353535851937790883648493
    token = signed()
    raw = multibase.base58_decode(token["proofValue"])
    scalar = int.from_bytes(raw[32:], "little") + order
    malleated = raw[:32] + scalar.to_bytes(32, "little")
    assert reason(token | {"proofValue": multibase.base58_encode(malleated)}).startswith("the signature")


def test_a_small_order_key_signs_nothing() -> None:
    identity = b"\x01" + bytes(31)
    capability = Capability.parse(signed() | {"proofValue": "1" * 64}, places=())
    with pytest.raises(CapabilityInvalid):
        capability.check_signature([identity, bytes(32)])


# delegationRef


@pytest.mark.parametrize("reference", [UUID, f"urn:uuid:{UUID}", f"https://id.example/api/v1/delegations/{UUID}"])
def test_the_forms_of_a_reference(reference: str) -> None:
    assert delegation_id(reference, PLACES) == UUID


@pytest.mark.parametrize(
    "reference",
    [
        "",
        UUID.upper(),
        UUID + "\n",
        f"urn:UUID:{UUID}",
        f"https://elsewhere.example/api/v1/delegations/{UUID}",
        f"https://id.example.evil/api/v1/delegations/{UUID}",
        f"http://id.example/api/v1/delegations/{UUID}",
        f"https://id.example/api/v1/delegations/../delegations/{UUID}",
        f"https://id.example/api/v1/delegations/{UUID}?x=1",
        f"https://id.example/api/v1/delegations/{UUID}/",
        "../../etc/passwd",
        UUID.replace("-", ""),
    ],
)
def test_malformed_reference_is_not_looked_up(reference: str) -> None:
    assert delegation_id(reference, PLACES) is None


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"action": 'zkp.prove.age.gte ,"proofValue":"x"'},
        {"nonce": 'a ,"proofValue":"' + "é" * 16 + '\\",'},
        {"id": ',"proofValue":"' + "1" * 64 + '"'},
        {"delegationRef": '\\","proofValue":"'},
    ],
)
def test_signature_excludes_proof_value(change: dict[str, str]) -> None:
    token = signed(**change)
    capability = Capability.parse(token, places=())
    assert capability.signing_input == signing_input_of(token)
    capability.check_signature([PAIR.public])
