"""An SD-JWT VC (draft-ietf-oauth-sd-jwt-vc, RFC 9901) as it comes from a wallet: its parts, the claims, and the holder's signature.

The issuer's signature and the key binding are checked before a claim is accepted; which key is the issuer's is the caller's to find out
from the head. All errors are ``ValueError``, whose text quotes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_codec.jose import LEEWAY, CompactJws, JoseKey, check_claims
from identity_core.ports.securing import KeyBinding, SecuredHead
from identity_securing_sd_jwt.disclosures import digest_of, disclosed

TYPE: Final = "dc+sd-jwt"
OLD_TYPE: Final = "vc+sd-jwt"
KEY_BINDING_TYPE: Final = "kb+jwt"
MAX_OCTETS: Final = 65_536
MAX_PARTS: Final = 258
KEY_BINDING_LIFE: Final = timedelta(minutes=10)
"""How old a wallet's signature may be; its nonce says more."""
IN_THE_OPEN: Final = frozenset({"iss", "aud", "nbf", "exp", "cnf", "vct", "vct#integrity", "status", "_sd_alg"})
"""Claims that must not be disclosed selectively, because they decide on validity (draft-ietf-oauth-sd-jwt-vc §2.2.2.2, RFC 9901 §9.7).
Single elements of an ``aud`` that is an array may be."""


class PresentedSdJwt(Struct, frozen=True):
    """A presentation that was parsed and not yet verified. ``bound`` are the characters that ``sd_hash`` covers."""

    issued: CompactJws
    disclosures: Sequence[str]
    key_binding: CompactJws | None
    bound: str

    @classmethod
    def open(cls, text: str) -> PresentedSdJwt:
        """Return the parts of ``<JWT>~<disclosure>~…~<KB-JWT or nothing>``."""
        if len(text) > MAX_OCTETS or not text.isascii():
            raise ValueError(f"an SD-JWT is ASCII of at most {MAX_OCTETS} characters")
        first, *disclosures = text.split("~", MAX_PARTS)
        if not 1 <= len(disclosures) < MAX_PARTS:
            raise ValueError("not an SD-JWT: there is no ~, or there are too many")
        last = disclosures.pop()
        issued = CompactJws.open(first, longest=MAX_OCTETS)
        issued.check_type(TYPE, OLD_TYPE)
        binding = CompactJws.open(last, longest=MAX_OCTETS) if last else None
        return cls(issued, disclosures, binding, text[: len(text) - len(last)])

    @property
    def head(self) -> SecuredHead:
        """Issuer, key and validity that the issuer's JWT names."""
        return self.head_of(self.issued.claims)

    def head_of(self, claims: Mapping[str, Any]) -> SecuredHead:
        """Return the head that ``claims``, which may be the disclosed ones, name. A ``kid`` that is a fragment is one of the issuer's DID.
        An ``iat`` begins the validity ``LEEWAY`` earlier, because the issuer's clock may be ahead."""
        issuer, key_id = _text(self.issued.claims, "iss"), _text(self.issued.header, "kid")
        if key_id.startswith("#"):
            key_id = issuer + key_id
        if not key_id.startswith(f"{issuer}#"):
            raise ValueError("the kid names no key of the issuer")
        _text(self.issued.claims, "vct")
        times = check_claims(claims, None, audience=None)
        begins = [time for time in (times.issued and times.issued - LEEWAY, times.begins) if time is not None]
        return SecuredHead(issuer, key_id, max(begins, default=None), times.ends)

    def claims(self, key: JoseKey, audience: Collection[str] | None, now: datetime | None = None) -> dict[str, Any]:
        """Return the disclosed claims of the issuer with this key. ``audience``: the names of the verifier; None for a holder. Without
        ``now``, ``iat`` is compared with no clock."""
        key.verify(self.issued)
        found = disclosed(self.issued.claims, self.disclosures)
        issued = check_claims(found, None, audience=audience).issued
        if now is not None and issued is not None and issued > now + LEEWAY:
            raise ValueError("iat is in the future")
        if hidden := IN_THE_OPEN & (found.keys() - self.issued.claims.keys()):
            raise ValueError(f"a claim must not be disclosed selectively: {', '.join(sorted(hidden))}")
        return found

    def holder_key(self, claims: Mapping[str, Any], wanted: KeyBinding) -> Mapping[str, Any] | None:
        """Return the JWK of ``cnf``, whose key signed what is presented for this audience and nonce (RFC 9901 §7.3), or signed the
        presentation around it. None for a credential of such a presentation that is bound to no key."""
        confirmation, binding = claims.get("cnf"), self.key_binding
        if wanted.holder is not None:
            if "cnf" not in claims:
                return None
            holder = JoseKey.of_multikey(wanted.holder)
            if (
                isinstance(confirmation, dict)
                and "jwk" in confirmation
                and JoseKey.of_jwk(confirmation["jwk"]) == holder
            ):
                return holder.jwk
        if not isinstance(confirmation, dict) or "jwk" not in confirmation:
            raise ValueError("the credential is bound to no key")
        if binding is None:
            raise ValueError("the holder's signature is missing")
        key = JoseKey.of_jwk(confirmation["jwk"])
        binding.check_type(KEY_BINDING_TYPE)
        key.verify(binding)
        said = binding.claims
        if not wanted.audience or not wanted.nonce:
            raise ValueError("the presentation has no challenge or no domain that the holder could have signed for")
        signed = check_claims(said, wanted.now, audience=(wanted.audience,), required=("aud", "iat")).issued
        if said.get("nonce") != wanted.nonce:
            raise ValueError("the holder signed for another nonce")
        if said.get("sd_hash") != digest_of(self.bound):
            raise ValueError("the holder signed another presentation")
        if signed is None or wanted.now - signed > KEY_BINDING_LIFE:
            raise ValueError("the holder signed too long ago")
        return key.jwk


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is not text")
    return value
