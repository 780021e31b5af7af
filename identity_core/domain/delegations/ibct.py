"""The Invocation-Bound Capability Token (IBCT): one request of an agent, signed by the holder (openapi/DECISIONS.md §4.4).

Members keep their wire names, also where UCAN uses a word the other way round: ``invoker`` is the holder who authorised, ``target``
the agent who acts. The signature covers the JCS of the object exactly as it was received, without ``proofValue``; nothing is
normalised before, so two forms of one text are two tokens.

What the document's schema refuses (a missing, unknown or non-string member) never comes here. Left out on purpose: fetching
``delegationRef``, and keys that were valid when the signer says he signed, because that time is his own claim.

The holder's own signature under a delegation: ``eddsa-jcs-2022`` (VC Data Integrity EdDSA 1.0 §3.3), purpose
``capabilityDelegation``.

No one needs it for a proof, because the holder signs every IBCT; it shows an auditor that the holder wanted the record as it is.
The signed document is the request that made the record, without ``holderProof`` itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Final

from identity_codec import ed25519, jcs, multibase, times
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.dids import keys
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.log.entry import CRYPTOSUITE, PROOF_TYPE, check_proof_options
from identity_core.errors import DelegationInvalid, IbctExpired, IbctInvalid, InvalidDocument

TYPE: Final = "InvocationBoundCapabilityToken"
SIGNED: Final = frozenset(
    {"id", "type", "invoker", "target", "action", "delegationRef", "nonce", "issuedAt", "expiresAt"}
)
PROOF_VALUE: Final = "proofValue"
MEMBERS: Final = SIGNED | {PROOF_VALUE}
MAX_TEXT: Final = 2048
NONCE_LENGTHS: Final = (16, 256)
PROOF_VALUE_LENGTHS: Final = (64, 90)
_SIGNATURE_OCTETS: Final = 64
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


@value_class
class Capability:
    """A token whose form is good; whether it is genuine says ``check_signature``.

    ``delegation_id`` is None where ``delegationRef`` names no record of this service. ``octets`` is the JCS of the whole token: what
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
    octets: bytes = field(repr=False)
    signing_input: bytes = field(repr=False)
    signatures: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def parse(cls, token: Mapping[str, str], *, places: Iterable[str]) -> Capability:
        """The token of a received object. ``places`` are the URLs (with a slash at the end) below which this service has its delegation
        records. Raises ``IbctInvalid`` with ``details.reason``."""
        _check_form(token)
        try:
            octets = jcs.canonicalize_plain(dict(token))
            # What ``signing_input_of`` returns: the member has its one place among the others, and its beginning stands in no text.
            proof_value = b',"%b":%b' % (PROOF_VALUE.encode(), jcs.canonicalize_plain(token[PROOF_VALUE]))
            signing_input = octets.replace(proof_value, b"", 1)
            issued_at, expires_at = times.parse(token["issuedAt"]), times.parse(token["expiresAt"])
        except ValueError as error:
            raise invalid("issuedAt and expiresAt are RFC 3339 times with a zone") from error
        return cls(
            token["id"],
            token["invoker"],
            token["target"],
            token["action"],
            delegation_id(token["delegationRef"], places),
            token["nonce"],
            issued_at,
            expires_at,
            octets,
            signing_input,
            signatures_of(token[PROOF_VALUE]),
        )

    @property
    def nonce_digest(self) -> bytes:
        """By what the nonce is remembered."""
        return hashlib.sha256(self.nonce.encode()).digest()

    @property
    def id_digest(self) -> bytes:
        """By what the id is remembered."""
        return hashlib.sha256(self.id.encode()).digest()

    def check_parties(self, holder: str, agent: str) -> None:
        """Raises ``IbctInvalid`` unless the token is from this holder to this agent."""
        if self.invoker != holder:
            raise invalid("invoker is not the holderDid of the request")
        if self.target != agent:
            raise invalid("target is not the agentDid of the request")

    def check_times(self, now: datetime, *, leeway: timedelta, longest: timedelta) -> None:
        """Raises ``IbctInvalid`` for times that no honest signer writes: issued more than ``leeway`` ahead, or good for more than
        ``longest``. Expiry is another question, and strict, because the holder chose it."""
        if self.issued_at > now + leeway:
            raise invalid("issuedAt lies in the future")
        if self.expires_at <= self.issued_at:
            raise invalid("expiresAt is not after issuedAt")
        if self.expires_at - self.issued_at > longest:
            reason = f"the token is valid for longer than {longest.days} days"
            raise IbctInvalid(details={"reason": reason, "maxDays": longest.days})

    def check_signature(self, public_keys: Iterable[bytes]) -> None:
        """Raises ``IbctInvalid`` unless one of the holder's raw Ed25519 keys made the signature."""
        for public_key in public_keys:
            for signature in self.signatures:
                try:
                    ed25519.verify(public_key, self.signing_input, signature)
                except ed25519.Ed25519SignatureInvalid:
                    continue
                return
        raise invalid("the signature is not one of a current authentication key of the invoker")

    def check_unexpired(self, now: datetime) -> None:
        """Raises ``IbctExpired``."""
        if now >= self.expires_at:
            raise IbctExpired(details={"expiresAt": times.printed(self.expires_at)})


def signing_input_of(token: Mapping[str, str]) -> bytes:
    """The octets that the holder signs. Raises ``ValueError`` for text that has no canonical form."""
    return jcs.canonicalize({name: text for name, text in token.items() if name != PROOF_VALUE})


def signatures_of(proof_value: str) -> tuple[bytes, ...]:
    """The readings of ``proofValue`` that have 64 octets. Raises ``IbctInvalid`` when there is none.

    A bare base58btc text may begin with ``z`` as multibase does; whichever reading verifies is the one that was meant.
    """
    least, most = PROOF_VALUE_LENGTHS
    # Before anything is decoded: base58 costs time quadratic in the length.
    if not least <= len(proof_value) <= most:
        raise invalid(f"proofValue has {least} to {most} characters")
    found = []
    for text in (proof_value[1:], proof_value) if proof_value.startswith("z") else (proof_value,):
        try:
            signature = multibase.base58_decode(text, max_length=most)
        except ValueError:
            continue
        if len(signature) == _SIGNATURE_OCTETS:
            found.append(signature)
    if not found:
        raise invalid("proofValue is not a signature of 64 octets in base58btc")
    return tuple(found)


def delegation_id(reference: str, places: Iterable[str]) -> str | None:
    """The uuid in ``delegationRef``: bare, as ``urn:uuid:``, or as URL of this service; None for everything else. It is only ever
    looked up, never fetched."""
    for prefix in ("", "urn:uuid:", *places):
        if reference.startswith(prefix) and _UUID.fullmatch(reference, len(prefix)) is not None:
            return reference[len(prefix) :]
    return None


def _check_form(token: Mapping[str, str]) -> None:
    if token.keys() != MEMBERS:
        raise invalid("a token has exactly its ten members")
    if token["type"] != TYPE:
        raise invalid(f"type is not {TYPE}")
    for name, text in token.items():
        if not 1 <= len(text) <= MAX_TEXT:
            raise invalid(f"{name} has 1 to {MAX_TEXT} characters")
    least, most = NONCE_LENGTHS
    # In octets at the upper end, because the nonce becomes the proof's.
    if len(token["nonce"]) < least or len(token["nonce"].encode("utf-8", "surrogatepass")) > most:
        raise invalid(f"nonce has {least} characters to {most} octets")


def invalid(reason: str) -> IbctInvalid:
    """The refusal with its reason, which quotes nothing of the token."""
    return IbctInvalid(details={"reason": reason})


def signing_input(config: Mapping[str, JsonValue], request: Mapping[str, JsonValue]) -> bytes:
    """The 64 octets that are signed: the hash of the proof without its value, and that of the request. Raises ``ValueError``."""
    return b"".join(hashlib.sha256(jcs.canonicalize(dict(part))).digest() for part in (config, request))


def check_holder_proof(
    proof: Mapping[str, JsonValue], request: Mapping[str, JsonValue], document: DidDocument, now: datetime
) -> None:
    """Raises ``DelegationInvalid`` unless a key that the holder's ``document`` allows to delegate has signed ``request``."""
    if (proof.get("type"), proof.get("cryptosuite"), proof.get("proofPurpose")) != (
        PROOF_TYPE,
        CRYPTOSUITE,
        keys.CAPABILITY_DELEGATION,
    ):
        reason = "its type, cryptosuite or purpose is another"
        raise DelegationInvalid(details={"member": "holderProof", "reason": reason})
    try:
        check_proof_options(proof, now)
        check_holder_signature(proof, request, document, now)
    except (LookupError, ValueError) as error:
        raise DelegationInvalid(details={"member": "holderProof", "reason": str(error)}) from error


def check_holder_signature(
    proof: Mapping[str, JsonValue], signed: Mapping[str, JsonValue], document: DidDocument, now: datetime
) -> str:
    """Return the multikey of the holder's ``document`` that made the ``proof`` of ``signed`` (``eddsa-jcs-2022``).

    Raises ``LookupError``: the document names no such key for the proof's purpose. Raises ``ValueError``: the signature is wrong.
    """
    method = document.method(str(proof.get("verificationMethod")))
    if (
        method is None
        or method.type != keys.ED25519.name
        or method.id not in document.related(str(proof.get("proofPurpose")))
        or (method.revoked is not None and method.revoked <= now)
    ):
        raise LookupError(f"the holder's document names no such key for {proof.get('proofPurpose')}")
    config = {name: value for name, value in proof.items() if name != "proofValue"}
    try:
        signature = multibase.base58btc_decode(str(proof.get("proofValue")))
        ed25519.verify(
            keys.PublicKey.parse(method.type, method.multibase).raw, signing_input(config, signed), signature
        )
    except (ValueError, InvalidDocument, ed25519.Ed25519SignatureInvalid) as error:
        raise ValueError("the holder's signature is wrong") from error
    return method.multibase
