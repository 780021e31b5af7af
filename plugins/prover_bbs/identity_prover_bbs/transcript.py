"""Unambiguous octets of everything that the challenges hash (PROTOCOL.md §6).

A frame is tag, number of fields and fields, each length-prefixed, so that two different lists of fields never give one
string. Frames are fields of frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from identity_core.crypto.bls12381.keys import hash_to_scalar
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context
from identity_prover_bbs import labels


def number(value: int) -> bytes:
    """A count, index or time in 8 octets."""
    return value.to_bytes(8, "big")


def scalar(value: int) -> bytes:
    """A scalar in 32 octets."""
    return value.to_bytes(32, "big")


def frame(tag: bytes, fields: Iterable[bytes]) -> bytes:
    """tag and fields, counted and length-prefixed."""
    items = list(fields)
    parts = [number(len(tag)), tag, number(len(items))]
    for item in items:
        parts += (number(len(item)), item)
    return b"".join(parts)


def optional(octets: bytes | None) -> bytes:
    """A field that may be missing: nothing, or an octet and the value, so that missing and empty differ."""
    return b"" if octets is None else b"\x01" + octets


@lru_cache(maxsize=16)
def set_digest(kind: bytes, scalars: tuple[int, ...]) -> bytes:
    """SHA-256 of a set: the kind of its slot, count, and elements strictly ascending as scalars. A public value, remembered."""
    return sha256(frame(labels.SET, [kind, number(len(scalars)), b"".join(map(scalar, scalars))])).digest()


def predicate_octets(predicate: Predicate, operand: bytes) -> bytes:
    """A predicate as it was asked. ``operand`` is the value's octets, or the digest of the set."""
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
    """Every field of the context."""
    return frame(
        labels.CONTEXT,
        [
            context.audience.encode(),
            context.nonce,
            number(int(context.issued_at.timestamp())),
            number(int(context.expires_at.timestamp())),
            context.proof_id.encode(),
            optional(context.capability),
            optional(None if context.agent is None else context.agent.encode()),
        ],
    )


def first_challenge(first_message: bytes) -> int:
    """y, from the whole first message. Equation (6.1)."""
    return hash_to_scalar(first_message, labels.CHALLENGE_DST)
