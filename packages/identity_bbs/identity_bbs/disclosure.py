"""ProofGen and ProofVerify of the draft, bytes in and bytes out: proofs that disclose messages and prove nothing more."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from identity_bbs import core
from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.keys import EXPAND_OCTETS
from identity_bbs.encoding import (
    calculate_challenge,
    check_octets,
    messages_to_scalars,
    octets_to_proof,
    octets_to_public_key,
    octets_to_signature,
    proof_to_octets,
)
from identity_bbs.suite import MAX_MESSAGES, BbsProofInvalid, Ciphersuite, RandomScalars


def named(scalars: Sequence[int]) -> RandomScalars:
    """Return the draft's list of 5 + U random scalars, in its order."""
    r1, r2, e_tilde, r1_tilde, r3_tilde, *m_tildes = scalars
    return RandomScalars(r1, r2, e_tilde, r1_tilde, r3_tilde, tuple(m_tildes))


def calculate_random_scalars(count: int) -> list[int]:
    """``count`` scalars from 1 to r - 1 of the system's chosen, within 2^-128 of uniform; ``OSError`` without."""
    scalars: list[int] = []
    while len(scalars) < count:
        scalar = int.from_bytes(secrets.token_bytes(EXPAND_OCTETS), "big") % ORDER
        if scalar:
            scalars.append(scalar)
    return scalars


def proof_gen(
    suite: Ciphersuite,
    public_key: bytes,
    signature: bytes,
    header: bytes,
    presentation_header: bytes,
    messages: Sequence[bytes],
    disclosed_indexes: Sequence[int],
    random_scalars: Callable[[int], Sequence[int]] = calculate_random_scalars,
) -> bytes:
    """Return a proof of 272 + 32·U bytes that shows the messages at ``disclosed_indexes`` (0-based, strictly ascending).

    ``random_scalars`` is another source only where vectors are made again. The signature is not verified, as in the draft.
    Raises ``InvalidBlsKey``, ``BbsSignatureInvalid`` for bytes that are not a signature, ``ValueError`` for the rest.
    """
    check_octets("header", header)
    check_octets("presentation header", presentation_header)
    scalars = messages_to_scalars(messages)
    hidden = core.undisclosed_indexes(len(messages), disclosed_indexes)
    key = octets_to_public_key(suite, public_key)
    signed = octets_to_signature(suite, signature)
    chosen = named(random_scalars(5 + len(hidden)))
    init = core.proof_init(suite, key, signed, header, scalars, disclosed_indexes, chosen)
    shown = {index: scalars[index] for index in disclosed_indexes}
    challenge = calculate_challenge(init, shown, presentation_header)
    return proof_to_octets(core.proof_finalize(init, challenge, signed.e, chosen, [scalars[index] for index in hidden]))


def proof_verify(
    suite: Ciphersuite,
    public_key: bytes,
    proof: bytes,
    header: bytes,
    presentation_header: bytes,
    disclosed_messages: Sequence[bytes],
    disclosed_indexes: Sequence[int],
) -> None:
    """Raise ``BbsProofInvalid`` or ``InvalidBlsKey``. Messages stand in the order of ``disclosed_indexes``: ascending."""
    try:
        check_octets("header", header)
        check_octets("presentation header", presentation_header)
        scalars = messages_to_scalars(disclosed_messages)
        core.undisclosed_indexes(MAX_MESSAGES, disclosed_indexes)
        disclosed = dict(zip(disclosed_indexes, scalars, strict=True))
    except ValueError as fault:
        raise BbsProofInvalid(str(fault)) from fault
    key = octets_to_public_key(suite, public_key)
    decoded = octets_to_proof(suite, proof)
    init = core.proof_verify_init(suite, key, decoded, header, disclosed)
    core.check_challenge(init, decoded, disclosed, presentation_header)
    core.check_pairing(suite, key, decoded)
