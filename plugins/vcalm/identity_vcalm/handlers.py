"""The handlers of the tag ``vcalm``: verifying as W3C VCALM has it."""

from __future__ import annotations

from msgspec import Struct

from identity_codec.structs import UNSET, UnsetType, value_or
from identity_core.api.request import NO_STORE, Answer, Request
from identity_vcalm import wire
from identity_vcalm.verify import CreateVcalmChallenge, VerifyVcalmCredential, VerifyVcalmPresentation


class VcalmHandlers(Struct, frozen=True):
    """verifyVcalmCredential, verifyVcalmPresentation, createVcalmChallenge. Unauthenticated clients have formats of their own: the first of
    each pair."""

    credentials: tuple[VerifyVcalmCredential, VerifyVcalmCredential]
    presentations: tuple[VerifyVcalmPresentation, VerifyVcalmPresentation]
    challenge: CreateVcalmChallenge

    async def verify_vcalm_credential(self, request: Request) -> Answer:
        found, options = await self.credentials[request.caller is not None](request.body)
        results = wire.VcalmCredentialResults(
            proof=(_result(found.claims is not None),),
            valid_from=_optional(found.valid_from),
            valid_until=_optional(found.valid_until),
            credential_status=tuple(map(_result, found.statuses)) or UNSET,
        )
        problems = (*found.problems, *found.warnings)
        shown = found.verified and value_or(options.return_credential, False)
        body = wire.VcalmCredentialOutcome(
            verified=found.verified,
            credential=dict(found.claims) if shown and found.claims is not None else UNSET,
            problem_details=problems if value_or(options.return_problem_details, True) else UNSET,
            results=results if value_or(options.return_results, False) else UNSET,
        )
        return Answer(200, body, headers=[NO_STORE])

    async def verify_vcalm_presentation(self, request: Request) -> Answer:
        wish: wire.VerifyVcalmPresentationRequest = request.body
        found, options = await self.presentations[request.caller is not None](wish)
        results = wire.VcalmPresentationResults(
            proof=(_result(found.proof),), credentials=tuple(map(_result, found.credentials))
        )
        problems = (*found.problems, *found.warnings)
        shown = found.verified and value_or(options.return_presentation, False)
        # An empty presentation keeps the form it came in.
        credentials = {"verifiableCredential": found.shown} if found.shown else {}
        body = wire.VcalmPresentationOutcome(
            verified=found.verified,
            verifiable_presentation=wish.verifiable_presentation | credentials if shown else UNSET,
            problem_details=problems if value_or(options.return_problem_details, True) else UNSET,
            results=results if value_or(options.return_results, False) else UNSET,
        )
        return Answer(200, body, headers=[NO_STORE])

    async def create_vcalm_challenge(self, request: Request) -> Answer:
        return Answer(200, wire.VcalmChallenge(challenge=await self.challenge()), headers=[NO_STORE])


def _result(verified: bool) -> wire.VcalmResult:
    return wire.VcalmResult(verified=verified)


def _optional(verified: bool | None) -> wire.VcalmResult | UnsetType:
    return UNSET if verified is None else _result(verified)
