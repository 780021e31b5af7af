"""The handlers of the tag ``registration``: DIF DID Registration, as the Universal Registrar has it.

A signed change is a request for our own operation: it goes through all that stands before and around that one, from the buckets
and the signature to quotas and the audit log. So there is nothing that it could get past.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from msgspec import Struct

from identity_client.challenge import DEACTIVATE, DID_AUTH, UPDATE, hash_body
from identity_codec.structs import UNSET, encode, raw
from identity_codec.times import printed
from identity_codec.values import replace
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.api.transport import Message, Run
from identity_core.domain.dids.keys import Key
from identity_core.errors import InternalError
from identity_core.use_cases.dids.create import Created
from identity_core.wire import Challenge, DeactivatedDid, UpdatedDid
from identity_universal import wire
from identity_universal.registration import ChangeToSign, DidRegistration, KeysWanted
from identity_universal.registration_create import TEMPLATE
from identity_universal.registration_jobs import SIGNING_REQUEST, RegistrationJob, SignedChange

_FORWARDED: Final = ("host", "x-forwarded-for")


class RegistrationHandlers(Struct, frozen=True):
    """registerDid, registerDidUpdate, registerDidDeactivation. ``operations`` are those of the document, as they are served."""

    registration: DidRegistration
    operations: Mapping[str, Run]

    async def register_did(self, request: Request) -> Answer:
        request.authenticated.require_key("dids:create")
        found = await self.registration.create(request.body, request.query, request.context)
        return keys_wanted(found) if isinstance(found, KeysWanted) else registered(found)

    async def register_did_update(self, request: Request) -> Answer:
        found = await self.registration.update(request.body)
        if isinstance(found, ChangeToSign):
            return await self._to_sign(request, found, UPDATE)
        return updated(await self._do(request, "updateDid", "PATCH", found))

    async def register_did_deactivation(self, request: Request) -> Answer:
        found = await self.registration.deactivate(request.body)
        if isinstance(found, ChangeToSign):
            return await self._to_sign(request, found, DEACTIVATE)
        return deactivated(await self._do(request, "deactivateDid", "DELETE", found))

    async def _to_sign(self, request: Request, change: ChangeToSign, purpose: str) -> Answer:
        """Return the action that the challenge of our own operation be signed."""
        query = {"did": str(change.did), "purpose": purpose, "bodyHash": hash_body(dict(change.body)), "named": "true"}
        asked = _inner(request, "GET", {})
        return to_sign(change, await self._run("getDidAuthChallenge", request, asked, urlencode(query)))

    async def _do(self, request: Request, operation_id: str, method: str, change: SignedChange) -> Any:
        data = encode(change.body)
        headers = {
            "authorization": f"{DID_AUTH} {change.signed}",
            "content-type": "application/json",
            "content-length": str(len(data)),
        }
        asked = _inner(request, method, headers)
        asked.path = {"did": str(change.did)}
        return await self._run(operation_id, request, asked, "", data)

    async def _run(
        self, operation_id: str, request: Request, asked: Request, query: str, data: bytes | None = None
    ) -> Any:
        """Return the body of what our own operation answers. Raises its refusals; its limits are those of ``request`` then."""

        async def receive() -> Message:
            return {"type": "http.request", "body": data or b"", "more_body": False}

        try:
            answer = await self.operations[operation_id](asked, {"query_string": query.encode("ascii")}, receive)
        finally:
            request.answer_headers = asked.answer_headers or request.answer_headers
        return answer.body


def keys_wanted(found: KeysWanted) -> Answer:
    """200: the caller shall bring the key that every DID needs."""
    state = wire.RegistrationDidState(
        state="action",
        action="getVerificationMethod",
        verification_method_template=(wire.VerificationMethodTemplate(**TEMPLATE),),
    )
    return _answer(200, state, wire.DidRegistrationMetadata(), job_id=found.job.job_id)


def registered(result: Created) -> Answer:
    """201 with the document, and the private keys that are returned."""
    version, did = result.version, str(result.version.state.did)
    if version.receipt is None:
        raise InternalError
    shown = tuple(_registered_key(did, key) for key in result.keys if key.secret is not None)
    state = wire.RegistrationDidState(
        state="finished",
        did=did,
        did_document=raw(version.state.document.encoded),
        secret=wire.RegisteredSecret(verification_method=shown) if shown else UNSET,
    )
    metadata = wire.RegisteredDocumentMetadata(
        version_id=str(version.state.version_id), updated=printed(version.state.updated_at)
    )
    return replace(_finished(state, version.receipt, metadata), status=201)


def to_sign(change: ChangeToSign, offered: Challenge) -> Answer:
    """200: the caller shall sign the challenge, which is bound to the change."""
    job = RegistrationJob(change.body, offered.challenge, change.digest)
    signing = wire.SigningRequest(
        payload=wire.SigningPayload(challenge=offered.challenge),
        serialized_payload=base64.b64encode(offered.challenge.encode()).decode("ascii"),
        kid=change.key_id,
        alg="EdDSA",
        purpose="authentication",
    )
    state = wire.RegistrationDidState(
        state="action", did=str(change.did), action="signPayload", signing_request={SIGNING_REQUEST: signing}
    )
    return _answer(200, state, wire.DidRegistrationMetadata(expires_at=offered.expires_at), job_id=job.job_id)


def updated(done: UpdatedDid) -> Answer:
    """200 with the new document."""
    state = wire.RegistrationDidState(state="finished", did=done.did, did_document=done.did_document)
    metadata = wire.RegisteredDocumentMetadata(version_id=str(done.version_id), updated=done.updated)
    return _finished(state, done, metadata)


def deactivated(done: DeactivatedDid) -> Answer:
    """200: the end."""
    state = wire.RegistrationDidState(state="finished", did=done.did)
    return _finished(state, done, wire.RegisteredDocumentMetadata(deactivated=True))


def _registered_key(did: str, key: Key) -> wire.RegisteredKey:
    return wire.RegisteredKey(
        id=f"{did}#{key.public}",
        type=key.type,
        controller=did,
        purpose=tuple(key.purposes),
        private_key_multibase=key.secret or "",
    )


def _inner(request: Request, method: str, headers: Mapping[str, str]) -> Request:
    """Return a request of the same client, which carries nothing of this one but where it comes from."""
    kept = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
    return Request(
        request_id=request.request_id,
        method=method,
        raw_path=request.raw_path,
        client_address=request.client_address,
        headers=kept | dict(headers),
        arrived=request.arrived,
    )


class _Recorded(Protocol):
    """An answer with the position on the ledger."""

    @property
    def transaction_hash(self) -> str: ...
    @property
    def block_number(self) -> int: ...


def _finished(
    state: wire.RegistrationDidState, receipt: _Recorded, document: wire.RegisteredDocumentMetadata
) -> Answer:
    written = wire.DidRegistrationMetadata(transaction_hash=receipt.transaction_hash, block_number=receipt.block_number)
    return _answer(200, state, written, document)


def _answer(
    status: int,
    state: wire.RegistrationDidState,
    registration: wire.DidRegistrationMetadata,
    document: wire.RegisteredDocumentMetadata | None = None,
    *,
    job_id: str | None = None,
) -> Answer:
    body = wire.RegistrationState(
        job_id=job_id,
        did_state=state,
        did_registration_metadata=registration,
        did_document_metadata=document or wire.RegisteredDocumentMetadata(),
    )
    return Answer(status, body, headers=[NO_STORE])
