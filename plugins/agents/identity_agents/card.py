"""The agent card ``/.well-known/agent-card.json`` (A2A 1.0 §8), signed by the key of access tokens (§8.4), which is in the JWK Set.

The signature covers the card in the form of RFC 8785, without its signatures and without members that have their default. The card has no
such member, so readers that drop empty members and readers that keep required ones verify the same bytes.
"""

from __future__ import annotations

from typing import Any, Final

import orjson
from identity_oauth.metadata import ISSUER_PATH, KEYS_PATH
from identity_oauth.token_endpoint import TOKEN_PATH
from identity_oauth.use_cases.token_keys import TokenKeys
from msgspec import Struct, field

from identity_agents.endpoints import TASKS
from identity_codec import jcs, multibase
from identity_core.api.pages import static_page
from identity_core.api.request import Answer, Handler, Request
from identity_core.use_cases.proofs.steps import PROVE_SCOPE, VERIFY_SCOPE

VERSION: Final = "1.0"
CARD_PATH: Final = "/.well-known/agent-card.json"
EXTENSION_PATH: Final = "/ext/request-proof/v1"
JSON: Final = "application/json"
_SCHEME: Final = "oauth"


def agent_card(origin: str, version: str) -> dict[str, Any]:
    """Return the card (A2A 1.0 §4.4.1) of the service at ``origin``, unsigned."""
    client = {
        "tokenUrl": origin + TOKEN_PATH,
        "scopes": {
            PROVE_SCOPE: "Ask for proofs that a holder has delegated to the agent.",
            VERIFY_SCOPE: "Fetch a proof once more, by its task.",
        },
    }
    return {
        "name": "Identity Service",
        "description": "Makes zero-knowledge proofs about holders of credentials for agents that they delegate to.",
        "version": version,
        "supportedInterfaces": [{"url": origin + TASKS, "protocolBinding": "JSONRPC", "protocolVersion": VERSION}],
        "documentationUrl": f"{origin}/docs",
        "capabilities": {"extensions": [{"uri": origin + EXTENSION_PATH, "description": "What a message asks for."}]},
        "securitySchemes": {
            _SCHEME: {
                "oauth2SecurityScheme": {
                    "description": f"private_key_jwt with the agent's DID as client_id, and resource={origin + TASKS}.",
                    "flows": {"clientCredentials": client},
                    "oauth2MetadataUrl": origin + ISSUER_PATH,
                }
            }
        },
        "securityRequirements": [{"schemes": {_SCHEME: {"list": [PROVE_SCOPE, VERIFY_SCOPE]}}}],
        "defaultInputModes": [JSON],
        "defaultOutputModes": [JSON],
        "skills": [
            {
                "id": "request-proof",
                "name": "Request a proof",
                "description": "Proves that a predicate holds of an attribute of a holder's credential, without showing the attribute. "
                "The message has one part: data with holderDid, predicate, credentialId, challenge, domain, purpose and ibct, the "
                "holder's token for this agent. Without ibct the holder is asked on a page of the service. Instead of predicate it may "
                "have predicates, which one proof shows together, or credentials, which the holder's token names.",
                "tags": ["zero-knowledge", "credentials", "delegation"],
                "examples": [
                    '{"holderDid": "did:ids:Qm…", "predicate": {"attributeName": "age", "type": "gte", "value": 18}, '
                    '"domain": "https://shop.example", "purpose": "To buy wine"}'
                ],
            }
        ],
    }


def request_schema(origin: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the data of a message, which the extension of the card names."""
    text = {"type": "string"}
    predicate = {
        "type": "object",
        "properties": {"attributeName": text, "type": text, "value": {}},
        "required": ["attributeName", "type"],
    }
    texts = {
        "holderDid": "Whom it is about.",
        "credentialId": "Which credential of the holder; she chooses where she is asked.",
        "challenge": "The verifier's challenge.",
        "domain": "Whom the proof is for, such as the verifier's origin.",
        "purpose": "Why, for the holder who is asked.",
    }
    signed = {
        "holderConsent": "What the holder's wallet signed, where it keeps the secret.",
        "ibct": "The holder's token for this agent and this predicate, as she signed it.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": origin + EXTENSION_PATH,
        "title": "Request for a proof",
        "type": "object",
        "properties": {
            **{name: text | {"description": words} for name, words in texts.items()},
            "predicate": predicate,
            "predicates": {"type": "array", "items": predicate, "minItems": 1, "maxItems": 16},
            **{name: {"type": "array"} for name in ("credentials", "same", "either")},
            "pseudonym": text,
            **{name: {"type": "object", "description": words} for name, words in signed.items()},
            "anchor": {"type": "boolean", "description": "Whether a commitment to the proof goes to the ledger."},
        },
        "required": ["holderDid"],
        "oneOf": [{"required": [name]} for name in ("predicate", "predicates", "credentials")],
        "dependentRequired": {"credentials": ["ibct"]},
        "if": {"required": ["ibct"], "not": {"required": ["credentials"]}},
        "then": {"required": ["credentialId"]},
        "additionalProperties": False,
    }


class AgentCardPage(Struct, eq=False):
    """The card as a page, signed again after the key is replaced."""

    origin: str
    version: str
    keys: TokenKeys
    _made: dict[str, Handler] = field(default_factory=dict)

    async def __call__(self, request: Request) -> Answer:
        """Return the signed card. Raises the errors of the custodian."""
        kid = self.keys.signing.kid
        if kid not in self._made:
            self._made = {kid: static_page(await self._signed(), JSON, ())}
        return await self._made[kid](request)

    async def _signed(self) -> bytes:
        card = agent_card(self.origin, self.version)
        payload = multibase.base64url_encode(jcs.canonicalize(card))

        def signing_input(kid: str) -> str:
            head = {"alg": "EdDSA", "jku": self.origin + KEYS_PATH, "kid": kid, "typ": "JOSE"}
            return f"{multibase.base64url_encode(orjson.dumps(head))}.{payload}"

        protected, _, signature = (await self.keys.signed(signing_input)).split(".")
        return orjson.dumps(card | {"signatures": [{"protected": protected, "signature": signature}]})
