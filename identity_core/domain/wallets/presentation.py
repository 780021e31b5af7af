"""What a verifier asks a wallet for, and whether a presentation says it (OpenID4VP 1.0 §5 to §8; DCQL, §6).

A request names credentials by type, the issuers that are taken, and paths of claims. A wallet sees it as a DCQL query in a signed request
object; what comes back has to answer every part of it. All errors are ``ValueError``, whose text quotes nothing of what came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from identity_core.domain.jose import ES256
from identity_core.domain.wallets.claims import FORMAT
from identity_core.errors import JsonValue
from identity_core.values import value_class

REQUEST_TYPE: Final = "oauth-authz-req+jwt"
CLIENT_PREFIX: Final = "decentralized_identifier:"
AUDIENCE: Final = "https://self-issued.me/v2"
"""Of a request to a wallet that nobody knows beforehand (OpenID4VP 1.0 §5.8)."""

LIFE: Final = timedelta(minutes=10)
LEEWAY: Final = timedelta(seconds=60)
"""How far an issuer's clock may be ahead of ours."""


@value_class
class WantedCredential:
    """A credential of the type ``schema_id``, by one of ``issuers`` unless there are none, with a claim at each of ``paths``."""

    id: str
    schema_id: str
    issuers: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]

    @property
    def query(self) -> dict[str, JsonValue]:
        """Its credential query (OpenID4VP 1.0 §6.1). Issuers are not in it: DCQL has no word for DIDs."""
        query: dict[str, JsonValue] = {"id": self.id, "format": FORMAT, "meta": {"vct_values": [self.schema_id]}}
        if self.paths:
            query["claims"] = [{"path": [*path]} for path in self.paths]
        return query

    def check(self, claims: Mapping[str, Any], now: datetime, begins: datetime | None, ends: datetime | None) -> None:
        """Raises unless the claims are of this credential, and of a time that is now."""
        if claims.get("vct") != self.schema_id:
            raise ValueError("the credential is of another type")
        if self.issuers and claims.get("iss") not in self.issuers:
            raise ValueError("the credential is of another issuer")
        if ends is not None and now >= ends:
            raise ValueError("the credential has expired")
        if begins is not None and begins > now + LEEWAY:
            raise ValueError("the credential is not valid yet")
        for path in self.paths:
            found: Any = claims
            for step in path:
                if not isinstance(found, Mapping) or step not in found:
                    raise ValueError("a claim that was asked for is not disclosed")
                found = found[step]


@value_class
class PresentationQuery:
    """A request as it is stored. ``verifier`` is the DID that asks, ``nonce`` what a holder signs."""

    id: str
    verifier: str
    nonce: str
    redirect_uri: str | None
    wanted: tuple[WantedCredential, ...]
    expires_at: datetime

    @property
    def client_id(self) -> str:
        """Who asks (OpenID4VP 1.0 §5.9.3), which is also the audience of a holder's signature."""
        return CLIENT_PREFIX + self.verifier

    def claims(self, response_uri: str, now: datetime) -> dict[str, JsonValue]:
        """Those of the request object (OpenID4VP 1.0 §5)."""
        formats: dict[str, JsonValue] = {
            FORMAT: {"sd-jwt_alg_values": [ES256], "kb-jwt_alg_values": [ES256, "EdDSA"]},
        }
        return {
            "iss": self.client_id,
            "aud": AUDIENCE,
            "iat": int(now.timestamp()),
            "exp": int(self.expires_at.timestamp()),
            "response_type": "vp_token",
            "response_mode": "direct_post",
            "client_id": self.client_id,
            "response_uri": response_uri,
            "nonce": self.nonce,
            "state": self.id,
            "dcql_query": {"credentials": [one.query for one in self.wanted]},
            "client_metadata": {"vp_formats_supported": formats},
        }

    def presented(self, token: Any) -> list[tuple[WantedCredential, str]]:
        """The presentation of each credential that was asked for (OpenID4VP 1.0 §8.1)."""
        if not isinstance(token, dict) or token.keys() != {one.id for one in self.wanted}:
            raise ValueError("vp_token has a member for each credential that was asked for, and no other")
        found: list[tuple[WantedCredential, str]] = []
        for one in self.wanted:
            shown = token[one.id]
            if not isinstance(shown, list) or len(shown) != 1 or not isinstance(shown[0], str):
                raise ValueError("of each credential there is an array of one presentation")
            found.append((one, shown[0]))
        return found


def check_ids(wanted: Sequence[WantedCredential]) -> None:
    """Raises unless every credential has an id of its own."""
    if len({one.id for one in wanted}) != len(wanted):
        raise ValueError("two credentials of the request have one id")
