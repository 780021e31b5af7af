"""The three messages by which a wallet gets a credential on its own secret: offer, request, credential (PROTOCOL-2.md §3).

The issuer offers a header and a nonce. The holder commits to its secret under both, and signs that with a key of its DID. The
issuer signs the commitment with the values. All three are JSON, with bytes as base64url. A reader must verify each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from identity_bbs.blind import IssueRequest, holder_message
from identity_bbs.bls12381.backend import G1_OCTETS
from identity_bound_credentials.domain.bound_credential import BoundHeader, Particulars, SecretKeeper
from identity_bound_credentials.domain.bound_format import GAP_ENTRY_TYPE
from identity_codec import ed25519
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.strict_json import JsonValue
from identity_codec.times import printed
from identity_codec.values import Hidden
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.schema import MAX_HEADER_OCTETS
from identity_core.domain.credentials.verifiable_credential import BOUND_CRYPTOSUITE, CONTEXTS, SCHEMA_TYPE, TYPES

NONCE_OCTETS: Final = 32
MAX_TEXT: Final = 4 * MAX_HEADER_OCTETS // 3 + 1
"""Characters of a member, at most: those of the longest header."""


class ExchangeRefused(ValueError):
    """A message that does not belong to this exchange, or has the wrong content. The text states the reason and is safe to show."""


class CredentialOffer(Struct, frozen=True):
    """The offer of an issuer to the DID ``holder``: the header that it will sign, and a nonce of 32 bytes that serves once. Raises
    ``ExchangeRefused``."""

    header: BoundHeader
    holder: str
    nonce: bytes

    def __post_init__(self) -> None:
        if self.header.keeper is not SecretKeeper.WALLET:
            raise ExchangeRefused("the header is not that of a credential whose secret a wallet keeps")
        if len(self.nonce) != NONCE_OCTETS:
            raise ExchangeRefused(f"a nonce has {NONCE_OCTETS} bytes")

    @property
    def issue_request(self) -> IssueRequest:
        """Return the data to which the commitment is bound."""
        return IssueRequest(self.header.method, self.header.encoded, self.holder, self.nonce)

    @property
    def json(self) -> dict[str, JsonValue]:
        """Return the message."""
        return {
            "header": base64url_encode(self.header.encoded),
            "holderDid": self.holder,
            "nonce": base64url_encode(self.nonce),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CredentialOffer:
        """Parse the message. Raises ``ExchangeRefused``."""
        header, holder, nonce = _texts(value, "header", "holderDid", "nonce")
        try:
            return cls(BoundHeader.from_octets(base64url_decode(header)), holder, base64url_decode(nonce))
        except ExchangeRefused:
            raise
        except (ValueRefused, ValueError):
            raise ExchangeRefused("the offer has no header or nonce that can be read") from None


class CommittedRequest(Hidden, Struct, frozen=True):
    """The holder's reply to the offer with this nonce: the commitment (192 bytes) and the Ed25519 signature over it by the
    authentication key ``method`` (a DID URL)."""

    nonce: bytes
    commitment: bytes
    method: str
    signature: bytes

    @classmethod
    def signed(
        cls, offer: CredentialOffer, commitment: bytes, method: str, sign: Callable[[bytes], bytes]
    ) -> CommittedRequest:
        """Return the signed bytes. Equation (3.3)."""
        return cls(offer.nonce, commitment, method, sign(holder_message(offer.issue_request, method, commitment)))

    def check_holder(self, offer: CredentialOffer, public_keys: Iterable[bytes]) -> None:
        """Verify that one of the raw Ed25519 ``keys`` of the offer's holder signed this commitment. Raises ``ExchangeRefused``."""
        if self.nonce != offer.nonce or self.method.partition("#")[0] != offer.holder:
            raise ExchangeRefused("the request answers another offer, or is another holder's")
        message = holder_message(offer.issue_request, self.method, self.commitment)
        for key in public_keys:
            try:
                ed25519.verify(key, message, self.signature)
            except ed25519.Ed25519SignatureInvalid:
                continue
            return
        raise ExchangeRefused("the request is not signed by a key of its holder that is in force")

    @property
    def json(self) -> dict[str, JsonValue]:
        """Return the message."""
        return {
            "commitment": base64url_encode(self.commitment),
            "nonce": base64url_encode(self.nonce),
            "signature": base64url_encode(self.signature),
            "verificationMethod": self.method,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CommittedRequest:
        """Parse the message. Raises ``ExchangeRefused``."""
        commitment, nonce, signature, method = _texts(value, "commitment", "nonce", "signature", "verificationMethod")
        try:
            data = [base64url_decode(text) for text in (nonce, commitment, signature)]
        except ValueError:
            raise ExchangeRefused("a member of the request is not base64url") from None
        return cls(data[0], data[1], method, data[2])


def credential_json(
    header: BoundHeader,
    particulars: Particulars,
    values: Mapping[str, JsonValue],
    *,
    commitment: bytes,
    signature: bytes,
    created: str,
    status_url: str | None,
) -> dict[str, JsonValue]:
    """Return the credential in the form of ``getCredential`` for a holder of suite 2. It has the tag that the importing service
    records for the issuer. ``status_url`` is the URL of its list of signed gaps."""
    value: dict[str, JsonValue] = {
        "@context": list(CONTEXTS),
        "id": particulars.id,
        "type": list(TYPES),
        "issuer": header.issuer,
        "validFrom": printed(particulars.valid_from),
        "credentialSchema": {"id": header.schema.id, "type": SCHEMA_TYPE},
        "credentialSubject": {"id": particulars.subject, **values},
        "proof": {
            "type": "DataIntegrityProof",
            "cryptosuite": BOUND_CRYPTOSUITE,
            "verificationMethod": header.method,
            "created": created,
            "proofPurpose": "assertionMethod",
            "proofValue": base64url_encode(signature),
            "header": base64url_encode(header.encoded),
            "commitment": base64url_encode(commitment[:G1_OCTETS]),
            "holderTag": base64url_encode(commitment[G1_OCTETS : 2 * G1_OCTETS]),
        },
    }
    if particulars.valid_until is not None:
        value["validUntil"] = printed(particulars.valid_until)
    if status_url is not None:
        entry: dict[str, JsonValue] = {
            "id": f"{status_url}#{particulars.handle}",
            "type": GAP_ENTRY_TYPE,
            "statusPurpose": "revocation",
            "statusListIndex": str(particulars.handle),
            "statusListCredential": status_url,
        }
        value["credentialStatus"] = [entry]
    return value


def _texts(value: Mapping[str, Any], *names: str) -> list[str]:
    """Return the members, which must be exactly these, as texts. Raises ``ExchangeRefused``."""
    if value.keys() != {*names} or not all(isinstance(value[name], str) for name in names):
        raise ExchangeRefused(f"the message has exactly the members {', '.join(names)}, all of them texts")
    if any(len(value[name]) > MAX_TEXT for name in names):
        raise ExchangeRefused(f"a member has more than {MAX_TEXT} characters")
    return [value[name] for name in names]
