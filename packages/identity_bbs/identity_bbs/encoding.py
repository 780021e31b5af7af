"""The draft's utility operations: hashing to scalars, domain and challenge, bytes in and out.

Decoding is strict: exact lengths, canonical points that are not the identity, scalars from 1 to r - 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from identity_bbs.bls12381 import ORDER, InvalidPoint
from identity_bbs.bls12381.backend import G1_OCTETS, SCALAR_OCTETS
from identity_bbs.bls12381.keys import InvalidBlsKey, hash_to_scalar
from identity_bbs.bls12381.keys import expand_message_xmd as expand_message_xmd
from identity_bbs.suite import (
    API_ID,
    HASH_TO_SCALAR_DST,
    MAP_MESSAGE_DST,
    MAX_MESSAGES,
    MAX_OCTETS,
    BbsProofInvalid,
    BbsPublicKey,
    BbsSignatureInvalid,
    Ciphersuite,
    InitResult,
    Proof,
    Signature,
)

SIGNATURE_OCTETS: Final = G1_OCTETS + SCALAR_OCTETS
_POINTS_OCTETS: Final = 3 * G1_OCTETS
PROOF_FLOOR_OCTETS: Final = _POINTS_OCTETS + 4 * SCALAR_OCTETS
"""A proof has this many bytes and 32 for each undisclosed message."""


def messages_to_scalars(messages: Sequence[bytes]) -> list[int]:
    """Hash each message to a scalar. Raises ``ValueError`` for too many or too long ones."""
    if len(messages) > MAX_MESSAGES:
        raise ValueError(f"there are at most {MAX_MESSAGES} messages")
    for message in messages:
        check_octets("message", message)
    return [hash_to_scalar(message, MAP_MESSAGE_DST) for message in messages]


def mixed_messages_to_scalars(messages: Sequence[bytes | int]) -> list[int]:
    """Return scalars for ``core``, which checks their range: integers are unchanged, bytes are hashed as above."""
    hashed = iter(messages_to_scalars([message for message in messages if not isinstance(message, int)]))
    return [message if isinstance(message, int) else next(hashed) for message in messages]


def calculate_domain(suite: Ciphersuite, public_key: BbsPublicKey, count: int, header: bytes) -> int:
    """Return the scalar that binds key, generators, number of messages and header, all of them public; the last are remembered."""
    check_octets("header", header)
    return _domain(suite, public_key.encoded, count, header)


@lru_cache(maxsize=64)
def _domain(suite: Ciphersuite, public_key: bytes, count: int, header: bytes) -> int:
    data = public_key + count.to_bytes(8, "big") + suite.generator_octets(count) + API_ID
    return hash_to_scalar(data + len(header).to_bytes(8, "big") + header, HASH_TO_SCALAR_DST)


def calculate_challenge(init: InitResult, disclosed: Mapping[int, int], presentation_header: bytes) -> int:
    """ProofChallengeCalculate. ``disclosed`` maps 0-based indexes to scalars."""
    check_octets("presentation header", presentation_header)
    data = len(disclosed).to_bytes(8, "big")
    for index in sorted(disclosed):
        data += index.to_bytes(8, "big") + scalar_to_octets(disclosed[index])
    data += init.points_octets + scalar_to_octets(init.domain)
    data += len(presentation_header).to_bytes(8, "big") + presentation_header
    return hash_to_scalar(data, HASH_TO_SCALAR_DST)


def check_octets(what: str, data: bytes) -> None:
    """Raise ``ValueError`` for what is longer than ``MAX_OCTETS``."""
    if len(data) > MAX_OCTETS:
        raise ValueError(f"a {what} has at most {MAX_OCTETS} bytes")


def scalar_to_octets(scalar: int) -> bytes:
    """32 bytes, big-endian."""
    return scalar.to_bytes(SCALAR_OCTETS, "big")


@lru_cache(maxsize=256)
def octets_to_public_key(suite: Ciphersuite, data: bytes) -> BbsPublicKey:
    """octets_to_pubkey; what was decoded is remembered. Raises ``InvalidBlsKey``."""
    try:
        return BbsPublicKey(data, suite.curve.octets_to_g2(data))
    except InvalidPoint as fault:
        raise InvalidBlsKey("the bytes are not a public key") from fault


def signature_to_octets(suite: Ciphersuite, signature: Signature) -> bytes:
    """80 bytes: A || e."""
    return suite.curve.g1_to_octets(signature.a) + scalar_to_octets(signature.e)


def octets_to_signature(suite: Ciphersuite, data: bytes) -> Signature:
    """Raise ``BbsSignatureInvalid``."""
    if len(data) != SIGNATURE_OCTETS:
        raise BbsSignatureInvalid(f"a signature has {SIGNATURE_OCTETS} bytes")
    e = int.from_bytes(data[G1_OCTETS:], "big")
    if not 1 <= e < ORDER:
        raise BbsSignatureInvalid("e is not from 1 to r - 1")
    try:
        return Signature(suite.curve.octets_to_g1(data[:G1_OCTETS]), e)
    except InvalidPoint as fault:
        raise BbsSignatureInvalid("A is not a point of the subgroup") from fault


def proof_to_octets(proof: Proof) -> bytes:
    """272 + 32·U bytes: Abar || Bbar || D || e^ || r1^ || r3^ || m^_j … || c."""
    return proof.points_octets + _joined((proof.e_hat, proof.r1_hat, proof.r3_hat, *proof.m_hats, proof.challenge))


def octets_to_proof(suite: Ciphersuite, data: bytes) -> Proof:
    """Raise ``BbsProofInvalid``. The number of undisclosed messages follows from the length."""
    undisclosed, odd = divmod(len(data) - PROOF_FLOOR_OCTETS, SCALAR_OCTETS)
    if odd or not 0 <= undisclosed <= MAX_MESSAGES:
        raise BbsProofInvalid("the length is not that of a proof")
    starts = range(_POINTS_OCTETS, len(data), SCALAR_OCTETS)
    scalars = [int.from_bytes(data[start : start + SCALAR_OCTETS], "big") for start in starts]
    if not all(1 <= scalar < ORDER for scalar in scalars):
        raise BbsProofInvalid("a scalar is not from 1 to r - 1")
    try:
        a_bar, b_bar, d = (
            suite.curve.octets_to_g1(data[start : start + G1_OCTETS]) for start in range(0, _POINTS_OCTETS, G1_OCTETS)
        )
    except InvalidPoint as fault:
        raise BbsProofInvalid("Abar, Bbar or D is not a point of the subgroup") from fault
    e_hat, r1_hat, r3_hat, *m_hats, challenge = scalars
    return Proof(a_bar, b_bar, d, e_hat, r1_hat, r3_hat, tuple(m_hats), challenge, data[:_POINTS_OCTETS])


def _joined(scalars: Iterable[int]) -> bytes:
    return b"".join(scalar_to_octets(scalar) for scalar in scalars)
