"""Sign, Verify, ProofGen, ProofVerify against whatever may be wrong with what they are given, on every backend."""

from __future__ import annotations

import random

import pytest

from identity_bbs import disclosure, interface
from identity_bbs.bls12381 import ORDER, InvalidPoint, keys, select
from identity_bbs.bls12381.backend import G1_GENERATOR
from identity_bbs.disclosure import calculate_random_scalars
from identity_bbs.suite import (
    TABLED_MESSAGES,
    BbsProofInvalid,
    BbsSignatureInvalid,
    Ciphersuite,
    ciphersuite,
)
from tests.curves import every_curve

HEADER, PRESENTATION = b"header", b"presentation header"
MESSAGES = [f"message {number}".encode() for number in range(6)]
SHOWN = [1, 4]


class Pair:
    def __init__(self, material):
        self.secret = keys.generate_secret(material)
        self.public = keys.public_key(self.secret)


PAIR = Pair(bytes(range(32)))
OTHER = Pair(bytes(range(1, 33)))
WRONG_SCALARS = {"0": 0, "r": ORDER, "r + 1": ORDER + 1, "2^256 - 1": (1 << 256) - 1}
WRONG_POINTS = {
    "off the curve": b"\x80" + bytes(46) + b"\x01",
    "off the subgroup": b"\x80" + bytes(46) + b"\x04",
    "identity": b"\xc0" + bytes(47),
    "identity, signed": b"\xe0" + bytes(47),
    "identity, junk": b"\xc0" + bytes(46) + b"\x01",
    "no compression flag": bytes([G1_GENERATOR[0] & 0x7F]) + G1_GENERATOR[1:],
    "another point": G1_GENERATOR,
}


class Scene:
    """A signature and a proof that shows two of six messages."""

    def __init__(self, suite) -> None:
        self.suite = suite
        self.signature = interface.sign(suite, PAIR.secret, PAIR.public, HEADER, MESSAGES)
        self.proof = self.prove()

    def prove(self, messages=MESSAGES, shown=SHOWN, signature=None) -> bytes:
        return disclosure.proof_gen(
            self.suite,
            PAIR.public,
            self.signature if signature is None else signature,
            HEADER,
            PRESENTATION,
            messages,
            shown,
            calculate_random_scalars,
        )

    def verify(self, **changes) -> None:
        given = {"public": PAIR.public, "signature": self.signature, "header": HEADER, "messages": MESSAGES, **changes}
        interface.verify(self.suite, given["public"], given["signature"], given["header"], given["messages"])

    def verify_proof(self, **changes) -> None:
        given = {
            "public": PAIR.public,
            "proof": self.proof,
            "header": HEADER,
            "presentation": PRESENTATION,
            "messages": [MESSAGES[index] for index in SHOWN],
            "indexes": SHOWN,
            **changes,
        }
        names = ("public", "proof", "header", "presentation", "messages", "indexes")
        disclosure.proof_verify(self.suite, *(given[name] for name in names))


_scenes: dict[str, Scene] = {}


@pytest.fixture
def scene(suite) -> Scene:
    if suite.curve.name not in _scenes:
        _scenes[suite.curve.name] = Scene(suite)
    return _scenes[suite.curve.name]


def test_valid_signature_is_accepted(scene):
    scene.verify()
    scene.verify_proof()
    assert (len(scene.signature), len(scene.proof)) == (80, 272 + 32 * 4)


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, []), (1, []), (1, [0]), (6, list(range(6))), (TABLED_MESSAGES + 3, [0, TABLED_MESSAGES, TABLED_MESSAGES + 2])],
)
def test_message_vectors_of_every_kind(scene, count, shown):
    messages = [bytes([number]) * number for number in range(count)]
    signature = interface.sign(scene.suite, PAIR.secret, PAIR.public, HEADER, messages)
    scene.verify(signature=signature, messages=messages)
    proof = scene.prove(messages, shown, signature)
    assert len(proof) == 272 + 32 * (count - len(shown))
    scene.verify_proof(proof=proof, messages=[messages[index] for index in shown], indexes=shown)


def test_no_header_is_an_empty_header(scene):
    signature = interface.sign(scene.suite, PAIR.secret, PAIR.public, b"", MESSAGES)
    scene.verify(signature=signature, header=b"")
    with pytest.raises(BbsSignatureInvalid):
        scene.verify(signature=signature)


SIGNATURE_CHANGES = {
    "other key": {"public": OTHER.public},
    "other header": {"header": b"header "},
    "other message": {"messages": [*MESSAGES[:5], b"message 6"]},
    "one message fewer": {"messages": MESSAGES[:5]},
    "one message more": {"messages": [*MESSAGES, b""]},
    "other order": {"messages": MESSAGES[::-1]},
    "no messages": {"messages": []},
    "too many messages": {"messages": [b""] * (257)},
    "too long a message": {"messages": [bytes(65_537)]},
    "too long a header": {"header": bytes(65_537)},
}


@pytest.mark.parametrize("changes", SIGNATURE_CHANGES.values(), ids=SIGNATURE_CHANGES)
def test_a_signature_of_something_else(scene, changes):
    with pytest.raises(BbsSignatureInvalid):
        scene.verify(**changes)


PROOF_CHANGES = {
    "other key": {"public": OTHER.public},
    "other header": {"header": b"header "},
    "other presentation header": {"presentation": b"presentation"},
    "no presentation header": {"presentation": b""},
    "other message": {"messages": [MESSAGES[1], b"message 5"]},
    "messages exchanged": {"messages": [MESSAGES[4], MESSAGES[1]]},
    "other index": {"indexes": [1, 5]},
    "both exchanged": {"messages": [MESSAGES[4], MESSAGES[1]], "indexes": [4, 1]},
    "index twice": {"messages": [MESSAGES[1], MESSAGES[1]], "indexes": [1, 1]},
    "index too large": {"indexes": [1, 6]},
    "index far too large": {"indexes": [1, 1 << 64]},
    "index negative": {"indexes": [-2, 4]},
    "one index fewer": {"indexes": [1]},
    "one message fewer": {"messages": [MESSAGES[1]]},
    "one of both fewer": {"messages": [MESSAGES[1]], "indexes": [1]},
    "one of both more": {"messages": [MESSAGES[1], MESSAGES[4], MESSAGES[5]], "indexes": [1, 4, 5]},
    "nothing shown": {"messages": [], "indexes": []},
    "too long a presentation header": {"presentation": bytes(65_537)},
    "too many messages": {"messages": [b""] * (257), "indexes": list(range(257))},
}


@pytest.mark.parametrize("changes", PROOF_CHANGES.values(), ids=PROOF_CHANGES)
def test_a_proof_of_something_else(scene, changes):
    with pytest.raises(BbsProofInvalid):
        scene.verify_proof(**changes)


@pytest.mark.parametrize("scalar", WRONG_SCALARS.values(), ids=WRONG_SCALARS)
def test_scalars_out_of_range(scene, scalar):
    wrong = scalar.to_bytes(32, "big")
    with pytest.raises(BbsSignatureInvalid):
        scene.verify(signature=scene.signature[:48] + wrong)
    for start in range(144, len(scene.proof), 32):
        with pytest.raises(BbsProofInvalid, match="scalar"):
            scene.verify_proof(proof=scene.proof[:start] + wrong + scene.proof[start + 32 :])


@pytest.mark.parametrize("point", WRONG_POINTS.values(), ids=WRONG_POINTS)
def test_points_that_are_none(scene, point):
    with pytest.raises(BbsSignatureInvalid):
        scene.verify(signature=point + scene.signature[48:])
    for start in (0, 48, 96):
        with pytest.raises(BbsProofInvalid):
            scene.verify_proof(proof=scene.proof[:start] + point + scene.proof[start + 48 :])


def test_lengths(scene):
    signature, proof = scene.signature, scene.proof
    for wrong in (b"", signature[:-1], signature + b"\x00", signature[:48], signature * 2):
        with pytest.raises(BbsSignatureInvalid, match="80 bytes"):
            scene.verify(signature=wrong)
    scalar = proof[-32:]
    lengths = (b"", proof[:-1], proof + b"\x00", proof[:271], proof[:240], proof + scalar * (253))
    for wrong in lengths:
        with pytest.raises(BbsProofInvalid, match="length"):
            scene.verify_proof(proof=wrong)
    for wrong in (proof + scalar, proof[:-32], proof[:144] + proof[176:], proof[:272]):
        with pytest.raises(BbsProofInvalid):
            scene.verify_proof(proof=wrong)


@pytest.mark.parametrize("suite", ["blst", "pyblst"], indirect=True)
def test_no_single_bit_may_flip(scene):
    dice = random.Random(1)
    flips = [(8 * byte + dice.randrange(8)) for byte in range(len(scene.proof)) for _ in range(2)]
    for bit in flips:
        with pytest.raises(BbsProofInvalid):
            scene.verify_proof(proof=flipped(scene.proof, bit))
    for bit in range(8 * len(scene.signature)):
        with pytest.raises(BbsSignatureInvalid):
            scene.verify(signature=flipped(scene.signature, bit))


@pytest.mark.parametrize("suite", ["py_ecc"], indirect=True)
def test_few_bits_may_not_flip_slowly(scene):
    for bit in range(2, 8 * len(scene.proof), 397):
        with pytest.raises(BbsProofInvalid):
            scene.verify_proof(proof=flipped(scene.proof, bit))


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)


def test_a_proof_of_a_forged_signature(scene):
    """Its challenge is right; only the pairing tells."""
    forged = G1_GENERATOR + (12345).to_bytes(32, "big")
    with pytest.raises(BbsProofInvalid):
        scene.verify_proof(proof=scene.prove(signature=forged))


def test_keys_that_are_none_are_another_refusal(scene):
    for wrong in (b"", PAIR.public[:-1], b"\xc0" + bytes(95), PAIR.secret, G1_GENERATOR * 2):
        with pytest.raises(keys.InvalidBlsKey):
            scene.verify(public=wrong)
        with pytest.raises(keys.InvalidBlsKey):
            scene.verify_proof(public=wrong)
        with pytest.raises(keys.InvalidBlsKey):
            interface.sign(scene.suite, PAIR.secret, wrong, HEADER, MESSAGES)
    for secret in (bytes(32), ORDER.to_bytes(32, "big"), PAIR.secret[1:]):
        with pytest.raises(keys.InvalidBlsKey):
            interface.sign(scene.suite, secret, PAIR.public, HEADER, MESSAGES)


def test_two_proofs_share_nothing(scene):
    again = scene.prove()
    scene.verify_proof(proof=again)
    pieces = {scene.proof[start : start + 8] for start in range(len(scene.proof) - 7)}
    assert not pieces & {again[start : start + 8] for start in range(len(again) - 7)}


@pytest.mark.parametrize("shown", [[0, 0], [1, 0], [6], [-1]])
def test_the_prover_refuses_indexes_that_are_none(scene, shown):
    with pytest.raises(ValueError, match="ascending"):
        scene.prove(shown=shown)


def test_dice_that_are_too_few(scene):
    with pytest.raises(ValueError, match="masks"):
        disclosure.proof_gen(
            scene.suite, PAIR.public, scene.signature, HEADER, b"", MESSAGES, [], lambda count: range(1, count)
        )


def test_signing_is_deterministic_and_depends_on_everything(scene):
    def sign(secret=PAIR.secret, public=PAIR.public, header=HEADER, messages=tuple(MESSAGES)):
        return interface.sign(scene.suite, secret, public, header, messages)

    assert sign() == sign() == scene.signature
    others = {
        sign(secret=OTHER.secret), sign(public=OTHER.public), sign(header=b""), sign(messages=MESSAGES[:-1])
    }  # fmt: skip
    assert len(others | {scene.signature}) == 5


class OnceWrong:
    """A curve that gives another point, or other bytes, at one call of one of its operations."""

    def __init__(self, curve, name, call) -> None:
        self.curve, self.name, self.left = curve, name, call

    def __getattr__(self, name):
        right = getattr(self.curve, name)
        if name != self.name:
            return right

        def turned(*given):
            self.left -= 1
            result = right(*given)
            if self.left != 0:
                return result
            if isinstance(result, bytes):
                return result[:-1] + bytes([result[-1] ^ 1])
            return right(result, 3)

        return turned


def test_verification_of_parts_equals_sign(scene):
    checked = interface.sign_checked(scene.suite, PAIR.secret, PAIR.public, HEADER, MESSAGES)
    assert checked == scene.signature
    with pytest.raises(BbsSignatureInvalid, match="not that of the secret"):
        interface.sign_checked(scene.suite, PAIR.secret, OTHER.public, HEADER, MESSAGES)


@pytest.mark.parametrize(
    ("operation", "call"),
    [("g1_mul", 1), ("g1_mul", 2), ("g2_mul", 1), ("g2_to_octets", 1), ("g1_to_octets", 1), ("g1_to_octets", 2)],
)
def test_a_fault_while_a_checked_signature_is_made_shows(operation, call):
    curve = OnceWrong(select(), operation, 0)
    suite = Ciphersuite(curve)
    # Its tables and generators are right.
    interface.sign_checked(suite, PAIR.secret, PAIR.public, HEADER, MESSAGES)
    curve.left = call
    with pytest.raises(BbsSignatureInvalid):
        interface.sign_checked(suite, PAIR.secret, PAIR.public, HEADER, MESSAGES)


class NoCurve:
    """A suite on which nothing can be computed: anyone who touches the curve fails the test."""


def test_caps_come_before_any_curve_work():
    suite = NoCurve()
    too_many = [b""] * (257)
    too_long = bytes(65_537)
    for header, messages in ((HEADER, too_many), (too_long, MESSAGES), (HEADER, [too_long])):
        with pytest.raises(ValueError, match="at most"):
            interface.sign(suite, PAIR.secret, PAIR.public, header, messages)
        with pytest.raises(BbsSignatureInvalid):
            interface.verify(suite, PAIR.public, bytes(80), header, messages)
        with pytest.raises(ValueError, match="at most"):
            disclosure.proof_gen(suite, PAIR.public, bytes(80), header, b"", messages, [], calculate_random_scalars)
        with pytest.raises(BbsProofInvalid):
            disclosure.proof_verify(suite, PAIR.public, bytes(272), header, b"", messages, range(len(messages)))
    with pytest.raises(BbsProofInvalid):
        disclosure.proof_verify(suite, PAIR.public, bytes(272), HEADER, too_long, [], [])


def test_backends_make_and_accept_the_same_octets():
    """Beyond the fixtures: more messages than have tables, and every backend verifies the others' proof."""
    messages = [bytes([number]) for number in range(TABLED_MESSAGES + 2)]
    made = set()
    suites = [*map(ciphersuite, every_curve())]
    for suite in suites:
        signature = interface.sign(suite, PAIR.secret, PAIR.public, HEADER, messages)
        proof = disclosure.proof_gen(
            suite, PAIR.public, signature, HEADER, PRESENTATION, messages, [17], lambda count: range(3, 3 + count)
        )
        made.add((signature, proof))
    ((_, proof),) = made
    for suite in suites:
        disclosure.proof_verify(suite, PAIR.public, proof, HEADER, PRESENTATION, [messages[17]], [17])


def test_invalid_points_are_value_errors():
    assert issubclass(InvalidPoint, ValueError)
    assert issubclass(keys.InvalidBlsKey, ValueError)
    assert not issubclass(BbsProofInvalid, ValueError)
