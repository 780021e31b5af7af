"""The gate: it reads the credential of a request, charges a bucket and authenticates the caller.

``X-API-Key`` is normalised into ``Authorization: ApiKey`` before anything is parsed, so the three forms of an API key
are one. A token of a bucket is taken before any store is read and any signature verified. An invalid credential never
counts as a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

from msgspec import Struct, field

from identity_client.challenge import DID_AUTH, RECOVERY_KEY, canonical_target, hash_body
from identity_core.api.auth import API_KEY, BEARER, HeaderCredential, credential_of
from identity_core.api.idempotency import Idempotency
from identity_core.api.request import REPEATABLE, Answer, Handler, Headers, Operation, Request
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids import challenge
from identity_core.domain.dids.challenge import SignedHeader
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthAmbiguous, AuthFailed, AuthRequired, IdentityError, Overloaded, PluginUnavailable
from identity_core.throttle.policy import BucketEmpty, Network, Policy, bucket_address, client_address
from identity_core.use_cases.auth.authenticate import AuthenticateApiKey, AuthenticateBearer
from identity_core.use_cases.auth.challenge import AuthenticateDid, Payer
from identity_core.use_cases.dids.index import DidReader

# The schemes of the document, and the schemes of the header that satisfy them.
DOCUMENT_SCHEMES: Final = {
    "ApiKeyHeader": API_KEY,
    "ApiKeyAuth": API_KEY,
    "BearerAuth": BEARER,
    "DidAuth": DID_AUTH,
    "RecoveryKeyAuth": RECOVERY_KEY,
}

TOO_MANY: Final = "Too many verifications of this address are unfinished; wait for their answers, or authenticate."

# A valid credential of a kind that an operation does not accept counts as missing.
_OTHER_KIND: Final = "The operation takes another kind of credential; WWW-Authenticate says which."


class ClaimedCaller(NamedTuple):
    """The caller that a request claims. ``refusal``: the error, raised after the state of ``did`` was checked.
    ``signed``: its signature. Neither is set for an unauthenticated client, a key or a token."""

    refusal: IdentityError | None = None
    did: Did | None = None
    signed: SignedHeader | None = None


class Gate(Struct, frozen=True):
    """Admission of requests. ``mismatch`` returns the reason why the databases are not those that this service wrote,
    or why its clock is ahead. In that state nothing is changed, not even by a signature check, which consumes the
    signature; reads continue.

    ``places``: the unfinished requests that an address may have at the workers of unauthenticated callers.
    ``held``: the address of each such request.
    """

    reader: DidReader
    api_keys: AuthenticateApiKey
    signatures: AuthenticateDid
    bearers: AuthenticateBearer
    policy: Policy
    trusted_proxies: Sequence[Network]
    mismatch: Callable[[], IdentityError | None]
    answers: Idempotency
    places: int
    held: list[str] = field(default_factory=list)

    async def admit(self, operation: Operation, request: Request) -> tuple[Caller | None, Headers]:
        """Return the caller (None if the operation needs none) and the bucket's headers for the answer.

        The address pays for every credential that this process has not yet accepted, before any store is read or
        signature verified. An authenticated API key or DID pays for the request itself from its own bucket.

        Raises the error of ``mismatch``, ``RateLimited``, ``AuthRequired``, ``AuthFailed``, ``AuthAmbiguous``. For an
        operation on a DID that needs a signature it also raises ``InvalidDid``, ``DidNotFound`` and
        ``DidDeactivated``, before the caller is authenticated.
        """
        if operation.method != "GET" and (found := self.mismatch()) is not None:
            raise found
        refusal: IdentityError | None = None
        credential = key = None
        try:
            credential = credential_of(request)
        except (AuthAmbiguous, AuthFailed) as error:
            refusal = error
        headers: Headers | None = None
        if credential is None or not self._has_been_good(credential):
            # If the operation admits any client, the address pays its whole cost; otherwise an unknown credential may
            # still be refused.
            is_stranger = credential is None or not operation.schemes
            headers = await self._address_pays(operation, request, operation.cost.tokens(request) if is_stranger else 1)
        if isinstance(refusal, AuthAmbiguous):
            raise refusal
        try:
            key = await self._api_key(credential) if credential is not None else None
        except (AuthFailed, PluginUnavailable) as error:
            refusal = error
        if key is not None:
            headers = await self._pays(request, self.policy.spend_key(key, operation.cost.tokens(request)))
        if not operation.schemes:
            # No caller is needed here, so a key that could not be verified is not an error; a valid key may see more.
            anybody = None if key is None else Caller(api_key=key)
            return anybody, headers or await self._address_pays(operation, request, operation.cost.tokens(request))
        try:
            caller = await self._authenticated(operation, request, credential, key, refusal)
        except IdentityError:
            if headers is None:
                # The credential was accepted before and is not any more: requests with it must not be free.
                await self._address_pays(operation, request)
            raise
        if caller is not None and key is None:
            headers = await self._caller_pays(operation, request, caller)
        return caller, headers or []

    def _has_been_good(self, credential: HeaderCredential) -> bool:
        own = self.bearers.own() if credential.scheme == BEARER else None
        is_token = own is not None and own.has_been_good(credential.value)
        return is_token or (credential.scheme in (API_KEY, BEARER) and self.api_keys.has_been_good(credential.value))

    async def _authenticated(
        self,
        operation: Operation,
        request: Request,
        credential: HeaderCredential | None,
        key: ApiKey | None,
        refusal: IdentityError | None,
    ) -> Caller | None:
        claimed = self._claimed(operation, request, credential, refusal)
        if claimed.refusal is not None:
            if claimed.did is not None:
                await self.reader.active(claimed.did)
            raise claimed.refusal
        if credential is None:
            return None
        if claimed.signed is not None:
            return await self._signer(operation, request, claimed.signed, credential.scheme)
        return await self._caller(operation, credential, key)

    def _claimed(
        self, operation: Operation, request: Request, credential: HeaderCredential | None, refusal: IdentityError | None
    ) -> ClaimedCaller:
        """Return the caller that a credential claims, before it is looked up or verified.

        ``refusal``: the error of a malformed credential. Raises ``InvalidDid``: for a malformed DID in the path.
        """
        is_controlled = "{did}" in operation.path and not operation.schemes.isdisjoint((DID_AUTH, RECOVERY_KEY))
        did = self.reader.parse(request.path["did"]) if is_controlled else None
        if refusal is not None:
            return ClaimedCaller(refusal, did)
        if credential is None:
            return ClaimedCaller(None if operation.optional and not is_controlled else AuthRequired(), did)
        if credential.scheme in operation.schemes and (is_controlled or credential.scheme == DID_AUTH):
            try:
                signed = challenge.parse_header(credential.value)
            except AuthFailed as error:
                return ClaimedCaller(error, did)
            is_foreign = is_controlled and signed.did != did
            return ClaimedCaller(AuthFailed(), did) if is_foreign else ClaimedCaller(signed=signed)
        is_other = is_controlled or credential.scheme not in (API_KEY, BEARER)
        return ClaimedCaller(AuthRequired(_OTHER_KIND), did) if is_other else ClaimedCaller()

    async def charge(self, request: Request, tokens: int = 1) -> None:
        """Charge ``tokens`` to the address of the client, with any credential. Raises ``RateLimited``: when its
        bucket is empty."""
        headers = await self._pays(request, self.policy.spend_address(self._address(request), tokens))
        request.answer_headers = (*request.answer_headers, *headers)

    def shared(self, handler: Handler) -> Handler:
        """Wrap a handler that waits for the workers of unauthenticated callers: an address holds ``places`` of them at most."""

        async def run(request: Request) -> Answer:
            if request.caller is not None:
                return await handler(request)
            address = bucket_address(self._address(request))
            if self.held.count(address) >= self.places:
                raise Overloaded(TOO_MANY, details={"retryAfter": 1})
            self.held.append(address)
            try:
                return await handler(request)
            finally:
                self.held.remove(address)

        return run

    def _payer(self, request: Request) -> Payer:
        address = self._address(request)

        async def require(tokens: int) -> None:
            await self._pays(request, self.policy.require_address(address, tokens))

        return Payer(bucket_address(address), require, partial(self.charge, request))

    async def _caller_pays(self, operation: Operation, request: Request, caller: Caller) -> Headers:
        """Charge the request to the key behind the credential, or to the DID."""
        if caller.key is not None:
            return await self._pays(request, self.policy.spend_key(caller.key, operation.cost.tokens(request)))
        if caller.account is None:
            raise AuthRequired
        return await self._pays(request, self.policy.spend_did(caller.account, operation.cost.tokens(request)))

    async def _address_pays(self, operation: Operation, request: Request, tokens: int = 1) -> Headers:
        address = self._address(request)
        if operation.operation_id == "getDidAuthChallenge":
            return await self._pays(request, self.policy.spend_challenge(address))
        return await self._pays(request, self.policy.spend_address(address, tokens))

    def _address(self, request: Request) -> str | None:
        return client_address(request.client_address, request.header("x-forwarded-for"), self.trusted_proxies)

    async def _pays(self, request: Request, spending: Awaitable[Headers]) -> Headers:
        request.paid = True
        try:
            return await spending
        except BucketEmpty as error:
            request.answer_headers = error.headers
            raise

    async def _api_key(self, credential: HeaderCredential) -> ApiKey | None:
        """Return the API key of the credential; None for a signature, and for a bearer token that is not a key."""
        if credential.scheme not in (API_KEY, BEARER):
            return None
        own = self.bearers.own() if credential.scheme == BEARER else None
        if own is not None and own.claims_to_be_ours(credential.value):
            return None
        try:
            return await self.api_keys(credential.value)
        except AuthFailed:
            if credential.scheme == BEARER:
                return None
            raise

    async def _caller(self, operation: Operation, credential: HeaderCredential, key: ApiKey | None) -> Caller:
        if key is not None and API_KEY in operation.schemes:
            return Caller(api_key=key)
        if credential.scheme == BEARER and BEARER in operation.schemes:
            return await self.bearers(credential.value, operation.resource)
        raise AuthFailed if credential.scheme == BEARER else AuthRequired(_OTHER_KIND)

    async def _signer(self, operation: Operation, request: Request, signed: SignedHeader, scheme: str) -> Caller:
        hashed = body_hash(request)
        is_repeatable = operation.operation_id in REPEATABLE and request.header("idempotency-key") is not None
        authorization = await self.signatures(
            signed,
            payer=self._payer(request),
            scheme=scheme,
            purpose=operation.purpose,
            body_hash=hashed,
            target=target_of(operation, request),
            body=None if hashed is None else request.json(),
            former=partial(self.answers.signer, request, Caller(did=signed.did).identity) if is_repeatable else None,
        )
        return Caller(did=signed.did, authorization=authorization)


def target_of(operation: Operation, request: Request) -> str:
    """Return the canonical target of a request: the path of the operation in the document, also where an alias was called."""
    path = re.sub(r"\{(\w+)\}", lambda name: quote(request.path[name[1]], safe=""), operation.path)
    return canonical_target(f"{path}?{request.query_octets.decode('latin-1')}")


def body_hash(request: Request) -> str | None:
    """Return the hash that binds a challenge to the body; None without a body, or if it is not JSON (such a body is
    refused later)."""
    try:
        return hash_body(request.json())
    except ValueError:
        return None
