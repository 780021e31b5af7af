"""The promises of a custodian about what it signs. They are part of ``CustodianConformance``."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from identity_core.codec import multikey
from identity_core.conformance.custodian_examined import DID, PURPOSE, SECRET, ExaminedCustodian, run, verified
from identity_core.crypto import ed25519
from identity_core.domain import possession
from identity_core.domain.custody import KeyRefused
from identity_core.ports.custodian import Custodian

NASTY_MESSAGES = (b"", b"\0", bytes(64), b"\xff" * 32, bytes(range(256)) * 256)


class SigningPromises(ExaminedCustodian):
    """Signatures are right, of the right kind, and nobody's haste spoils them."""

    signers: ClassVar[int] = 64
    """How many tasks sign at once."""

    @pytest.fixture
    def signing(self, custodian: Custodian) -> Custodian:
        """The custodian, when it declares Ed25519."""
        if multikey.ED25519 not in custodian.capabilities:
            pytest.skip(f"the custodian does not declare {multikey.ED25519}")
        return custodian

    def test_it_signs_what_it_is_given(self, signing: Custodian) -> None:
        """``sign`` gives the 64-byte Ed25519 signature of exactly the message: empty, binary, long; made and imported
        keys."""

        async def scenario() -> None:
            await signing.generate("made", multikey.ED25519, did=DID, purpose=PURPOSE)
            await signing.import_key("taken", multikey.ED25519, SECRET, did=DID, purpose=PURPOSE)
            for name in ("made", "taken"):
                for message in NASTY_MESSAGES:
                    await verified(signing, name, message)
            assert await signing.sign("taken", b"m") == ed25519.sign(SECRET, b"m"), "not RFC 8032's signature"

        run(scenario())

    def test_a_key_signs_only_in_its_own_kind(self, custodian: Custodian, key_type: str) -> None:
        """``KeyRefused`` from ``sign`` for a key that is not Ed25519, from ``sign_bbs`` for one that is not BLS."""

        async def scenario() -> None:
            await custodian.generate("k", key_type, did=DID, purpose=PURPOSE)
            if key_type != multikey.ED25519:
                with pytest.raises(KeyRefused):
                    await custodian.sign("k", b"message")
            if key_type != multikey.BLS12381G2 or "sign_bbs" not in custodian.capabilities:
                with pytest.raises(KeyRefused):
                    await custodian.sign_bbs("k", b"", [b"message"])

        run(scenario())

    def test_it_makes_bbs_signatures(self, custodian: Custodian) -> None:
        """``sign_bbs`` gives the draft's signature over octet messages and scalars, and refuses what the suite does not
        take."""
        if not {"sign_bbs", multikey.BLS12381G2} <= custodian.capabilities:
            pytest.skip("the custodian does not declare sign_bbs")
        from identity_core.crypto.bbs import core, octets
        from identity_core.crypto.bbs.suite import ciphersuite
        from identity_core.crypto.bls12381 import select

        suite = ciphersuite(select())

        async def scenario() -> None:
            public = await custodian.generate("k", multikey.BLS12381G2, did=DID, purpose=PURPOSE)
            key = octets.octets_to_public_key(suite, multikey.decode_public(public)[1])
            messages: list[bytes | int] = [b"", 5, b"claim", 2**200]
            signature = await custodian.sign_bbs("k", b"header", messages)
            scalars = octets.mixed_messages_to_scalars(messages)
            core.core_verify(suite, key, octets.octets_to_signature(suite, signature), b"header", scalars)
            for refused in ([-1], [2**255], [b"x"] * 300, [bytes(70_000)]):
                with pytest.raises(KeyRefused):
                    await custodian.sign_bbs("k", b"", list(refused))

        run(scenario())

    def test_it_makes_no_proof_of_possession(self, custodian: Custodian) -> None:
        """``KeyRefused`` from ``sign_bbs`` for a header that begins with the tag of such proofs: whoever got one signed could list the
        key as that of his own DID."""
        if not {"sign_bbs", multikey.BLS12381G2} <= custodian.capabilities:
            pytest.skip("the custodian does not declare sign_bbs")

        async def scenario() -> None:
            public = await custodian.generate("k", multikey.BLS12381G2, did=DID, purpose=PURPOSE)
            tag = b"IDENTITY-SERVICE-BBS-POP-V1:"
            for header in (tag, tag + b"x", possession.header(DID, public)):
                for messages in ((), (b"m",)):
                    with pytest.raises(KeyRefused):
                        await custodian.sign_bbs("k", header, messages)
            assert len(await custodian.sign_bbs("k", b"x" + tag, ())) == 80, "only the beginning counts"

        run(scenario())

    def test_many_tasks_may_sign_at_once(self, signing: Custodian) -> None:
        """Every signature of many concurrent callers, with several keys, is right."""

        async def scenario() -> None:
            names = [f"k{n}" for n in range(4)]
            for name in names:
                await signing.generate(name, multikey.ED25519, did=DID, purpose=PURPOSE)
            calls = (verified(signing, names[n % 4], f"message {n}".encode()) for n in range(self.signers))
            await asyncio.gather(*calls)

        run(scenario())
