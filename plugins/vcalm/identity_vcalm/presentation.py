"""A verifiable presentation (VC 2.0 §4.13) with the proof of its holder (``eddsa-jcs-2022``, VC Data Integrity EdDSA 1.0 §3.3),
and the challenges that such a proof is made for.

A challenge carries its own end and a MAC, so that nothing is stored before it is spent.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_client.data_integrity import CRYPTOSUITE, PROOF_TYPE, check_proof_options
from identity_codec import multibase, times
from identity_codec.values import Hidden
from identity_core.domain.credentials.status_list import VC_CONTEXT
from identity_core.domain.delegations.delegation import check_holder_signature
from identity_core.domain.dids import keys
from identity_core.domain.dids.document import DidDocument

CHALLENGE_PREFIX: Final = "vcalm_"
CHALLENGE_LIFETIME: Final = timedelta(minutes=10)
MAX_CREDENTIALS: Final = 16
_ENVELOPED: Final = "EnvelopedVerifiableCredential"
_NONCE_OCTETS: Final = 16
_TIME_OCTETS: Final = 8
_MAC_OCTETS: Final = 32
_LABEL: Final = b"identity vcalm challenge 1:"


def as_list(value: Any) -> list[Any]:
    """Return the values of a JSON-LD member, which has one or a list."""
    return value if isinstance(value, list) else [value]


def has_inline_context(value: Mapping[str, Any]) -> bool:
    """Return whether a JSON-LD object has contexts in it, by which its names can have any meaning."""
    return not all(isinstance(context, str) for context in as_list(value.get("@context", [])))


def is_envelope(credential: Mapping[str, Any]) -> bool:
    """Return whether the ``id`` of a credential contains another one (VC 2.0 §4.13)."""
    return _ENVELOPED in as_list(credential.get("type"))


def has_only_envelope(credential: Mapping[str, Any]) -> bool:
    """Return whether an envelope has no other members, types or contexts than those of the data model."""
    is_bare = credential.keys() <= {"@context", "id", "type"} and as_list(credential["type"]) == [_ENVELOPED]
    return is_bare and not has_inline_context(credential)


class PresentationRefused(Exception):
    """``kind`` is the name of a problem type, ``args[0]`` is the reason and quotes nothing."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class SignedPresentation(Struct, frozen=True):
    """Unverified presentation: its holder, the members of its proof, and the credentials as received."""

    holder: str
    proof: Mapping[str, Any]
    unsigned: Mapping[str, Any]
    credentials: Sequence[Any]

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> SignedPresentation:
        """Raise ``PresentationRefused`` for what has another form."""
        types, holder, proof = value.get("type"), value.get("holder"), value.get("proof")
        if "VerifiablePresentation" not in as_list(types):
            raise PresentationRefused("PARSING_ERROR", "it is not a VerifiablePresentation")
        contexts = value.get("@context")
        if not isinstance(contexts, list) or contexts[:1] != [VC_CONTEXT]:
            raise PresentationRefused("PARSING_ERROR", f"its @context is not a list that begins with {VC_CONTEXT}")
        name = holder.get("id") if isinstance(holder, dict) else holder
        if not isinstance(name, str) or not isinstance(proof, dict):
            raise PresentationRefused("PARSING_ERROR", "it has no holder, or not one proof")
        if (proof.get("type"), proof.get("cryptosuite")) != (PROOF_TYPE, CRYPTOSUITE):
            raise PresentationRefused("PROOF_VERIFICATION_ERROR", f"its proof is not of {CRYPTOSUITE}")
        method = proof.get("verificationMethod")
        if not isinstance(method, str) or not method.startswith(f"{name}#"):
            raise PresentationRefused("INVALID_VERIFICATION_METHOD", "the key is not the holder's")
        credentials = as_list(value.get("verifiableCredential", []))
        if len(credentials) > MAX_CREDENTIALS:
            raise PresentationRefused("PARSING_ERROR", f"it has more than {MAX_CREDENTIALS} credentials")
        return cls(name, proof, {member: part for member, part in value.items() if member != "proof"}, credentials)

    def check(self, document: DidDocument, now: datetime, *, challenge: str | None, domain: str | None) -> str:
        """Return the multikey that signed. ``document`` is the holder's.

        Raises ``PresentationRefused``: unless one of its authentication keys has signed all of it for this challenge and domain."""
        proof = self.proof
        if proof.get("challenge") != challenge:
            raise PresentationRefused("INVALID_CHALLENGE_ERROR", "the proof is not for this challenge")
        try:
            domains = check_proof_options(proof, now)
        except ValueError as error:
            raise PresentationRefused("PROOF_VERIFICATION_ERROR", f"the proof is wrong: {error}") from error
        if domains != (frozenset() if domain is None else {domain}):
            raise PresentationRefused("INVALID_DOMAIN_ERROR", "the proof is not for this domain")
        if proof.get("proofPurpose") != keys.AUTHENTICATION:
            raise PresentationRefused("INVALID_PROOF_PURPOSE_FOR_VERIFICATION_METHOD", "the proof has another purpose")
        if proof.get("@context", self.unsigned["@context"]) != self.unsigned["@context"]:
            raise PresentationRefused("PROOF_VERIFICATION_ERROR", "the proof has contexts of its own")
        try:
            return check_holder_signature(proof, self.unsigned, document, now)
        except LookupError as error:
            raise PresentationRefused("INVALID_VERIFICATION_METHOD", str(error)) from error
        except ValueError as error:
            raise PresentationRefused("PROOF_VERIFICATION_ERROR", str(error)) from error


class PresentationChallengeKey(Hidden, Struct, frozen=True):
    """The key that authenticates challenges; ``secret`` is the service's."""

    secret: bytes

    def make(self, nonce: bytes, now: datetime) -> str:
        """Return a challenge of 16 random bytes that ends ``CHALLENGE_LIFETIME`` after ``now``."""
        said = times.micros(now + CHALLENGE_LIFETIME).to_bytes(_TIME_OCTETS) + nonce
        return CHALLENGE_PREFIX + multibase.base64url_encode(said + self._mac(said))

    def end(self, text: str) -> datetime:
        """Return the end of a challenge that was made here. Raises ``ValueError``: for any other text."""
        data = multibase.base64url_decode(text.removeprefix(CHALLENGE_PREFIX))
        said, mac = data[:-_MAC_OCTETS], data[-_MAC_OCTETS:]
        if len(said) != _TIME_OCTETS + _NONCE_OCTETS or not hmac.compare_digest(mac, self._mac(said)):
            raise ValueError("not a challenge of this service")
        return times.moment(int.from_bytes(said[:_TIME_OCTETS]))

    def _mac(self, said: bytes) -> bytes:
        return hmac.digest(self.secret, _LABEL + said, "sha256")
