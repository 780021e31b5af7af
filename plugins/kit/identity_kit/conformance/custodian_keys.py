"""The part of ``CustodianConformance`` about the keys of a custodian and their names, and the kit's own keys."""

from __future__ import annotations

import asyncio

import pytest

from identity_codec import ed25519, multikey, p256
from identity_core.domain.dids.keys import PublicKey
from identity_core.ports.custodian import Custodian, KeyNameTaken, KeyNotHeld, KeyRefused
from identity_kit.conformance.loops import expect_error, own_loop_per_test

DID = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpWmVxpJs"
PURPOSE = "assertionMethod"
KEY_TYPES = (multikey.ED25519, multikey.X25519, multikey.BLS12381G2, multikey.P256)
SIGNING = (multikey.ED25519, multikey.P256)
SECRET = bytes(range(1, 33))

REFUSED_NAMES = ("", "n" * 201, "a\0b", "a\nb", "é", "e\u0301", "\U0001f980", "a\x7f")


async def verified(custodian: Custodian, name: str, message: bytes) -> None:
    """Sign, and verify with the public key of the custodian."""
    kind, raw = multikey.decode_public(await custodian.public_key(name))
    verify = p256.verify if kind == multikey.P256 else ed25519.verify
    verify(raw, message, await custodian.sign(name, message))


class ExaminedCustodian:
    """The custodian under test, for every group of tests."""

    @pytest.fixture(params=KEY_TYPES)
    def key_type(self, request: pytest.FixtureRequest, custodian: Custodian) -> str:
        """Return each key type that the custodian declares."""
        kind: str = request.param
        if kind not in custodian.capabilities:
            pytest.skip(f"the custodian does not declare {kind}")
        return kind


NASTY_NAMES = ("a", "A", "a ", "a.", "'; DROP TABLE x; --", "%", "_", "../../x", f"{DID}#z6Mk", "n" * 200)
SCALARS = (multikey.BLS12381G2, multikey.P256)
BAD_SECRETS = (b"", b"\x01" * 31, b"\x01" * 33, b"\x01" * 64)


@own_loop_per_test
class KeyPromises(ExaminedCustodian):
    """The contract of keys: a name has one key of the requested kind until it is destroyed."""

    async def test_generate_returns_a_good_public_key_of_the_type(self, custodian: Custodian, key_type: str) -> None:
        """``generate`` returns the multikey of a valid public key of the type that was asked for, and ``public_key``
        the same."""
        made = await custodian.generate("k", key_type, did=DID, purpose=PURPOSE)
        PublicKey.parse(key_type, made)
        assert made == await custodian.public_key("k"), "public_key differs from what generate returned"

    async def test_every_key_is_another_one(self, custodian: Custodian, key_type: str) -> None:
        """Two names have two keys, even with everything else equal."""
        keys = {await custodian.generate(name, key_type, did=DID, purpose=PURPOSE) for name in ("a", "b", "A")}
        assert len(keys) == 3, "two names have one key"

    async def test_generate_again_gives_the_key_that_is_there(self, custodian: Custodian, key_type: str) -> None:
        """A second ``generate`` with the same type, DID and purpose returns the existing public key."""
        first = await custodian.generate("k", key_type, did=DID, purpose=PURPOSE)
        second = await custodian.generate("k", key_type, did=DID, purpose=PURPOSE)
        assert first == second, "a key was replaced"

    async def test_a_name_that_is_taken_is_not_given_away(self, custodian: Custodian, key_type: str) -> None:
        """Another DID, purpose or type under a name that is taken raises ``KeyNameTaken`` and leaves the key as it
        was."""
        first = await custodian.generate("k", key_type, did=DID, purpose=PURPOSE)
        others = [(key_type, DID + "x", PURPOSE), (key_type, DID, "other")]
        others += [(kind, DID, PURPOSE) for kind in KEY_TYPES if kind in custodian.capabilities - {key_type}]
        for kind, did, purpose in others:
            await expect_error(KeyNameTaken, custodian.generate("k", kind, did=did, purpose=purpose))
            await expect_error(KeyNameTaken, custodian.import_key("k", kind, SECRET, did=did, purpose=purpose))
        assert await custodian.public_key("k") == first, "the key of a taken name has changed"

    async def test_an_imported_key_is_the_key_of_its_secret(self, custodian: Custodian, key_type: str) -> None:
        """``import_key`` returns the public key of the secret; the same again is no error, another secret is
        ``KeyNameTaken``."""
        public = await custodian.import_key("k", key_type, SECRET, did=DID, purpose=PURPOSE)
        PublicKey.parse(key_type, public)
        assert public == await custodian.import_key("other", key_type, SECRET, did=DID, purpose=PURPOSE), (
            "one secret has two public keys"
        )
        assert public == await custodian.import_key("k", key_type, SECRET, did=DID, purpose=PURPOSE)
        await expect_error(KeyNameTaken, custodian.import_key("k", key_type, SECRET[::-1], did=DID, purpose=PURPOSE))
        assert await custodian.public_key("k") == public, "a second import replaced the key"
        if key_type == multikey.ED25519:
            assert public == multikey.encode_public(key_type, ed25519.generate(SECRET).public), (
                "the public key is not that of the secret"
            )

    async def test_a_secret_that_is_no_key_is_refused(self, custodian: Custodian, key_type: str) -> None:
        """``KeyRefused`` for a secret of another length, and for scalars of BLS and P-256 outside 1 to r - 1; nothing is kept."""
        bad = [*BAD_SECRETS, *((bytes(32), b"\xff" * 32) if key_type in SCALARS else ())]

        for secret in bad:
            await expect_error(KeyRefused, custodian.import_key("k", key_type, secret, did=DID, purpose=PURPOSE))
        await expect_error(KeyNotHeld, custodian.public_key("k"))

    async def test_an_unknown_type_is_refused(self, custodian: Custodian) -> None:
        """``KeyRefused`` for key types that are not declared."""
        kinds = [kind for kind in KEY_TYPES if kind not in custodian.capabilities]

        for kind in (*kinds, "Ed25519", "RsaVerificationKey2018", "", "sign_bbs"):
            await expect_error(KeyRefused, custodian.generate("k", kind, did=DID, purpose=PURPOSE))
            await expect_error(KeyRefused, custodian.import_key("k", kind, SECRET, did=DID, purpose=PURPOSE))

    async def test_names_are_kept_apart_and_bad_ones_refused(self, custodian: Custodian, key_type: str) -> None:
        """Names that differ in a letter's case, a blank or a wildcard are different; empty, long and non-ASCII ones are
        ``KeyRefused``."""
        keys = {name: await custodian.generate(name, key_type, did=DID, purpose=PURPOSE) for name in NASTY_NAMES}
        assert len(set(keys.values())) == len(NASTY_NAMES), "two names share a key"
        for name, public in keys.items():
            assert await custodian.public_key(name) == public, f"the key of {name!r} is another one"
        for name in REFUSED_NAMES:
            await expect_error(KeyRefused, custodian.generate(name, key_type, did=DID, purpose=PURPOSE))

    async def test_an_unknown_name_is_not_held(self, custodian: Custodian) -> None:
        """``KeyNotHeld`` from every use of a name that has no key, whatever the name looks like."""
        for name in ("absent", *REFUSED_NAMES, "%", "n" * 5_000):
            await expect_error(KeyNotHeld, custodian.public_key(name))
            await expect_error(KeyNotHeld, custodian.sign(name, b"message"))
            await expect_error(KeyNotHeld, custodian.sign_bbs(name, b"", [b"message"]))

    async def test_many_tasks_that_generate_one_name_get_one_key(self, custodian: Custodian, key_type: str) -> None:
        """Concurrent ``generate`` of one name makes one key, and all callers get it."""
        calls = (custodian.generate("k", key_type, did=DID, purpose=PURPOSE) for _ in range(16))
        keys = {*await asyncio.gather(*calls), await custodian.public_key("k")}
        assert len(keys) == 1, "callers got different keys for one name"

    async def test_a_destroyed_key_is_gone(self, custodian: Custodian, key_type: str) -> None:
        """After ``destroy`` the name is unknown and free; destroying again, or nothing, is no error."""
        first = await custodian.generate("k", key_type, did=DID, purpose=PURPOSE)
        await custodian.generate("bystander", key_type, did=DID, purpose=PURPOSE)
        await custodian.destroy("k")
        await expect_error(KeyNotHeld, custodian.public_key("k"))
        await expect_error(KeyNotHeld, custodian.sign("k", b"message"))
        await custodian.destroy("k")
        await custodian.destroy("absent")
        assert await custodian.public_key("bystander"), "another key was destroyed too"
        assert await custodian.generate("k", key_type, did=DID, purpose="new") != first, "the old key came back"
