"""GENERATED from openapi/ by `python -m openapi.build`: what identity_wallets.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

DOCUMENT: bytes


class CreateCredentialOfferRequest(Struct, frozen=True, kw_only=True):
    transaction_code: bool | UnsetType = UNSET

class CredentialOffer(Struct, frozen=True, kw_only=True):
    offer: dict[str, Any]
    uri: str
    transaction_code: str | UnsetType = UNSET
    expires_at: str

class Presentation(Struct, frozen=True, kw_only=True):
    id: str
    state: Literal["pending", "presented", "declined"]
    answered_at: str | None
    response_code: str | UnsetType = UNSET
    credentials: tuple[PresentedWalletCredential, ...]

class PresentationRequest(Struct, frozen=True, kw_only=True):
    id: str
    uri: str
    expires_at: str

class PresentedWalletCredential(Struct, frozen=True, kw_only=True):
    id: str
    issuer_did: str
    schema_id: str
    claims: dict[str, Any]

class RequestPresentationRequest(Struct, frozen=True, kw_only=True):
    verifier_did: str
    credentials: tuple[WantedWalletCredential, ...]
    credential_sets: tuple[WantedCredentialSet, ...] | UnsetType = UNSET
    encrypted: bool | UnsetType = UNSET
    redirect_uri: str | UnsetType = UNSET

class WantedClaim(Struct, frozen=True, kw_only=True):
    id: str | UnsetType = UNSET
    path: tuple[str, ...]
    values: tuple[str | list[Any] | dict[str, Any] | int | float | bool | None, ...] | UnsetType = UNSET

class WantedCredentialSet(Struct, frozen=True, kw_only=True):
    options: tuple[tuple[str, ...], ...]
    required: bool | UnsetType = UNSET

class WantedWalletCredential(Struct, frozen=True, kw_only=True):
    id: str
    schema_id: str
    issuer_dids: tuple[str, ...] | UnsetType = UNSET
    claims: tuple[WantedClaim, ...] | UnsetType = UNSET
    claim_sets: tuple[tuple[str, ...], ...] | UnsetType = UNSET
