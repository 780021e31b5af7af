"""The promises of a custodian of private keys, as tests (``ports/custodian.py``).

An author subclasses ``CustodianConformance`` with one fixture, and a second one when keys outlive the process::

    class TestMyCustodian(CustodianConformance):
        @pytest.fixture
        def custodian(self, tmp_path): return MyCustodian(tmp_path)

        @pytest.fixture
        def reopen(self, tmp_path): return lambda: MyCustodian(tmp_path)

``custodian`` must hold no keys. A custodian without a key type does not declare it, and its tests are skipped. Signatures are
verified with this project's own verifiers, so the custodian may have any basis. The protection of keys at rest is not tested,
because only the author knows how to attack it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

import pytest

from identity_client import possession
from identity_codec import ed25519, multikey
from identity_core.ports.custodian import Custodian, KeyNameTaken, KeyNotHeld, KeyRefused
from identity_kit.conformance.custodian_holders import HolderPromises
from identity_kit.conformance.custodian_keys import (
    DID,
    KEY_TYPES,
    PURPOSE,
    SECRET,
    SIGNING,
    ExaminedCustodian,
    KeyPromises,
    verified,
)
from identity_kit.conformance.loops import close, expect_error, own_loop_per_test

NASTY_MESSAGES = (b"", b"\0", bytes(64), b"\xff" * 32, bytes(range(256)) * 256)


@own_loop_per_test
class SigningPromises(ExaminedCustodian):
    """Signatures are right, of the right kind, and concurrent calls do not affect each other."""

    signers: ClassVar[int] = 64
    """How many tasks sign at once."""

    @pytest.fixture
    def signing(self, custodian: Custodian) -> Custodian:
        """Return the custodian, if it declares Ed25519."""
        if multikey.ED25519 not in custodian.capabilities:
            pytest.skip(f"the custodian does not declare {multikey.ED25519}")
        return custodian

    async def test_it_signs_what_it_is_given(self, signing: Custodian) -> None:
        """``sign`` gives the 64-byte Ed25519 signature of exactly the message: empty, binary, long; made and imported
        keys."""
        await signing.generate("made", multikey.ED25519, did=DID, purpose=PURPOSE)
        await signing.import_key("taken", multikey.ED25519, SECRET, did=DID, purpose=PURPOSE)
        for name in ("made", "taken"):
            for message in NASTY_MESSAGES:
                await verified(signing, name, message)
        assert await signing.sign("taken", b"m") == ed25519.sign(SECRET, b"m"), "not RFC 8032's signature"

    async def test_a_key_signs_only_in_its_own_kind(self, custodian: Custodian, key_type: str) -> None:
        """``KeyRefused`` from ``sign`` for a key that is neither on Ed25519 nor on P-256, from ``sign_bbs`` for one that is not BLS."""
        await custodian.generate("k", key_type, did=DID, purpose=PURPOSE)
        if key_type in SIGNING:
            await verified(custodian, "k", b"message")
        else:
            await expect_error(KeyRefused, custodian.sign("k", b"message"))
        if key_type != multikey.BLS12381G2 or "sign_bbs" not in custodian.capabilities:
            await expect_error(KeyRefused, custodian.sign_bbs("k", b"", [b"message"]))

    async def test_it_makes_bbs_signatures(self, custodian: Custodian) -> None:
        """``sign_bbs`` gives the draft's signature over byte messages and scalars, and refuses what the suite does not
        take."""
        if not {"sign_bbs", multikey.BLS12381G2} <= custodian.capabilities:
            pytest.skip("the custodian does not declare sign_bbs")
        from identity_bbs import interface
        from identity_bbs.bls12381 import select
        from identity_bbs.suite import ciphersuite

        public = await custodian.generate("k", multikey.BLS12381G2, did=DID, purpose=PURPOSE)
        messages: list[bytes | int] = [b"", 5, b"claim", 2**200]
        signature = await custodian.sign_bbs("k", b"header", messages)
        key = multikey.decode_public(public)[1]
        interface.verify(ciphersuite(select()), key, signature, b"header", messages)
        for refused in ([-1], [2**255], [b"x"] * 300, [bytes(70_000)]):
            await expect_error(KeyRefused, custodian.sign_bbs("k", b"", list(refused)))

    async def test_it_makes_no_proof_of_possession(self, custodian: Custodian) -> None:
        """``KeyRefused`` from ``sign_bbs`` for a header that begins with the tag of such proofs: anyone who got one signed could list the
        key as that of his own DID."""
        if not {"sign_bbs", multikey.BLS12381G2} <= custodian.capabilities:
            pytest.skip("the custodian does not declare sign_bbs")

        public = await custodian.generate("k", multikey.BLS12381G2, did=DID, purpose=PURPOSE)
        tag = b"IDENTITY-SERVICE-BBS-POP-V1:"
        for header in (tag, tag + b"x", possession.possession_header(DID, public)):
            for messages in ((), (b"m",)):
                await expect_error(KeyRefused, custodian.sign_bbs("k", header, messages))
        assert len(await custodian.sign_bbs("k", b"x" + tag, ())) == 80, "only the beginning counts"

    async def test_many_tasks_may_sign_at_once(self, signing: Custodian) -> None:
        """Every signature of many concurrent callers, with several keys, is right."""
        names = [f"k{n}" for n in range(4)]
        for name in names:
            await signing.generate(name, multikey.ED25519, did=DID, purpose=PURPOSE)
        calls = (verified(signing, names[n % 4], f"message {n}".encode()) for n in range(self.signers))
        await asyncio.gather(*calls)


@own_loop_per_test
class CustodianConformance(KeyPromises, SigningPromises, HolderPromises):
    """The promises of every custodian."""

    @pytest.fixture
    def reopen(self) -> Callable[[], Custodian]:
        """Open the same keys a second time."""
        pytest.skip("the author gives no fixture 'reopen': its keys do not outlive the process")

    def test_it_is_a_custodian(self, custodian: Custodian) -> None:
        """The object has the methods of the port and declares something."""
        assert isinstance(custodian, Custodian)
        assert custodian.capabilities, "a custodian without capabilities is of no use"
        assert custodian.capabilities <= {*KEY_TYPES, "sign_bbs"}, "an unknown capability is declared"
        assert not hasattr(custodian, "private_key"), "a private key could come out"

    async def test_secrets_do_not_show(self, custodian: Custodian, key_type: str) -> None:
        """Neither the object nor an error shows a secret that was imported."""
        await custodian.import_key("k", key_type, SECRET, did=DID, purpose=PURPOSE)
        with pytest.raises(KeyNameTaken) as refusal:
            await custodian.import_key("k", key_type, SECRET, did=DID, purpose="other")
        shown = f"{custodian!r} {refusal.value!r} {refusal.value.details}"
        for form in (repr(SECRET), SECRET.hex(), multikey.encode_secret(key_type, SECRET)):
            assert form not in shown, "a secret shows"

    def test_keys_outlive_the_process(
        self, custodian: Custodian, key_type: str, reopen: Callable[[], Custodian]
    ) -> None:
        """Check that what ``generate``, ``import_key`` and ``destroy`` did holds when the keys are opened again."""

        async def before() -> list[str]:
            made = await custodian.generate("made", key_type, did=DID, purpose=PURPOSE)
            taken = await custodian.import_key("taken", key_type, SECRET, did=DID, purpose=PURPOSE)
            await custodian.generate("gone", key_type, did=DID, purpose=PURPOSE)
            await custodian.destroy("gone")
            return [made, taken]

        async def after(again: Custodian) -> list[str]:
            await expect_error(KeyNotHeld, again.public_key("gone"))
            if key_type in SIGNING:
                await verified(again, "made", b"message")
            found = [await again.public_key("made"), await again.public_key("taken")]
            await close(again)
            return found

        assert asyncio.run(before()) == asyncio.run(after(reopen())), "keys were lost or changed"

    async def test_closing_twice_is_no_error(self, custodian: Custodian) -> None:
        """``close``, where there is one, may be called twice."""
        await close(custodian)
        await close(custodian)
