"""Proofs of suite 2 put together from right pieces of others, and right proofs of another statement that are said to be of this one."""

from __future__ import annotations

import pytest
from identity_bound_credentials.domain.presentation import Cover, PresentationStatement
from identity_kit.conformance.prover_cases import HANA
from identity_prover_bbs.suite2 import PresentationEnvelope

from identity_bbs.consent import consent as give_consent
from identity_codec.values import replace
from tests.attack.presentation_forge import CHEATS, PresentationForger, material
from tests.attack.test_presentation_soundness import (
    CREDENTIAL,
    HANA_HOLDS,
    HEADER,
    IVO,
    MISMATCH,
    OTTO,
    OTTOS,
    asked_suite,
    cheater,
    consented,
    forge,
    scene,
    signed_anew,
)
from tests.presenting import CURVE, HANDLE, REVOKED, Issuer, Scene, ask, seeded

SHAPE = "the sub-proofs are not those of the statement"
"""Fewer goals or more make a proof of another length, which is refused before a point is read."""

SECOND = HANA_HOLDS.obtain(IVO, handle=HANDLE + 1)


@pytest.mark.parametrize(
    "gap", [(REVOKED[2], REVOKED[1]), (HANDLE + 1, HANDLE - 1), ((1 << 32) - 1, 0), (HANDLE, HANDLE)]
)
def test_a_gap_that_ends_before_it_begins(gap):
    """Signed by the issuer itself, who would have everybody not revoked."""
    asked = scene(status=True)

    def change(messages):
        messages[1][:] = gap

    messages, signatures = signed_anew(asked, change)
    for cheat in CHEATS:
        text = PresentationForger(CURVE, 1, cheater(cheat)).forge(asked, messages, signatures)
        assert asked.verdict(text) == MISMATCH


def two_held(*, consent_of_both):
    """Hana's and Otto's credential under one question, with the consent that ``consent_of_both`` makes of M."""
    asked = Scene(ask((HEADER,), (HEADER,)), (CREDENTIAL, SECOND), HANA_HOLDS)
    messages, signatures, _ = material(asked)
    theirs = material(scene(held=[OTTOS]))
    agreed, rhos = consent_of_both(asked.terms.message(asked.question, asked.context, None))
    messages[1], signatures[1] = theirs[0][0], theirs[1][0]
    for known, rho in zip(messages, rhos, strict=True):
        known[:2] = [1, rho]
    return asked, PresentationForger(CURVE).forge(asked, messages, signatures, consent=agreed)


@pytest.mark.parametrize("base", [HANA_HOLDS, OTTO])
def test_one_consent_over_the_credentials_of_two_holders(base):
    """One of them agrees, and the other's credential is put beside."""
    asked, text = two_held(
        consent_of_both=lambda message: give_consent(
            asked_suite(), base.secret, [CREDENTIAL.blind, OTTOS.blind], message, seeded(1)
        )
    )
    assert asked.verdict(text) == MISMATCH


@pytest.mark.parametrize("shared", ["hers", "his"])
def test_two_consents_glued_to_one(shared):
    """Each has agreed, to the same: K' of both, and the responses and the challenge of one."""

    def glued(message):
        (hers, rho), (his, other) = (
            give_consent(asked_suite(), one.secret, [held.blind], message, seeded(1))
            for one, held in ((HANA_HOLDS, CREDENTIAL), (OTTO, OTTOS))
        )
        own = hers if shared == "hers" else his
        # K'_1 ‖ K'_2 ‖ z_0 ‖ z_1 of each ‖ c_w
        return hers[:48] + his[:48] + own[48:80] + hers[80:112] + his[80:112] + own[112:], (*rho, *other)

    asked, text = two_held(consent_of_both=glued)
    assert asked.verdict(text) == MISMATCH


def test_the_honest_consent_of_two_credentials_is_taken():
    """The forger is as good as his pieces: with two credentials of one holder, the same steps make a proof."""
    asked = Scene(ask((HEADER,), (HEADER,)), (CREDENTIAL, SECOND), HANA_HOLDS)
    messages, signatures, agreed = material(asked)
    assert asked.verdict(PresentationForger(CURVE).forge(asked, messages, signatures, consent=agreed)) is True


def test_a_cover_that_is_wider_than_what_the_holder_signed():
    """The verifier wants three fields covered; the envelope says they are, and the holder has left the audience open."""
    asked = consented()
    narrow = replace(asked.terms, cover=Cover.CHALLENGE | Cover.QUESTION)
    message = narrow.message(asked.question, asked.context, None)
    agreed, rhos = give_consent(asked_suite(), HANA_HOLDS.secret, [CREDENTIAL.blind], message, seeded(1))
    messages, signatures, _ = material(asked)
    messages[0][:2] = [1, rhos[0]]
    text = PresentationForger(CURVE).forge(asked, messages, signatures, consent=agreed)
    assert asked.verdict(text) == MISMATCH


def renamed(asked: Scene, other: Scene) -> str:
    """A right proof of ``other``, said to be of ``asked``; what is proved is true of neither more nor less than that."""
    mine, theirs = asked.statement, other.statement
    text = other.prove()
    assert other.verdict(text) is True
    envelope = PresentationEnvelope.decode(text)
    epochs = tuple(part.epoch for part in mine.status) if len(mine.status) == len(theirs.status) else ()
    return replace(envelope, question=asked.question, epochs=epochs or envelope.epochs).encode()


GOALS = (("balance", "gte", 5), ("score", "gte", 100), ("country", "neq", "DE"))


@pytest.mark.parametrize(
    "others",
    [GOALS[:2], GOALS[1:], (GOALS[1], GOALS[0], GOALS[2]), (*GOALS[:2], ("country", "neq", "ES")),
     (("balance", "gte", 4), *GOALS[1:]), (GOALS[0], ("score", "gte", 99), GOALS[2]), (*GOALS, ("name", "neq", "x"))],
    ids=["dropped last", "dropped first", "swapped", "another value", "wider", "wider second", "one more"],
)  # fmt: skip
def test_goals_of_another_question(others):
    asked, other = scene(*GOALS), scene(*others)
    assert asked.verdict(renamed(asked, other)) in (MISMATCH, SHAPE)


SAME = (((0, "country"), (1, "country")), ((0, "name"), (1, "name")))


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (SAME, ()),
        (SAME, SAME[:1]),
        (SAME[:1], SAME),
        (SAME[:1], SAME[1:]),
        ((((0, "country"), (1, "country")),), (((0, "score"), (1, "score")),)),
    ],
    ids=["none", "one lost", "one more", "another", "of another slot"],
)
def test_classes_of_another_question(mine, theirs):
    """Split, merged and moved: what was proved equal is not what is asked."""
    held = [CREDENTIAL, SECOND]
    asked, other = scene(held=held, same=mine), scene(held=held, same=theirs)
    assert asked.verdict(asked.prove()) is True
    assert asked.verdict(renamed(asked, other)) in (MISMATCH, SHAPE)


def test_a_credential_shown_twice_is_not_two():
    """One part is shown instead of two: with its own gap and equations, and with those of the other."""
    asked = scene(held=[CREDENTIAL, SECOND], status=True)
    envelope = PresentationEnvelope.decode(asked.prove())
    for name in ("credential_proofs", "gap_proofs"):
        first, second = getattr(envelope, name)
        for pieces in ((first, first), (second, second), (second, first)):
            assert asked.verdict(replace(envelope, **{name: pieces}).encode()) in (MISMATCH, SHAPE)
    doubled = scene(held=[CREDENTIAL, CREDENTIAL], status=True)
    # Two questions about one credential are answered by it twice: the verifier asks for two issuers where it wants two.
    assert doubled.verdict(doubled.prove()) is True


def test_a_part_is_of_its_own_key():
    """A university signed the part that is shown for Ivo's; and the two keys exchanged."""
    uni = Issuer("did:ids:uni", "uni")
    header = uni.header()
    diploma = HANA_HOLDS.obtain(uni, header=header, values=HANA)
    asked = scene(held=[CREDENTIAL, diploma], headers=[HEADER, header])
    asked.issuers = (IVO, uni)
    envelope = PresentationEnvelope.decode(asked.prove())
    assert asked.verdict(envelope.encode()) is True
    exchanged = {IVO.method: uni.public, uni.method: IVO.public}
    assert asked.verdict(envelope.encode(), keys=exchanged) == MISMATCH
    swapped = replace(envelope, credential_proofs=envelope.credential_proofs[::-1])
    assert asked.verdict(swapped.encode()) == SHAPE
    # By a forger who proves the second part under his own key and calls it the university's.
    eve = Issuer("did:ids:eve", "eve")
    messages, signatures, _ = material(asked)
    signatures[1] = eve.sign(header.encoded, messages[1])
    assert asked.verdict(PresentationForger(CURVE).forge(asked, messages, signatures)) == MISMATCH
    honest = asked.statement
    lied = PresentationStatement(honest.question, (IVO.public, eve.public), honest.day, honest.status)
    assert asked.verdict(forge(asked, signatures=signatures, statement=lied)) == MISMATCH
