"""Credentials on a secret that their issuer does not see (PROTOCOL-2.md §3).

The keeper of the holder's secret commits to it and to a fresh blind; the issuer checks the commitment, recognises the holder by a
point that is the same at each issue, and signs. The signature is an ordinary one of the draft on all slots, deterministic as the Blind
BBS draft makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from identity_bbs import core
from identity_bbs.bls12381 import G1
from identity_bbs.bls12381.backend import G1_OCTETS, SCALAR_OCTETS
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_bbs.bls12381.keys import hash_to_scalar, secret_scalar
from identity_bbs.encoding import calculate_domain, octets_to_public_key
from identity_bbs.frames import frame, scalar
from identity_bbs.openings import (
    PSEUDONYM_DST,
    TAG,
    Challenge,
    HolderSecret,
    check_points,
    octets_of_openings,
    open_points,
)
from identity_bbs.suite import HASH_TO_SCALAR_DST, Ciphersuite, Signature

FIRST_KNOWN_SLOT: Final = 2
"""What the issuer knows and signs in the clear begins here."""

BOUND_HEADER_TAG: Final = b"IDENTITY-SERVICE-CREDENTIAL-V2:"
"""What the header of every credential with a holder's secret begins with, and of nothing else: under another header slots 0 and 1 mean
something, and who commits to them would choose it."""
COMMIT_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V2_XMD:SHA-256_H2S_COMMIT_"
COMMITMENT_OCTETS: Final = octets_of_openings(1, pseudonym=True)
BLIND_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V2_XMD:SHA-256_H2S_BLIND_"


class CommitmentInvalid(ValueError):
    """The bytes are not a commitment for this credential, nonce and holder."""


@dataclass(frozen=True, slots=True)
class IssueRequest:
    """The binding of a commitment: the credential's verification method (a DID URL of the issuer) and header, the
    holder's DID, and the issuer's nonce."""

    method: str
    header: bytes
    holder: str
    nonce: bytes

    @property
    def fields(self) -> list[bytes]:
        """Return the fields that are hashed after the points."""
        return [self.method.encode(), sha256(self.header).digest(), self.holder.encode(), self.nonce]

    @property
    def issuer(self) -> str:
        """The DID of the method."""
        return self.method.partition("#")[0]


class Commitment(NamedTuple):
    """A checked commitment: K, which goes under the issuer's signature, and T as bytes, for the issuer's record of who is who."""

    encoded: bytes
    point: G1

    @property
    def point_octets(self) -> bytes:
        """Return K, 48 bytes; the holder of the credential stores it too."""
        return self.encoded[:G1_OCTETS]

    @property
    def holder_tag(self) -> bytes:
        """T, 48 bytes: one for each holder at this issuer."""
        return self.encoded[G1_OCTETS : 2 * G1_OCTETS]


def issuer_pseudonym_message(issuer: str) -> bytes:
    """Return the message from which OP_issuer is hashed: no verifier's context is written so."""
    return frame(TAG + b"issuer-pseudonym", [issuer.encode()])


def holder_message(request: IssueRequest, authentication_method: str, commitment: bytes) -> bytes:
    """Return the message that the holder's authentication key signs, so that the issuer knows the commitment's author.
    Equation (3.3)."""
    fields = [*request.fields, authentication_method.encode(), sha256(commitment).digest()]
    return frame(TAG + b"holder-commitment", fields)


def commit(
    suite: Ciphersuite, secret: HolderSecret, request: IssueRequest, random: Callable[[int], bytes]
) -> tuple[bytes, int]:
    """Return the 192 bytes for the issuer, K ‖ T ‖ z_0 ‖ z_1 ‖ c, and b, which the keeper keeps. Equation (3.2)."""
    masks = _masks(secret, request, random)
    (blind,) = masks.scalars(1)
    return _committed(suite, secret, blind, request, masks), blind


def commit_to(
    suite: Ciphersuite, secret: HolderSecret, blind: int, request: IssueRequest, random: Callable[[int], bytes]
) -> bytes:
    """Commit as ``commit`` does, with a b that the keeper can derive again (``derived_blind``) and need not store."""
    # Masks must not repeat for another blind where the source of randomness repeats itself.
    return _committed(suite, secret, blind, request, _masks(secret, request, random, scalar(blind)))


def derived_blind(material: bytes) -> int:
    """Return the blind that follows from at least 32 bytes of secret entropy, other ones for each credential. Raises ``ValueError``."""
    if len(material) < SCALAR_OCTETS:
        raise ValueError(f"a blind is made of at least {SCALAR_OCTETS} bytes")
    return hash_to_scalar(material, BLIND_DST)


def _masks(
    secret: HolderSecret, request: IssueRequest, random: Callable[[int], bytes], *further: bytes
) -> HedgedScalars:
    about = frame(TAG + b"commit-masks", [scalar(secret.scalar), *request.fields, *further])
    return HedgedScalars(TAG + b"masks", random, about)


def _committed(
    suite: Ciphersuite, secret: HolderSecret, blind: int, request: IssueRequest, masks: HedgedScalars
) -> bytes:
    base = suite.curve.hash_to_g1(issuer_pseudonym_message(request.issuer), PSEUDONYM_DST)
    return open_points(suite, secret, [blind], base, _commitment_challenge(request), masks)


def check_commitment(suite: Ciphersuite, data: bytes, request: IssueRequest) -> Commitment:
    """Raise ``CommitmentInvalid`` unless who made these bytes can open K, and T belongs to it."""
    base = suite.curve.hash_to_g1(issuer_pseudonym_message(request.issuer), PSEUDONYM_DST)
    try:
        points = check_points(suite, data, 1, base, _commitment_challenge(request))
    except ValueError as fault:
        raise CommitmentInvalid(str(fault)) from None
    return Commitment(data, points[0])


def blind_sign(
    suite: Ciphersuite,
    secret_key: bytes,
    public_key: bytes,
    header: bytes,
    known: Sequence[int],
    commitment: bytes,
    request: IssueRequest,
) -> Signature:
    """Return the signature on the commitment and the scalars ``known`` of the slots from 2 on; deterministic. Equation (3.4).

    Checks the commitment itself: without the proof of its opening, the signature could be on any point. Raises ``CommitmentInvalid``,
    ``InvalidBlsKey``, and ``ValueError`` for a header that the request does not name.
    """
    if header != request.header or not header.startswith(BOUND_HEADER_TAG):
        raise ValueError("the commitment was made for another header, or for none of a bound credential")
    point = check_commitment(suite, commitment, request).point
    secret = secret_scalar(secret_key)
    b, domain = _signed_point(suite, public_key, header, known, point)
    e = hash_to_scalar(scalar(secret) + suite.curve.g1_to_octets(b) + scalar(domain), HASH_TO_SCALAR_DST)
    return core.sign_point(suite, secret, b, e)


def verify_blind(
    suite: Ciphersuite,
    public_key: bytes,
    header: bytes,
    known: Sequence[int],
    commitment_point: bytes,
    signature: Signature,
) -> None:
    """Verify the signature with the commitment point K (48 bytes), without the secret and the blind. Raises
    ``BbsSignatureInvalid``, ``InvalidPoint``, ``InvalidBlsKey``."""
    b, _ = _signed_point(suite, public_key, header, known, suite.curve.octets_to_g1(commitment_point))
    core.verify_point(suite, octets_to_public_key(suite, public_key), signature, b)


def _signed_point(
    suite: Ciphersuite, public_key: bytes, header: bytes, known: Sequence[int], commitment: G1
) -> tuple[G1, int]:
    """B = P1 + domain·Q1 + K + the sum of m_j·H_j for j ≥ 2, and the domain."""
    count = FIRST_KNOWN_SLOT + len(known)
    core.check_messages(known)
    domain = calculate_domain(suite, octets_to_public_key(suite, public_key), count, header)
    slots = range(FIRST_KNOWN_SLOT, count)
    return suite.curve.g1_add(commitment, suite.combine(1, domain, slots, known)), domain


def _commitment_challenge(request: IssueRequest) -> Challenge:
    def challenge(points: Sequence[bytes], tag: bytes | None, masked: Sequence[bytes], masked_tag: bytes | None) -> int:
        """Return the challenge of these points."""
        fields = [*points, tag or b"", *masked, masked_tag or b"", *request.fields]
        return hash_to_scalar(frame(TAG + b"commit", fields), COMMIT_DST)

    return challenge
