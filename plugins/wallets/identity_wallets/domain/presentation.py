"""A verifier's request to a wallet, and the check of the presentation (OpenID4VP 1.0 §5 to §8; DCQL, §6).

A request names credentials by type, the issuers that are taken, paths of claims and the values that are taken. A wallet sees it as a
DCQL query in a signed request object; what comes back has to answer every part of it. All errors are ``ValueError``, whose text quotes
nothing of what came.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_codec.jose import ES256, LEEWAY
from identity_codec.strict_json import MAX_SAFE_INTEGER, JsonValue
from identity_codec.values import Hidden
from identity_wallets.domain.claims import FORMAT
from identity_wallets.domain.encryption import metadata

REQUEST_TYPE: Final = "oauth-authz-req+jwt"
CLIENT_PREFIX: Final = "decentralized_identifier:"
AUDIENCE: Final = "https://self-issued.me/v2"
"""Audience of a request to a wallet that is not known beforehand (OpenID4VP 1.0 §5.8)."""

LIFE: Final = timedelta(minutes=10)


class WantedClaim(Struct, frozen=True):
    """A claim at ``path``, with one of ``values`` unless there are none. ``id`` is its name in sets, empty for one without."""

    path: tuple[str, ...]
    id: str = ""
    values: tuple[JsonValue, ...] = ()

    @property
    def query(self) -> dict[str, JsonValue]:
        """Its claims query (OpenID4VP 1.0 §6.3)."""
        query: dict[str, JsonValue] = {"path": [*self.path]}
        if self.id:
            query["id"] = self.id
        if self.values:
            query["values"] = [*self.values]
        return query

    def is_met(self, claims: Mapping[str, Any]) -> bool:
        """Return whether the claim is there, and its type and value are those of one of ``values``."""
        found: Any = claims
        for step in self.path:
            if not isinstance(found, Mapping) or step not in found:
                return False
            found = found[step]
        return not self.values or any(type(found) is type(one) and found == one for one in self.values)


class WantedCredential(Struct, frozen=True):
    """A credential of the type ``schema_id``, by one of ``issuers`` unless there are none, with each of ``claims``. Where there are
    ``sets``, the claims of one of them are enough; they name claims by their ``id``."""

    id: str
    schema_id: str
    issuers: tuple[str, ...]
    claims: tuple[WantedClaim, ...]
    sets: tuple[tuple[str, ...], ...] = ()

    @property
    def query(self) -> dict[str, JsonValue]:
        """Its credential query (OpenID4VP 1.0 §6.1). Issuers are not in it: DCQL has no word for DIDs."""
        query: dict[str, JsonValue] = {"id": self.id, "format": FORMAT, "meta": {"vct_values": [self.schema_id]}}
        if self.claims:
            query["claims"] = [one.query for one in self.claims]
        if self.sets:
            query["claim_sets"] = [[*one] for one in self.sets]
        return query

    @property
    def combinations(self) -> list[list[WantedClaim]]:
        """The claims that have to be there: those of one of these (OpenID4VP 1.0 §6.4.1)."""
        if not self.sets:
            return [[*self.claims]]
        named = {one.id: one for one in self.claims}
        return [[named[name] for name in one] for one in self.sets]

    def check(self, claims: Mapping[str, Any], now: datetime, begins: datetime | None, ends: datetime | None) -> None:
        """Raise ``ValueError`` unless the claims meet this request: type, issuer, values, and a validity that contains ``now``."""
        if claims.get("vct") != self.schema_id:
            raise ValueError("the credential is of another type")
        if self.issuers and claims.get("iss") not in self.issuers:
            raise ValueError("the credential is of another issuer")
        if ends is not None and now >= ends:
            raise ValueError("the credential has expired")
        if begins is not None and begins > now + LEEWAY:
            raise ValueError("the credential is not valid yet")
        if not any(all(claim.is_met(claims) for claim in one) for one in self.combinations):
            raise ValueError("a claim that was asked for is not disclosed, or has another value")

    def check_claims(self) -> None:
        """Raise ``ValueError`` unless ids of claims are unique, sets name existing claims, and values have a type of DCQL. If there are
        sets, each claim needs an id."""
        named = [one.id for one in self.claims if one.id]
        if len(set(named)) != len(named):
            raise ValueError("two claims of a credential have one id")
        if self.sets and (
            len(named) != len(self.claims) or not {*named} >= {name for one in self.sets for name in one}
        ):
            raise ValueError("with claimSets every claim has an id, and every set names some of them")
        values = [value for claim in self.claims for value in claim.values if not isinstance(value, str)]
        # The request object is signed in the form of JCS, which has no larger integers.
        if not all(isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER for value in values):
            raise ValueError("the values of a claim are texts, integers up to 2^53 - 1, true and false")


class CredentialSet(Struct, frozen=True):
    """Combinations of credentials by their ids, of which one is enough, and none is needed unless it ``is_required``."""

    options: tuple[tuple[str, ...], ...]
    is_required: bool = True

    @property
    def query(self) -> dict[str, JsonValue]:
        """Its credential set query (OpenID4VP 1.0 §6.2)."""
        return {"options": [[*one] for one in self.options], "required": self.is_required}


class PresentationQuery(Hidden, Struct, frozen=True):
    """A request as it is stored. ``verifier`` is the DID that asks, ``nonce`` what a holder signs. ``secret`` is that of the key on P-256
    (32 bytes) to which the wallet encrypts what it presents, None where it does not. Without ``sets`` every credential is wanted."""

    id: str
    verifier: str
    nonce: str
    redirect_uri: str | None
    wanted: tuple[WantedCredential, ...]
    expires_at: datetime
    secret: bytes | None = None
    sets: tuple[CredentialSet, ...] = ()

    @property
    def client_id(self) -> str:
        """Return who asks (OpenID4VP 1.0 §5.9.3), which is also the audience of a holder's signature."""
        return CLIENT_PREFIX + self.verifier

    def redirect(self, response_code: str) -> str | None:
        """Return the URL to which the wallet sends its holder, with the response code (OpenID4VP 1.0 §8.2)."""
        mark = "&" if "?" in (self.redirect_uri or "") else "?"
        return self.redirect_uri and f"{self.redirect_uri}{mark}response_code={response_code}"

    def claims(self, response_uri: str, now: datetime) -> dict[str, JsonValue]:
        """Return the claims of the request object (OpenID4VP 1.0 §5). It has no ``iss``: wallets ignore one, or refuse one that is not
        a bare DID."""
        formats: dict[str, JsonValue] = {FORMAT: {"sd-jwt_alg_values": [ES256], "kb-jwt_alg_values": [ES256, "EdDSA"]}}
        of_verifier: dict[str, JsonValue] = {"vp_formats_supported": formats}
        if self.secret is not None:
            of_verifier |= metadata(self.secret)
        query: dict[str, JsonValue] = {"credentials": [one.query for one in self.wanted]}
        if self.sets:
            query["credential_sets"] = [one.query for one in self.sets]
        return {
            "aud": AUDIENCE,
            "iat": int(now.timestamp()),
            "exp": int(self.expires_at.timestamp()),
            "response_type": "vp_token",
            "response_mode": "direct_post" if self.secret is None else "direct_post.jwt",
            "client_id": self.client_id,
            "response_uri": response_uri,
            "nonce": self.nonce,
            "state": self.id,
            "dcql_query": query,
            "client_metadata": of_verifier,
        }

    def presented(self, token: Any) -> list[tuple[WantedCredential, str]]:
        """Return the presentation of each credential that is shown (OpenID4VP 1.0 §8.1), which are enough (§6.4.2)."""
        if not isinstance(token, dict) or not self._is_answered_by(token.keys()):
            raise ValueError("vp_token has a member for each credential that was asked for, and no other")
        found: list[tuple[WantedCredential, str]] = []
        for one in self.wanted:
            if one.id not in token:
                continue
            shown = token[one.id]
            if not isinstance(shown, list) or len(shown) != 1 or not isinstance(shown[0], str):
                raise ValueError("of each credential there is an array of one presentation")
            found.append((one, shown[0]))
        return found

    def _is_answered_by(self, shown: Set[str]) -> bool:
        if not self.sets:
            return shown == {one.id for one in self.wanted}
        whole = [[one for one in wanted.options if shown >= {*one}] for wanted in self.sets]
        has_all = all(found or not wanted.is_required for wanted, found in zip(self.sets, whole, strict=True))
        # Of an option that is not whole nothing was asked for.
        return has_all and shown == {name for found in whole for one in found for name in one}

    def check(self) -> None:
        """Raise unless a wallet can answer: each credential passes ``check_claims`` and has a unique id. If there are sets, they name
        every credential and no other, and one of them is required."""
        named = {one.id for one in self.wanted}
        if len(named) != len(self.wanted):
            raise ValueError("two credentials of the request have one id")
        for one in self.wanted:
            one.check_claims()
        if self.sets and named != {name for one in self.sets for option in one.options for name in option}:
            raise ValueError("with credentialSets every credential is in one, and every set names some of them")
        if self.sets and not any(one.is_required for one in self.sets):
            raise ValueError("of credentialSets one at least is required")
