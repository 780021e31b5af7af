"""Unambiguous bytes of everything that the challenges hash, in frames (PROTOCOL.md §6)."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from identity_bbs.bls12381.keys import hash_to_scalar
from identity_bbs.frames import frame, number, optional, scalar
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context
from identity_prover_bbs import labels


@lru_cache(maxsize=16)
def set_digest(kind: bytes, scalars: tuple[int, ...]) -> bytes:
    """SHA-256 of a set: the kind of its slot, count, and elements strictly ascending as scalars. A public value, remembered."""
    return sha256(frame(labels.SET, [kind, number(len(scalars)), b"".join(map(scalar, scalars))])).digest()


def predicate_octets(predicate: Predicate, operand: bytes) -> bytes:
    """Return a predicate as it was asked. ``operand`` is the value's bytes, or the digest of the set."""
    return frame(
        labels.PREDICATE,
        [
            predicate.attribute.encode(),
            predicate.type.value.encode(),
            predicate.operands[0].type.value.encode(),
            operand,
        ],
    )


def context_octets(context: Context) -> bytes:
    """Return every field of the context."""
    return frame(labels.CONTEXT, context_fields(context))


def context_fields(context: Context) -> list[bytes]:
    """Return the fields of a context in their order."""
    return [
        context.audience.encode(),
        context.nonce,
        number(int(context.issued_at.timestamp())),
        number(int(context.expires_at.timestamp())),
        context.proof_id.encode(),
        optional(context.capability),
        optional(None if context.agent is None else context.agent.encode()),
    ]


def first_challenge(first_message: bytes) -> int:
    """y, from the whole first message. Equation (6.1)."""
    return hash_to_scalar(first_message, labels.CHALLENGE_DST)
