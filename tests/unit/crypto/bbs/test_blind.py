"""Commitments, blind signatures and consents: what is right is taken, and every byte, field and party counts."""

from __future__ import annotations

import random

import pytest

from identity_bbs import blind, consent, core, encoding
from identity_bbs.bls12381 import ORDER, keys, select
from identity_bbs.bls12381.keys import InvalidBlsKey
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import BbsSignatureInvalid, ciphersuite
from identity_codec.values import replace

SUITE = ciphersuite(select())
ISSUER = keys.generate_secret(b"issuer".ljust(32, b"."))
PUBLIC = keys.public_key(ISSUER)
HANA = HolderSecret.derived(SUITE, b"hana".ljust(32, b"."))
OTTO = HolderSecret.derived(SUITE, b"otto".ljust(32, b"."))
HEADER = blind.BOUND_HEADER_TAG + b"{}"
REQUEST = blind.IssueRequest("did:ids:ivo#bbs", HEADER, "did:ids:hana", b"n" * 32)
KNOWN = [5, ORDER - 1, 0, 7]
MESSAGE = b"what the holder agrees to"


def seeded(seed=0):
    return random.Random(seed).randbytes


def committed(secret=HANA, request=REQUEST, seed=1, suite=SUITE):
    return blind.commit(suite, secret, request, seeded(seed))


def signed(commitment, request=REQUEST, known=KNOWN, header=HEADER, suite=SUITE):
    return blind.blind_sign(suite, ISSUER, PUBLIC, header, known, commitment, request)


def test_the_signature_is_one_of_the_draft_on_all_slots(suite):
    commitment, own_blind = blind.commit(
        suite, HolderSecret.derived(suite, b"hana".ljust(32, b".")), REQUEST, seeded(1)
    )
    assert len(commitment) == blind.COMMITMENT_OCTETS == 192
    signature = signed(commitment, suite=suite)
    key = encoding.octets_to_public_key(suite, PUBLIC)
    core.core_verify(suite, key, signature, HEADER, [HANA.scalar, own_blind, *KNOWN])
    blind.verify_blind(suite, PUBLIC, HEADER, KNOWN, commitment[:48], signature)
    assert commitment == committed()[0], "one text on every backend"


def test_an_issuer_signs_one_commitment_in_one_way():
    first, again, other = committed()[0], committed()[0], committed(seed=2)[0]
    assert signed(first).e == signed(again).e
    assert first == again
    assert first[:48] != other[:48], "another blind, another K"
    assert first[48:96] == other[48:96], "one holder, one T"


def test_the_holders_tag_is_the_issuers_own():
    tags = {
        blind.check_commitment(SUITE, committed(secret, request)[0], request).holder_tag
        for secret in (HANA, OTTO)
        for request in (REQUEST, replace(REQUEST, method="did:ids:eve#bbs"))
    }
    assert len(tags) == 4


@pytest.mark.parametrize(
    "change",
    [{"method": "did:ids:ivo#other"}, {"header": HEADER + b" "}, {"holder": "did:ids:otto"}, {"nonce": b"m" * 32}],
)
def test_a_commitment_is_for_one_request(change):
    with pytest.raises(blind.CommitmentInvalid):
        blind.check_commitment(SUITE, committed()[0], replace(REQUEST, **change))


def test_every_octet_of_a_commitment_counts():
    commitment = committed()[0]
    for position in range(192):
        changed = bytearray(commitment)
        changed[position] ^= 1
        with pytest.raises(blind.CommitmentInvalid):
            blind.check_commitment(SUITE, bytes(changed), REQUEST)
    identity = bytes([0xC0]) + bytes(47)
    for hostile in (
        b"",
        commitment[:-1],
        commitment + b"\0",
        identity + commitment[48:],
        commitment[:48] + identity + commitment[96:],
        commitment[:48] + committed(OTTO)[0][48:96] + commitment[96:],
        committed(OTTO)[0][:48] + commitment[48:],
        *(commitment[:at] + ORDER.to_bytes(32, "big") + commitment[at + 32 :] for at in (96, 128, 160)),
        *(commitment[:at] + b"\xff" * 32 + commitment[at + 32 :] for at in (96, 128, 160)),
    ):
        with pytest.raises(blind.CommitmentInvalid):
            signed(hostile)


def test_nothing_but_a_bound_credential_is_signed_so():
    """Under another header slots 0 and 1 mean something: the ends of a gap, or attributes."""
    for header in (
        b"",
        b"IDENTITY-SERVICE-STATUS-V2:{}",
        b"IDENTITY-SERVICE-CREDENTIAL-V1:{}",
        b"IDENTITY-SERVICE-BBS-POP-V1:{}",
        b" " + HEADER,
    ):
        request = replace(REQUEST, header=header)
        commitment, _ = committed(request=request)
        blind.check_commitment(SUITE, commitment, request)
        with pytest.raises(ValueError, match="header"):
            signed(commitment, request, header=header)
    with pytest.raises(ValueError, match="header"):
        signed(committed()[0], header=HEADER + b"x")


def test_messages_and_keys_that_are_none():
    commitment = committed()[0]
    for known in ([-1], [ORDER], [0] * 257):
        with pytest.raises(ValueError, match="message"):
            signed(commitment, known=known)
    with pytest.raises(InvalidBlsKey):
        blind.blind_sign(SUITE, bytes(32), PUBLIC, HEADER, KNOWN, commitment, REQUEST)


def test_a_signature_is_on_its_messages_and_its_k():
    commitment, _ = committed()
    signature = signed(commitment)
    other = committed(OTTO)[0][:48]
    for known, point, header in (
        ([*KNOWN[:-1], 8], commitment[:48], HEADER),
        (KNOWN[:-1], commitment[:48], HEADER),
        (KNOWN, other, HEADER),
        (KNOWN, commitment[:48], HEADER + b"x"),
    ):
        with pytest.raises(BbsSignatureInvalid):
            blind.verify_blind(SUITE, PUBLIC, header, known, point, signature)


def test_holder_signature_covers_the_request():
    commitment = committed()[0]
    texts = {
        blind.holder_message(REQUEST, "did:ids:hana#key", commitment),
        blind.holder_message(REQUEST, "did:ids:hana#other", commitment),
        blind.holder_message(REQUEST, "did:ids:hana#key", committed(seed=2)[0]),
        *(
            blind.holder_message(replace(REQUEST, **change), "did:ids:hana#key", commitment)
            for change in ({"method": "did:x:y#z"}, {"header": b"h"}, {"holder": "did:x:h"}, {"nonce": b"x" * 32})
        ),
    }
    assert len(texts) == 7


def test_a_secret_does_not_show():
    assert f"{HANA.scalar}" not in repr(HANA)
    assert HolderSecret.from_bytes(SUITE, HANA.scalar.to_bytes(32, "big")) == HANA
    with pytest.raises(ValueError, match="32 bytes"):
        HolderSecret.derived(SUITE, b"short")
    for refused in (bytes(32), ORDER.to_bytes(32, "big"), b"x"):
        with pytest.raises(InvalidBlsKey):
            HolderSecret.from_bytes(SUITE, refused)


# Consents.


def consented(blinds=(11,), message=MESSAGE, secret=HANA, pseudonym=None, seed=3, suite=SUITE):
    return consent.consent(suite, secret, list(blinds), message, seeded(seed), pseudonym)


@pytest.mark.parametrize("pseudonym", [None, "https://shop.example"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_consent_opens_to_the_holders_points(suite, count, pseudonym):
    blinds = [11 * n + 1 for n in range(count)]
    secret = HolderSecret.derived(suite, b"hana".ljust(32, b"."))
    text, rhos = consented(blinds, secret=secret, pseudonym=pseudonym, suite=suite)
    assert len(text) == 144 + 80 * (count - 1) + 48 * (pseudonym is not None)
    checked = consent.check_consent(suite, text, count, MESSAGE, pseudonym)
    for point, rho, own_blind in zip(checked.points, rhos, blinds, strict=True):
        known = suite.combine(0, 0, (0, 1), (HANA.scalar, own_blind))
        assert suite.curve.g1_equal(known, suite.curve.g1_add(point, suite.combine(0, 0, (1,), (rho,))))
    assert checked.pseudonym == (None if pseudonym is None else text[48 * count : 48 * count + 48])
    assert text == consented(blinds, pseudonym=pseudonym)[0], "one text on every backend"


def test_a_pseudonym_is_the_holders_in_one_context():
    shown = {
        consent.check_consent(SUITE, consented(secret=secret, pseudonym=name, seed=seed)[0], 1, MESSAGE, name).pseudonym
        for secret in (HANA, OTTO)
        for name in ("shop", "bank")
        for seed in (1, 2)
    }
    assert len(shown) == 4


def test_two_consents_have_nothing_in_common():
    first, second = consented(seed=1)[0], consented(seed=2)[0]
    pieces = {first[at : at + 8] for at in range(len(first) - 7)}
    assert pieces.isdisjoint({second[at : at + 8] for at in range(len(second) - 7)})


def test_stuck_source_does_not_repeat_masks_for_another_message():
    """Two responses with one mask give the secret away."""
    first, second = consented(message=b"one")[0], consented(message=b"two")[0]
    assert first[:48] != second[:48]
    with pytest.raises(OSError, match="random"):
        consent.consent(SUITE, HANA, [1], MESSAGE, lambda count: b"x")


def test_every_octet_of_a_consent_counts():
    text = consented((11, 12), pseudonym="shop")[0]
    for position in range(len(text)):
        changed = bytearray(text)
        changed[position] ^= 1
        with pytest.raises(consent.ConsentInvalid):
            consent.check_consent(SUITE, bytes(changed), 2, MESSAGE, "shop")


def test_a_consent_is_for_its_message_count_and_context():
    text = consented((11, 12), pseudonym="shop")[0]
    for count, message, pseudonym in (
        (2, b"another", "shop"),
        (2, MESSAGE, "bank"),
        (2, MESSAGE, None),
        (1, MESSAGE, "shop"),
        (3, MESSAGE, None),
        (3, MESSAGE, "shop"),
    ):
        with pytest.raises(consent.ConsentInvalid):
            consent.check_consent(SUITE, text, count, message, pseudonym)


def test_consents_of_two_holders_do_not_join():
    """Neither with the first's responses nor with the second's, and no single scalar fits both points."""
    (first, _), (second, _) = consented((11,)), consented((12,), secret=OTTO)
    for z0, z1, c in ((first, second, first), (second, second, second), (first, second, second)):
        glued = first[:48] + second[:48] + z0[48:80] + first[80:112] + z1[80:112] + c[112:]
        with pytest.raises(consent.ConsentInvalid):
            consent.check_consent(SUITE, glued, 2, MESSAGE)


def test_a_commitment_is_no_consent_and_a_consent_no_commitment():
    commitment = committed()[0]
    with pytest.raises(consent.ConsentInvalid):
        consent.check_consent(SUITE, commitment, 1, MESSAGE, "did:ids:ivo")
    with pytest.raises(blind.CommitmentInvalid):
        blind.check_commitment(SUITE, consented(pseudonym="did:ids:ivo")[0], REQUEST)


def test_secret_comes_out_of_two_answers_to_one_first_message(monkeypatch):
    """Knowledge soundness: the extractor of the proof, run."""
    answers = []
    for c in (5, 9):
        monkeypatch.setattr(consent, "_consent_challenge", lambda message, c=c: lambda *points: c)
        answers.append(consented()[0])
    (z0, z1), (w0, w1) = ([int.from_bytes(a[at : at + 32], "big") for at in (48, 80)] for a in answers)
    over = pow(5 - 9, -1, ORDER)
    assert (z0 - w0) * over % ORDER == HANA.scalar
    shown = SUITE.combine(0, 0, (0, 1), (HANA.scalar, (z1 - w1) * over % ORDER))
    assert SUITE.curve.g1_to_octets(shown) == answers[0][:48]


def test_a_secret_meets_no_table(monkeypatch):
    """The holder's secret, blinds and masks are multiplied by the backend's own product."""
    seen = []
    monkeypatch.setattr(type(SUITE), "combine", lambda *given, **more: seen.append(given))
    consented(pseudonym="shop")
    committed()
    assert seen == []
