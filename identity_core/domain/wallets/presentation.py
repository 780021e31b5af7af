"""What a verifier asks a wallet for, and whether a presentation says it (OpenID4VP 1.0 §5 to §8; DCQL, §6).

A request names credentials by type, the issuers that are taken, and paths of claims. A wallet sees it as a DCQL query in a signed request
object; what comes back has to answer every part of it. All errors are ``ValueError``, whose text quotes nothing of what came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any, Final

from identity_core.domain.jose import ES256
from identity_core.domain.wallets.claims import FORMAT
from identity_core.domain.wallets.encryption import metadata
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
    """A credential of the type ``schema_id``, by one of ``issuers`` unless there are none, with a claim at each of ``paths``. Where there
    are ``sets``, the paths of one of them are enough; they name paths by their place in ``names``, which is empty for one without a
    name."""

    id: str
    schema_id: str
    issuers: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    names: tuple[str, ...] = ()
    sets: tuple[tuple[str, ...], ...] = ()

    @property
    def query(self) -> dict[str, JsonValue]:
        """Its credential query (OpenID4VP 1.0 §6.1). Issuers are not in it: DCQL has no word for DIDs."""
        query: dict[str, JsonValue] = {"id": self.id, "format": FORMAT, "meta": {"vct_values": [self.schema_id]}}
        if self.paths:
            query["claims"] = [self._claim(place) for place in range(len(self.paths))]
        if self.sets:
            query["claim_sets"] = [[*one] for one in self.sets]
        return query

    def _claim(self, place: int) -> dict[str, JsonValue]:
        claim: dict[str, JsonValue] = {"path": [*self.paths[place]]}
        if self.names and self.names[place]:
            claim["id"] = self.names[place]
        return claim

    @property
    def combinations(self) -> list[list[tuple[str, ...]]]:
        """The paths that have to be there: those of one of these (OpenID4VP 1.0 §6.4.1)."""
        if not self.sets:
            return [[*self.paths]]
        places = dict(zip(self.names, self.paths, strict=True))
        return [[places[name] for name in one] for one in self.sets]

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
        if not any(all(_has(claims, path) for path in one) for one in self.combinations):
            raise ValueError("a claim that was asked for is not disclosed")

    def check_names(self) -> None:
        """Raises unless every set names claims that there are, and each of them is named once."""
        named = [name for name in self.names if name]
        if len(set(named)) != len(named):
            raise ValueError("two claims of a credential have one id")
        if self.sets and (len(named) != len(self.paths) or not {*named} >= {name for one in self.sets for name in one}):
            raise ValueError("with claimSets every claim has an id, and every set names some of them")


def _has(claims: Mapping[str, Any], path: Sequence[str]) -> bool:
    found: Any = claims
    for step in path:
        if not isinstance(found, Mapping) or step not in found:
            return False
        found = found[step]
    return True


@value_class
class PresentationQuery:
    """A request as it is stored. ``verifier`` is the DID that asks, ``nonce`` what a holder signs. ``secret`` is that of the key on P-256
    (32 octets) to which the wallet encrypts what it presents, None where it does not."""

    id: str
    verifier: str
    nonce: str
    redirect_uri: str | None
    wanted: tuple[WantedCredential, ...]
    expires_at: datetime
    secret: bytes | None = field(default=None, repr=False)

    @property
    def client_id(self) -> str:
        """Who asks (OpenID4VP 1.0 §5.9.3), which is also the audience of a holder's signature."""
        return CLIENT_PREFIX + self.verifier

    def claims(self, response_uri: str, now: datetime) -> dict[str, JsonValue]:
        """Those of the request object (OpenID4VP 1.0 §5)."""
        formats: dict[str, JsonValue] = {
            FORMAT: {"sd-jwt_alg_values": [ES256], "kb-jwt_alg_values": [ES256, "EdDSA"]},
        }
        of_verifier: dict[str, JsonValue] = {"vp_formats_supported": formats}
        if self.secret is not None:
            of_verifier |= metadata(self.secret)
        return {
            "iss": self.client_id,
            "aud": AUDIENCE,
            "iat": int(now.timestamp()),
            "exp": int(self.expires_at.timestamp()),
            "response_type": "vp_token",
            "response_mode": "direct_post" if self.secret is None else "direct_post.jwt",
            "client_id": self.client_id,
            "response_uri": response_uri,
            "nonce": self.nonce,
            "state": self.id,
            "dcql_query": {"credentials": [one.query for one in self.wanted]},
            "client_metadata": of_verifier,
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
    """Raises unless every credential has an id of its own, and so has every claim of it that has one."""
    if len({one.id for one in wanted}) != len(wanted):
        raise ValueError("two credentials of the request have one id")
    for one in wanted:
        one.check_names()
