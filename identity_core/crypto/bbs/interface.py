"""The draft's interface operations, octets in and octets out: Sign and Verify; ProofGen and ProofVerify are in ``disclosure``.

``BbsSignatureInvalid`` is for what is wrong, ``InvalidKey`` for a key against which nothing can be checked. The caps of ``suite`` come
before any work on the curve. A message that is an integer is the scalar itself. Who proves more than
disclosure builds upon ``core``.
"""

from __future__ import annotations

from collections.abc import Sequence

from identity_core.crypto.bbs import core
from identity_core.crypto.bbs.octets import (
    check_octets,
    mixed_messages_to_scalars,
    octets_to_public_key,
    octets_to_signature,
    signature_to_octets,
)
from identity_core.crypto.bbs.suite import BbsSignatureInvalid, Ciphersuite
from identity_core.crypto.bls12381.keys import secret_scalar


def sign(
    suite: Ciphersuite, secret_key: bytes, public_key: bytes, header: bytes, messages: Sequence[bytes | int]
) -> bytes:
    """The 80-octet signature. Raises ``InvalidKey``, and ``ValueError`` for what is too long or too many."""
    check_octets("header", header)
    scalars = mixed_messages_to_scalars(messages)
    secret = secret_scalar(secret_key)
    key = octets_to_public_key(suite, public_key)
    return signature_to_octets(suite, core.core_sign(suite, secret, key, header, scalars))


def verify(
    suite: Ciphersuite, public_key: bytes, signature: bytes, header: bytes, messages: Sequence[bytes | int]
) -> None:
    """Raises ``BbsSignatureInvalid`` or ``InvalidKey``."""
    scalars = _scalars_to_verify(header, messages)
    key = octets_to_public_key(suite, public_key)
    core.core_verify(suite, key, octets_to_signature(suite, signature), header, scalars)


def verify_own(
    suite: Ciphersuite,
    secret_key: bytes,
    public_key: bytes,
    signature: bytes,
    header: bytes,
    messages: Sequence[bytes | int],
) -> None:
    """Takes what ``verify`` takes and refuses what it refuses, for whoever has signed: with the secret key it needs no pairing. Raises
    ``BbsSignatureInvalid`` or ``InvalidKey``."""
    scalars = _scalars_to_verify(header, messages)
    secret, key = secret_scalar(secret_key), octets_to_public_key(suite, public_key)
    core.verify_own(suite, secret, key, octets_to_signature(suite, signature), header, scalars)


def _scalars_to_verify(header: bytes, messages: Sequence[bytes | int]) -> list[int]:
    try:
        check_octets("header", header)
        return mixed_messages_to_scalars(messages)
    except ValueError as fault:
        raise BbsSignatureInvalid(str(fault)) from fault
