"""The part of ``CustodianConformance`` about holders' secrets and the credentials that are bound to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from identity_bbs import blind
from identity_bbs.blind import BOUND_HEADER_TAG, CommitmentInvalid, IssueRequest
from identity_bbs.bls12381 import select
from identity_bbs.consent import ConsentInvalid, check_consent
from identity_bbs.encoding import mixed_messages_to_scalars, octets_to_signature
from identity_bbs.openings import BLIND_SLOT
from identity_bbs.suite import ciphersuite
from identity_codec import multikey
from identity_codec.values import replace
from identity_core.ports.custodian import Custodian, HolderCustodian, KeepingCustodian, KeyRefused
from identity_kit.conformance.custodian_keys import DID, PURPOSE, REFUSED_NAMES, ExaminedCustodian
from identity_kit.conformance.loops import close, expect_error, own_loop_per_test

ISSUER = "did:ids:QmXoypizjW3WknFiJnKLwHCnL72vedxjQkDDP1mXWo6uco"
REQUEST = IssueRequest(f"{ISSUER}#bbs", BOUND_HEADER_TAG + b"{}", DID, b"n" * 32)
MESSAGES = (b"claim", 0, 65_535, 7, b"")


@own_loop_per_test
class HolderPromises(ExaminedCustodian):
    """The contract of holders' secrets: they are stored, used only for their purpose, and never shown."""

    @pytest.fixture
    def keeper(self, custodian: Custodian) -> KeepingCustodian:
        """Return the custodian, if it keeps holders' secrets."""
        if not isinstance(custodian, KeepingCustodian):
            pytest.skip("the custodian keeps no holders' secrets")
        return custodian

    @pytest.fixture
    def signer(self, custodian: Custodian) -> HolderCustodian:
        """Return the custodian, if it signs credentials that are bound to them too."""
        if not isinstance(custodian, HolderCustodian):
            pytest.skip("the custodian signs no credentials that are bound to holders' secrets")
        return custodian

    async def test_a_commitment_is_one_of_the_secret_it_names(self, keeper: KeepingCustodian) -> None:
        """``commit_holder`` gives a commitment that its issuer accepts: the same secret is recognised at each issue and another is
        not, and no two credentials have one point."""
        suite = ciphersuite(select())
        made = [
            blind.check_commitment(suite, await keeper.commit_holder(secret, credential, REQUEST), REQUEST)
            for secret, credential in (("hana", "a"), ("hana", "b"), ("hanb", "a"), ("hana", "a"))
        ]
        assert made[0].holder_tag == made[1].holder_tag == made[3].holder_tag, "one secret gave two tags"
        assert made[0].holder_tag != made[2].holder_tag, "two secrets gave one tag"
        assert len({one.point_octets for one in made}) == 3, "two credentials have one point"
        assert made[0].point_octets == made[3].point_octets, "the blind of a credential is another one the second time"
        assert made[0].encoded != made[3].encoded, "masks repeat"

    async def test_a_commitment_is_for_one_request(self, keeper: KeepingCustodian) -> None:
        """No other issuer, header, holder or nonce takes it."""
        data = await keeper.commit_holder("hana", "a", REQUEST)
        for other in _others():
            with pytest.raises(CommitmentInvalid):
                blind.check_commitment(ciphersuite(select()), data, other)

    async def test_it_signs_what_was_committed_to(self, signer: HolderCustodian) -> None:
        """``sign_bbs_blind`` gives the signature of the key it names on commitment and messages."""
        suite = ciphersuite(select())
        public = await signer.generate("k", multikey.BLS12381G2, did=ISSUER, purpose=PURPOSE)
        commitment = await signer.commit_holder("hana", "a", REQUEST)
        signature = await signer.sign_bbs_blind("k", MESSAGES, commitment, REQUEST)
        point = blind.check_commitment(suite, commitment, REQUEST).point_octets
        key, known = multikey.decode_public(public)[1], mixed_messages_to_scalars(MESSAGES)
        blind.verify_blind(suite, key, REQUEST.header, known, point, octets_to_signature(suite, signature))

    async def test_it_signs_no_other_commitment(self, signer: HolderCustodian) -> None:
        """``KeyRefused`` for a commitment to another request, a changed one and none; for a header of another kind of credential, under
        which the holder would choose the content of slots 0 and 1; and for a key of another type."""
        await signer.generate("k", multikey.BLS12381G2, did=ISSUER, purpose=PURPOSE)
        commitment = await signer.commit_holder("hana", "a", REQUEST)
        changed = [commitment[:-1] + bytes([commitment[-1] ^ 1]), commitment[:-1], b"", bytes(192)]
        for data in changed:
            await expect_error(KeyRefused, signer.sign_bbs_blind("k", MESSAGES, data, REQUEST))
        for other in _others():
            await expect_error(KeyRefused, signer.sign_bbs_blind("k", MESSAGES, commitment, other))
        plain = replace(REQUEST, header=b"another kind of header")
        with pytest.raises(KeyRefused):
            await signer.sign_bbs_blind("k", MESSAGES, await signer.commit_holder("hana", "a", plain), plain)
        await signer.generate("e", multikey.ED25519, did=ISSUER, purpose=PURPOSE)
        await expect_error(KeyRefused, signer.sign_bbs_blind("e", MESSAGES, commitment, REQUEST))

    async def test_a_consent_is_to_one_message(self, keeper: KeepingCustodian) -> None:
        """``consent`` gives a consent to exactly the message, by the holder of all credentials; ρ is what joins it to each of them."""
        suite = ciphersuite(select())
        points = [
            blind.check_commitment(suite, await keeper.commit_holder("hana", name, REQUEST), REQUEST).point
            for name in ("a", "b")
        ]
        agreed = await keeper.consent("hana", ("a", "b"), b"message", "https://shop.example")
        checked = check_consent(suite, agreed.encoded, 2, b"message", "https://shop.example")
        for point, shown, rho in zip(points, checked.points, agreed.rhos, strict=True):
            again = suite.curve.g1_add(shown, suite.curve.g1_mul(suite.generator(BLIND_SLOT), rho))
            assert suite.curve.g1_to_octets(again) == suite.curve.g1_to_octets(point), "rho does not join them"
        for message, context in ((b"another", "https://shop.example"), (b"message", "https://bank.example")):
            with pytest.raises(ConsentInvalid):
                check_consent(suite, agreed.encoded, 2, message, context)
        later = await keeper.consent("hana", ("a", "b"), b"message", "https://shop.example")
        assert check_consent(suite, later.encoded, 2, b"message", "https://shop.example").pseudonym == checked.pseudonym
        assert later.encoded[:48] != agreed.encoded[:48], "two consents show one point"
        alone = await keeper.consent("hana", ("a",), b"message", None)
        assert check_consent(suite, alone.encoded, 1, b"message").pseudonym is None

    async def test_names_of_secrets_are_checked(self, keeper: KeepingCustodian) -> None:
        """``KeyRefused`` for ids that are not names, and for a consent about nothing."""
        for name in REFUSED_NAMES:
            await expect_error(KeyRefused, keeper.commit_holder("hana", name, REQUEST))
            await expect_error(KeyRefused, keeper.consent("hana", ("a", name), b"message", None))
        await expect_error(KeyRefused, keeper.commit_holder("", "a", REQUEST))
        await expect_error(KeyRefused, keeper.consent("hana", (), b"message", None))

    async def test_many_may_ask_at_once(self, keeper: KeepingCustodian) -> None:
        """Every commitment of many concurrent callers is right, each with its own credential's point."""
        suite = ciphersuite(select())
        made = await asyncio.gather(*(keeper.commit_holder("hana", f"c{n}", REQUEST) for n in range(8)))
        assert len({blind.check_commitment(suite, data, REQUEST).point_octets for data in made}) == 8

    def test_secrets_of_holders_outlive_the_process(
        self, keeper: KeepingCustodian, reopen: Callable[[], Custodian]
    ) -> None:
        """The same secret and blind when the custodian is opened again: else every credential is lost with the process."""
        suite = ciphersuite(select())
        before = asyncio.run(keeper.commit_holder("hana", "a", REQUEST))
        asyncio.run(close(keeper))
        again = reopen()
        assert isinstance(again, KeepingCustodian)
        after = asyncio.run(again.commit_holder("hana", "a", REQUEST))
        asyncio.run(close(again))
        first, second = (blind.check_commitment(suite, data, REQUEST) for data in (before, after))
        assert (first.point_octets, first.holder_tag) == (second.point_octets, second.holder_tag)


def _others() -> list[IssueRequest]:
    return [
        replace(REQUEST, method=f"{DID}#bbs"),
        replace(REQUEST, header=REQUEST.header + b" "),
        replace(REQUEST, holder=ISSUER),
        replace(REQUEST, nonce=b"m" * 32),
    ]
