"""The gate: which credential a request carries, whose bucket pays for it, and who the caller is.

``X-API-Key`` is normalised into ``Authorization: ApiKey`` before anything is parsed, so the three forms of an API key
are one. A token is spent from the bucket before any signature is checked. A wrong credential is never taken for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from identity_core.api import costs
from identity_core.api.request import Headers, Operation, Request
from identity_core.domain import challenge
from identity_core.domain.caller import ApiKey, Caller
from identity_core.domain.did import Did
from identity_core.domain.errors import AuthAmbiguous, AuthFailed, AuthRequired, IdentityError, PluginUnavailable
from identity_core.domain.evidence import DID_AUTH, RECOVERY_KEY
from identity_core.throttle.policy import BucketEmpty, Network, Policy, client_address
from identity_core.use_cases.api_keys.authenticate import AuthenticateApiKey
from identity_core.use_cases.auth.authenticate_bearer import AuthenticateBearer
from identity_core.use_cases.auth.authenticate_did import AuthenticateDid
from identity_core.use_cases.dids.reader import DidReader

API_KEY: Final = "ApiKey"
BEARER: Final = "Bearer"
SCHEMES: Final = {scheme.lower(): scheme for scheme in (API_KEY, BEARER, DID_AUTH, RECOVERY_KEY)}

# What a signature over a challenge with a purpose may do, by operation.
PURPOSES: Final = {
    "updateDid": challenge.UPDATE,
    "deactivateDid": challenge.DEACTIVATE,
    "rotateDidKey": challenge.ROTATE,
    "recoverDid": challenge.RECOVER,
    "issueToken": challenge.TOKEN,
    "createCredentialSchema": challenge.CREDENTIAL,
    "issueCredential": challenge.CREDENTIAL,
    "importCredential": challenge.CREDENTIAL,
    "setCredentialStatus": challenge.CREDENTIAL,
    "getCredential": challenge.READ,
    "listCredentials": challenge.READ,
    "createDelegation": challenge.DELEGATE,
    "revokeDelegation": challenge.DELEGATE,
    "deleteDelegation": challenge.DELEGATE,
    "suspendDelegation": challenge.DELEGATE,
    "resumeDelegation": challenge.DELEGATE,
    "revokeIbct": challenge.DELEGATE,
    "verifyProof": challenge.READ,
    "verifyStoredProof": challenge.READ,
    "getProof": challenge.READ,
    "revokeProof": challenge.PROVE,
    "createVerifierChallenge": challenge.READ,
    "listVerificationHistory": challenge.READ,
    "getVerificationStats": challenge.READ,
    "getDashboardTimeline": challenge.READ,
    "listDelegations": challenge.READ,
    "getDelegation": challenge.READ,
    "generateDelegatedProof": challenge.PROVE,
}

# The schemes of the document, and the schemes of the header that satisfy them.
DOCUMENT_SCHEMES: Final = {
    "ApiKeyHeader": API_KEY,
    "ApiKeyAuth": API_KEY,
    "BearerAuth": BEARER,
    "DidAuth": DID_AUTH,
    "RecoveryKeyAuth": RECOVERY_KEY,
}

# A valid credential of a kind that an operation does not take is as good as none.
_OTHER_KIND: Final = "The operation takes another kind of credential; WWW-Authenticate says which."


@dataclass(frozen=True, slots=True)
class Credential:
    """A scheme of ``SCHEMES`` and its value."""

    scheme: str
    value: str


def credential_of(request: Request) -> Credential | None:
    """The one credential of the request. Raises ``AuthAmbiguous`` for two different ones, ``AuthFailed`` for a header that
    is none. An API key may come twice, in two forms, when it is the same key."""
    if request.header("authorization") is None and request.header("x-api-key") is None:
        return None
    found: set[Credential] = set()
    for value in request.all_headers("x-api-key"):
        found.add(Credential(API_KEY, value.strip()))
    for value in request.all_headers("authorization"):
        scheme, _, rest = value.strip().partition(" ")
        known = SCHEMES.get(scheme.lower())
        if known is None or not rest.strip():
            raise AuthFailed("The Authorization header names no known scheme, or carries nothing.")
        found.add(Credential(known, rest.strip()))
    if len({credential.value for credential in found}) > 1:
        raise AuthAmbiguous
    schemes = {credential.scheme for credential in found}
    if len(schemes) > 1:
        if schemes != {API_KEY, BEARER}:
            raise AuthAmbiguous
        return Credential(API_KEY, next(iter(found)).value)
    credential = next(iter(found), None)
    if credential is not None and not credential.value:
        raise AuthFailed
    return credential


@dataclass(frozen=True, slots=True)
class Gate:
    """Admits requests."""

    reader: DidReader
    api_keys: AuthenticateApiKey
    signatures: AuthenticateDid
    bearers: AuthenticateBearer
    policy: Policy
    trusted_proxies: Sequence[Network]

    async def admit(self, operation: Operation, request: Request) -> tuple[Caller | None, Headers]:
        """The caller (None where the operation asks for nobody) and the headers that the bucket gives the answer.

        Raises ``RateLimited``, ``AuthRequired``, ``AuthFailed``, ``AuthAmbiguous``; for an operation on a DID that needs a signature also
        ``InvalidDid``, ``DidNotFound`` and ``DidDeactivated``, which come before the question who is asking.
        """
        refusal: IdentityError | None = None
        credential = key = None
        try:
            credential = credential_of(request)
            if credential is not None and credential.scheme in (API_KEY, BEARER):
                key = await self._api_key(credential)
        except (AuthAmbiguous, AuthFailed, PluginUnavailable) as error:
            refusal = error
        headers = await self._spend(operation, request, key)
        if isinstance(refusal, AuthAmbiguous):
            raise refusal
        if not operation.schemes:
            # Nobody is asked for here, and a key that could not be checked is no refusal; one that is good may see more.
            return (None if key is None else Caller(api_key=key)), headers
        if "{did}" in operation.path and operation.schemes & {DID_AUTH, RECOVERY_KEY}:
            return await self._controller(operation, request, credential, refusal), headers
        if refusal is not None:
            raise refusal
        if credential is None and operation.optional:
            return None, headers
        caller = await self._caller(operation, request, credential, key)
        behind = caller.api_key or caller.operator
        if key is None and behind is not None:
            # The address has paid for the check of the token; what it is used for is paid by the key that got it.
            headers = await self._spend(operation, request, behind)
        return caller, headers

    async def charge(self, request: Request) -> None:
        """A token of the stranger's address, whatever credential the request carries. Raises ``RateLimited``."""
        request.paid = True
        try:
            headers = await self.policy.spend_address(self._address(request))
        except BucketEmpty as error:
            request.answer_headers = (*request.answer_headers, *error.headers)
            raise
        request.answer_headers = (*request.answer_headers, *headers)

    def _address(self, request: Request) -> str | None:
        return client_address(request.client_address, request.header("x-forwarded-for"), self.trusted_proxies)

    async def _spend(self, operation: Operation, request: Request, key: ApiKey | None) -> Headers:
        """What the request costs, from the key's bucket or that of the stranger's address."""
        request.paid = True
        cost = costs.tokens(operation.operation_id, len(request.body_octets))
        try:
            if key is not None:
                return await self.policy.spend_key(key, cost)
            address = self._address(request)
            if operation.operation_id == "getDidAuthChallenge":
                return await self.policy.spend_challenge(address)
            return await self.policy.spend_address(address, cost)
        except BucketEmpty as error:
            request.answer_headers = error.headers
            raise

    async def _api_key(self, credential: Credential) -> ApiKey | None:
        """The API key of the credential; None for a bearer token that is no key."""
        if credential.scheme == BEARER and self.bearers.claims_to_be_ours(credential.value):
            return None
        try:
            return await self.api_keys(credential.value)
        except AuthFailed:
            if credential.scheme == BEARER:
                return None
            raise

    async def _caller(
        self, operation: Operation, request: Request, credential: Credential | None, key: ApiKey | None
    ) -> Caller:
        if credential is None:
            raise AuthRequired
        if key is not None and API_KEY in operation.schemes:
            return Caller(api_key=key)
        if credential.scheme == BEARER and BEARER in operation.schemes:
            return await self.bearers(credential.value)
        if credential.scheme == BEARER:
            raise AuthFailed
        if credential.scheme == DID_AUTH and DID_AUTH in operation.schemes:
            did, signature = challenge.parse_header(credential.value)
            return await self._signer(operation, request, did, signature, DID_AUTH)
        raise AuthRequired(_OTHER_KIND)

    async def _controller(
        self, operation: Operation, request: Request, credential: Credential | None, refusal: IdentityError | None
    ) -> Caller:
        did = self.reader.parse(request.path["did"])
        if refusal is not None or credential is None or credential.scheme not in operation.schemes:
            await self.reader.active(did)
            raise refusal or (AuthRequired() if credential is None else AuthRequired(_OTHER_KIND))
        signer, signature = challenge.parse_header(credential.value)
        if signer != did:
            await self.reader.active(did)
            raise AuthFailed
        return await self._signer(operation, request, did, signature, credential.scheme)

    async def _signer(self, operation: Operation, request: Request, did: Did, signature: bytes, scheme: str) -> Caller:
        authorization = await self.signatures(
            did,
            signature,
            scheme=scheme,
            purpose=PURPOSES[operation.operation_id],
            body_hash=body_hash(request),
        )
        return Caller(did=did, authorization=authorization)


def body_hash(request: Request) -> str | None:
    """What a challenge binds the body by; None when there is no body or it is no JSON (it will be refused later)."""
    try:
        return challenge.hash_body(request.json())
    except ValueError:
        return None
