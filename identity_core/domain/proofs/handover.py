"""A proof that names its agent's key, as the agent hands it over (PROTOCOL-2.md §5.4).

Who makes the proof leaves the signature open. The agent signs audience, challenge and all of the envelope; Ed25519 by any library and the
canonical JSON text are all that this takes.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from identity_core.codec import jcs, multikey, strict_json
from identity_core.codec.multibase import base64url_decode, base64url_encode
from identity_core.crypto import ed25519
from identity_core.domain.proofs.presentation import PresentationContext
from identity_core.domain.proofs.proof import MAX_ENVELOPE_CHARACTERS, Context, PresentedProof
from identity_core.domain.proofs.verification import AnyPresented
from identity_core.errors import ProofInvalid


def agent_key_of(text: str) -> bytes:
    """The 32 octets of an agent's key of its Ed25519 multikey. Raises ``ValueError`` for any other one, and for a key that is not safe."""
    kind, raw = multikey.decode_public(text)
    if kind != multikey.ED25519:
        raise ValueError("an agent's key is an Ed25519 multikey")
    ed25519.check_public_key(raw)
    return raw


def handed_over(
    text: str, key: bytes, sign: Callable[[bytes], bytes], *, audience: str | None, challenge: bytes | None
) -> str:
    """The proof with the signature of the agent whose Ed25519 ``key`` (32 octets) it names, where it is for this audience and challenge;
    None: for any. ``sign`` gives 64 octets. Raises ``ProofInvalid`` for any other text, which is not signed."""
    envelope, bound = _read(text)
    if bound.agent_key != key:
        raise _refused("the proof names another agent's key")
    if audience is not None and bound.context.audience != audience:
        raise _refused("the proof is for another audience")
    if challenge is not None and bound.context.nonce != challenge:
        raise _refused("the proof is for another challenge")
    return _with_signature(envelope, sign(bound.agent_message(sha256(_canonical(envelope)).digest())))


def sign_as_agent(text: str, sign: Callable[[bytes], bytes]) -> str:
    """As ``handed_over``, whichever key the envelope names. Raises ``ProofInvalid`` for what is no envelope or names no agent."""
    envelope, bound = _read(text)
    return _with_signature(envelope, sign(bound.agent_message(sha256(_canonical(envelope)).digest())))


def as_made(text: str, presented: AnyPresented) -> str:
    """The proof that says ``presented`` as whoever made it left it: without the agent's signature where it names an agent's key."""
    if isinstance(presented, PresentedProof) or presented.bound.agent_key is None:
        return text
    envelope, _ = _read(text)
    return base64url_encode(_canonical(envelope))


def awaits_agent(text: str, presented: AnyPresented) -> bool:
    """Whether the proof that says ``presented`` names an agent's key and the agent has not signed it."""
    named = not isinstance(presented, PresentedProof) and presented.bound.agent_key is not None
    return named and as_made(text, presented) == text


def _read(text: str) -> tuple[dict[str, Any], PresentationContext]:
    """The envelope without its signature, and what it is bound to."""
    if len(text) > MAX_ENVELOPE_CHARACTERS:
        raise _refused("the envelope is too long")
    try:
        envelope = strict_json.loads(base64url_decode(text))
        key = base64url_decode(envelope["agent"]["key"])
        bound = PresentationContext(Context.from_json(envelope["context"]), key)
    except (strict_json.JsonRefused, ValueError, TypeError, KeyError, AttributeError):
        raise _refused("the proof names no agent's key") from None
    return envelope | {"agent": {"key": envelope["agent"]["key"], "signature": None}}, bound


def _canonical(envelope: dict[str, Any]) -> bytes:
    return jcs.canonicalize(envelope)


def _with_signature(envelope: dict[str, Any], signature: bytes) -> str:
    agent = envelope["agent"] | {"signature": base64url_encode(signature)}
    text = base64url_encode(_canonical(envelope | {"agent": agent}))
    if len(text) > MAX_ENVELOPE_CHARACTERS:
        raise _refused("the envelope is too long")
    return text


def _refused(reason: str) -> ProofInvalid:
    return ProofInvalid(details={"reason": reason})
