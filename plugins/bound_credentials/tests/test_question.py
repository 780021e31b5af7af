"""Questions about several credentials, in one form, and their answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from identity_bound_credentials.domain.bound_credential import BoundHeader, SecretKeeper, StatusListReference
from identity_bound_credentials.domain.normal_form import Inequality, PartGoal, Slot, normal_form
from identity_bound_credentials.domain.presentation import (
    Acceptance,
    ConsentTerms,
    Cover,
    PresentationContext,
    PresentationStatement,
    StatusPart,
    proof_day,
    unchecked,
)
from identity_bound_credentials.domain.question import AskedCredential, HolderForm, Question
from identity_bound_credentials.domain.status_gaps import StatusEpoch
from identity_kit.conformance.prover_cases import SCHEMA

from identity_codec import jcs
from identity_codec.values import replace
from identity_core.domain.credentials.attributes import NULL_OCTETS, NULL_SCALAR, OFFSET
from identity_core.domain.proofs.asked import parse_asked
from identity_core.domain.proofs.predicate import Equals, InRange, MemberOf
from identity_core.domain.proofs.proof import Context
from identity_core.errors import PredicateUnsupported, ProofInvalid

LIST = StatusListReference("AbCdEfGhIjKlMnOpQrStUv", 86_400)
HEADER = BoundHeader(SCHEMA, "did:ids:ivo#bbs", LIST, SecretKeeper.WALLET, bytes(32))
BEARER = replace(HEADER, keeper=SecretKeeper.NONE)
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
SCORE, COUNTRY = HEADER.numeric_slot("score"), HEADER.hashed_slot("country")


def ask(*parts, **options):
    asked = []
    for header, *predicates in parts:
        members = [{"attributeName": name, "type": kind, "value": value} for name, kind, value in predicates]
        asked.append(AskedCredential(header, tuple(parse_asked(header.schema, member) for member in members)))
    return Question(tuple(asked), **options)


ASKED = ask(
    (HEADER, ("score", "gte", 5), ("country", "neq", "DE"), ("balance", "lt", "9223372036854775807")),
    (HEADER, ("score", "eq", 3)),
    same=(((0, "name"), (1, "name")),),
    either=((0, 3),),
    status=True,
    pseudonym="https://shop.example",
)


@pytest.mark.parametrize(
    ("name", "value", "other", "same"),
    [
        ("score", 5, 6, 5),
        ("country", "DE", "FR", "DE"),
        ("balance", 1, 2, 1),
    ],
)
def test_neq_holds_of_every_other_value_and_never_of_none(name, value, other, same):
    asked = parse_asked(SCHEMA, {"attributeName": name, "type": "neq", "value": value})
    read = SCHEMA.attribute(name).read
    assert asked.holds(read(other))
    assert not asked.holds(read(same))
    assert not asked.holds(None)


def test_a_question_has_one_form():
    value = json.loads(jcs.canonicalize(ASKED.json))
    assert Question.from_json(value, [HEADER, HEADER]) == ASKED
    assert value["either"] == [[0, 3]]
    assert value["same"] == [[[0, "name"], [1, "name"]]]
    assert ASKED.digest != replace(ASKED, pseudonym=None).digest
    differing = {
        question.digest
        for question in (
            ASKED,
            replace(ASKED, status=False),
            replace(ASKED, either=()),
            replace(ASKED, same=()),
            replace(ASKED, holder=HolderForm.PLAIN),
            replace(ASKED, pseudonym="x"),
            ask((HEADER,)),
            ask((replace(HEADER, method="did:ids:ivo#other"),)),
            ask((HEADER,), validity=False),
        )
    }
    assert len(differing) == 9


@pytest.mark.parametrize(
    "make",
    [
        lambda: Question(()),
        lambda: ask(*[(HEADER,)] * 5),
        lambda: ask((HEADER, *[("score", "gte", n + 1) for n in range(17)])),
        lambda: ask(*((HEADER, ("name", "set_member", [str(n) for n in range(2049)])),) * 2),
        lambda: ask((HEADER,), status=True, validity=False),
        lambda: ask((replace(HEADER, status=None),), status=True),
        lambda: ask((HEADER, ("score", "gte", 5)), either=((0,),)),
        lambda: ask((HEADER, ("score", "gte", 5)), either=((0, 1),)),
        lambda: ask((HEADER, ("score", "gte", 5), ("score", "gte", 6)), either=((1, 0),)),
        lambda: ask((HEADER, ("score", "gte", 5), ("score", "gte", 6)), either=((0, 0),)),
        lambda: ask((HEADER, *[("score", "gte", n) for n in range(1, 6)]), either=((0, 1, 2, 3, 4),)),
        lambda: ask((HEADER, *[("score", "gte", n) for n in range(1, 5)]), either=((2, 3), (0, 1))),
        lambda: ask((HEADER, *[("score", "gte", n) for n in range(1, 4)]), either=((0, 1), (1, 2))),
        lambda: ask((HEADER,), same=(((0, "name"),),)),
        lambda: ask((HEADER,), same=(((0, "name"), (0, "nothing")),)),
        lambda: ask((HEADER,), same=(((0, "name"), (1, "name")),)),
        lambda: ask((HEADER,), same=(((0, "name"), (0, "country")), ((0, "country"), (0, "name")))),
        lambda: ask((HEADER,), same=(((0, "name"), (0, "country")),)),
        lambda: ask((HEADER,), same=(((0, "name"), (0, "resident")),)),
        lambda: ask((HEADER,), same=(((0, "balance"), (0, "height")),)),
        lambda: ask((BEARER,)),
        lambda: ask((BEARER,), holder=HolderForm.PLAIN),
        lambda: ask((BEARER,), holder=HolderForm.NONE, pseudonym="x"),
        lambda: ask((BEARER,), (HEADER,), holder=HolderForm.NONE),
        lambda: ask((HEADER,), pseudonym=""),
        lambda: ask((HEADER,), pseudonym="a\nb"),
        lambda: ask((HEADER,), pseudonym="x" * 513),
        lambda: ask((HEADER, ("name", "neq", 5))),
        lambda: ask((HEADER, ("nothing", "neq", 5))),
    ],
)
def test_invalid_question_is_refused(make):
    with pytest.raises(PredicateUnsupported):
        make()


def test_predicates_of_another_form():
    for member in (
        {"attributeName": "score", "type": "gte"},
        {"attributeName": "score", "type": "gte", "value": 5, "more": 1},
        {"attributeName": 5, "type": "gte", "value": 5},
        {"attributeName": "score", "type": ["gte"], "value": 5},
        {"attributeName": "score", "type": "between", "value": 5},
    ):
        with pytest.raises(PredicateUnsupported):
            parse_asked(SCHEMA, member)


def test_a_question_of_another_shape():
    value = json.loads(jcs.canonicalize(ASKED.json))
    for change in (
        {"holder": "absent"},
        {"pseudonym": 5},
        {"status": 1},
        {"either": [[True, 1]]},
        {"either": 5},
        {"same": [[["0", "name"], [1, "name"]]]},
        {"credentials": [5, 5]},
        {"credentials": value["credentials"] * 3},
        {"credentials": value["credentials"][:1]},
    ):
        with pytest.raises((PredicateUnsupported, ValueError, TypeError, KeyError, AttributeError)):
            Question.from_json(value | change, [HEADER, HEADER])


def test_the_normal_form():
    form = normal_form(ASKED)
    assert form.goals == (PartGoal(0, InRange(HEADER.numeric_slot("balance"), 0, 2 * OFFSET - 2)),)
    assert [(one.group, one.part, one.goal) for one in form.alternatives] == [
        (0, 0, InRange(SCORE, OFFSET + 5, OFFSET + 255)),
        (0, 1, Equals(SCORE, OFFSET + 3)),
    ]
    name = Slot(0, HEADER.hashed_slot("name"))
    assert form.inequalities == (
        Inequality(Slot(0, COUNTRY), NULL_OCTETS),
        Inequality(Slot(0, COUNTRY), b"\x01DE"),
        Inequality(name, NULL_OCTETS),
    )
    assert form.classes == ((name, Slot(1, name.slot)),)


def test_an_inequality_beside_another_goal():
    def rows(*predicates):
        form = normal_form(ask((HEADER, *predicates)))
        return [goal.goal for goal in form.goals], [each.message for each in form.inequalities]

    inside = ([InRange(SCORE, OFFSET + 5, OFFSET + 255)], [OFFSET + 7])
    assert rows(("score", "gte", 5), ("score", "neq", 7), ("score", "neq", 3), ("score", "neq", 7)) == inside
    assert rows(("score", "neq", 7)) == ([], [OFFSET + 7, NULL_SCALAR])
    assert rows(("score", "eq", 3), ("score", "neq", 7)) == ([Equals(SCORE, OFFSET + 3)], [])
    assert rows(("country", "set_member", ["A", "B", "C"]), ("country", "neq", "B")) == (
        [MemberOf(COUNTRY, (b"\x01A", b"\x01C"))],
        [],
    )
    assert rows(("country", "set_member", ["A", "B"]), ("country", "neq", "B")) == ([Equals(COUNTRY, b"\x01A")], [])
    for predicates in ((("score", "eq", 7), ("score", "neq", 7)), (("country", "eq", "A"), ("country", "neq", "A"))):
        with pytest.raises(PredicateUnsupported):
            rows(*predicates)


def test_classes_and_what_excludes_null():
    same = (((0, "country"), (0, "name")),)
    assert len(normal_form(ask((HEADER,), same=same)).inequalities) == 1
    assert normal_form(ask((HEADER, ("name", "set_member", ["A", "B"])), same=same)).inequalities == ()
    assert len(normal_form(ask((HEADER, ("name", "neq", "A")), same=same)).inequalities) == 2
    with pytest.raises(PredicateUnsupported) as refusal:
        normal_form(ask((HEADER, ("name", "eq", "A")), same=same))
    assert "discloses" in refusal.value.details["reason"]
    numeric = (((0, "balance"), (0, "debt")),)
    assert normal_form(ask((HEADER, ("debt", "eq", 5)), same=numeric)).inequalities == ()


def test_alternatives_are_intervals_or_one_value():
    for predicate in (("country", "set_member", ["A", "B"]), ("country", "neq", "A")):
        with pytest.raises(PredicateUnsupported):
            normal_form(ask((HEADER, predicate, ("score", "gte", 5)), either=((0, 1),)))


def test_alternatives_are_about_what_stays_hidden():
    predicates = [("country", "eq", "JP"), ("country", "eq", "DE"), ("score", "gte", 5)]
    with pytest.raises(PredicateUnsupported) as refusal:
        normal_form(ask((HEADER, *predicates), either=((1, 2),)))
    assert "discloses" in refusal.value.details["reason"]
    assert len(normal_form(ask((HEADER, *predicates[1:]), either=((0, 1),))).alternatives) == 2


# Consents, statements, times.


CONTEXT = Context("https://shop.example", b"n" * 16, NOW, NOW + timedelta(minutes=5), "p", None, None)
BOTH = Cover.CHALLENGE | Cover.QUESTION


@pytest.mark.parametrize(
    ("cover", "begin", "end"),
    [
        (Cover(0), 0, 3600),
        (Cover.QUESTION, 0, 86_400),
        (Cover.AUDIENCE | Cover.QUESTION, 0, 86_400),
        (Cover.CHALLENGE | Cover.AUDIENCE, 0, 3600),
        (BOTH, 0, 3601),
        (BOTH, 1, 3600),
        (BOTH, 3600, 3600),
        (BOTH, 7200, 3600),
        (BOTH, -3600, 3600),
        (BOTH, 0, 253_402_300_800),
        (Cover.AGENT | Cover.QUESTION, 0, 3600),
        (BOTH | 32, 0, 3600),
        (6, 0, 3600),
        (BOTH, 0, 3600.0),
        (BOTH, False, 3600),
    ],
)
def test_terms_that_no_keeper_signs(cover, begin, end):
    with pytest.raises(ValueError, match=r"consent|cover"):
        ConsentTerms(cover, begin, end)


def test_terms_around_now():
    terms = ConsentTerms.around(NOW + timedelta(minutes=5), timedelta(minutes=10))
    assert terms.not_after - terms.not_before == 3600
    days = ConsentTerms.around(NOW, timedelta(hours=1), Cover.AGENT | Cover.QUESTION)
    assert (days.not_before % 86_400, days.not_after - days.not_before) == (0, 86_400)
    terms.check_time(NOW - timedelta(seconds=60))
    for moment in (NOW - timedelta(seconds=61), NOW + timedelta(hours=1)):
        with pytest.raises(ProofInvalid):
            terms.check_time(moment)


def test_a_message_says_every_covered_field_and_no_other():
    terms = ConsentTerms.around(NOW, timedelta(hours=1))
    base = terms.message(ASKED, CONTEXT, None)
    covered = {
        base,
        terms.message(ask((HEADER,)), CONTEXT, None),
        terms.message(ASKED, replace(CONTEXT, audience="x"), None),
        terms.message(ASKED, replace(CONTEXT, nonce=b"m" * 16), None),
        replace(terms, not_after=terms.not_after + 3600).message(ASKED, CONTEXT, None),
        replace(terms, not_before=terms.not_before - 3600).message(ASKED, CONTEXT, None),
        replace(terms, cover=BOTH).message(ASKED, CONTEXT, None),
    }
    assert len(covered) == 7
    assert base == terms.message(ASKED, replace(CONTEXT, proof_id="other", capability=bytes(32)), bytes(32))
    for missing in (Cover.AGENT, Cover.CAPABILITY):
        with pytest.raises(ValueError, match="does not have"):
            replace(terms, cover=terms.cover | missing).message(ASKED, CONTEXT, None)


def epoch(**changes):
    return replace(StatusEpoch("did:ids:ivo", "did:ids:ivo#list", LIST.list_id, proof_day(NOW), 86_400), **changes)


def test_a_statement_is_whole():
    question = ask((HEADER,), status=True)
    whole = PresentationStatement(question, (bytes(96),), proof_day(NOW), (StatusPart(epoch(), bytes(96)),))
    assert whole.day == 20_780
    for change in (
        {"keys": ()},
        {"day": None},
        {"day": 0},
        {"day": 65_535},
        {"status": ()},
        {"status": whole.status * 2},
        {"status": (StatusPart(epoch(list_id="x" * 22), bytes(96)),)},
        {"status": (StatusPart(epoch(issuer="did:ids:eve", method="did:ids:eve#l"), bytes(96)),)},
        {"status": (StatusPart(epoch(period=3600), bytes(96)),)},
        {"question": ask((HEADER,), validity=False)},
    ):
        with pytest.raises(PredicateUnsupported):
            replace(whole, **change)


def test_verifier_accepts_statements():
    question = ask((HEADER,), holder=HolderForm.PLAIN, status=True)
    statement = PresentationStatement(question, (bytes(96),), proof_day(NOW), (StatusPart(epoch(), bytes(96)),))
    bound = PresentationContext(CONTEXT)
    Acceptance(NOW).check(statement, bound)
    for acceptance, changed, where in (
        (Acceptance(NOW + timedelta(minutes=6)), statement, bound),
        (Acceptance(NOW - timedelta(minutes=6)), statement, bound),
        (Acceptance(NOW), replace(statement, day=proof_day(NOW) - 1), bound),
        (Acceptance(NOW), replace(statement, day=proof_day(NOW) + 1), bound),
        (Acceptance(NOW), replace(statement, status=(StatusPart(epoch(epoch=20_781), bytes(96)),)), bound),
        (Acceptance(NOW), replace(statement, status=(StatusPart(epoch(epoch=20_779), bytes(96)),)), bound),
        (Acceptance(NOW), statement, replace(bound, consent=ConsentTerms.around(NOW, timedelta(hours=1)))),
        (Acceptance(NOW), replace(statement, question=replace(question, holder=HolderForm.CONSENT)), bound),
        (Acceptance(NOW), statement, PresentationContext(replace(CONTEXT, expires_at=NOW + timedelta(days=1)))),
    ):
        with pytest.raises(ProofInvalid):
            acceptance.check(changed, where)
    with pytest.raises(ValueError, match="32 bytes"):
        PresentationContext(CONTEXT, b"short")


def test_unrequested_statement_is_unchecked():
    everything = ask((HEADER,), status=True)
    assert unchecked(everything) == ("revocation",)
    nothing = ask((HEADER,), holder=HolderForm.NONE, validity=False)
    assert unchecked(nothing) == ("holder", "credentialValidity", "credentialStatus", "revocation")
