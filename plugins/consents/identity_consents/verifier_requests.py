"""Questions of verifiers: createVerifierRequest, listVerifierRequests, getVerifierRequest, cancelVerifierRequest, answerVerifierRequest.

A request is a challenge of createVerifierChallenge with the question that its proof must answer. The id is the right to read the question
and to hand in a proof, which is checked as by the verifier: so a link is all that an agent needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_codec import sealing
from identity_codec.structs import plain
from identity_codec.times import parse
from identity_codec.values import Hidden
from identity_consents.calls import call_operation
from identity_consents.requests import read_did, read_question, read_text
from identity_consents.store import KEPT, PROOF, StoredRequest, StoredRequests
from identity_consents.wire import AnswerVerifierRequestRequest, CreateVerifierRequestRequest, ListVerifierRequestsQuery
from identity_core.api.request import Request
from identity_core.api.security import Gate
from identity_core.domain.activity import Event
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidRequest, QuotaExceeded, RequestNotFound
from identity_core.extension.declaration import Kernel
from identity_core.use_cases.auth.authenticate import alive
from identity_core.use_cases.proofs.steps import VERIFY_SCOPE
from identity_core.use_cases.record import Record

MOST: Final = 100
"""Open requests of one verifier."""

_BOX: Final = b"identity: request of a verifier, v1"
_RESULT: Final = b"identity: result of a verifier, v1"
_OF_ANOTHER: Final = "CHALLENGE_UNKNOWN"
"""The only error of a good proof that a caller other than the verifier has checked."""
_EXPECTED: Final = ("predicates", "issuerDid", "schemaId", "requires")


class ProofRequest(Struct, frozen=True):
    """A request with its question, which the proof is compared with. ``result`` is None before a proof was accepted; ``status`` is
    ``waiting``, ``answered`` or ``expired``."""

    stored: StoredRequest
    question: Mapping[str, Any]
    purpose: str
    reference: str
    caller: Mapping[str, str]
    result: Mapping[str, Any] | None
    status: str


class VerifierRequests(Hidden, Struct, frozen=True):
    """The requests of verifiers, sealed with ``secret``."""

    stored: StoredRequests
    secret: bytes
    kernel: Kernel

    async def create(self, wish: CreateVerifierRequestRequest, request: Request) -> ProofRequest:
        """Store a request. Raises ``InvalidRequest``, ``QuotaExceeded``, and the refusals of createVerifierChallenge."""
        value, caller, kernel = plain(wish), request.authenticated, self.kernel
        read_question(value["predicates"])
        for name in ("purpose", "reference", "schemaId"):
            read_text(value, name, 2_048)
        if "issuerDid" in value:
            read_did(value, "issuerDid")
        run = kernel.operations["createVerifierChallenge"]
        made = await call_operation(run, request, caller, {"domain": wish.domain})
        question = {name: value[name] for name in _EXPECTED if name in value}
        question |= {"challenge": made["challenge"], "domain": made["domain"]}
        id, now = kernel.random(16).hex(), kernel.clock.now()
        content = [question, value.get("purpose", ""), value.get("reference", ""), _caller_json(caller)]
        sealed = self.seal(orjson.dumps(content), _BOX + id.encode())
        row = StoredRequest(id, PROOF, caller.owner, "", sealed, None, now, parse(made["expiresAt"]))
        with request.context.keeping(lambda is_kept: is_kept and self.open(row)):
            is_kept = await self.stored.keep(row, of_owner=MOST, of_agent=MOST)
        if not is_kept:
            raise QuotaExceeded("Too many of your requests are open. Cancel one.", details={"quota": "requests"})
        await kernel.need(Record)(request.context, Event(target=id), now)
        return self.open(row)

    async def list(self, query: ListVerifierRequestsQuery, caller: Caller) -> Sequence[ProofRequest]:
        """Return the caller's newest requests. Raises ``Forbidden``."""
        caller.require_scope(VERIFY_SCOPE)
        rows = await self.stored.list(caller.owner, PROOF, self.kernel.clock.now() - KEPT)
        return [one for one in map(self.open, rows) if query.status in (None, one.status)]

    async def answer(self, id: str, wish: AnswerVerifierRequestRequest, request: Request) -> Mapping[str, Any]:
        """Return the result of a proof, compared with the question. A proof that holds is the answer.

        Raises ``RequestNotFound``, ``InvalidRequest``: for an expired or answered request; the refusals of verifyProof."""
        found = await self.get(id)
        if found.status != "waiting":
            raise InvalidRequest("The request has been answered, or has expired. Ask the verifier for another one.")
        run, body = self.kernel.operations["verifyProof"], plain(wish) | found.question
        caller = await self.verifier_of(found.caller)
        # An unauthenticated client's proof takes no worker of the verifier and adds no row to its history.
        result: Mapping[str, Any] = await call_operation(run, request, None, body)
        if result["errors"] != [_OF_ANOTHER]:
            return {**result, "errors": [one for one in result["errors"] if one != _OF_ANOTHER]}
        result = await call_operation(run, request, caller, body)
        # The challenge is used up by the one verification that holds. A request that was cancelled meanwhile has no answer.
        sealed = self.seal(orjson.dumps(result), _RESULT + id.encode())
        if result["verified"] and not await self.stored.settle(id, sealed):
            raise RequestNotFound
        return result

    async def get(self, id: str) -> ProofRequest:
        """Return a request. Raises ``RequestNotFound``."""
        row = await self.stored.get(id, PROOF)
        if row is None:
            raise RequestNotFound
        return self.open(row)

    async def cancel(self, id: str, request: Request) -> None:
        """Delete a request of the caller. Raises ``Forbidden``, ``RequestNotFound``: also for a request of another verifier."""
        request.authenticated.require_scope(VERIFY_SCOPE)
        found = await self.get(id)
        if found.stored.owner != request.authenticated.owner:
            raise RequestNotFound
        await self.stored.delete(found.stored)
        await self.kernel.need(Record)(request.context, Event(target=id), self.kernel.clock.now())

    async def verifier_of(self, stored: Mapping[str, str]) -> Caller:
        """Return the caller that made the request. Raises ``AuthFailed``, ``Forbidden``: when it may verify no more."""
        key = await self.kernel.need(Gate).api_keys.by_digest(stored["key"]) if "key" in stored else None
        dids = {name: Did.parse(stored[name]) for name in ("did", "client") if name in stored}
        for did in dids.values():
            await alive(self.kernel.dids, did)
            if key is not None:
                key.require_target(did)
        if key is not None:
            key.require_scope(VERIFY_SCOPE)
        if "did" not in dids:
            return Caller(api_key=key)
        return Caller(subject=dids["did"], operator=key, client=dids.get("client"), scopes=frozenset({VERIFY_SCOPE}))

    def open(self, row: StoredRequest) -> ProofRequest:
        """Return the request in a row."""
        question, purpose, reference, caller = orjson.loads(self._unseal(row.sealed, _BOX + row.id.encode()))
        result = None if row.result is None else orjson.loads(self._unseal(row.result, _RESULT + row.id.encode()))
        ends = "waiting" if self.kernel.clock.now() < row.expires_at else "expired"
        return ProofRequest(row, question, purpose, reference, caller, result, "answered" if result else ends)

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Return the box of ``plain`` that opens only with ``place``."""
        return sealing.seal(self.secret, plain, place, random=self.kernel.random)

    def _unseal(self, box: bytes, place: bytes) -> bytes:
        return sealing.unseal(self.secret, box, place)


def _caller_json(caller: Caller) -> dict[str, str]:
    """Return how the caller is found again."""
    found = {"did": caller.acting, "client": caller.client, "key": None if caller.key is None else caller.key.digest}
    return {name: str(one) for name, one in found.items() if one is not None}
