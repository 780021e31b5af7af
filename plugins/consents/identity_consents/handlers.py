"""The handlers of this extension."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from identity_codec.multibase import base64url_encode
from identity_codec.structs import convert
from identity_codec.times import printed
from identity_consents import wire
from identity_consents.verifier_requests import ProofRequest, VerifierRequests
from identity_consents.waiting import ConsentRequests, WaitingRequest
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.use_cases.proofs.steps import VERIFY_SCOPE


class RequestHandlers(Struct, frozen=True):
    """createConsentRequest, listConsentRequests, getConsentRequest, answerConsentRequest; createVerifierRequest, listVerifierRequests,
    getVerifierRequest, cancelVerifierRequest, answerVerifierRequest. ``origin`` is that of the pages."""

    consents: ConsentRequests
    verifiers: VerifierRequests
    origin: str

    async def create_consent_request(self, request: Request) -> Answer:
        def show(made: WaitingRequest) -> Answer:
            return Answer(201, self._consent(made), headers=[NO_STORE])

        request.showing(show)
        return show(await self.consents.create(request.body, request))

    async def list_consent_requests(self, request: Request) -> Answer:
        found = await self.consents.list(request.authenticated, request.query)
        return Answer(200, wire.ConsentRequestList(items=tuple(map(self._consent, found))), headers=[NO_STORE])

    async def get_consent_request(self, request: Request) -> Answer:
        found, approval = await self.consents.get(request.path["consentId"], request.authenticated)
        return Answer(200, self._consent(found, approval), headers=[NO_STORE])

    async def answer_consent_request(self, request: Request) -> Answer:
        found = await self.consents.answer(request.path["consentId"], request.body, request)
        return Answer(200, self._consent(found), headers=[NO_STORE])

    async def create_verifier_request(self, request: Request) -> Answer:
        def show(made: ProofRequest) -> Answer:
            return Answer(201, self._proof(made, request), headers=[NO_STORE])

        request.showing(show)
        return show(await self.verifiers.create(request.body, request))

    async def list_verifier_requests(self, request: Request) -> Answer:
        found = await self.verifiers.list(request.query, request.authenticated)
        return self._proofs(found, request)

    async def get_verifier_request(self, request: Request) -> Answer:
        found = await self.verifiers.get(request.path["requestId"])
        return Answer(200, self._proof(found, request), headers=[NO_STORE])

    async def cancel_verifier_request(self, request: Request) -> Answer:
        await self.verifiers.cancel(request.path["requestId"], request)
        every = wire.ListVerifierRequestsQuery()
        return self._proofs(await self.verifiers.list(every, request.authenticated), request)

    async def answer_verifier_request(self, request: Request) -> Answer:
        found = await self.verifiers.answer(request.path["requestId"], request.body, request)
        shown = {name: found[name] for name in ("verified", "verdict", "missing", "errors")}
        return Answer(200, wire.HandedInProof(**shown), headers=[NO_STORE])

    def _proofs(self, found: Iterable[ProofRequest], request: Request) -> Answer:
        items = tuple(self._proof(one, request) for one in found)
        return Answer(200, wire.VerifierRequestList(items=items), headers=[NO_STORE])

    def _consent(self, found: WaitingRequest, approval: object = None) -> wire.ConsentRequest:
        row, shown = found.stored, found.shown
        return wire.ConsentRequest(
            id=row.id,
            status=found.status,
            holder_did=row.owner,
            agent_did=row.agent,
            predicates=convert(shown["predicates"], tuple[wire.RequestedPredicate, ...]),
            domain=shown.get("domain"),
            purpose=shown.get("purpose"),
            link=f"{self.origin}/ui/consent#{base64url_encode(found.text.encode())}",
            created_at=printed(row.created_at),
            expires_at=printed(row.expires_at),
            approval=convert(approval, wire.ConsentApproval | None),
        )

    def _proof(self, found: ProofRequest, request: Request) -> wire.VerifierRequest:
        """Return a request; what only its verifier may know is null for others."""
        row, question, caller = found.stored, found.question, request.caller
        scopes = None if caller is None else (caller.api_key or caller).scopes
        is_own = caller is not None and caller.owner == row.owner and (scopes is None or VERIFY_SCOPE in scopes)
        return wire.VerifierRequest(
            id=row.id,
            status=found.status,
            verifier_did=found.caller.get("did"),
            predicates=convert(question["predicates"], tuple[wire.RequestedPredicate, ...]),
            challenge=question["challenge"],
            domain=question["domain"],
            issuer_did=question.get("issuerDid"),
            schema_id=question.get("schemaId"),
            requires=tuple(question.get("requires", ())),
            purpose=found.purpose or None,
            reference=found.reference or None if is_own else None,
            link=f"{self.origin}/ui/request/{row.id}",
            created_at=printed(row.created_at),
            expires_at=printed(row.expires_at),
            result=convert(found.result, wire.VerifierRequestResult | None) if is_own else None,
        )
