"""Verifiers that forget one check: the matching attack passes them, so that the refusals of the whole one are those of this check."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from identity_bound_credentials.domain import presentation
from identity_bound_credentials.domain.presentation import Acceptance, ConsentTerms, Cover, PresentationStatement
from identity_bound_credentials.domain.presented import sign_as_agent
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_kit.conformance.prover_cases import HANA
from identity_prover_bbs import set_argument
from identity_prover_bbs.committed_vector import VerifierVector
from identity_prover_bbs.suite2 import PresentationEnvelope, argument, prover, received, relation, verifier
from identity_prover_bbs.suite2.layout import VectorLayout

from identity_bbs import consent, core
from identity_codec import ed25519
from identity_codec.values import replace
from tests import presenting
from tests.attack.presentation_forge import CheatingVector, PresentationForger, material, points_of
from tests.attack.test_presentation_soundness import (
    CREDENTIAL,
    HEADER,
    IVO,
    MISMATCH,
    OTTO,
    OTTOS,
    cheater,
    claimant,
    consented,
    forge,
    scene,
    signed_anew,
)
from tests.presenting import (
    AUDIENCE,
    CURVE,
    DAY,
    NONCE,
    NOW,
    Issuer,
    Scene,
    context,
    seeded,
)

Mutant = Callable[[pytest.MonkeyPatch], object]


@pytest.fixture(autouse=True)
def _forgotten():
    """Relations of a mutant are not remembered for others."""
    relation.PresentationRelation.from_statement.cache_clear()
    yield
    relation.PresentationRelation.from_statement.cache_clear()


def passes_only(monkeypatch, mutant: Mutant, asked: Scene, text: str, **accepted):
    """Refused by the whole verifier, taken by the mutant."""
    reason = asked.verdict(text, **accepted)
    assert reason is not True
    with monkeypatch.context() as patch:
        mutant(patch)
        relation.PresentationRelation.from_statement.cache_clear()
        assert asked.verdict(text, **accepted) is True
    relation.PresentationRelation.from_statement.cache_clear()
    return reason


def test_without_the_consents_signature(monkeypatch):
    """One for another request passes."""

    def trusting(suite, data, count, message, pseudonym=None):
        return consent.CheckedConsent(points_of(suite, data, count), None)

    asked, other = consented(), consented()
    other.context = context(nonce=b"another nonce of the verifier")
    messages, signatures, given = material(other)
    text = PresentationForger(CURVE).forge(asked, messages, signatures, consent=given)
    passes_only(monkeypatch, lambda patch: patch.setattr(verifier, "check_consent", trusting), asked, text)


def test_without_the_consents_points_in_the_base(monkeypatch):
    """A stranger's consent stands beside a credential of the prover's own, whose secret is 1."""
    asked = consented()
    suite = verifier.PresentationVerifier(CURVE)._suite
    known, _, given = material(asked)
    rho = known[0][1]
    signature = IVO.sign(HEADER.encoded, [1, rho, *known[0][2:]])

    class AnyBase(PresentationForger):
        def base_of(self, base):
            return None

    text = AnyBase(CURVE).forge(asked, known, [signature], consent=given)
    plain = suite.combine(1, 0, (), ())
    passes_only(monkeypatch, lambda patch: patch.setattr(verifier, "consented_base", lambda *_: plain), asked, text)


def test_without_the_class_of_holders(monkeypatch):
    """Two holders join; with the class, also a proof of the right length is refused."""
    asked = scene(held=[CREDENTIAL, OTTOS])
    messages, signatures, _ = material(asked)
    messages[1][0] = OTTO.secret.scalar
    assert asked.verdict(PresentationForger(CURVE).forge(asked, messages, signatures)) == MISMATCH
    loose = lambda patch: patch.setattr(relation, "_owners", lambda *_: {})  # noqa: E731
    with monkeypatch.context() as patch:
        loose(patch)
        relation.PresentationRelation.from_statement.cache_clear()
        text = PresentationForger(CURVE).forge(asked, messages, signatures)
    relation.PresentationRelation.from_statement.cache_clear()
    passes_only(monkeypatch, loose, asked, text)


def test_without_the_comparison_of_the_leads_responses(monkeypatch):
    """Two slots of one credential that differ pass for the same."""
    asked = scene(same=(((0, "country"), (0, "name")),))
    with monkeypatch.context() as patch:
        # Each slot with its own mask, as an honest prover has them without the class.
        patch.setattr(prover, "_masks", own_masks)
        text = forge(asked)

    def careless(made, sent, lead):
        loose = replace(made, owner={slot: slot for slot in made.owner})
        return dict(zip(loose.owned(0), lead.m_hats, strict=True))

    passes_only(monkeypatch, lambda patch: patch.setattr(verifier, "_responses", careless), asked, text)


def own_masks(made, hedged, honest=prover._masks):
    return honest(replace(made, owner={}), hedged)


@pytest.mark.parametrize("dropped", [2, 3])
def test_without_one_side_of_the_gap(monkeypatch, dropped):
    """A handle below the gap, or above it."""
    asked = scene(status=True)
    handle = 5 if dropped == 2 else 4_200_000_000

    def change(messages):
        messages[0][5] = handle

    messages, signatures = signed_anew(asked, change)
    honest = relation._intervals

    def one_sided(*given):
        found = honest(*given)
        return [*found[:dropped], *found[dropped + 1 :]]

    assert asked.verdict(PresentationForger(CURVE).forge(asked, messages, signatures)) == MISMATCH
    loose = lambda patch: patch.setattr(relation, "_intervals", one_sided)  # noqa: E731
    with monkeypatch.context() as patch:
        loose(patch)
        relation.PresentationRelation.from_statement.cache_clear()
        text = PresentationForger(CURVE).forge(asked, messages, signatures)
    relation.PresentationRelation.from_statement.cache_clear()
    passes_only(monkeypatch, loose, asked, text)


def test_without_the_pairings(monkeypatch):
    """An unsigned gap is refused by the pairings alone."""
    asked = scene(status=True)

    def change(messages):
        messages[1][:] = (0, (1 << 32) - 1)

    text = forge(asked, change)
    reason = passes_only(monkeypatch, lambda patch: patch.setattr(core, "check_pairings", lambda *_: None), asked, text)
    assert reason == MISMATCH


def test_without_weights(monkeypatch):
    """Errors of two parts that cancel: the lead's Bbar is wrong by X, the gap's by -X."""
    asked = scene(status=True)
    curve = CURVE
    x = curve.g1_mul(curve.g1_generator(), 12345)

    honest = PresentationEnvelope.decode(asked.prove())
    made = verifier.PresentationVerifier(CURVE)
    parts = [core_part(made, asked, honest, number, x) for number in (0, 1)]
    ph = b"what was received"
    with pytest.raises(core.BbsProofInvalid):
        made._check_pairings(honest, parts, ph)
    monkeypatch.setattr(verifier, "_weight", lambda *_: 1)
    made._check_pairings(honest, parts, ph)


def core_part(made, asked, honest, number, x):
    """A received part whose Bbar is wrong by X or -X."""
    data = (*honest.credential_proofs, *honest.gap_proofs)[number]
    proof = made._satellite(data)
    error = x if number == 0 else CURVE.g1_neg(x)
    signed = relation.PresentationRelation.from_statement(asked.statement).parts[number]
    key = verifier.octets_to_public_key(made._suite, signed.key)
    return verifier._Received(key, proof._replace(b_bar=CURVE.g1_add(proof.b_bar, error)), None)


def test_without_t0(monkeypatch):
    """Digits that are none."""
    asked = scene(("score", "gte", 250), validity=False)
    text = forge(asked, vector=cheater("one digit takes all"))
    assert asked.verdict(text) == MISMATCH
    honest = VerifierVector.second

    def drop_first(self, c, value):
        return honest(self, c, value)[1:]

    class Forgetful(cheater("one digit takes all")):
        def second(self, y):
            return super().second(y)[1:]

    text = forge(asked, vector=Forgetful)
    passes_only(monkeypatch, lambda patch: patch.setattr(VerifierVector, "second", drop_first), asked, text)


def test_without_rows(monkeypatch):
    """What is equal passes for unequal, and neither of two alternatives for one."""

    def rowless(patch):
        honest = VectorLayout.from_intervals.__func__
        patch.setattr(
            VectorLayout, "from_intervals", classmethod(lambda cls, *given: replace(honest(cls, *given), rows=()))
        )

    for asked, more in (
        (scene(("country", "neq", HANA["country"])), {"inverses": (3, 3)}),
        (scene(("score", "lte", 3), ("balance", "lt", 5), either=((0, 1),)), {}),
    ):
        vector = cheater("zeros", forgets_rows=True, **more)
        text = forge(asked, vector=vector, selected=[0])
        passes_only(monkeypatch, rowless, asked, text)


@pytest.mark.parametrize(("name", "elements"), [("country", ["DE", "ES"]), ("score", [0, 210, 250])])
def test_without_the_test_of_bits(monkeypatch, name, elements):
    """A value outside the set lies between two of its elements."""
    asked = scene((name, "set_member", elements))

    def bitless(padded, responses, message_response, y, c):
        return honest(padded, responses, message_response, 0, c)

    class Unbitten(claimant("between two")):
        def second(self, y):
            return super().second(0)

    honest = set_argument.check_value
    text = forge(asked, member=Unbitten)
    reason = passes_only(monkeypatch, lambda patch: patch.setattr(set_argument, "check_value", bitless), asked, text)
    assert reason == MISMATCH


def test_without_the_derived_response(monkeypatch):
    """Digits of another number, when the link to the message is not made."""
    asked = scene(("score", "gte", 250), validity=False)
    made = relation.PresentationRelation.from_statement(asked.statement).layout
    derived = made.spans[0][-1]

    class Unlinked(CheatingVector):
        def _masks(self, message_masks, hedged):
            masks = super()._masks(message_masks, hedged)
            masks[derived] = 0
            return masks

    text = forge(asked, vector=Unlinked)
    assert asked.verdict(text) == MISMATCH
    # A digit of 0 under the mask 0 has the response 0: a verifier that does not derive it takes that.
    passes_only(monkeypatch, lambda patch: patch.setattr(argument, "replace_last", lambda *_: 0), asked, text)


def test_without_the_equalitys_mask(monkeypatch):
    asked = scene(("score", "eq", 210))
    text = forge(asked)

    def careless(made, sent, lead, honest=verifier._responses):
        return honest(replace(made, equal={}), sent, lead)

    passes_only(monkeypatch, lambda patch: patch.setattr(verifier, "_responses", careless), asked, text)


def test_without_what_eq_discloses(monkeypatch):
    asked, other = scene(("country", "eq", "DE")), scene(("country", "eq", "JP"))
    found = PresentationEnvelope.decode(other.prove())
    text = replace(found, question=asked.question).encode()
    assert asked.verdict(text) is not True
    stated = lambda patch: patch.setattr(verifier, "check_envelope", lambda *_: None)  # noqa: E731
    with monkeypatch.context() as patch:
        stated(patch)
        assert asked.verdict(text) == MISMATCH, "the disclosed scalar is the verifier's own anyway"


def test_without_the_day(monkeypatch):
    asked = scene()
    asked.now += timedelta(days=1)
    asked.context = context(issued_at=NOW, expires_at=NOW + timedelta(minutes=5))
    text = asked.prove()  # as of tomorrow

    class AnyDay(int):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return hash(DAY + 1)

    any_day = lambda patch: patch.setattr(presentation, "proof_day", lambda _: AnyDay(DAY))  # noqa: E731
    passes_only(monkeypatch, any_day, asked, text, acceptance=Acceptance(NOW))


def test_without_the_epoch(monkeypatch):
    asked = scene(status=True)
    epoch = IVO.epoch(NOW - timedelta(days=3))
    with monkeypatch.context() as patch:
        patch.setattr(Issuer, "epoch", lambda self, now=NOW, **changes: epoch)
        text = asked.prove()
    reason = passes_only(
        monkeypatch, lambda patch: patch.setattr(StatusEpoch, "is_acceptable", lambda *_: True), asked, text
    )
    assert reason == "the status list is of another time"


class UncheckedStatement(PresentationStatement, frozen=True):
    def __post_init__(self) -> None:
        """Check nothing."""


@pytest.mark.parametrize("change", [{"list_id": "x" * 22}, {"issuer": "did:ids:eve", "method": "did:ids:eve#bbs"}])
def test_without_the_comparison_of_lists(monkeypatch, change):
    """A list of the issuer's own for others, and a list of another."""
    eve = Issuer("did:ids:eve", "ivo")
    asked = scene(status=True)
    asked.issuers = (IVO, eve)
    other = IVO.epoch(**change)

    def loose(patch):
        for module in (presenting, received):
            patch.setattr(module, "PresentationStatement", UncheckedStatement)

    with monkeypatch.context() as patch:
        loose(patch)
        patch.setattr(Issuer, "epoch", lambda self, now=NOW, **changes: other)
        text = asked.prove()
    reason = passes_only(monkeypatch, loose, asked, text)
    assert reason == "the status list is not the one that the credential names"


def test_a_consent_covers_what_the_verifier_wants():
    """A consent that leaves the audience open, for a verifier who wants it covered."""
    asked = consented()
    asked.terms = replace(asked.terms, cover=Cover.CHALLENGE | Cover.QUESTION)
    text = asked.prove()
    assert asked.verdict(text, acceptance=Acceptance(NOW, cover=Cover.QUESTION)) is True
    reason = asked.verdict(text)
    assert reason == "the holder's consent does not cover what it must"


def test_without_the_agents_signature(monkeypatch):
    secret, key = agent()
    asked = consented()
    asked.agent_key = key
    asked.terms = ConsentTerms.around(NOW, timedelta(hours=2), Cover.AGENT | Cover.QUESTION | Cover.AUDIENCE)
    text = asked.prove()
    accepted = {"acceptance": Acceptance(NOW, cover=asked.terms.cover)}
    signed = sign_as_agent(text, lambda message: ed25519.sign(secret, message))
    assert asked.verdict(signed, **accepted) is True
    stranger = sign_as_agent(text, lambda message: ed25519.sign(bytes(32), message))
    elsewhere = replace(asked, seed=4).prove()
    moved = replace(
        PresentationEnvelope.decode(elsewhere), agent_signature=PresentationEnvelope.decode(signed).agent_signature
    ).encode()
    for hostile in (text, stranger, moved):
        reason = passes_only(
            monkeypatch,
            lambda patch: patch.setattr(verifier, "check_agent", lambda _: None),
            asked,
            hostile,
            **accepted,
        )
        assert "agent" in reason


def agent():
    secret = seeded(8)(32)
    return secret, ed25519.generate(secret).public


@pytest.mark.parametrize(
    ("name", "change"),
    [("audience", {"audience": "https://other.example"}), ("challenge", {"nonce": b"another nonce of the verifier"})],
)
def test_the_verifiers_own_request_is_compared(name, change):
    asked = scene()
    text = asked.prove()
    assert asked.verdict(text, **change) == f"the proof is not bound to the expected {name}"
    assert asked.verdict(text, audience=AUDIENCE, nonce=NONCE) is True


def test_without_u(monkeypatch):
    """Another's pseudonym, when U is not under the challenge."""
    asked, ottos = scene(pseudonym="shop"), scene(held=[OTTOS], pseudonym="shop")
    ottos.holder = OTTO
    hers = PresentationEnvelope.decode(asked.prove()).pseudonym
    honest = relation.PresentationRelation.first_message

    def ignore_commitments(self, bound, inits, agreed, pseudonym, commitments):
        return honest(self, bound, inits, agreed, [], commitments)

    loose = lambda patch: patch.setattr(relation.PresentationRelation, "first_message", ignore_commitments)  # noqa: E731
    with monkeypatch.context() as patch:
        loose(patch)
        his = PresentationEnvelope.decode(ottos.prove())
    passes_only(monkeypatch, loose, asked, replace(his, pseudonym=hers).encode())
