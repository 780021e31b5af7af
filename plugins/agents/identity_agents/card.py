"""The agent card ``/.well-known/agent-card.json`` (A2A 1.0 §8), signed by the key of access tokens (§8.4), which is in the JWK Set.

The signature covers the card in the form of RFC 8785, without its signatures and without members that have their default. The card has no
such member, so readers that drop empty members and readers that keep required ones verify the same bytes.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import orjson
from identity_oauth.metadata import KEYS_PATH
from identity_oauth.use_cases.token_keys import TokenKeys
from msgspec import Struct, field

from identity_codec import jcs, multibase
from identity_core.api.pages import static_page
from identity_core.api.request import Answer, Handler, Request

VERSION: Final = "1.0"
CARD_PATH: Final = "/.well-known/agent-card.json"
EXTENSION_PATH: Final = "/ext/request-proof/v1"
JSON: Final = "application/json"


def _declared(name: str, origin: str) -> dict[str, Any]:
    text = files(__package__).joinpath(name).read_text("utf-8")
    found: dict[str, Any] = orjson.loads(text.replace("{origin}", origin))
    return found


def agent_card(origin: str, version: str) -> dict[str, Any]:
    """Return the card (A2A 1.0 §4.4.1) of the service at ``origin``, unsigned."""
    return _declared("card.json", origin) | {"version": version}


def request_schema(origin: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the data of a message, which the extension of the card names."""
    return _declared("request.json", origin)


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
