"""The draft's core operations, on scalars instead of byte messages: CoreSign, CoreVerify and the parts of a proof.

A prover that shows more than disclosure chooses the masks (``RandomScalars.m_tildes``), calls ``proof_init``, hashes
what it likes of the result into its presentation header, and takes the challenge for its own arguments too; the proof
stays one that every implementation of the draft verifies. Its verifier goes the same way with ``proof_verify_init``,
``check_challenge`` and, last because it is dearest, ``check_pairing``.

A message may be any scalar from 0 to r - 1. Nothing here decides which messages are hashed and which are numbers: the
signed header must state it (draft, "Mapping Messages to Scalars").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import gmpy2

from identity_bbs.bls12381 import G1, ORDER
from identity_bbs.bls12381.backend import G1_OCTETS
from identity_bbs.bls12381.keys import hash_to_scalar
from identity_bbs.encoding import calculate_challenge, calculate_domain, scalar_to_octets
from identity_bbs.suite import (
    API_ID,
    HASH_TO_SCALAR_DST,
    MAX_MESSAGES,
    BbsProofInvalid,
    BbsPublicKey,
    BbsSignatureInvalid,
    Ciphersuite,
    InitResult,
    Proof,
    RandomScalars,
    Signature,
)

_BLINDING_DST: Final = API_ID + b"IDENTITY_INVERSION_BLINDING_"

_SHOWN_IN_A_SUM: Final = 1
"""With more disclosed messages a product costs less than their terms do."""

Weighted = tuple[BbsPublicKey, Proof, int]
"""A proof under a key, and the weight of its pairings."""


def core_sign(
    suite: Ciphersuite, secret: int, public_key: BbsPublicKey, header: bytes, messages: Sequence[int]
) -> Signature:
    """Return the signature of ``header`` and ``messages`` by the secret scalar; deterministic.

    What depends on the secret goes through the backend's own multiplication, never through tables, which serve only for
    B, a sum over public generators that holds nothing of the key.
    """
    check_messages(messages)
    domain = calculate_domain(suite, public_key, len(messages), header)
    preimage = b"".join(scalar_to_octets(scalar) for scalar in (secret, *messages, domain))
    return sign_point(suite, secret, suite.commitment(domain, messages), hash_to_scalar(preimage, HASH_TO_SCALAR_DST))


def sign_point(suite: Ciphersuite, secret: int, b: G1, e: int) -> Signature:
    """(B / (secret + e), e). A signature on whatever B opens to: the caller has made B, or has a proof of what it commits to."""
    return Signature(suite.curve.g1_mul(b, _blinded_inverse(secret, e)), e)


def core_verify(
    suite: Ciphersuite, public_key: BbsPublicKey, signature: Signature, header: bytes, messages: Sequence[int]
) -> None:
    """Raise ``BbsSignatureInvalid``."""
    check_messages(messages)
    domain = calculate_domain(suite, public_key, len(messages), header)
    verify_point(suite, public_key, signature, suite.commitment(domain, messages))


def verify_point(suite: Ciphersuite, public_key: BbsPublicKey, signature: Signature, b: G1) -> None:
    """Raise ``BbsSignatureInvalid`` unless the signature is one on the point B.

    e(A, W + BP2·e) = e(B, BP2) is checked as e(A, W)·e(A·e - B, BP2) = 1: the product in G1 is the cheaper one.
    """
    curve = suite.curve
    other = curve.g1_add(curve.g1_mul(signature.a, signature.e), curve.g1_neg(b))
    if not curve.pairing_product_is_one([(signature.a, public_key.point), (other, curve.g2_generator())]):
        raise BbsSignatureInvalid("the signature does not match")


def sign_checked(
    suite: Ciphersuite, secret: int, public_key: bytes, header: bytes, messages: Sequence[int]
) -> Signature:
    """Sign as ``core_sign`` does, and check with the secret scalar: A·(secret + e) = B and BP2·secret = W are together equivalent
    to the pairings of ``core_verify``. Raises ``BbsSignatureInvalid``, for a public key of another secret too."""
    curve = suite.curve
    key = BbsPublicKey(public_key, curve.g2_mul(curve.g2_generator(), secret))
    if curve.g2_to_octets(key.point) != public_key:
        raise BbsSignatureInvalid("the public key is not that of the secret")
    signature = core_sign(suite, secret, key, header, messages)
    b = suite.commitment(calculate_domain(suite, key, len(messages), header), messages)
    if not curve.g1_equal(curve.g1_mul(signature.a, secret + signature.e), b):
        raise BbsSignatureInvalid("the signature does not match")
    return signature


def proof_init(
    suite: Ciphersuite,
    public_key: BbsPublicKey,
    signature: Signature,
    header: bytes,
    messages: Sequence[int],
    disclosed_indexes: Sequence[int],
    random_scalars: RandomScalars,
    b: G1 | None = None,
) -> InitResult:
    """ProofInit. The prover's first message: it depends on the masks and on no challenge. ``b`` is B of these messages, where the caller
    has made it, perhaps with another base point than P1."""
    check_messages(messages)
    hidden = undisclosed_indexes(len(messages), disclosed_indexes)
    masks, curve = random_scalars, suite.curve
    if len(masks.m_tildes) != len(hidden):
        raise ValueError(f"{len(masks.m_tildes)} masks for {len(hidden)} undisclosed messages")
    if masks.r1 % ORDER == 0 or masks.r2 % ORDER == 0:
        raise ValueError("r1 and r2 are not zero")
    domain = calculate_domain(suite, public_key, len(messages), header)
    d = _multiple_of_b(suite, masks.r2, domain, messages) if b is None else curve.g1_mul(b, masks.r2)
    a_bar = curve.g1_mul(signature.a, masks.r1 * masks.r2)
    b_bar = curve.g1_msm([d, a_bar], [masks.r1, -signature.e])
    t1 = curve.g1_msm([a_bar, d], [masks.e_tilde, masks.r1_tilde])
    if b is None and len(messages) - len(hidden) <= _SHOWN_IN_A_SUM:
        # D·r3~ is B·(r2·r3~), and the masks go into the same sum.
        masked = dict(zip(hidden, masks.m_tildes, strict=True))
        t2 = _multiple_of_b(suite, masks.r2 * masks.r3_tilde % ORDER, domain, messages, masked)
    else:
        t2 = suite.combine(0, 0, hidden, masks.m_tildes, also=[(d, masks.r3_tilde)])
    data = b"".join(curve.g1s_to_octets([a_bar, b_bar, d, t1, t2]))
    return InitResult(a_bar, b_bar, d, t1, t2, domain, data)


def proof_finalize(
    init: InitResult, challenge: int, e: int, random_scalars: RandomScalars, undisclosed_messages: Sequence[int]
) -> Proof:
    """ProofFinalize: the responses. ``e`` is the signature's; messages in ascending order of index."""
    masks = random_scalars
    r3 = int(gmpy2.invert(masks.r2, ORDER))
    pairs = zip(masks.m_tildes, undisclosed_messages, strict=True)
    return Proof(
        a_bar=init.a_bar,
        b_bar=init.b_bar,
        d=init.d,
        e_hat=(masks.e_tilde + e * challenge) % ORDER,
        r1_hat=(masks.r1_tilde - masks.r1 * challenge) % ORDER,
        r3_hat=(masks.r3_tilde - r3 * challenge) % ORDER,
        m_hats=tuple((mask + message * challenge) % ORDER for mask, message in pairs),
        challenge=challenge,
        points_octets=init.points_octets[: 3 * G1_OCTETS],
    )


def proof_verify_init(
    suite: Ciphersuite,
    public_key: BbsPublicKey,
    proof: Proof,
    header: bytes,
    disclosed: Mapping[int, int],
    base: G1 | None = None,
) -> InitResult:
    """ProofVerifyInit: the first message that the responses belong to. ``disclosed`` maps 0-based indexes to scalars; ``base`` stands
    for P1.

    Raises ``BbsProofInvalid``; also for T1 or T2 being the identity, which no honest prover makes.
    """
    curve, c = suite.curve, proof.challenge
    count = len(disclosed) + len(proof.m_hats)
    if count > MAX_MESSAGES or not all(0 <= index < count for index in disclosed):
        raise BbsProofInvalid("a disclosed index is not that of a message")
    shown = sorted(disclosed)
    hidden = undisclosed_indexes(count, shown)
    domain = calculate_domain(suite, public_key, count, header)
    t1 = curve.g1_public_msm([proof.b_bar, proof.a_bar, proof.d], [c, proof.e_hat, proof.r1_hat])
    # T2 = Bv·c + D·r3^ + the sum of H_j·m^_j, with Bv multiplied out so that all of it goes through the tables.
    scalars = [disclosed[index] * c for index in shown]
    p1 = c if base is None else 0
    tabled = suite.combine(p1, domain * c, [*shown, *hidden], [*scalars, *proof.m_hats])
    untabled = [(proof.d, proof.r3_hat)] if base is None else [(proof.d, proof.r3_hat), (base, c)]
    t2 = curve.g1_add(tabled, curve.g1_public_msm(*zip(*untabled, strict=True)))
    if curve.g1_is_identity(t1) or curve.g1_is_identity(t2):
        raise BbsProofInvalid("the proof does not match")
    data = b"".join([proof.points_octets, *curve.g1s_to_octets([t1, t2])])
    return InitResult(proof.a_bar, proof.b_bar, proof.d, t1, t2, domain, data)


def check_challenge(init: InitResult, proof: Proof, disclosed: Mapping[int, int], presentation_header: bytes) -> None:
    """Raise ``BbsProofInvalid`` unless the proof's challenge is the hash of everything before it."""
    if calculate_challenge(init, disclosed, presentation_header) != proof.challenge:
        raise BbsProofInvalid("the proof does not match")


def check_pairing(suite: Ciphersuite, public_key: BbsPublicKey, proof: Proof) -> None:
    """Raise ``BbsProofInvalid`` unless e(Abar, W) = e(Bbar, BP2): without this, anybody could have made the signature."""
    check_pairings(suite, [(public_key, proof, 1)])


def check_pairings(suite: Ciphersuite, weighted: Sequence[Weighted]) -> None:
    """``check_pairing`` of several proofs as one product, each to the power of its weight. Raises ``BbsProofInvalid``.

    Weights of 128 bits that were fixed after the proofs let a wrong one pass with a chance of 2^-128; the first may be 1. Proofs under
    one key share a Miller loop.
    """
    if not pairings_hold(suite, weighted):
        raise BbsProofInvalid("the proof does not match")


def pairings_hold(suite: Ciphersuite, weighted: Sequence[Weighted]) -> bool:
    """Return whether the product of ``check_pairings`` is one."""
    curve = suite.curve
    by_key: dict[bytes, list[Weighted]] = {}
    for one in weighted:
        by_key.setdefault(one[0].encoded, []).append(one)
    pairs = [
        (
            curve.g1_public_msm([proof.a_bar for _, proof, _ in under], [weight for _, _, weight in under]),
            under[0][0].point,
        )
        for under in by_key.values()
    ]
    right = curve.g1_public_msm([proof.b_bar for _, proof, _ in weighted], [weight for _, _, weight in weighted])
    return curve.pairing_product_is_one([*pairs, (curve.g1_neg(right), curve.g2_generator())])


def undisclosed_indexes(count: int, disclosed_indexes: Sequence[int]) -> list[int]:
    """Return the other indexes of 0 … count - 1. Raises ``ValueError``: unless the disclosed ones strictly ascend and are in range."""
    previous = -1
    for index in disclosed_indexes:
        if not previous < index < count:
            raise ValueError("disclosed indexes are strictly ascending and belong to a message each")
        previous = index
    shown = frozenset(disclosed_indexes)
    return [index for index in range(count) if index not in shown]


def check_messages(messages: Sequence[int]) -> None:
    """Raise ``ValueError`` for too many messages, or one that is not a scalar."""
    if len(messages) > MAX_MESSAGES:
        raise ValueError(f"there are at most {MAX_MESSAGES} messages")
    if not all(0 <= message < ORDER for message in messages):
        raise ValueError("a message is a scalar from 0 to r - 1")


def _multiple_of_b(
    suite: Ciphersuite,
    factor: int,
    domain: int,
    messages: Sequence[int],
    masks: Mapping[int, int] = MappingProxyType({}),
) -> G1:
    """B·factor + the sum of H_(j+1)·mask_j. Each factor goes to the generators, whose tables take a third of a product's time; B is not
    made, and no message meets the tables but multiplied by a secret factor."""
    # ORDER + a message is a number of full size, which a small message is not.
    scalars = [factor * (ORDER + message) + masks.get(index, 0) for index, message in enumerate(messages)]
    return suite.combine(factor, factor * domain, range(len(messages)), scalars)


def _blinded_inverse(secret: int, e: int) -> int:
    """1 / (secret + e) mod r, by GMP in a tenth of Python's time. Euclid's steps depend on their input, so they see it times a factor that
    only the key's holder can know; the result is the same."""
    blinding = hash_to_scalar(scalar_to_octets(secret) + scalar_to_octets(e), _BLINDING_DST)
    try:
        return int(gmpy2.invert((secret + e) * blinding % ORDER, ORDER)) * blinding % ORDER
    except ZeroDivisionError as fault:
        raise ValueError("this key cannot sign these messages") from fault
