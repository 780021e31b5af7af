"""The format ``dc+sd-jwt``: SD-JWT VC (draft-ietf-oauth-sd-jwt-vc) with ES256, as wallets of OpenID for Verifiable Credentials take it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from identity_codec import multibase, multikey
from identity_codec.jose import ES256, JoseKey, signing_input
from identity_codec.values import Hidden
from identity_core.errors import InvalidCredential, ProofInvalid
from identity_core.ports.securing import (
    CredentialDraft,
    Disclosed,
    KeyBinding,
    Secured,
    SecuredHead,
    UnsecuredCredential,
)
from identity_securing_sd_jwt.disclosures import (
    ALGORITHM,
    DIGESTS,
    ELEMENT,
    HASH,
    MAX_DISCLOSURES,
    Concealing,
    Disclosure,
    digest_of,
)
from identity_securing_sd_jwt.presented import IN_THE_OPEN, MAX_OCTETS, TYPE, PresentedSdJwt

ALWAYS_OPEN: Final = IN_THE_OPEN | {"iat"}
MAX_POINTER: Final = 1_024


class SdJwtVc(Hidden, Struct, frozen=True):
    """An ``IssuingFormat`` and ``DerivingFormat``. ``random`` is the operating system's random source."""

    random: Callable[[int], bytes] = secrets.token_bytes
    name: str = TYPE
    key_type: str = multikey.P256

    async def read(self, secured: Secured) -> SecuredHead:
        """See ``SecuringFormat``."""
        return _parse(secured).head

    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        """See ``SecuringFormat``. The holder's signature is looked at where ``binding`` asks for one."""
        presented = _parse(secured)
        try:
            audience = () if binding is None else (binding.audience,)
            claims = presented.claims(
                JoseKey.of_multikey(public_key), audience, None if binding is None else binding.now
            )
            head = presented.head_of(claims)
            holder_key = None if binding is None else presented.holder_key(claims, binding)
        except ValueError as error:
            raise ProofInvalid(details={"reason": str(error)}) from None
        return Disclosed(head, claims, holder_key)

    async def draft(self, unsecured: UnsecuredCredential) -> CredentialDraft:
        """See ``IssuingFormat``. Each claim that is neither ``mandatory`` nor one of ``ALWAYS_OPEN`` can be kept back, and each member of
        an object besides; a pointer names a whole claim."""
        if unsecured.claims.keys() & {"cnf", DIGESTS, ALGORITHM, ELEMENT}:
            raise _refused("a claim has a name that the format needs itself")
        mandatory = {_steps(pointer)[0] for pointer in unsecured.mandatory if _is_claim(pointer, unsecured.claims)}
        if len(mandatory) != len(unsecured.mandatory):
            raise _refused("a pointer is not one to a claim")
        shown = {name for name in unsecured.claims if name in ALWAYS_OPEN or name in mandatory}
        concealing = Concealing(self.random)
        hidden = concealing.conceal({name: value for name, value in unsecured.claims.items() if name not in shown})
        payload = {name: unsecured.claims[name] for name in shown} | {ALGORITHM: HASH, **hidden}
        if unsecured.holder_key is not None:
            payload["cnf"] = {"jwk": JoseKey.of_jwk(dict(unsecured.holder_key)).jwk}
        payload.setdefault("iat", int(unsecured.created.timestamp()))
        header = {"alg": ES256, "typ": TYPE, "kid": unsecured.verification_method}
        text = signing_input(header, payload)
        if len(concealing.made) > MAX_DISCLOSURES or len(text) + sum(map(len, concealing.made)) > MAX_OCTETS // 2:
            raise _refused("the claims are too many or too long")
        return CredentialDraft(b"", [text.encode("ascii")], tuple(concealing.made))

    async def secure(self, draft: CredentialDraft, signature: bytes) -> Secured:
        """See ``IssuingFormat``."""
        text = f"{draft.messages[0].decode('ascii')}.{multibase.base64url_encode(signature)}"
        return "~".join((text, *draft.state, ""))

    async def derive(self, secured: Secured, public_key: str, *, pointers: Sequence[str]) -> Secured:
        """See ``DerivingFormat``. What a disclosure within another one needs comes with it."""
        presented = _parse(secured)
        try:
            whole = presented.claims(JoseKey.of_multikey(public_key), None)
        except ValueError as error:
            raise ProofInvalid(details={"reason": str(error)}) from None
        known = {digest_of(text): Disclosure.parse(text) for text in presented.disclosures}
        kept: set[str] = set()
        for pointer in pointers:
            _keep(_steps(pointer), presented.issued.claims, whole, known, kept)
        disclosures = [text for text in presented.disclosures if text in kept]
        return "~".join((presented.bound.partition("~")[0], *disclosures, ""))


def _parse(secured: Secured) -> PresentedSdJwt:
    """Raise ``InvalidCredential``."""
    if not isinstance(secured, str):
        raise _refused("an SD-JWT is a text")
    try:
        presented = PresentedSdJwt.open(secured)
        _ = presented.head
    except ValueError as error:
        raise _refused(str(error)) from None
    return presented


def _refused(reason: str) -> InvalidCredential:
    return InvalidCredential(details={"reason": reason})


def _steps(pointer: str) -> list[str]:
    """RFC 6901 §3. Raises ``InvalidCredential`` for what is not a pointer, and for that to everything."""
    parts = pointer.split("/")
    if len(pointer) > MAX_POINTER or parts[0] or len(parts) < 2:
        raise _refused("not a JSON pointer to a claim")
    if any("~" in part.replace("~0", "").replace("~1", "") for part in parts):
        raise _refused("not a JSON pointer to a claim")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts[1:]]


def _is_claim(pointer: str, claims: Mapping[str, Any]) -> bool:
    steps = _steps(pointer)
    return len(steps) == 1 and steps[0] in claims


def _keep(steps: Sequence[str], concealed: Any, whole: Any, known: Mapping[str, Disclosure], kept: set[str]) -> None:
    """Add to ``kept`` what opens the way to a claim, and all that the claim holds. Raises ``InvalidCredential`` where there is none."""
    for step in steps:
        if not isinstance(whole, dict) or step not in whole or not isinstance(concealed, dict):
            raise _refused("a pointer leads to nothing")
        whole = whole[step]
        if step in concealed:
            concealed = concealed[step]
            continue
        (opened,) = (known[one] for one in concealed[DIGESTS] if one in known and known[one].name == step)
        kept.add(opened.text)
        concealed = opened.value
    _keep_within(concealed, known, kept)


def _keep_within(concealed: Any, known: Mapping[str, Disclosure], kept: set[str]) -> None:
    if isinstance(concealed, list):
        for element in concealed:
            _keep_within(element, known, kept)
    if not isinstance(concealed, dict):
        return
    digests = [*concealed.get(DIGESTS, ()), *([concealed[ELEMENT]] if ELEMENT in concealed else ())]
    for digest in digests:
        if digest in known:
            kept.add(known[digest].text)
            _keep_within(known[digest].value, known, kept)
    for name, value in concealed.items():
        if name not in (DIGESTS, ELEMENT):
            _keep_within(value, known, kept)
