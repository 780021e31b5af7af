"""False presentations by a prover that continues where an honest one stops: each is refused, and its honest twin accepted."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from identity_bound_credentials.domain.bound_credential import FIRST_DAY_SLOT, HANDLE_SLOT, LAST_DAY_SLOT
from identity_bound_credentials.domain.presentation import Acceptance, ConsentTerms, Cover
from identity_bound_credentials.domain.question import HolderForm
from identity_kit.conformance.prover_cases import HANA, SCHEMA
from identity_prover_bbs.suite2 import PresentationEnvelope

from identity_bbs.bls12381 import ORDER
from identity_bbs.consent import consent as give_consent
from identity_bbs.encoding import mixed_messages_to_scalars
from identity_codec.values import replace
from identity_core.domain.credentials.attributes import NULL_SCALAR
from identity_core.errors import PredicateNotSatisfied, PredicateUnsupported
from tests.attack.presentation_forge import (
    CHEATS,
    PLACES,
    CheatingSet,
    CheatingVector,
    PresentationForger,
    material,
)
from tests.presenting import (
    CURVE,
    DAY,
    HANDLE,
    NOW,
    PLAIN,
    REVOKED,
    Holder,
    Issuer,
    Scene,
    about,
    ask,
    context,
    seeded,
)

IVO = Issuer()
HEADER = IVO.header()
HANA_HOLDS, OTTO = Holder(), Holder("otto", "did:ids:otto")
CREDENTIAL = HANA_HOLDS.obtain(IVO)
OTTOS = OTTO.obtain(IVO)
MISMATCH = "the proof does not match"
BALANCE = HEADER.numeric_slot("balance")
DEBT = HEADER.numeric_slot("debt")
COUNTRY = HEADER.hashed_slot("country")


def scene(*predicates, held=(CREDENTIAL,), headers=None, **options):
    headers = [HEADER] * len(held) if headers is None else headers
    question = ask((headers[0], *predicates), *((header,) for header in headers[1:]), **({"holder": PLAIN} | options))
    return Scene(question, tuple(held))


def forge(asked, change=None, *, vector=CheatingVector, member=CheatingSet, signatures=None, seed=1, **options):
    """The forger's proof; ``change`` alters the messages of the parts."""
    messages, signed, consent = material(asked)
    if change is not None:
        change(messages)
    options.setdefault("consent", consent)
    return PresentationForger(asked.curve, seed, vector, member).forge(asked, messages, signatures or signed, **options)


def signed_anew(asked, change, key=IVO):
    """Messages after the change, under real signatures of the issuer on them."""
    messages, _, _ = material(asked)
    change(messages)
    parts = [HEADER.encoded, *(part.epoch.header for part in asked.statement.status)]
    return messages, [key.sign(header, values) for header, values in zip(parts, messages, strict=True)]


def cheater(name, **more):
    return type("Cheater", (CheatingVector,), {"cheat": staticmethod(CHEATS[name]), **more})


def claimant(name):
    return type("Claimant", (CheatingSet,), {"place": staticmethod(PLACES[name])})


def test_the_forger_is_honest_when_he_wants():
    for asked in (
        scene(("balance", "gte", 5), status=True),
        scene(("country", "set_member", ["DE", "JP"]), ("country", "neq", "ES"), ("score", "eq", 211)),
        scene(("balance", "gte", 5), ("score", "lte", 3), either=((0, 1),)),
    ):
        selected = [0] * len(asked.question.either)
        assert asked.verdict(forge(asked, selected=selected)) is True
        assert asked.verdict(asked.prove()) is True


# Validity.


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (DAY - 9, DAY - 1),
        (DAY + 1, DAY + 9),
        (0, 0),
        (DAY - 1, 1 << 16),
        (DAY - 1, ORDER - 1),
        (ORDER - 1, DAY),
        (ORDER - 5, ORDER - 1),
        (1 << 64, 1 << 64),
    ],
)
def test_a_credential_that_is_not_valid_today(first, last):
    asked = scene()

    def change(messages):
        messages[0][FIRST_DAY_SLOT : LAST_DAY_SLOT + 1] = [first % ORDER, last % ORDER]

    messages, signatures = signed_anew(asked, change)
    for cheat in CHEATS:
        text = PresentationForger(CURVE, 1, cheater(cheat)).forge(asked, messages, signatures)
        assert asked.verdict(text) == MISMATCH


def test_an_honest_prover_stops():
    for first, last in ((DAY + 1, DAY + 9), (DAY - 9, DAY - 1)):
        held = HANA_HOLDS.obtain(IVO, particulars=about(first=first, last=last))
        with pytest.raises(PredicateNotSatisfied):
            scene(held=[held]).prove()
    for first, last in ((DAY, DAY), (DAY, DAY + 9), (DAY - 9, DAY)):
        asked = scene(held=[HANA_HOLDS.obtain(IVO, particulars=about(first=first, last=last))])
        assert asked.verdict(asked.prove()) is True


def at_midnight(**options):
    """A proof of NOW's day that lives from 23:50 until five minutes past midnight."""
    last = NOW.replace(hour=23, minute=50, second=0)
    asked = scene(**options)
    asked.context = context(issued_at=last, expires_at=last + timedelta(minutes=15))
    return asked, last + timedelta(minutes=10)


def test_the_day_around_midnight():
    asked, midnight = at_midnight()
    text = asked.prove()
    for seconds, reason in ((-60, True), (0, True), (299, True), (300, "the proof has expired")):
        assert asked.verdict(text, acceptance=Acceptance(midnight + timedelta(seconds=seconds))) == reason
    asked.now = midnight  # the prover's clock is ahead: day and epoch are tomorrow's
    early = asked.prove()
    other_day = "the proof says that the credentials were valid on another day"
    for seconds, reason in ((-301, other_day), (-300, True), (0, True)):
        assert asked.verdict(early, acceptance=Acceptance(midnight + timedelta(seconds=seconds))) == reason


def test_a_proof_does_not_outlive_its_day():
    asked, midnight = at_midnight()
    asked.context = context(expires_at=midnight + timedelta(seconds=301))
    with pytest.raises(PredicateUnsupported):
        asked.prove()
    text = scene().prove()
    longer = replace(PresentationEnvelope.decode(text), bound=asked.bound)
    assert "ends with its day" in asked.verdict(longer.encode())


# Status.


@pytest.mark.parametrize(
    "handle", [*REVOKED, 0, (1 << 32) - 1, 1 << 32, 1 << 64, ORDER - 1, REVOKED[1] - 1, REVOKED[2] + 1]
)
def test_a_handle_that_is_not_in_the_gap(handle):
    asked = scene(status=True)

    def change(messages):
        messages[0][HANDLE_SLOT] = handle

    messages, signatures = signed_anew(asked, change)
    for cheat in CHEATS:
        text = PresentationForger(CURVE, 1, cheater(cheat)).forge(asked, messages, signatures)
        assert asked.verdict(text) == MISMATCH


@pytest.mark.parametrize("gap", [(0, (1 << 32) - 1), (HANDLE - 1, HANDLE + 1), (REVOKED[1], REVOKED[2] + 1)])
def test_a_gap_that_no_one_signed(gap):
    asked = scene(status=True)

    def change(messages):
        messages[1][:] = gap

    assert asked.verdict(forge(asked, change)) == MISMATCH


def test_a_gap_of_another_time_or_list():
    asked = scene(status=True)
    epoch = IVO.epoch()
    for other in (
        replace(epoch, epoch=epoch.epoch - 1),
        replace(epoch, epoch=epoch.epoch + 1),
        replace(epoch, list_id="x" * 22),
    ):
        messages, signatures, _ = material(asked)
        signatures[1] = IVO.sign(other.header, messages[1])
        text = PresentationForger(CURVE).forge(asked, messages, signatures)
        assert asked.verdict(text) == MISMATCH
    eve = Issuer("did:ids:eve", "eve")
    messages, signatures, _ = material(asked)
    signatures[1] = eve.sign(epoch.header, messages[1])
    assert asked.verdict(PresentationForger(CURVE).forge(asked, messages, signatures)) == MISMATCH


def test_old_and_future_epochs():
    """Proofs that are good in themselves, at another time than their epoch's."""
    asked, midnight = at_midnight(status=True)
    old = asked.prove()
    another_time = "the status list is of another time"
    just_after = Acceptance(midnight + timedelta(seconds=10))
    assert asked.verdict(old, acceptance=just_after) is True
    assert asked.verdict(old, acceptance=replace(just_after, status_max_age=timedelta(0))) == another_time
    asked.now = midnight
    early = asked.prove()
    assert asked.verdict(early, acceptance=Acceptance(midnight - timedelta(seconds=300))) is True
    assert asked.verdict(early, acceptance=Acceptance(midnight - timedelta(seconds=301))) != True  # noqa: E712


# Holders.


def test_two_holders():
    """Each credential is good, but the secrets differ: one response cannot serve both."""
    asked = scene(held=[CREDENTIAL, OTTOS])
    with pytest.raises(PredicateNotSatisfied):
        replace(asked).prove(credentials=tuple(two_openings()))
    messages, signatures, _ = material(scene(held=[CREDENTIAL, OTTOS]))
    messages[1][0] = OTTO.secret.scalar
    assert asked.verdict(PresentationForger(CURVE).forge(asked, messages, signatures)) == MISMATCH
    messages[1][0] = HANA_HOLDS.secret.scalar
    assert asked.verdict(PresentationForger(CURVE).forge(asked, messages, signatures)) == MISMATCH
    twice = scene(held=[CREDENTIAL, HANA_HOLDS.obtain(IVO, handle=HANDLE + 1)])
    assert twice.verdict(twice.prove()) is True


def two_openings():
    for one, holder in ((CREDENTIAL, HANA_HOLDS), (OTTOS, OTTO)):
        yield replace(one.witness, opening=(holder.secret.scalar, one.blind))


def test_a_stolen_credential():
    """All of the credential but the secret; and with a consent of the thief's own, for any ρ."""
    plain = scene()
    for secret in (OTTO.secret.scalar, 1, 0):
        assert plain.verdict(forge(plain, lambda m, s=secret: m[0].__setitem__(0, s))) == MISMATCH
    asked = consented()
    message = asked.terms.message(asked.question, asked.context, None)
    stolen, rhos = give_consent(asked_suite(), OTTO.secret, [77], message, seeded(1))
    messages, signatures, own = material(asked)
    for rho in (rhos[0], messages[0][1], CREDENTIAL.blind, 0, 77):
        messages[0][:2] = [1, rho]
        text = PresentationForger(CURVE).forge(asked, messages, signatures, consent=stolen)
        assert asked.verdict(text) == MISMATCH
        spliced = own[:48] + stolen[48:]
        text = PresentationForger(CURVE).forge(asked, messages, signatures, consent=spliced)
        assert asked.verdict(text) == MISMATCH


def asked_suite():
    from identity_bbs.suite import ciphersuite

    return ciphersuite(CURVE)


def consented(**options):
    return Scene(ask((HEADER, ("score", "gte", 100)), **options), (CREDENTIAL,), HANA_HOLDS)


def test_a_consent_is_for_what_it_covers():
    asked = consented()
    text = asked.prove()
    assert asked.verdict(text) is True
    messages, signatures, given = material(asked)
    for other in (
        consented(pseudonym="x"),
        Scene(ask((HEADER, ("score", "gte", 101))), (CREDENTIAL,)),
        Scene(asked.question, (CREDENTIAL,), context=context(nonce=b"another nonce of the verifier")),
        Scene(asked.question, (CREDENTIAL,), context=context(audience="https://other.example")),
        Scene(asked.question, (CREDENTIAL,), terms=replace(asked.terms, not_after=asked.terms.not_after + 3600)),
        Scene(asked.question, (CREDENTIAL,), terms=replace(asked.terms, cover=Cover.CHALLENGE | Cover.QUESTION)),
    ):
        accepted = {"audience": other.context.audience, "nonce": other.context.nonce}
        agreed = given if other.question.pseudonym is None else given + bytes(48)
        text = PresentationForger(CURVE).forge(other, messages, signatures, consent=agreed)
        assert other.verdict(text, **accepted) != True  # noqa: E712


def test_a_consent_is_for_one_credential():
    """ρ of one credential, used with another one of the same holder under the same header."""
    other = HANA_HOLDS.obtain(IVO, handle=HANDLE + 5)
    asked = consented()
    messages, _, given = material(asked)
    known = mixed_messages_to_scalars(HEADER.known_messages(HANA, other.witness.particulars))
    messages[0][2:] = known
    text = PresentationForger(CURVE).forge(asked, messages, [other.witness.signature], consent=given)
    assert asked.verdict(text) == MISMATCH


def test_consents_that_are_stripped_or_put_in():
    asked, plain = consented(), scene(("score", "gte", 100))
    text, other = asked.prove(), plain.prove()
    envelope = PresentationEnvelope.decode(text)
    assert asked.verdict(other) == "the proof is not bound to the expected question"
    assert plain.verdict(text) == "the proof is not bound to the expected question"
    assert asked.verdict(replace(PresentationEnvelope.decode(other), question=asked.question).encode()) is not True
    shorter = replace(envelope, consent=envelope.consent[:-32])
    assert asked.verdict(shorter.encode()) == "the consent has not the length of one"


def test_a_consent_of_another_time():
    asked = consented()
    hour = 3600
    begin = int(NOW.timestamp()) // hour * hour
    for times in ((begin - 2 * hour, begin), (begin + hour, begin + 2 * hour)):
        asked.terms = ConsentTerms(Cover(7), *times)
        assert asked.verdict(asked.prove()) == "the holder's consent is not of this time"


# Pseudonyms.


def test_a_pseudonym_of_another_or_of_another_context():
    asked, ottos = scene(pseudonym="shop"), scene(held=[OTTOS], pseudonym="shop")
    ottos.holder = OTTO
    first, again, other = asked.prove(), replace(asked, seed=9).prove(), ottos.prove()
    hers, his = (PresentationEnvelope.decode(text) for text in (first, other))
    assert hers.pseudonym == PresentationEnvelope.decode(again).pseudonym != his.pseudonym
    assert asked.accept(first).pseudonym == hers.pseudonym
    assert asked.verdict(replace(his, pseudonym=hers.pseudonym).encode()) == MISMATCH
    bank = scene(pseudonym="bank")
    assert bank.verdict(replace(hers, question=bank.question).encode()) == MISMATCH
    identity = bytes([0xC0]) + bytes(47)
    assert asked.verdict(replace(hers, pseudonym=identity).encode()) is not True


# Rows.


@pytest.mark.parametrize("inverse", [0, 1, 2, ORDER - 1, 12345])
def test_equal_values_are_not_proved_unequal(inverse):
    asked = scene(("country", "neq", HANA["country"]))
    vector = type("Cheater", (CheatingVector,), {"inverses": (inverse, inverse)})
    assert asked.verdict(forge(asked, vector=vector)) == MISMATCH
    with pytest.raises(PredicateNotSatisfied):
        asked.prove()


def test_a_null_is_not_another_value():
    """m - x has an inverse for null too; the second row refuses it."""
    asked = scene(("debt", "neq", 12))
    with pytest.raises(PredicateNotSatisfied):
        asked.prove()
    messages, _, _ = material(asked)
    assert messages[0][DEBT] == NULL_SCALAR
    assert asked.verdict(forge(asked)) == MISMATCH


# Sets.


SETS = (
    ("country", ["DE", "ES"]),
    ("country", [f"{first}{second}" for first in "ABCDEFGHIK" for second in "ABCDEFGHIK"]),
    ("score", [210, 212]),
    ("score", [0, 1, 2, 210, 250]),
    ("debt", [1, 2, 3]),
)
"""Hana is of none of them; she has no debt at all."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "elements"), SETS)
def test_a_member_of_no_such_set(name, elements, place):
    asked = scene((name, "set_member", elements))
    assert asked.verdict(forge(asked, member=claimant(place))) == MISMATCH
    with pytest.raises(PredicateNotSatisfied):
        asked.prove()


def test_a_member_of_two_sets_of_which_one_is_false():
    asked = scene(("country", "set_member", ["DE", "JP"]), ("score", "set_member", [210, 212]))
    for place in PLACES:
        assert asked.verdict(forge(asked, member=claimant(place))) == MISMATCH
    fine = scene(("country", "set_member", ["DE", "JP"]), ("score", "set_member", [210, 211]))
    assert fine.verdict(forge(fine)) is True


@pytest.mark.parametrize("selected", [0, 1])
@pytest.mark.parametrize("cheat", CHEATS)
def test_neither_of_two_alternatives(selected, cheat):
    asked = scene(("score", "lte", 3), ("balance", "lt", 5), either=((0, 1),))
    with pytest.raises(PredicateNotSatisfied):
        asked.prove()
    assert asked.verdict(forge(asked, vector=cheater(cheat), selected=[selected])) == MISMATCH


@pytest.mark.parametrize("selector", [2, ORDER - 1, pow(2, -1, ORDER)])
def test_a_selector_that_is_no_bit(selector):
    asked = scene(("score", "lte", 3), ("balance", "lt", 5), either=((0, 1),))
    vector = cheater("zeros", selectors=(selector,))
    assert asked.verdict(forge(asked, vector=vector, selected=[1])) == MISMATCH


def test_selectors_of_four_alternatives():
    """None of four; and two selectors that make the first alternative's weight 1 - 1 - 1 = -1."""
    predicates = (("score", "eq", 1), ("score", "eq", 2), ("score", "lte", 3), ("country", "eq", "DE"))
    asked = scene(*predicates, either=((0, 1, 2, 3),))
    for selectors in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (2, ORDER - 1, 0), (1, ORDER - 1, 1)):
        vector = cheater("zeros", selectors=selectors)
        assert asked.verdict(forge(asked, vector=vector, selected=[0])) == MISMATCH
    for true in range(4):
        right = [("score", "eq", 211), ("score", "eq", 211), ("score", "gte", 200), ("country", "eq", "JP")]
        mixed = [right[n] if n == true else one for n, one in enumerate(predicates)]
        fine = scene(*mixed, either=((0, 1, 2, 3),))
        assert fine.verdict(fine.prove()) is True


def test_same_with_unequal_and_null_values():
    other = Issuer("did:ids:uni", "uni")
    header = other.header()
    same = (((0, "country"), (1, "country")),)
    for values, reason in ((HANA, None), (HANA | {"country": "DE"}, MISMATCH), (HANA | {"country": None}, MISMATCH)):
        held = HANA_HOLDS.obtain(other, header=header, values=values)
        asked = scene(held=[CREDENTIAL, held], headers=[HEADER, header], same=same)
        asked.issuers = (IVO, other)
        if reason is None:
            assert asked.verdict(asked.prove()) is True
            continue
        with pytest.raises(PredicateNotSatisfied):
            asked.prove()
        assert asked.verdict(forge(asked)) == reason
    null = HANA | {"country": None}
    held = [HANA_HOLDS.obtain(one, header=one.header(), values=null) for one in (IVO, other)]
    asked = scene(held=held, headers=[HEADER, header], same=same)
    asked.issuers = (IVO, other)
    with pytest.raises(PredicateNotSatisfied):
        asked.prove()
    assert asked.verdict(forge(asked)) == MISMATCH


def test_same_within_the_lead_keeps_it_a_proof_of_the_draft():
    """All of its responses are there, and two that must be equal are compared."""
    values = HANA | {"name": "JP"}
    held = HANA_HOLDS.obtain(IVO, values=values)
    asked = scene(held=[held], same=(((0, "country"), (0, "name")),))
    text = asked.prove()
    assert asked.verdict(text) is True
    envelope = PresentationEnvelope.decode(text)
    assert len(envelope.credential_proofs[0]) == 272 + 32 * HEADER.message_count
    unequal = scene(same=(((0, "country"), (0, "name")),))
    assert unequal.verdict(forge(unequal)) == MISMATCH


def test_equal_numbers_that_are_the_same():
    """Each equality of a class is looked at, also where they contradict each other."""
    same = (((0, "balance"), (1, "balance")),)
    held = [CREDENTIAL, HANA_HOLDS.obtain(IVO, handle=HANDLE + 1)]
    right, wrong = HANA["balance"], HANA["balance"] + 1

    def build_scene(*values):
        parts = [(HEADER, *([("balance", "eq", value)] if value is not None else [])) for value in values]
        return Scene(ask(*parts, same=same, holder=PLAIN), tuple(held))

    for values in ((right, right), (right, None), (None, right)):
        fine = build_scene(*values)
        assert fine.verdict(fine.prove()) is True
    for values in ((right, wrong), (wrong, right), (wrong, None), (None, wrong)):
        false = build_scene(*values)
        with pytest.raises(PredicateNotSatisfied):
            false.prove()
        assert false.verdict(forge(false)) == MISMATCH


# What goes from one proof to another.


def test_parts_do_not_move_between_proofs():
    asked = scene(("balance", "gte", 5), ("country", "set_member", ["DE", "JP"]), status=True)
    first, second = (PresentationEnvelope.decode(replace(asked, seed=seed).prove()) for seed in (1, 2))
    for name in ("credential_proofs", "gap_proofs", "argument", "sets"):
        mixed = replace(first, **{name: getattr(second, name)})
        assert asked.verdict(mixed.encode()) == MISMATCH
    assert asked.verdict(first.encode()) is True


def test_two_credentials_in_another_order():
    asked = scene(held=[CREDENTIAL, HANA_HOLDS.obtain(IVO, handle=HANDLE + 1)])
    envelope = PresentationEnvelope.decode(asked.prove())
    swapped = envelope.credential_proofs[::-1]
    assert asked.verdict(replace(envelope, credential_proofs=swapped).encode()) is not True


def test_a_proof_is_of_its_question():
    asked = scene(("balance", "gte", 5), ("score", "gte", 100), status=True)
    envelope = PresentationEnvelope.decode(asked.prove())
    for other in (
        scene(("balance", "gte", 6), ("score", "gte", 100), status=True),
        scene(("score", "gte", 100), ("balance", "gte", 5), status=True),
        scene(("balance", "gte", 5), ("score", "gte", 100), status=True, holder=HolderForm.NONE),
        scene(("balance", "gte", 5), ("score", "gte", 100)),
        scene(("balance", "gte", 5), status=True),
    ):
        assert other.verdict(envelope.encode()) == "the proof is not bound to the expected question"
        changes = {} if other.question.status else {"epochs": (), "gap_proofs": ()}
        renamed = replace(envelope, question=other.question, **changes)
        assert other.verdict(renamed.encode()) != True  # noqa: E712


HOSTILE = (0, 1, ORDER - 1, ORDER, (1 << 256) - 1)
ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "1"))


def test_every_scalar_and_point():
    """0, 1, r - 1, r and 2^256 - 1 in the places of scalars, and bits of every part turned over; all of them in long runs."""
    asked = Scene(
        ask((HEADER, ("score", "gte", 100), ("country", "neq", "DE")), status=True, pseudonym="shop"), (CREDENTIAL,)
    )
    envelope = PresentationEnvelope.decode(asked.prove())
    tried = 0
    for name, start in {"credential_proofs": 144, "gap_proofs": 144, "argument": 192, "consent": 96}.items():
        value = getattr(envelope, name)
        data = value[0] if isinstance(value, tuple) else value
        bits = range(8 * len(data)) if ROUNDS > 1 else range(3, 8 * len(data), 331)
        changed = [data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :] for at in bits]
        for number, at in enumerate(range(start, len(data), 32)):
            for scalar in HOSTILE if ROUNDS > 1 else HOSTILE[number % 5 :][:1]:
                changed.append(data[:at] + scalar.to_bytes(32, "big") + data[at + 32 :])
        for hostile in changed:
            put = (hostile,) if isinstance(value, tuple) else hostile
            assert asked.verdict(replace(envelope, **{name: put}).encode()) != True, (name, tried)  # noqa: E712
            tried += 1
    assert tried > 150


def test_a_slot_that_no_honest_issuer_signs():
    """An interval takes no null and no number past 2^64, whatever the issuer signed."""
    asked = scene(("balance", "gte", 5))
    for scalar in (NULL_SCALAR, NULL_SCALAR + 5, ORDER - 1, 1 << 200):
        messages, signatures = signed_anew(asked, lambda m, s=scalar: m[0].__setitem__(BALANCE, s))
        for cheat in CHEATS:
            text = PresentationForger(CURVE, 1, cheater(cheat)).forge(asked, messages, signatures)
            assert asked.verdict(text) == MISMATCH


def test_an_equality_of_another_number():
    asked = scene(("score", "eq", 210))
    assert asked.verdict(forge(asked)) == MISMATCH
    assert SCHEMA.attribute("score") is not None
