"""GENERATED from openapi/ by `python -m openapi.build`: what identity_vcalm.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

DOCUMENT: bytes


class VcalmChallenge(Struct, frozen=True, kw_only=True):
    challenge: str

class VcalmCredentialOptions(Struct, frozen=True, kw_only=True):
    return_credential: bool | UnsetType = UNSET
    return_problem_details: bool | UnsetType = UNSET
    return_results: bool | UnsetType = UNSET
    checks: tuple[str, ...] | UnsetType = UNSET

class VcalmCredentialOutcome(Struct, frozen=True, kw_only=True):
    verified: bool
    credential: dict[str, Any] | UnsetType = UNSET
    problem_details: tuple[VcalmProblem, ...] | UnsetType = UNSET
    results: VcalmCredentialResults | UnsetType = UNSET

class VcalmCredentialResults(Struct, frozen=True, kw_only=True):
    proof: tuple[VcalmResult, ...]
    valid_from: VcalmResult | UnsetType = UNSET
    valid_until: VcalmResult | UnsetType = UNSET
    credential_status: tuple[VcalmResult, ...] | UnsetType = UNSET

class VcalmPresentationOptions(Struct, frozen=True, kw_only=True):
    challenge: str | UnsetType = UNSET
    domain: str | UnsetType = UNSET
    return_presentation: bool | UnsetType = UNSET
    return_problem_details: bool | UnsetType = UNSET
    return_results: bool | UnsetType = UNSET
    checks: tuple[str, ...] | UnsetType = UNSET

class VcalmPresentationOutcome(Struct, frozen=True, kw_only=True):
    verified: bool
    verifiable_presentation: dict[str, Any] | UnsetType = UNSET
    problem_details: tuple[VcalmProblem, ...] | UnsetType = UNSET
    results: VcalmPresentationResults | UnsetType = UNSET

class VcalmPresentationResults(Struct, frozen=True, kw_only=True):
    proof: tuple[VcalmResult, ...]
    credentials: tuple[VcalmResult, ...]

class VcalmProblem(Struct, frozen=True, kw_only=True):
    type: str
    title: str
    detail: str

class VcalmResult(Struct, frozen=True, kw_only=True):
    verified: bool

class VerifyVcalmCredentialRequest(Struct, frozen=True, kw_only=True):
    verifiable_credential: dict[str, str | list[Any] | dict[str, Any] | int | float | bool | None]
    options: VcalmCredentialOptions | UnsetType = UNSET

class VerifyVcalmPresentationRequest(Struct, frozen=True, kw_only=True):
    verifiable_presentation: dict[str, str | list[Any] | dict[str, Any] | int | float | bool | None]
    options: VcalmPresentationOptions | UnsetType = UNSET
