"""The draft's interface operations, octets in and octets out: Sign, Verify, ProofGen, ProofVerify.

Verifiers raise: ``SignatureInvalid`` and ``ProofInvalid`` for what is wrong, ``InvalidKey`` for a key against which
nothing can be checked. The caps of ``ciphersuite`` come before any work on the curve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from identity_core.crypto.bbs import core
from identity_core.crypto.bbs.ciphersuite import MAX_MESSAGES, Ciphersuite
from identity_core.crypto.bbs.elements import ProofInvalid, RandomScalars, SignatureInvalid
from identity_core.crypto.bbs.utilities import (
    calculate_challenge,
    check_octets,
    messages_to_scalars,
    octets_to_proof,
    octets_to_public_key,
    octets_to_signature,
    proof_to_octets,
    signature_to_octets,
)
from identity_core.crypto.bls12381.keys import secret_scalar


def sign(suite: Ciphersuite, secret_key: bytes, public_key: bytes, header: bytes, messages: Sequence[bytes]) -> bytes:
    """The 80-octet signature. Raises ``InvalidKey``, and ``ValueError`` for what is too long or too many."""
    check_octets("header", header)
    scalars = messages_to_scalars(messages)
    secret = secret_scalar(secret_key)
    key = octets_to_public_key(suite, public_key)
    return signature_to_octets(suite, core.core_sign(suite, secret, key, header, scalars))


def verify(suite: Ciphersuite, public_key: bytes, signature: bytes, header: bytes, messages: Sequence[bytes]) -> None:
    """Raises ``SignatureInvalid`` or ``InvalidKey``."""
    try:
        check_octets("header", header)
        scalars = messages_to_scalars(messages)
    except ValueError as fault:
        raise SignatureInvalid(str(fault)) from fault
    key = octets_to_public_key(suite, public_key)
    core.core_verify(suite, key, octets_to_signature(suite, signature), header, scalars)


def proof_gen(
    suite: Ciphersuite,
    public_key: bytes,
    signature: bytes,
    header: bytes,
    presentation_header: bytes,
    messages: Sequence[bytes],
    disclosed_indexes: Sequence[int],
    random_scalars: Callable[[int], Sequence[int]],
) -> bytes:
    """A proof of 272 + 32·U octets that shows the messages at ``disclosed_indexes`` (0-based, strictly ascending).

    ``random_scalars`` is ``utilities.calculate_random_scalars``. The signature is not verified, as in the draft.
    Raises ``InvalidKey``, ``SignatureInvalid`` for octets that are no signature, ``ValueError`` for the rest.
    """
    check_octets("header", header)
    check_octets("presentation header", presentation_header)
    scalars = messages_to_scalars(messages)
    hidden = core.undisclosed_indexes(len(messages), disclosed_indexes)
    key = octets_to_public_key(suite, public_key)
    signed = octets_to_signature(suite, signature)
    dice = RandomScalars.of(random_scalars(5 + len(hidden)))
    init = core.proof_init(suite, key, signed, header, scalars, disclosed_indexes, dice)
    shown = {index: scalars[index] for index in disclosed_indexes}
    challenge = calculate_challenge(init, shown, presentation_header)
    return proof_to_octets(core.proof_finalize(init, challenge, signed.e, dice, [scalars[index] for index in hidden]))


def proof_verify(
    suite: Ciphersuite,
    public_key: bytes,
    proof: bytes,
    header: bytes,
    presentation_header: bytes,
    disclosed_messages: Sequence[bytes],
    disclosed_indexes: Sequence[int],
) -> None:
    """Raises ``ProofInvalid`` or ``InvalidKey``. Messages stand in the order of ``disclosed_indexes``: ascending."""
    try:
        check_octets("header", header)
        check_octets("presentation header", presentation_header)
        scalars = messages_to_scalars(disclosed_messages)
        core.undisclosed_indexes(MAX_MESSAGES, disclosed_indexes)
        disclosed = dict(zip(disclosed_indexes, scalars, strict=True))
    except ValueError as fault:
        raise ProofInvalid(str(fault)) from fault
    key = octets_to_public_key(suite, public_key)
    decoded = octets_to_proof(suite, proof)
    init = core.proof_verify_init(suite, key, decoded, header, disclosed)
    core.check_challenge(init, decoded, disclosed, presentation_header)
    core.check_pairing(suite, key, decoded)
