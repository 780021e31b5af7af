"""Many proofs with one product of pairings: the same answers as one by one, and the wrong ones by their places."""

from os import urandom

import pytest
from identity_bound_credentials.domain.presentation import Acceptance
from identity_kit.conformance import prover_cases as first
from identity_prover_bbs import BbsProver
from identity_prover_bbs.suite2 import (
    PresentationEnvelope,
    PresentationVerifier,
    ReceivedPresentation,
    VerifiedPresentation,
)

from identity_bbs import batch, core
from identity_bbs.bls12381 import select
from identity_bbs.encoding import octets_to_public_key
from identity_bbs.suite import ciphersuite
from identity_core.errors import ProofInvalid
from tests.attack.test_presentation_soundness import CREDENTIAL, forge, scene
from tests.presenting import AUDIENCE, NONCE, NOW, Issuer

SUITE = ciphersuite(select())
VERIFIER = PresentationVerifier(SUITE.curve)


class Products:
    """Counts the products of pairings."""

    def __init__(self, monkeypatch):
        self.count = 0
        honest = type(SUITE.curve).pairing_product_is_one

        def counted(curve, pairs):
            self.count += 1
            return honest(curve, pairs)

        monkeypatch.setattr(type(SUITE.curve), "pairing_product_is_one", counted)


@pytest.fixture
def products(monkeypatch):
    return Products(monkeypatch)


def received(asked, text, **changes):
    expected = {"audience": AUDIENCE, "nonce": NONCE, "acceptance": Acceptance(NOW)} | changes
    return ReceivedPresentation(text, asked.question, asked.keys, **expected)


def claims(text, asked):
    """Return the rest of a presentation: its parts."""
    return VERIFIER._claims(asked.statement, asked.bound, PresentationEnvelope.decode(text), Acceptance(NOW))


ASKED = scene(status=True)


@pytest.fixture(scope="module")
def honest():
    return ASKED.prove()


@pytest.fixture(scope="module")
def unsigned():
    """Return a proof whose only fault is an unsigned gap: only the pairings show it."""
    return forge(ASKED, lambda messages: messages[1].__setitem__(slice(0, 2), (0, (1 << 32) - 1)))


@pytest.mark.parametrize("wrong", [(), (0,), (6,), (2, 3), (0, 6), (0, 1, 2, 3, 4, 5, 6)])
def test_the_wrong_ones_are_found(wrong, honest, unsigned, products):
    texts = [unsigned if number in wrong else honest for number in range(7)]
    answers = VERIFIER.accept_all([received(ASKED, text) for text in texts])
    assert {number for number, one in enumerate(answers) if isinstance(one, ProofInvalid)} == set(wrong)
    assert all(isinstance(one, VerifiedPresentation) for number, one in enumerate(answers) if number not in wrong)
    assert products.count <= (2 * 7 - 1 if wrong else 1)
    for number, one in enumerate(answers):
        if number in wrong:
            with pytest.raises(ProofInvalid) as alone:
                ASKED.accept(texts[number])
            assert one.details == alone.value.details
        else:
            assert one == ASKED.accept(texts[number])


def test_early_refusal_keeps_its_reason(honest, unsigned, products):
    cases = [
        received(ASKED, honest),
        received(ASKED, honest, nonce=b"another nonce of the verifier"),
        received(ASKED, "x"),
        received(ASKED, unsigned),
        received(scene(pseudonym="shop"), scene(pseudonym="shop").prove()),
    ]
    answers = VERIFIER.accept_all(cases)
    reasons = [one.details["reason"] if isinstance(one, ProofInvalid) else None for one in answers]
    assert reasons[0] is None
    assert reasons[1] == "the proof is not bound to the expected challenge"
    assert "envelope" in reasons[2]
    assert reasons[3] == "the proof does not match"
    assert answers[4].pseudonym is not None
    assert VERIFIER.accept_all([]) == []
    assert batch.wrong_groups(SUITE, [], urandom) == set()


def test_errors_that_cancel(honest, monkeypatch):
    """The Bbar of two proofs are wrong by X and -X: weights that the prover cannot foretell tell, equal ones do not."""
    curve = SUITE.curve
    error = curve.g1_mul(curve.g1_generator(), 12345)
    groups = [claims(honest, ASKED), claims(honest, ASKED)]
    for group, wrong in zip(groups, (error, curve.g1_neg(error)), strict=True):
        key, proof = group[0]
        group[0] = (key, proof._replace(b_bar=curve.g1_add(proof.b_bar, wrong)))
    assert batch.wrong_groups(SUITE, groups, urandom) == {0, 1}
    assert batch.wrong_groups(SUITE, groups, lambda count: bytes([*bytes(count - 1), 1])) == set()


def test_randomness_that_gives_too_little(honest):
    with pytest.raises(ValueError, match="randomness"):
        batch.wrong_groups(SUITE, [claims(honest, ASKED)], lambda count: bytes(count - 1))


def test_every_weight_is_drawn_for_itself(honest):
    drawn = []

    def random(count):
        drawn.append(data := urandom(count))
        return data

    assert VERIFIER.accept_all([received(ASKED, honest)] * 3, random)
    assert len(set(drawn)) == len(drawn) == 3 * 2
    assert {len(data) for data in drawn} == {16}


def test_another_key_in_one_batch(honest):
    """Proofs under several keys share one product, each under its own."""
    other = Issuer("did:ids:uni", "uni")
    group = claims(honest, ASKED)
    stranger = [(octets_to_public_key(SUITE, other.public), group[0][1]), *group[1:]]
    assert batch.wrong_groups(SUITE, [group, stranger, group], urandom) == {1}
    assert CREDENTIAL.header.method == ASKED.issuers[0].method


def test_proofs_of_suite_1(products):
    issuer, prover = first.BbsIssuer(), BbsProver(SUITE.curve, urandom)
    asked = first.statement(issuer.key, ("score", "gte", 200))
    made = prover.prove(asked, issuer.credential(first.SCHEMA, first.HANA), context=first.context())
    right = (asked, made, first.context(), first.NOW)
    wrong = (asked, made, first.context("another"), first.NOW)
    products.count = 0
    assert prover.verify_all([right] * 5) == [None] * 5
    assert products.count == 1
    answers = prover.verify_all([right, wrong, right])
    assert [one is None for one in answers] == [True, False, True]


def test_a_pairing_of_suite_1_that_is_wrong():
    """A proof of a signature that is none, right in all but its pairing."""
    issuer, stranger = first.BbsIssuer(), first.BbsIssuer("mallory")
    prover = BbsProver(SUITE.curve, urandom)
    asked = first.statement(issuer.key, ("country", "eq", "JP"))
    witness = stranger.credential(first.SCHEMA, first.HANA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "core_verify", lambda *given: None)
        patch.setattr(core, "verify_point", lambda *given: None)
        forged = prover.prove(asked, witness, context=first.context())
    good = prover.prove(asked, issuer.credential(first.SCHEMA, first.HANA), context=first.context())
    with pytest.raises(ProofInvalid):
        prover.verify(asked, forged, context=first.context(), now=first.NOW)
    asks = [(asked, made, first.context(), first.NOW) for made in (good, forged, good, good)]
    assert [one is None for one in prover.verify_all(asks)] == [True, False, True, True]
