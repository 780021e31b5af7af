"""The endpoints of the issuer for wallets of OpenID (OpenID4VCI 1.0): metadata, token, nonce, credential.

Pages beside the document, as ``/oauth/token`` is: their errors have OAuth's shape. Each credential schema is a credential issuer of its
own, ``<origin>/openid/<schema id in base64url>``, with one configuration; so nothing is to be set up, and no list can grow too long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from identity_oauth.domain.tokens import OauthRefusal
from identity_oauth.refusals import wallet_error
from msgspec import Struct

from identity_codec import multibase
from identity_codec.jose import ES256
from identity_codec.strict_json import JsonRefused
from identity_core.api.request import NO_STORE, Answer, Handler, Operation, PageForm, Request
from identity_core.errors import (
    AuthFailed,
    AuthRequired,
    FeatureNotSupported,
    IdentityError,
    InvalidRequest,
    NotFound,
    SchemaNotFound,
)
from identity_core.ports.clock import Clock
from identity_core.use_cases.credentials.schemas import GetCredentialSchema
from identity_wallets.domain import token_status
from identity_wallets.domain.claims import FORMAT, claim_names
from identity_wallets.domain.grants import PRE_AUTHORIZED, WalletGrants
from identity_wallets.use_cases.collect import CollectCredential, RedeemCode
from identity_wallets.use_cases.offer import WalletOffer
from identity_wallets.use_cases.status import GetTokenStatusList

OFFER_SCHEME: Final = "openid-credential-offer://"
ISSUERS: Final = "/openid/"
METADATA_PATH: Final = "/.well-known/openid-credential-issuer"
CREDENTIAL_PATH: Final = "/openid/credential"
NONCE_PATH: Final = "/openid/nonce"
JSON: Final = "application/json"
STATUS_LIST: Final = f"application/{token_status.TYPE}"
MAX_BODY: Final = 32 * 1024
_BEARER: Final = 'Bearer realm="identity"'
CREDENTIAL: Final = Operation(
    "collectCredential", "POST", CREDENTIAL_PATH, frozenset(), _BEARER, shape=wallet_error, bearer=_BEARER
)
NONCE: Final = Operation("createCredentialNonce", "POST", NONCE_PATH, frozenset(), "", shape=wallet_error)


def issuer_id(origin: str, schema_id: str) -> str:
    """Return the identifier of the credential issuer of a schema."""
    return f"{origin}{ISSUERS}{multibase.base64url_encode(schema_id.encode())}"


def offer_of(origin: str, made: WalletOffer) -> dict[str, Any]:
    """Return the offer as a wallet takes it (OpenID4VCI 1.0 §4.1.1)."""
    grant: dict[str, Any] = {"pre-authorized_code": made.code}
    if made.grant.transaction_code is not None:
        grant["tx_code"] = {"input_mode": "numeric", "length": len(made.grant.transaction_code)}
    return {
        "credential_issuer": issuer_id(origin, made.schema_id),
        "credential_configuration_ids": [FORMAT],
        "grants": {PRE_AUTHORIZED: grant},
    }


class PreAuthorizedCode(Struct, frozen=True):
    """The grant of OpenID4VCI 1.0 §6 at ``/oauth/token``; the client needs no name."""

    redeem: RedeemCode
    clock: Clock

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The members of the issuer's metadata that belong to the grant (OpenID4VCI 1.0 §12.3)."""
        return {"pre-authorized_grant_anonymous_access_supported": True}

    async def __call__(self, request: Request, form: Mapping[str, str]) -> Answer:
        """Raise ``OauthRefusal``."""
        if "pre-authorized_code" not in form:
            raise InvalidRequest("pre-authorized_code is missing.")
        token, grant = await self.redeem(form["pre-authorized_code"], form.get("tx_code"))
        seconds = int((grant.expires_at - self.clock.now()).total_seconds())
        return Answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": seconds}, headers=[NO_STORE])


class WalletEndpoints(Struct, frozen=True):
    """``methods`` are the DID methods whose keys a credential may be bound to by ``kid``; ``mismatch`` as the gate's: nothing is spent in
    databases that are not those that this service wrote."""

    origin: str
    schema: GetCredentialSchema
    collect: CollectCredential
    status_list: GetTokenStatusList
    grants: WalletGrants
    clock: Clock
    methods: tuple[str, ...]
    mismatch: Callable[[], IdentityError | None]

    @property
    def pages(self) -> dict[str, Handler]:
        """Return what GET serves, by path. The second place is where wallets of drafts look."""
        return {
            f"{METADATA_PATH}{ISSUERS}{{type}}": self.metadata,
            f"{ISSUERS}{{type}}{METADATA_PATH}": self.metadata,
            f"{token_status.PATH}{{list}}": self.status,
        }

    @property
    def forms(self) -> dict[str, PageForm]:
        """Return what POST takes, by path."""
        return {
            NONCE_PATH: PageForm(self.nonce, NONCE, MAX_BODY, JSON),
            CREDENTIAL_PATH: PageForm(self.credential, CREDENTIAL, MAX_BODY, JSON),
        }

    async def metadata(self, request: Request) -> Answer:
        """Credential Issuer Metadata (§12.2). Raises ``NotFound``."""
        try:
            schema_id = multibase.base64url_decode(request.path["type"]).decode()
            registered = await self.schema(schema_id)
        except (ValueError, SchemaNotFound) as error:
            raise NotFound from error
        configuration = {
            "format": FORMAT,
            "vct": schema_id,
            "cryptographic_binding_methods_supported": ["jwk", *(f"did:{name}" for name in self.methods)],
            "credential_signing_alg_values_supported": [ES256],
            "proof_types_supported": {"jwt": {"proof_signing_alg_values_supported": [ES256, "EdDSA"]}},
            "credential_metadata": {"claims": [{"path": path} for path in claim_names(registered.definition)]},
        }
        body = {
            "credential_issuer": issuer_id(self.origin, schema_id),
            "authorization_servers": [self.origin],
            "credential_endpoint": self.origin + CREDENTIAL_PATH,
            "nonce_endpoint": self.origin + NONCE_PATH,
            "credential_configurations_supported": {FORMAT: configuration},
        }
        return Answer(200, body, headers=[("cache-control", "public, max-age=300")])

    async def status(self, request: Request) -> Answer:
        """Return a Status List Token (draft-ietf-oauth-status-list §8.1). Raises ``StatusListNotFound``; ``FeatureNotSupported``
        for the list of another time (§8.4)."""
        if "time" in request.query:
            details = {"feature": "time", "remedy": "Leave `time` out: the current list is served."}
            raise FeatureNotSupported("Status lists of other times are not served.", details=details)
        token = await self.status_list(request.path["list"])
        kept = f"public, max-age={int(token_status.FRESH.total_seconds())}"
        return Answer(200, token.encode("ascii"), STATUS_LIST, [("cache-control", kept)])

    async def nonce(self, request: Request) -> Answer:
        """Return a nonce for a proof (§7). A body, which has no meaning, is not read."""
        return Answer(200, {"c_nonce": self.grants.nonce(self.clock.now())}, headers=[NO_STORE])

    async def credential(self, request: Request) -> Answer:
        """Return the credential (§8). Raises ``OauthRefusal``, ``AuthRequired``, ``AuthFailed``, ``StorageMismatch``."""
        if (found := self.mismatch()) is not None:
            raise found
        scheme, _, token = (request.header("authorization") or "").strip().partition(" ")
        if scheme.lower() != "bearer" or request.header("x-api-key") is not None:
            raise AuthRequired("A wallet shows the access token that it got for its code, as Bearer.")
        try:
            grant, credential = await self.collect.granted(token.strip())
        except ValueError as error:
            raise AuthFailed from error
        proof = read_request(request)
        audience = issuer_id(self.origin, credential.schema.id)
        secured = await self.collect(grant, credential, proof, audience=audience, request_id=request.request_id)
        return Answer(200, {"credentials": [{"credential": secured}]}, headers=[NO_STORE])


def read_request(request: Request) -> str:
    """Return the one proof of a credential request (§8.2); members that are not named there are ignored. Raises ``OauthRefusal``."""
    try:
        body = request.json()
    except JsonRefused as error:
        raise OauthRefusal("invalid_credential_request", f"The body was refused: {error.reason}.") from None
    if not isinstance(body, dict):
        raise OauthRefusal("invalid_credential_request", "The body is not a JSON object.")
    if "credential_identifier" in body:
        raise OauthRefusal("unknown_credential_identifier", "Tokens of this service name no identifiers.")
    if "credential_response_encryption" in body:
        raise OauthRefusal("invalid_encryption_parameters", "Answers are not encrypted here.")
    if body.get("credential_configuration_id") != FORMAT:
        raise OauthRefusal("unknown_credential_configuration", "The configuration is unknown.", {"supported": [FORMAT]})
    proofs = body.get("proofs")
    found = proofs.get("jwt") if isinstance(proofs, dict) and len(proofs) == 1 else None
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], str):
        raise OauthRefusal("invalid_proof", "proofs has one member, jwt, an array of one text.")
    proof: str = found[0]
    return proof
