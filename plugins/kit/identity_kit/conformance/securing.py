"""The promises of a format that secures credentials, as tests (``ports/securing.py``).

An author subclasses ``SecuringConformance``. For a format that issues, two fixtures do; the kit makes the issuer's keys and signs::

    class TestMyFormat(SecuringConformance):
        @pytest.fixture
        def securing(self): return MyFormat()

        @pytest.fixture
        def unsecured(self): return UnsecuredCredential({"issuer": "did:web:issuer.example", ...}, ...)

A format that only verifies gives ``securing``, ``secured``, ``public_key`` and ``other_key`` instead; one that derives gives ``pointers``
and ``hidden`` too.
"""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from identity_codec.values import replace
from identity_core.errors import InvalidCredential, ProofInvalid
from identity_core.ports.securing import (
    DerivingFormat,
    Disclosed,
    IssuingFormat,
    Secured,
    SecuredHead,
    SecuringFormat,
    UnsecuredCredential,
)
from identity_kit.conformance.loops import expect_error, own_loop_per_test
from identity_kit.conformance.securing_cases import JUNK, WANTED, changes, escaped, value_at
from identity_kit.conformance.securing_keys import KitIssuer


@own_loop_per_test
class SecuringConformance:
    """The tests of a securing format: subclass it, give the fixtures, and run pytest. Tests of missing capabilities are skipped."""

    @pytest.fixture
    def issuer(self, securing: SecuringFormat) -> KitIssuer:
        """Return a key of the kit's own."""
        return KitIssuer(_issuing(securing).key_type, os.urandom(32))

    @pytest.fixture
    def public_key(self, issuer: KitIssuer) -> str:
        """Return the multikey of the issuer."""
        return issuer.public_key

    @pytest.fixture
    def other_key(self, securing: SecuringFormat) -> str:
        """Return the multikey of another issuer, of the same type."""
        return KitIssuer(_issuing(securing).key_type, os.urandom(32)).public_key

    @pytest.fixture
    def secured(self, securing: SecuringFormat, unsecured: UnsecuredCredential, issuer: KitIssuer) -> Secured:
        """Return a credential as it is issued."""
        return asyncio.run(_issue(_issuing(securing), unsecured, issuer))

    @pytest.fixture
    def presented(self, request: pytest.FixtureRequest, securing: SecuringFormat, secured: Secured) -> Secured:
        """Return the credential for a verifier, derived if the format derives."""
        if not isinstance(securing, DerivingFormat):
            return secured
        public_key, pointers = request.getfixturevalue("public_key"), request.getfixturevalue("pointers")
        return asyncio.run(securing.derive(secured, public_key, pointers=pointers))

    def test_it_is_a_format_with_a_name(self, securing: SecuringFormat) -> None:
        """Check that it has the members of the port, and a name of printable ASCII that stays the same."""
        assert isinstance(securing, SecuringFormat), "it has not the members of the port"
        assert securing.name.isascii(), "the name is not ASCII"
        assert securing.name.isprintable(), "the name is not printable"
        assert 0 < len(securing.name) <= 64, "the name is empty or too long"
        assert securing.name == securing.name, "the name changes"

    async def test_own_signature_is_valid(self, securing: SecuringFormat, presented: Secured, public_key: str) -> None:
        """``verify`` accepts it, and returns the head that ``read`` returns; asked for no key binding, it vouches for none."""
        head = await securing.read(presented)
        assert isinstance(head, SecuredHead)
        assert head.issuer, "it says no issuer"
        assert head.verification_method.startswith(f"{head.issuer}#"), "the key is not the issuer's"
        for moment in (head.valid_from, head.valid_until):
            assert moment is None or moment.utcoffset() is not None, "a time has no zone"
        disclosed = await securing.verify(presented, public_key)
        assert isinstance(disclosed, Disclosed)
        assert disclosed.head == head, "verify and read tell two heads"
        assert disclosed.claims, "it discloses nothing"
        assert disclosed.holder_key is None, "it names a holder that was not requested"

    async def test_it_can_be_asked_by_many_at_once(
        self, securing: SecuringFormat, presented: Secured, public_key: str, other_key: str
    ) -> None:
        """Good and bad at the same time: each gets its own answer."""
        asked = [securing.verify(presented, key) for key in (public_key, other_key) * 6]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(answer, Disclosed) for answer in answers[::2]), "a good one was refused"
        assert all(isinstance(answer, ProofInvalid) for answer in answers[1::2]), "a bad one was accepted"

    async def test_another_key_is_refused(self, securing: SecuringFormat, presented: Secured, other_key: str) -> None:
        """``ProofInvalid`` for another issuer's key, and for a text that is not a key."""
        for key in (other_key, "", "z", "z6Mk", "did:web:x#y"):
            await expect_error(ProofInvalid, securing.verify(presented, key))

    async def test_every_change_is_refused(self, securing: SecuringFormat, presented: Secured, public_key: str) -> None:
        """Whatever is changed, it does not verify: ``InvalidCredential`` or ``ProofInvalid``."""
        changed = list(changes(presented))
        assert changed, "there is nothing to change"
        for place, one in changed:
            try:
                await securing.verify(one, public_key)
            except (InvalidCredential, ProofInvalid):
                continue
            pytest.fail(f"accepted with a change at {place}")

    async def test_a_binding_that_is_not_there_is_missed(
        self, securing: SecuringFormat, presented: Secured, public_key: str
    ) -> None:
        """``ProofInvalid`` where a proof of the holder's key is demanded of what has none."""
        await expect_error(ProofInvalid, securing.verify(presented, public_key, binding=WANTED))

    async def test_junk_is_refused(self, securing: SecuringFormat, public_key: str) -> None:
        """``InvalidCredential`` from ``read`` and from ``verify``."""
        for junk in JUNK:
            await expect_error(InvalidCredential, securing.read(junk))
            await expect_error(InvalidCredential, securing.verify(junk, public_key))

    async def test_derived_credential_hides_the_rest(
        self, request: pytest.FixtureRequest, securing: SecuringFormat, secured: Secured, public_key: str
    ) -> None:
        """The claims at the pointers are there, those that are hidden are nowhere in it."""
        deriving = _deriving(securing)
        hidden, pointers = request.getfixturevalue("hidden"), request.getfixturevalue("pointers")
        assert hidden, "there is nothing to hide"
        derived = await deriving.derive(secured, public_key, pointers=pointers)
        disclosed = await deriving.verify(derived, public_key)
        for pointer in pointers:
            assert value_at(disclosed.claims, pointer) is not None, pointer
        shown = json.dumps([derived, disclosed.claims], ensure_ascii=False)
        assert not [text for text in hidden if text in shown], "it shows what is hidden"
        fewer = await deriving.derive(secured, public_key, pointers=pointers[:1])
        await deriving.verify(fewer, public_key)

    async def test_nothing_is_derived_from_what_does_not_verify(
        self, request: pytest.FixtureRequest, securing: SecuringFormat, secured: Secured, other_key: str
    ) -> None:
        """``ProofInvalid`` for another issuer's key, ``InvalidCredential`` for pointers to nothing and for what is not a pointer."""
        deriving, pointers = _deriving(securing), request.getfixturevalue("pointers")
        await expect_error(ProofInvalid, deriving.derive(secured, other_key, pointers=pointers))
        public_key = request.getfixturevalue("public_key")
        for wrong in ("/nothing/here", "no-pointer", "/~2", "/" * 10_000):
            await expect_error(InvalidCredential, deriving.derive(secured, public_key, pointers=[*pointers, wrong]))

    async def test_issued_credential_discloses_the_claims(
        self, request: pytest.FixtureRequest, securing: SecuringFormat
    ) -> None:
        """With everything disclosed, every claim that was secured is there; the key is the one of the draft."""
        issuing = _issuing(securing)
        issuer, unsecured = request.getfixturevalue("issuer"), request.getfixturevalue("unsecured")
        whole = replace(unsecured, mandatory=[f"/{escaped(name)}" for name in unsecured.claims])
        presented = await _issue(issuing, whole, issuer)
        if isinstance(securing, DerivingFormat):
            presented = await securing.derive(presented, issuer.public_key, pointers=())
        disclosed = await issuing.verify(presented, issuer.public_key)
        assert disclosed.head.verification_method == unsecured.verification_method
        assert {name: disclosed.claims.get(name) for name in unsecured.claims} == unsecured.claims

    async def test_a_signature_of_another_is_refused(
        self, request: pytest.FixtureRequest, securing: SecuringFormat
    ) -> None:
        """``secure`` secures what it gets; every verifier refuses it."""
        issuing = _issuing(securing)
        issuer, unsecured = request.getfixturevalue("issuer"), request.getfixturevalue("unsecured")
        another = KitIssuer(issuing.key_type, os.urandom(32))
        draft = await issuing.draft(replace(unsecured, public_key=issuer.public_key))
        secured = await issuing.secure(draft, await another.sign(draft))
        if isinstance(securing, DerivingFormat):
            with pytest.raises((ProofInvalid, InvalidCredential)):
                await securing.derive(secured, issuer.public_key, pointers=())
        else:
            await expect_error((ProofInvalid, InvalidCredential), issuing.verify(secured, issuer.public_key))


async def _issue(issuing: IssuingFormat, unsecured: UnsecuredCredential, issuer: KitIssuer) -> Secured:
    draft = await issuing.draft(replace(unsecured, public_key=issuer.public_key))
    return await issuing.secure(draft, await issuer.sign(draft))


def _issuing(securing: SecuringFormat) -> IssuingFormat:
    if not isinstance(securing, IssuingFormat):
        pytest.skip("the format issues nothing")
    return securing


def _deriving(securing: SecuringFormat) -> DerivingFormat:
    if not isinstance(securing, DerivingFormat):
        pytest.skip("the format derives nothing")
    return securing
