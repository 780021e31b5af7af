"""registerDid, registerDidUpdate, registerDidDeactivation: DIF DID Registration (https://identity.foundation/did-registration/) in the
terms of createDid, updateDid and deactivateDid.

Nothing is stored between the requests of a job. What is signed is the challenge of our own operation, bound to its body, so that what
is done is what was signed, independently of the client that sends the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from identity_codec.structs import plain
from identity_core.domain.activity import RequestContext
from identity_core.domain.dids import keys, requests
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState
from identity_core.errors import InvalidDocument, InvalidRequest
from identity_core.use_cases.dids.create import Created, CreateDid
from identity_core.use_cases.dids.index import DidReader
from identity_core.wire import CreateDidRequest, UpdateDidRequest
from identity_universal import registration_update
from identity_universal.registration_create import create_body, own_keys
from identity_universal.registration_jobs import (
    RegistrationJob,
    SignedChange,
    begun_creation,
    digest,
    present,
    present_members,
    signed_change,
    typed_body,
)
from identity_universal.wire import (
    RegisterDidDeactivationRequest,
    RegisterDidQuery,
    RegisterDidRequest,
    RegisterDidUpdateRequest,
    RegistrationKeys,
    RegistrationOptions,
)


class KeysWanted(Struct, frozen=True):
    """A DID cannot be made yet: its controller has to bring keys."""

    job: RegistrationJob


class ChangeToSign(Struct, frozen=True):
    """``body`` of our own operation, for a key of the DID to sign; ``job`` becomes one with the challenge. ``key_id`` may sign."""

    did: Did
    key_id: str
    body: Mapping[str, Any]
    digest: str


class DidRegistration(Struct, frozen=True):
    """The operations of the tag. ``method`` is the DID method where none is named."""

    creating: CreateDid
    reader: DidReader
    method: str

    async def create(
        self, wish: RegisterDidRequest, query: RegisterDidQuery, context: RequestContext
    ) -> Created | KeysWanted:
        """Raises what ``CreateDid`` does, and ``InvalidRequest`` for keys that are not where they belong."""
        document, options = present(wish.did_document, {}), present(wish.options, RegistrationOptions())
        brought = present(present(wish.secret, RegistrationKeys()).verification_method, ())
        public_keys = own_keys(plain(brought), document)
        job_id, documents = present(wish.job_id, None), present_members(didDocument=wish.did_document)
        if job_id is not None:
            body = begun_creation(job_id, documents, query)
            if not public_keys:
                raise InvalidRequest("The keys of the job are missing.", details={"member": "secret"})
        else:
            body = self._signed_body(query, document, options)
            own = present(options.client_secret_mode, False)
            if own and not public_keys:
                return KeysWanted(RegistrationJob(plain(typed_body(body, CreateDidRequest)), None, digest(documents)))
            if public_keys and not own:
                raise InvalidRequest("The caller's own keys need clientSecretMode.", details={"member": "options"})
        if public_keys:
            body["options"]["publicKeys"] = public_keys
        try:
            strict = {**body, "options": {**body["options"], "strictEvidence": True}}
            return await self.creating(typed_body(strict, CreateDidRequest), context)
        except InvalidDocument as error:
            # The entries of this method hold no evidence.
            if error.details.get("member") != "strictEvidence":
                raise
        return await self.creating(typed_body(body, CreateDidRequest), context)

    def _signed_body(
        self, query: RegisterDidQuery, document: Mapping[str, Any], options: RegistrationOptions
    ) -> dict[str, Any]:
        templates, stored = present(options.request_verification_method, ()), present(options.store_secrets, False)
        body = create_body(query.method or self.method, document, plain(templates))
        if not present(options.client_secret_mode, False):
            body["options"] |= {"storeSecrets": stored, "returnSecrets": present(options.return_secrets, True)}
        elif stored or templates:
            raise InvalidRequest(
                "The keys are the caller's own in clientSecretMode: there is none to make or to store."
            )
        return body

    async def update(self, wish: RegisterDidUpdateRequest) -> ChangeToSign | SignedChange:
        """Return the change that a controller has to sign, or the change that it has signed.

        Raises ``InvalidRequest``, ``InvalidDocument``, and for a DID that cannot change ``InvalidDid``, ``DidNotFound``,
        ``DidDeactivated``.
        """
        did = self.reader.parse(wish.did)
        said = present_members(didDocument=wish.did_document, didDocumentOperation=wish.did_document_operation)
        signed = signed_change(did, wish, said)
        if signed is not None:
            return signed
        state = (await self.reader.active(did)).head.state
        documents = present(wish.did_document, ())
        operations = present(wish.did_document_operation, (registration_update.SET,) * len(documents))
        body = registration_update.update_body(state.document, operations, documents)
        # What the operation would refuse for its form alone is not worth a signature.
        requests.operations(plain(typed_body(body, UpdateDidRequest)), str(did))
        return ChangeToSign(did, _signer(state), body, digest(said))

    async def deactivate(self, wish: RegisterDidDeactivationRequest) -> ChangeToSign | SignedChange:
        """The same for the end of a DID."""
        did = self.reader.parse(wish.did)
        signed = signed_change(did, wish, {})
        if signed is not None:
            return signed
        state = (await self.reader.active(did)).head.state
        return ChangeToSign(did, _signer(state), {"confirm": True}, digest({}))


def _signer(state: DidState) -> str:
    """Return a key that may sign, also what a key in its grace period may not. Raises ``InvalidDocument`` where there is none."""
    related = state.document.related(keys.AUTHENTICATION)
    for method in state.document.methods:
        if method.id in related and method.revoked is None:
            return method.id
    raise InvalidDocument("The document has no key that authenticates, so it cannot be changed.")
