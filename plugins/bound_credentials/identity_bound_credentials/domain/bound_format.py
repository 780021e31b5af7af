"""The signing, JSON form and parsing of credentials of suite 2 (PROTOCOL-2.md §2, §3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from identity_bound_credentials.domain.bound_credential import (
    NO_HANDLE,
    BoundHeader,
    Particulars,
    check_bound_signature,
)
from identity_codec.multibase import base64url_decode
from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.credential import Binding, Credential, StatusPurpose
from identity_core.domain.credentials.credential_schema import CredentialSchema, digest
from identity_core.domain.credentials.schema import MAX_HEADER_OCTETS
from identity_core.domain.credentials.verifiable_credential import PresentedCredential, invalid, parse, read_text
from identity_core.domain.proofs.proof import Witness

GAP_ENTRY_TYPE: Final = "IdentityStatusGapsEntry"
MAX_HEADER_TEXT: Final = 4 * MAX_HEADER_OCTETS // 3 + 1


def particulars_of(credential: Credential, binding: Binding) -> Particulars:
    """Return the particulars of a credential with this binding. Raises ``ValueRefused``."""
    holder, until = str(credential.holder), credential.valid_until
    return Particulars(credential.id, holder, credential.valid_from, until, binding.handle)


class ShownBinding(Struct, frozen=True):
    """The members of a credential of suite 2 beside those of suite 1: the signed header, the holder's commitment K and the handle."""

    header: BoundHeader
    commitment: bytes
    handle: int

    def signature_check(
        self,
        presented: PresentedCredential,
        public_key: bytes,
        definition: CredentialSchema,
        values: Mapping[str, JsonValue],
    ) -> tuple[Any, ...]:
        """See ``PresentedBinding``."""
        signed, method = self.header, presented.verification_method
        try:
            expected = BoundHeader(definition.schema, method, signed.status, signed.keeper, digest(definition))
            holder, until = str(presented.holder), presented.valid_until
            particulars = Particulars(presented.id, holder, presented.valid_from, until, self.handle)
        except ValueRefused as refused:
            raise invalid(str(refused)) from None
        if signed != expected or signed.issuer != str(presented.issuer):
            raise invalid("the signed header is of another schema, key or issuer")
        return check_bound_signature, public_key, presented.signature, signed, values, particulars, self.commitment

    def is_of(self, binding: Binding | None) -> bool:
        """See ``PresentedBinding``."""
        own = (self.header.encoded, self.commitment, self.handle)
        return binding is not None and own == (binding.header, binding.commitment, binding.handle)


class BoundCredentials:
    """The port ``BoundFormat``."""

    def signature_check(self, credential: Credential, binding: Binding, witness: Witness) -> tuple[Any, ...]:
        """See ``BoundFormat``."""
        key, particulars = credential.issuer_public_key, particulars_of(credential, binding)
        about = (BoundHeader.from_octets(binding.header), witness.attributes, particulars, binding.commitment)
        return check_bound_signature, key, witness.signature, *about

    def status_entry(self, binding: Binding, base_url: str) -> dict[str, str] | None:
        """Return the handle in the list of signed gaps."""
        reference = BoundHeader.from_octets(binding.header).status
        if reference is None:
            return None
        address = f"{base_url}/status-gaps/{reference.list_id}"
        return {
            "id": f"{address}#{binding.handle}",
            "type": GAP_ENTRY_TYPE,
            "statusPurpose": StatusPurpose.REVOCATION.value,
            "statusListIndex": str(binding.handle),
            "statusListCredential": address,
        }

    def read(self, proof: Mapping[str, Any], value: Mapping[str, Any]) -> ShownBinding:
        """See ``BoundFormat``."""
        header = BoundHeader.from_octets(
            base64url_decode(read_text(proof.get("header"), "proof.header", MAX_HEADER_TEXT))
        )
        handle = NO_HANDLE
        if header.status is not None:
            entries = value.get("credentialStatus")
            entry = entries[-1] if isinstance(entries, list) and entries else None
            if not isinstance(entry, dict) or entry.get("type") != GAP_ENTRY_TYPE:
                raise invalid("the last entry of credentialStatus is not that of the list of signed gaps")
            handle = _handle(read_text(entry.get("statusListIndex"), "statusListIndex"))
        return ShownBinding(header, base64url_decode(read_text(proof.get("commitment"), "proof.commitment")), handle)


BOUND_CREDENTIALS: Final = BoundCredentials()


def parse_credential(value: Mapping[str, Any], now: datetime | None = None) -> PresentedCredential:
    """Parse a credential of suite 1 or 2, as ``verifiable_credential.parse`` does."""
    return parse(value, now, bound_format=BOUND_CREDENTIALS)


def binding_of(presented: PresentedCredential) -> ShownBinding | None:
    """Return the additional members of a credential of suite 2; None for suite 1."""
    return presented.bound if isinstance(presented.bound, ShownBinding) else None


def _handle(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or str(int(text)) != text:
        raise ValueError("a handle is a number")
    return int(text)
