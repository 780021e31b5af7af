"""The committed vectors that a verifier accepts: exact lengths, points of the group, scalars below its order."""

import pytest
from identity_prover_bbs.committed_vector import VerifierVector, evaluate, octets_of_vector_proof
from identity_prover_bbs.generators import Generators, generators

from identity_bbs.bls12381 import ORDER, select
from identity_bbs.bls12381.choice import LOADERS
from identity_bbs.bls12381.fixed_bases import TableShelf
from identity_core.errors import ProofInvalid

CURVE = select()
GENERATORS = generators(CURVE)
POINT = CURVE.g1_to_octets(CURVE.hash_to_g1(b"a point", b"a tag"))
IDENTITY = bytes([0xC0]) + bytes(47)


def encode_vector(*scalars: int, points: tuple[bytes, ...] = (POINT, POINT)) -> bytes:
    return b"".join(points) + b"".join(scalar.to_bytes(32, "big") for scalar in scalars)


def decoded(received: bytes) -> VerifierVector:
    return VerifierVector.decode(GENERATORS, received, points=2, responses=1)


def test_a_proof_has_48_octets_a_point_and_32_a_scalar():
    assert octets_of_vector_proof(2, 1) == 2 * 48 + 3 * 32
    vector = decoded(encode_vector(1, 2, ORDER - 1))
    assert (vector.responses, vector.z, vector.zt) == ((1,), 2, ORDER - 1)
    assert len(vector.coefficients) == 1


@pytest.mark.parametrize(
    ("received", "reason"),
    [
        (b"", "wrong length"),
        (encode_vector(1, 2), "wrong length"),
        (encode_vector(1, 2, 3)[:-1], "wrong length"),
        (encode_vector(1, 2, 3, 4), "wrong length"),
        (encode_vector(1, 2, ORDER), "below the group order"),
        (encode_vector(ORDER, 2, 3), "below the group order"),
        (encode_vector(1, 2**256 - 1, 3), "below the group order"),
        (encode_vector(1, 2, 3, points=(POINT, bytes(48))), "not valid"),
        (encode_vector(1, 2, 3, points=(bytes([POINT[0] ^ 0x80]) + POINT[1:], POINT)), "not valid"),
    ],
)
def test_malformed_proof_is_refused(received, reason):
    with pytest.raises(ProofInvalid) as refused:
        decoded(received)
    assert reason in refused.value.details["reason"]


def test_nothing_stands_for_the_identity():
    """All responses zero and the challenge zero make B the identity, and T_0 too."""
    vector = decoded(encode_vector(0, 0, 0))
    with pytest.raises(ProofInvalid):
        vector.first(0, [0])
    with pytest.raises(ProofInvalid):
        vector.second(0, 0)
    a, b = vector.first(1, [0])
    assert a == POINT
    assert b not in (IDENTITY, POINT)
    assert vector.second(1, 0)[1] == POINT


def test_a_polynomial_is_its_coefficients_lowest_first():
    assert evaluate([], 5) == 0
    assert evaluate([7, 3, 2], 10) == 237
    assert evaluate([ORDER + 1], 10) == 1


def test_short_table_is_used_for_coefficients(monkeypatch):
    """These generators stand in each coefficient of a proof, those of the digits in one sum."""
    curve = LOADERS["pyblst"]()
    curve._shelf = TableShelf(4 << 13)
    made = Generators(curve)
    made.commit_masks([5] * 10, 7)
    without_tables = []
    plain = curve.g1_msm

    def count_points(points, scalars):
        without_tables.append(len(points))
        return plain(points, scalars)

    monkeypatch.setattr(curve, "g1_msm", count_points)
    made.commit_coefficient(3, 4)
    assert without_tables == []
    made.commit_masks([5] * 10, 7)
    assert without_tables == [9]
