"""The Invocation-Bound Capability Token (IBCT): one request of an agent, signed by the holder (openapi/DECISIONS.md §4.4).

Members keep their wire names, also where UCAN uses a word the other way round: ``invoker`` is the holder who authorised, ``target``
the agent who acts. The signature covers the JCS of the object exactly as it was received, without ``proofValue``; nothing is
normalised before, so two forms of one text are two tokens.

Left out on purpose: fetching ``delegationRef``, and keys that were valid at the time that the signer states.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_codec import ed25519, jcs, multibase, times
from identity_codec.deprecation import OldMember
from identity_codec.values import Hidden

TYPE: Final = "InvocationBoundCapabilityToken"
SIGNED: Final = frozenset(
    {"id", "type", "invoker", "target", "action", "delegationRef", "nonce", "issuedAt", "expiresAt"}
)
PROOF_VALUE: Final = "proofValue"
MEMBERS: Final = SIGNED | {PROOF_VALUE}
MAX_TEXT: Final = 2048
NONCE_LENGTHS: Final = (16, 256)
PROOF_VALUE_LENGTHS: Final = (64, 90)
_SIGNATURE_BYTES: Final = 64
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


class CapabilityInvalid(ValueError):
    """A malformed token, or one that the holder did not sign for this agent. ``details`` are those of the service's error; the
    ``reason`` in it quotes nothing of the token."""

    code: Final = "IBCT_INVALID"

    def __init__(self, reason: str, **details: Any) -> None:
        super().__init__(reason)
        self.details = {"reason": reason, **details}


class CapabilityExpired(ValueError):
    """A token whose ``expiresAt`` has passed."""

    code: Final = "IBCT_EXPIRED"

    def __init__(self, expires_at: str) -> None:
        super().__init__("the token has expired")
        self.details = {"expiresAt": expires_at}


class Capability(Hidden, Struct, frozen=True):
    """A well-formed token; ``check_signature`` verifies that it is genuine.

    ``delegation_id`` is None where ``delegationRef`` names no record of this service. ``encoded`` is the JCS of the whole token: what
    a proof is bound to. ``signatures`` are the readings of ``proofValue``, one or two.
    """

    id: str
    invoker: str
    target: str
    action: str
    delegation_id: str | None
    nonce: str
    issued_at: datetime
    expires_at: datetime
    encoded: bytes
    signing_input: bytes
    signatures: tuple[bytes, ...]
    octets = OldMember("encoded")

    @classmethod
    def parse(cls, token: Mapping[str, str], *, places: Iterable[str]) -> Capability:
        """Return the token of a received object. ``places`` are the URLs (with a slash at the end) below which this service has its
        delegation records. Raises ``CapabilityInvalid`` with ``details.reason``."""
        _check_form(token)
        try:
            data = jcs.canonicalize_plain(dict(token))
            # What ``signing_input_of`` returns: the member has its one place among the others, and its beginning stands in no text.
            proof_value = b',"%b":%b' % (PROOF_VALUE.encode(), jcs.canonicalize_plain(token[PROOF_VALUE]))
            signing_input = data.replace(proof_value, b"", 1)
            issued_at, expires_at = times.parse(token["issuedAt"]), times.parse(token["expiresAt"])
        except ValueError as error:
            raise CapabilityInvalid("issuedAt and expiresAt are RFC 3339 times with a zone") from error
        return cls(
            token["id"],
            token["invoker"],
            token["target"],
            token["action"],
            delegation_id(token["delegationRef"], places),
            token["nonce"],
            issued_at,
            expires_at,
            data,
            signing_input,
            signatures_of(token[PROOF_VALUE]),
        )

    @property
    def nonce_digest(self) -> bytes:
        """Return the digest under which the nonce is stored."""
        return hashlib.sha256(self.nonce.encode()).digest()

    @property
    def id_digest(self) -> bytes:
        """Return the digest under which the id is stored."""
        return hashlib.sha256(self.id.encode()).digest()

    def check_parties(self, holder: str, agent: str) -> None:
        """Raise ``CapabilityInvalid`` unless the token is from this holder to this agent."""
        if self.invoker != holder:
            raise CapabilityInvalid("invoker is not the holderDid of the request")
        if self.target != agent:
            raise CapabilityInvalid("target is not the agentDid of the request")

    def check_times(self, now: datetime, *, leeway: timedelta, longest: timedelta) -> None:
        """Raise ``CapabilityInvalid`` for a token that was issued more than ``leeway`` ahead, or is valid for more than ``longest``.
        ``check_unexpired`` has no leeway, because the holder chose the end."""
        if self.issued_at > now + leeway:
            raise CapabilityInvalid("issuedAt lies in the future")
        if self.expires_at <= self.issued_at:
            raise CapabilityInvalid("expiresAt is not after issuedAt")
        if self.expires_at - self.issued_at > longest:
            reason = f"the token is valid for longer than {longest.days} days"
            raise CapabilityInvalid(reason, maxDays=longest.days)

    def check_signature(self, public_keys: Iterable[bytes]) -> None:
        """Raise ``CapabilityInvalid`` unless one of the holder's raw Ed25519 keys made the signature."""
        for public_key in public_keys:
            for signature in self.signatures:
                try:
                    ed25519.verify(public_key, self.signing_input, signature)
                except ed25519.Ed25519SignatureInvalid:
                    continue
                return
        raise CapabilityInvalid("the signature is not one of a current authentication key of the invoker")

    def check_unexpired(self, now: datetime) -> None:
        """Raise ``CapabilityExpired`` if the token has expired."""
        if now >= self.expires_at:
            raise CapabilityExpired(times.printed(self.expires_at))


def signing_input_of(token: Mapping[str, str]) -> bytes:
    """Return the bytes that the holder signs. Raises ``ValueError`` for text that has no canonical form."""
    return jcs.canonicalize({name: text for name, text in token.items() if name != PROOF_VALUE})


def signatures_of(proof_value: str) -> tuple[bytes, ...]:
    """Return the readings of ``proofValue`` that have 64 bytes. Raises ``CapabilityInvalid`` if there is none.

    A bare base58btc text may begin with ``z`` as multibase does; either reading may verify.
    """
    least, most = PROOF_VALUE_LENGTHS
    # Before anything is decoded: base58 costs time quadratic in the length.
    if not least <= len(proof_value) <= most:
        raise CapabilityInvalid(f"proofValue has {least} to {most} characters")
    found = []
    for text in (proof_value[1:], proof_value) if proof_value.startswith("z") else (proof_value,):
        try:
            signature = multibase.base58_decode(text, max_length=most)
        except ValueError:
            continue
        if len(signature) == _SIGNATURE_BYTES:
            found.append(signature)
    if not found:
        raise CapabilityInvalid("proofValue is not a signature of 64 bytes in base58btc")
    return tuple(found)


def delegation_id(reference: str, places: Iterable[str]) -> str | None:
    """Return the uuid in ``delegationRef``: bare, as ``urn:uuid:``, or as URL of this service; None for everything else. It is never
    fetched."""
    for prefix in ("", "urn:uuid:", *places):
        if reference.startswith(prefix) and _UUID.fullmatch(reference, len(prefix)) is not None:
            return reference[len(prefix) :]
    return None


def _check_form(token: Mapping[str, str]) -> None:
    if token.keys() != MEMBERS:
        raise CapabilityInvalid("a token has exactly its ten members")
    if token["type"] != TYPE:
        raise CapabilityInvalid(f"type is not {TYPE}")
    for name, text in token.items():
        if not 1 <= len(text) <= MAX_TEXT:
            raise CapabilityInvalid(f"{name} has 1 to {MAX_TEXT} characters")
    least, most = NONCE_LENGTHS
    # In bytes at the upper end, because the nonce becomes the proof's.
    if len(token["nonce"]) < least or len(token["nonce"].encode("utf-8", "surrogatepass")) > most:
        raise CapabilityInvalid(f"nonce has {least} characters to {most} bytes")
