"""The draft's interface operations, bytes in and bytes out: Sign and Verify; ProofGen and ProofVerify are in ``disclosure``.

``BbsSignatureInvalid`` is for what is wrong, ``InvalidKey`` for a key against which nothing can be checked. The caps of ``suite`` come
before any work on the curve. A message that is an integer is the scalar itself. Who proves more than
disclosure builds upon ``core``.
"""

from __future__ import annotations

from collections.abc import Sequence

from identity_bbs import core
from identity_bbs.bls12381.keys import secret_scalar
from identity_bbs.encoding import (
    check_octets,
    mixed_messages_to_scalars,
    octets_to_public_key,
    octets_to_signature,
    signature_to_octets,
)
from identity_bbs.suite import BbsSignatureInvalid, Ciphersuite


def sign(
    suite: Ciphersuite, secret_key: bytes, public_key: bytes, header: bytes, messages: Sequence[bytes | int]
) -> bytes:
    """Return the 80-byte signature. Raises ``InvalidKey``, and ``ValueError`` for what is too long or too many."""
    check_octets("header", header)
    scalars = mixed_messages_to_scalars(messages)
    secret = secret_scalar(secret_key)
    key = octets_to_public_key(suite, public_key)
    return signature_to_octets(suite, core.core_sign(suite, secret, key, header, scalars))


def sign_checked(
    suite: Ciphersuite, secret_key: bytes, public_key: bytes, header: bytes, messages: Sequence[bytes | int]
) -> bytes:
    """Sign as ``sign`` does, and check the result with the secret key, without pairings, before it is returned. Raises
    ``BbsSignatureInvalid`` besides, also for a public key that is not of this secret."""
    check_octets("header", header)
    scalars = mixed_messages_to_scalars(messages)
    signature = core.sign_checked(suite, secret_scalar(secret_key), public_key, header, scalars)
    data = signature_to_octets(suite, signature)
    # What was checked is a point in memory: its encoding, made twice, is that of nothing else.
    if signature_to_octets(suite, signature) != data:
        raise BbsSignatureInvalid("the signature was encoded wrong")
    return data


def verify(
    suite: Ciphersuite, public_key: bytes, signature: bytes, header: bytes, messages: Sequence[bytes | int]
) -> None:
    """Raise ``BbsSignatureInvalid`` or ``InvalidKey``."""
    try:
        check_octets("header", header)
        scalars = mixed_messages_to_scalars(messages)
    except ValueError as fault:
        raise BbsSignatureInvalid(str(fault)) from fault
    key = octets_to_public_key(suite, public_key)
    core.core_verify(suite, key, octets_to_signature(suite, signature), header, scalars)
