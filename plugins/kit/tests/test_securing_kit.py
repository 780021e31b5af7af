"""The kit of securing formats must pass a sound format and fail those that are broken on purpose, each where its fault lies."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from _pytest.outcomes import Failed
from identity_kit.conformance.securing import SecuringConformance
from identity_kit.conformance.securing_keys import KitIssuer

from identity_codec import ed25519, jcs, multikey
from identity_codec.values import replace
from identity_core.errors import InvalidCredential, ProofInvalid
from identity_core.ports.securing import (
    CredentialDraft,
    Disclosed,
    KeyBinding,
    Secured,
    SecuredHead,
    UnsecuredCredential,
)

ISSUER = "did:web:issuer.example"
CLAIMS = {"issuer": ISSUER, "name": "Hana", "town": "Brno"}
UNSECURED = UnsecuredCredential(CLAIMS, f"{ISSUER}#k", "", datetime(2026, 1, 1, tzinfo=UTC), ("/issuer",))


class ToyFormat:
    """Each claim is signed by its salted digest, and shown or left out whole."""

    name = "toy-1"
    key_type = multikey.ED25519

    async def read(self, secured: Secured) -> SecuredHead:
        if not isinstance(secured, dict) or secured.keys() != {"digests", "shown", "method", "mandatory", "signature"}:
            raise InvalidCredential
        if not isinstance(secured["shown"], list) or not isinstance(secured["method"], str):
            raise InvalidCredential
        return SecuredHead(secured["method"].partition("#")[0], secured["method"])

    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        head = await self.read(secured)
        assert isinstance(secured, dict)
        self._check(secured, public_key)
        if binding is not None:
            raise ProofInvalid
        return Disclosed(head, {name: value for _, name, value in secured["shown"]})

    def _check(self, secured: dict[str, Any], public_key: str) -> None:
        try:
            _, public = multikey.decode_public(public_key)
            ed25519.verify(public, _signed(secured), bytes.fromhex(secured["signature"]))
        except (ValueError, ed25519.Ed25519SignatureInvalid):
            raise ProofInvalid from None
        if not {_digest(one) for one in secured["shown"]} <= set(secured["digests"]):
            raise ProofInvalid

    async def derive(self, secured: Secured, public_key: str, *, pointers: Sequence[str]) -> Secured:
        await self.verify(secured, public_key)
        assert isinstance(secured, dict)
        names = {*secured["mandatory"], *(pointer[1:] for pointer in pointers)}
        shown = [one for one in secured["shown"] if one[1] in names]
        if not names <= {one[1] for one in secured["shown"]} or any(pointer[:1] != "/" for pointer in pointers):
            raise InvalidCredential
        return {**secured, "shown": shown}

    async def draft(self, unsecured: UnsecuredCredential) -> CredentialDraft:
        shown = [[os.urandom(16).hex(), name, value] for name, value in unsecured.claims.items()]
        digests, mandatory = sorted(map(_digest, shown)), [pointer[1:] for pointer in unsecured.mandatory]
        state = {"digests": digests, "shown": shown, "method": unsecured.verification_method, "mandatory": mandatory}
        return CredentialDraft(b"", (_signed(state),), state)

    async def secure(self, draft: CredentialDraft, signature: bytes) -> Secured:
        return {**draft.state, "signature": signature.hex()}


def _digest(disclosure: Any) -> str:
    return hashlib.sha256(jcs.canonicalize(disclosure)).hexdigest()


def _signed(secured: dict[str, Any]) -> bytes:
    return jcs.canonicalize({name: secured[name] for name in ("digests", "method", "mandatory")})


class TestToyFormat(SecuringConformance):
    @pytest.fixture
    def securing(self) -> ToyFormat:
        return ToyFormat()

    @pytest.fixture
    def unsecured(self) -> UnsecuredCredential:
        return UNSECURED

    @pytest.fixture
    def pointers(self) -> Sequence[str]:
        return ["/town"]

    @pytest.fixture
    def hidden(self) -> Sequence[str]:
        return ["Hana"]


class SaysSomethingElse(ToyFormat):
    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        disclosed = await super().verify(secured, public_key, binding=binding)
        return replace(disclosed, head=replace(disclosed.head, issuer="did:web:other.example"))


class VouchesForAHolder(ToyFormat):
    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        return replace(await super().verify(secured, public_key, binding=binding), holder_key={"kty": "OKP"})


class TakesAnyKey(ToyFormat):
    def _check(self, secured: dict[str, Any], public_key: str) -> None:
        """Everything is fine."""


class DigestsOfNobody(ToyFormat):
    def _check(self, secured: dict[str, Any], public_key: str) -> None:
        try:
            super()._check({**secured, "shown": []}, public_key)
        except InvalidCredential as error:
            raise ProofInvalid from error


class MissesNoBinding(ToyFormat):
    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        return await super().verify(secured, public_key)


class BreaksOnJunk(ToyFormat):
    async def read(self, secured: Secured) -> SecuredHead:
        assert isinstance(secured, dict)
        return SecuredHead(secured["method"].partition("#")[0], secured["method"])


class ShowsAll(ToyFormat):
    async def derive(self, secured: Secured, public_key: str, *, pointers: Sequence[str]) -> Secured:
        await super().derive(secured, public_key, pointers=pointers)
        return secured


class DerivesUnchecked(ToyFormat):
    async def derive(self, secured: Secured, public_key: str, *, pointers: Sequence[str]) -> Secured:
        assert isinstance(secured, dict)
        return {**secured, "shown": []}


class LosesClaims(ToyFormat):
    async def draft(self, unsecured: UnsecuredCredential) -> CredentialDraft:
        kept = {name: value for name, value in unsecured.claims.items() if name != "name"}
        mandatory = [pointer for pointer in unsecured.mandatory if pointer != "/name"]
        return await super().draft(replace(unsecured, claims=kept, mandatory=mandatory))


class Nameless(ToyFormat):
    name = ""


BROKEN: list[tuple[ToyFormat, str]] = [
    (Nameless(), "test_it_is_a_format_with_a_name"),
    (SaysSomethingElse(), "test_own_signature_is_valid"),
    (VouchesForAHolder(), "test_own_signature_is_valid"),
    (TakesAnyKey(), "test_another_key_is_refused"),
    (TakesAnyKey(), "test_it_can_be_asked_by_many_at_once"),
    (DigestsOfNobody(), "test_every_change_is_refused"),
    (MissesNoBinding(), "test_a_binding_that_is_not_there_is_missed"),
    (BreaksOnJunk(), "test_junk_is_refused"),
    (ShowsAll(), "test_derived_credential_hides_the_rest"),
    (DerivesUnchecked(), "test_nothing_is_derived_from_what_does_not_verify"),
    (LosesClaims(), "test_issued_credential_discloses_the_claims"),
    (TakesAnyKey(), "test_a_signature_of_another_is_refused"),
]


@pytest.mark.parametrize(
    ("securing", "broken"), BROKEN, ids=lambda one: one if isinstance(one, str) else type(one).__name__
)
def test_a_broken_format_fails(securing: ToyFormat, broken: str) -> None:
    issuer, other = (KitIssuer(multikey.ED25519, os.urandom(32)) for _ in range(2))
    secured = asyncio.run(_issued(issuer))
    given = {
        "securing": securing,
        "unsecured": UNSECURED,
        "issuer": issuer,
        "public_key": issuer.public_key,
        "other_key": other.public_key,
        "secured": secured,
        "presented": asyncio.run(ToyFormat().derive(secured, issuer.public_key, pointers=["/town"])),
        "pointers": ["/town"],
        "hidden": ["Hana"],
    }
    test = getattr(SecuringConformance(), broken)
    arguments = {name: given.get(name, Asked(given)) for name in inspect.signature(test).parameters}
    with pytest.raises((AssertionError, Failed, InvalidCredential, KeyError)):
        test(**arguments)


class Asked:
    """The request of pytest, as far as a test of the kit uses it."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = given

    def getfixturevalue(self, name: str) -> Any:
        return self._given[name]


async def _issued(issuer: KitIssuer) -> Secured:
    toy = ToyFormat()
    draft = await toy.draft(replace(UNSECURED, public_key=issuer.public_key))
    return await toy.secure(draft, await issuer.sign(draft))
