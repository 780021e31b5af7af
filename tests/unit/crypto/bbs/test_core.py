"""The parts of a proof as a predicate prover uses them: numbers as messages, chosen masks, a late presentation header."""

from __future__ import annotations

import pytest

from identity_bbs import core, disclosure, encoding
from identity_bbs.bls12381 import ORDER, keys
from identity_bbs.suite import BbsProofInvalid, BbsSignatureInvalid, RandomScalars, Signature

HEADER = b"header"
SECRET_OCTETS = keys.generate_secret(bytes(range(32)))
SECRET = keys.secret_scalar(SECRET_OCTETS)
PUBLIC = keys.public_key(SECRET_OCTETS)
TEXTS = [b"Hana", b"Oslo"]
MESSAGES = [*encoding.messages_to_scalars(TEXTS), (1 << 63) + 41, 0, ORDER - 1]
SHOWN = {1: MESSAGES[1]}
HIDDEN = [0, 2, 3, 4]


@pytest.fixture
def key(suite):
    return encoding.octets_to_public_key(suite, PUBLIC)


@pytest.fixture
def signature(suite, key):
    return core.core_sign(suite, SECRET, key, HEADER, MESSAGES)


def dice(*masks: int) -> RandomScalars:
    return disclosure.named([*disclosure.calculate_random_scalars(5), *masks])


def prove(suite, key, signature, given: RandomScalars, presentation_header: bytes = b""):
    init = core.proof_init(suite, key, signature, HEADER, MESSAGES, [*SHOWN], given)
    challenge = encoding.calculate_challenge(init, SHOWN, presentation_header)
    hidden = [MESSAGES[index] for index in HIDDEN]
    return init, core.proof_finalize(init, challenge, signature.e, given, hidden)


def judge(suite, key, encoded: bytes, presentation_header: bytes = b""):
    proof = encoding.octets_to_proof(suite, encoded)
    init = core.proof_verify_init(suite, key, proof, HEADER, SHOWN)
    core.check_challenge(init, proof, SHOWN, presentation_header)
    core.check_pairing(suite, key, proof)
    return init


def test_numbers_are_messages(suite, key, signature):
    core.core_verify(suite, key, signature, HEADER, MESSAGES)
    for index in range(len(MESSAGES)):
        changed = [*MESSAGES]
        changed[index] = (changed[index] + 1) % ORDER
        with pytest.raises(BbsSignatureInvalid):
            core.core_verify(suite, key, signature, HEADER, changed)


def test_both_forms_of_message_make_one_vector():
    assert encoding.mixed_messages_to_scalars([TEXTS[0], 7, TEXTS[1], 0]) == [MESSAGES[0], 7, MESSAGES[1], 0]


@pytest.mark.parametrize("message", [-1, ORDER, ORDER + 1])
def test_messages_that_are_no_scalars(suite, key, signature, message):
    with pytest.raises(ValueError, match="scalar"):
        core.core_sign(suite, SECRET, key, HEADER, [message])
    with pytest.raises(ValueError, match="scalar"):
        core.core_verify(suite, key, signature, HEADER, [message])


def test_too_many_messages(suite, key):
    with pytest.raises(ValueError, match="at most"):
        core.core_sign(suite, SECRET, key, HEADER, [0] * (257))
    with pytest.raises(ValueError, match="at most"):
        suite.generator_octets(257)


@pytest.mark.parametrize("count", [0, 1, 5, 18])
def test_the_first_message_is_the_same_with_and_without_b(suite, key, count):
    """D and T2 are products of B, or sums over the generators, with tables and (from the seventeenth on) without."""
    messages = [0, ORDER - 1, 7, *range(1000, 1015)][:count]
    signed = core.core_sign(suite, SECRET, key, HEADER, messages)
    b = suite.commitment(encoding.calculate_domain(suite, key, count, HEADER), messages)
    for shown in ([], [0], [count - 1], [0, 1], [*range(count)]):
        if sorted(set(shown)) != shown or not all(0 <= index < count for index in shown):
            continue
        given = disclosure.named(disclosure.calculate_random_scalars(5 + count - len(shown)))
        alone = core.proof_init(suite, key, signed, HEADER, messages, shown, given)
        with_b = core.proof_init(suite, key, signed, HEADER, messages, shown, given, b)
        assert alone.points_octets == with_b.points_octets
        assert suite.curve.g1_equal(alone.d, suite.curve.g1_mul(b, given.r2))


def test_the_presentation_header_may_depend_on_the_first_message(suite, key, signature):
    given = dice(11, 22, 33, 44)
    init = core.proof_init(suite, key, signature, HEADER, MESSAGES, [*SHOWN], given)
    late = b"hash of " + init.points_octets[144:]
    challenge = encoding.calculate_challenge(init, SHOWN, late)
    proof = core.proof_finalize(init, challenge, signature.e, given, [MESSAGES[index] for index in HIDDEN])
    encoded = encoding.proof_to_octets(proof)
    recomputed = judge(suite, key, encoded, late)
    assert recomputed.points_octets == init.points_octets
    assert recomputed.domain == init.domain
    # The same bytes pass the draft's own interface: nothing about the proof is special.
    disclosure.proof_verify(suite, PUBLIC, encoded, HEADER, late, [TEXTS[1]], [1])
    with pytest.raises(BbsProofInvalid):
        disclosure.proof_verify(suite, PUBLIC, encoded, HEADER, b"hash of other points", [TEXTS[1]], [1])


def test_responses_are_mask_plus_challenge_times_message(suite, key, signature):
    """The equation on which range, set and equality arguments hang; a mask of 1 shows a number to be public."""
    masks = (5, 1, 7, ORDER - 2)
    _, proof = prove(suite, key, signature, dice(*masks))
    judge(suite, key, encoding.proof_to_octets(proof))
    expected = [(mask + MESSAGES[i] * proof.challenge) % ORDER for mask, i in zip(masks, HIDDEN, strict=True)]
    assert [*proof.m_hats] == expected
    assert proof.m_hats[1] == (MESSAGES[2] * proof.challenge + 1) % ORDER


@pytest.mark.parametrize(
    "zeroed",
    [("e_tilde", "r1_tilde"), ("r3_tilde", "m_tildes"), ("e_tilde", "r1_tilde", "r3_tilde", "m_tildes")],
    ids=["T1", "T2", "both"],
)
def test_first_messages_that_are_the_identity_are_refused(suite, key, signature, zeroed):
    """Every equation holds in such a proof; only a prover that throws its hiding away makes one."""
    zeros = {name: (0,) * len(HIDDEN) if name == "m_tildes" else 0 for name in zeroed}
    init, proof = prove(suite, key, signature, dice(5, 6, 7, 8)._replace(**zeros))
    assert suite.curve.g1_is_identity(init.t1) == ("e_tilde" in zeroed)
    assert suite.curve.g1_is_identity(init.t2) == ("m_tildes" in zeroed)
    # A message of zero with a mask of zero has the response zero, which the decoder would refuse before the point.
    with pytest.raises(BbsProofInvalid, match="does not match"):
        core.proof_verify_init(suite, key, proof, HEADER, SHOWN)
    with pytest.raises(BbsProofInvalid):
        judge(suite, key, encoding.proof_to_octets(proof))


def test_without_the_pairing_anybody_could_sign(suite, key):
    forged = Signature(suite.curve.g1_generator(), 12345)
    _, proof = prove(suite, key, forged, dice(1, 2, 3, 4))
    decoded = encoding.octets_to_proof(suite, encoding.proof_to_octets(proof))
    init = core.proof_verify_init(suite, key, decoded, HEADER, SHOWN)
    core.check_challenge(init, decoded, SHOWN, b"")
    with pytest.raises(BbsProofInvalid):
        core.check_pairing(suite, key, decoded)


def test_pieces_of_two_proofs_do_not_fit(suite, key, signature):
    first = prove(suite, key, signature, dice(1, 2, 3, 4))[1]
    second = prove(suite, key, signature, dice(5, 6, 7, 8))[1]
    for name in ("e_hat", "r1_hat", "r3_hat", "m_hats", "challenge"):
        mixed = first._replace(**{name: getattr(second, name)})
        with pytest.raises(BbsProofInvalid):
            judge(suite, key, encoding.proof_to_octets(mixed))


@pytest.mark.parametrize("given", [{-1: 5}, {5: 5}, {1: 5, 6: 5}])
def test_a_disclosed_index_that_is_none(suite, key, signature, given):
    _, proof = prove(suite, key, signature, dice(1, 2, 3, 4))
    with pytest.raises(BbsProofInvalid, match="index"):
        core.proof_verify_init(suite, key, proof, HEADER, given)


@pytest.mark.parametrize("zero", ["r1", "r2"])
def test_dice_that_blind_nothing(suite, key, signature, zero):
    with pytest.raises(ValueError, match="not zero"):
        prove(suite, key, signature, dice(1, 2, 3, 4)._replace(**{zero: 0}))


def test_masks_and_hidden_messages_are_as_many(suite, key, signature):
    with pytest.raises(ValueError, match="masks"):
        prove(suite, key, signature, dice(1, 2, 3))
    given = dice(1, 2, 3, 4)
    init = core.proof_init(suite, key, signature, HEADER, MESSAGES, [*SHOWN], given)
    with pytest.raises(ValueError, match="zip"):
        core.proof_finalize(init, 5, signature.e, given, [1, 2, 3])


def test_the_pairing_is_not_spent_on_a_wrong_challenge(suite, key, signature, monkeypatch):
    _, proof = prove(suite, key, signature, dice(1, 2, 3, 4))

    def fail_if_called(self, pairs, /):
        pytest.fail("the pairing was computed")

    monkeypatch.setattr(type(suite.curve), "pairing_product_is_one", fail_if_called)
    with pytest.raises(BbsProofInvalid):
        disclosure.proof_verify(suite, PUBLIC, encoding.proof_to_octets(proof), HEADER, b"another", [TEXTS[1]], [1])


def test_nothing_secret_is_printed(signature):
    text = repr(signature) + repr(dice(987654321)) + str(dice(987654321))
    assert str(signature.e) not in text
    assert "987654321" not in text


def test_signing_blinds_the_inversion_and_changes_nothing(suite, key, signature):
    domain = encoding.calculate_domain(suite, key, len(MESSAGES), HEADER)
    plain = suite.curve.g1_mul(suite.commitment(domain, MESSAGES), pow(SECRET + signature.e, -1, ORDER))
    assert suite.curve.g1_equal(plain, signature.a)


def test_the_secret_meets_no_table(suite, key, monkeypatch):
    """The scalar that holds the secret key goes to the backend's own multiplication and nowhere else."""
    seen: list[int] = []
    multiply = type(suite.curve).g1_mul
    monkeypatch.setattr(type(suite.curve), "g1_mul", lambda self, a, k, /: (seen.append(k), multiply(self, a, k))[1])
    tabled: list[int] = []
    combine = type(suite).combine

    def watched(self, p1, q1, indexes, scalars, also=()):
        tabled.extend([p1, q1, *scalars])
        return combine(self, p1, q1, indexes, scalars, also)

    monkeypatch.setattr(type(suite), "combine", watched)
    made = core.core_sign(suite, SECRET, key, HEADER, MESSAGES)
    inverse = pow(SECRET + made.e, -1, ORDER)
    assert seen == [inverse]
    assert not {inverse, SECRET} & set(tabled)
    assert set(MESSAGES) <= set(tabled)
