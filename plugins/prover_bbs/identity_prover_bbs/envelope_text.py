"""The text of a proof of either suite: base64url of one canonical JSON object (PROTOCOL.md §7, PROTOCOL-2.md §8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from identity_codec import strict_json
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_core.domain.proofs.proof import MAX_ENVELOPE_CHARACTERS
from identity_core.errors import PredicateUnsupported, ProofInvalid


class Encodable(Protocol):
    """An envelope that writes its own text."""

    def encode(self) -> str:
        """Return the text."""


E = TypeVar("E", bound=Encodable)


def refusal(reason: str) -> ProofInvalid:
    """Return the error for an invalid proof, with its reason."""
    return ProofInvalid(details={"reason": reason})


def encode_text(canonical: bytes) -> str:
    """Return the text. Raises ``PredicateUnsupported`` when it is longer than a verifier reads."""
    text = base64url_encode(canonical)
    if len(text) > MAX_ENVELOPE_CHARACTERS:
        raise PredicateUnsupported(details={"reason": "the statement is too long for an envelope"})
    return text


def read_members(text: str, names: frozenset[str]) -> dict[str, Any]:
    """Return the object that a text encodes, which has exactly these members. Raises ``ProofInvalid``."""
    if len(text) > MAX_ENVELOPE_CHARACTERS:
        raise refusal(f"the envelope has more than {MAX_ENVELOPE_CHARACTERS} characters")
    try:
        value = strict_json.loads(base64url_decode(text))
    except strict_json.JsonRefused as refused:
        raise refusal(str(refused)) from None
    except ValueError:
        raise refusal("the envelope is not base64url of JSON") from None
    if not isinstance(value, dict) or value.keys() != names:
        raise refusal("the envelope has not exactly its members")
    return value


def decode_text(
    text: str, names: frozenset[str], parse: Callable[[dict[str, Any]], E], shown: tuple[type[Exception], ...] = ()
) -> E:
    """Return the envelope that ``parse`` makes of the members, if it is in its canonical form.

    The reason of a ``shown`` error becomes the reason of the refusal. Raises ``ProofInvalid``.
    """
    value = read_members(text, names)
    try:
        envelope = parse(value)
        canonical = envelope.encode()
    except PredicateUnsupported as unsupported:
        raise ProofInvalid(details=unsupported.details) from None
    except shown as refused:
        raise refusal(str(refused)) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise refusal("the envelope has not the shape of one") from None
    if canonical != text:
        raise refusal("the envelope is not in its canonical form")
    return envelope
