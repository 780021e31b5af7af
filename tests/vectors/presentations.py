"""Frozen presentations of suite 2 for every reader: what must be accepted, and what must be refused and why (PROTOCOL-2.md §10).

    python -m tests.vectors.presentations

writes ``presentations.json`` anew. It never has to: a change of a value is a change of the protocol, and needs another suite. A vector
has all that a verifier needs: the text; and its own question with the headers that it knows, keys, audience, nonce (hexadecimal),
clock and cover.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from identity_bound_credentials.domain.bound_credential import SecretKeeper
from identity_bound_credentials.domain.normal_form import NormalForm, normal_form
from identity_bound_credentials.domain.presentation import ConsentTerms, Cover
from identity_bound_credentials.domain.presented import sign_as_agent
from identity_bound_credentials.domain.question import HolderForm, Question
from identity_kit.conformance.prover_cases import HANA, SCHEMA
from identity_prover_bbs.suite2 import relation

from identity_codec import ed25519
from identity_codec.values import replace
from plugins.prover_bbs.tests.presentation_vectors import SMALL
from tests.presenting import DAY, LIST, NOW, Holder, Issuer, Scene, about, ask, context
from tests.random_presentations import Case, packed, unpacked

FILE = Path(__file__).with_name("presentations.json")
HOLDER = Holder()
IVO, UNI = Issuer(), Issuer("did:ids:uni", "uni")
AGENT = ed25519.generate(b"a".ljust(32, b"."))
PLAIN, NONE = HolderForm.PLAIN, HolderForm.NONE
SAME_CITY = {"country": "JP", "score": 211, "city": "JP"}
MIDNIGHT = datetime.combine((NOW + timedelta(days=1)).date(), datetime.min.time(), UTC)
BARE: dict[str, Any] = {"holder": PLAIN, "validity": False}
Predicate = tuple[str, str, Any]


def case(
    *parts: list[Predicate],
    schema: Any = SCHEMA,
    values: Any = None,
    issuers: tuple[Issuer, ...] = (IVO,),
    keeper: SecretKeeper = SecretKeeper.WALLET,
    now: datetime = NOW,
    agent: bool = False,
    cover: Cover | None = None,
    last: int = 265,
    bound: Any = None,
    status_list: Any = LIST,
    **options: Any,
) -> Case:
    """A proof with one credential for each list of predicates, by the issuers in turn."""
    values = (HANA if schema is SCHEMA else SAME_CITY) if values is None else values
    asked, held = [], []
    for number, predicates in enumerate(parts):
        issuer = issuers[number % len(issuers)]
        header = issuer.header(schema, status=status_list, keeper=keeper)
        particulars = about(handle=3_000_000_000 + number if status_list else 0, last=DAY + last)
        held.append(HOLDER.obtain(issuer, header=header, values=values, particulars=particulars))
        asked.append((header, *predicates))
    key = AGENT.public if agent else None
    times = {"issued_at": now - timedelta(seconds=30), "expires_at": now + timedelta(minutes=4)}
    own = context(**(times | (bound or {})))
    scene = Scene(ask(*asked, **options), tuple(held), HOLDER, issuers, now=now, seed=7, agent_key=key, context=own)
    expected: dict[str, Any] = {}
    if cover is not None:
        scene.terms, expected["cover"] = ConsentTerms.around(now, timedelta(hours=1), cover), int(cover)
    text = scene.prove()
    return Case(scene, sign_as_agent(text, AGENT.sign) if agent else text, now, expected)


ADULT: Predicate = ("birthDate", "lte", "2008-11-23")
RICH: Predicate = ("balance", "gte", 1_000_000)
ACCEPTED: dict[str, Callable[[], Case]] = {
    "plain, nothing else": lambda: case([], **BARE),
    "plain, valid": lambda: case([], holder=PLAIN),
    "plain, valid, not revoked": lambda: case([], holder=PLAIN, status=True),
    "no holder": lambda: case([ADULT], holder=NONE),
    "bearer": lambda: case([ADULT], holder=NONE, keeper=SecretKeeper.NONE),
    "custodian": lambda: case([ADULT], keeper=SecretKeeper.CUSTODIAN),
    "consent": lambda: case([ADULT]),
    "consent, not revoked": lambda: case([ADULT], status=True),
    "no status list": lambda: case([ADULT], status_list=None),
    "integer gte, lte": lambda: case([RICH, ("balance", "lte", "9223372036854775806")], **BARE),
    "integer gt, lt of the whole domain": lambda: case(
        [("balance", "gt", "-9223372036854775808"), ("balance", "lt", "9223372036854775807")], **BARE
    ),
    "integer eq": lambda: case([("balance", "eq", 7_318_204_915_663)], **BARE),
    "bounds that leave one number": lambda: case([("score", "gte", 211), ("score", "lte", 211)], **BARE),
    "narrowed domain gte": lambda: case([("score", "gte", 1)], **BARE),
    "decimal gte": lambda: case([("height", "gte", "168.25")], **BARE),
    "decimal eq": lambda: case([("height", "eq", "168.25")], **BARE),
    "date lt": lambda: case([("birthDate", "lt", "1969-04-02")], **BARE),
    "date in a set": lambda: case([("birthDate", "set_member", ["1969-04-01", "9999-12-31"])], **BARE),
    "datetime gt": lambda: case([("lastSeen", "gt", "2026-01-02T03:04:05.678900Z")], **BARE),
    "boolean eq": lambda: case([("resident", "eq", True)], **BARE),
    "boolean neq": lambda: case([("resident", "neq", False)], **BARE),
    "string eq": lambda: case([("country", "eq", "JP")], **BARE),
    "string neq": lambda: case([("country", "neq", "DE"), ("country", "neq", "FR")], **BARE),
    "string set of 2": lambda: case([("country", "set_member", ["DE", "JP"])], **BARE),
    "string set of 5": lambda: case([("country", "set_member", ["AT", "CH", "DE", "FR", "JP"])], **BARE),
    "two sets of one attribute": lambda: case(
        [("country", "set_member", ["AT", "CH", "JP"]), ("country", "set_member", ["CH", "DE", "JP"])], **BARE
    ),
    "set and neq": lambda: case([("country", "set_member", ["AT", "CH", "JP"]), ("country", "neq", "CH")], **BARE),
    "set within bounds": lambda: case([("score", "set_member", [7, 210, 211]), ("score", "gt", 9)], **BARE),
    "integer neq": lambda: case([("score", "neq", 7), ("score", "neq", 212)], **BARE),
    "neq outside of the bounds": lambda: case([("score", "gte", 200), ("score", "neq", 7)], **BARE),
    "either of two intervals": lambda: case([("score", "lte", 9), ("score", "gte", 200)], either=((0, 1),), **BARE),
    "either of four": lambda: case(
        [("score", "lte", 9), ("country", "eq", "DE"), RICH, ADULT], either=((0, 1, 2, 3),), **BARE
    ),
    "two groups": lambda: case([("score", "lte", 9), RICH, ("country", "eq", "DE"), ADULT], either=((0, 1), (2, 3))),
    "pseudonym, plain": lambda: case([], pseudonym="https://shop.example", **BARE),
    "pseudonym, consent": lambda: case([ADULT], pseudonym="https://shop.example"),
    "pseudonym beyond ASCII": lambda: case([], pseudonym="é \U0001f600", **BARE),
    "two credentials": lambda: case([ADULT], [RICH], status=True),
    "two credentials, plain": lambda: case([ADULT], [RICH], holder=PLAIN),
    "four credentials of two issuers": lambda: case([ADULT], [], [RICH], [], issuers=(IVO, UNI), status=True),
    "same of two credentials": lambda: case([], [], same=(((0, "country"), (1, "country")),)),
    "same number of two credentials": lambda: case([], [], same=(((0, "score"), (1, "score")),), holder=PLAIN),
    # As the question lists it, ``city`` is the first, whose slot is the higher one: the row that says that it is not null is its.
    "same, listed against the slots": lambda: case([], schema=SMALL, same=(((0, "city"), (0, "country")),), **BARE),
    "same, listed against the slots, with neq": lambda: case(
        [("country", "neq", "DE")], schema=SMALL, same=(((0, "city"), (0, "country")),), **BARE
    ),
    "same over credentials, against the slots": lambda: case(
        [], [], schema=SMALL, same=(((0, "city"), (0, "country"), (1, "city"), (1, "country")),)
    ),
    "agent": lambda: case([ADULT], agent=True, bound={"agent": "did:ids:aki"}),
    "capability": lambda: case([ADULT], bound={"capability": b"c" * 32}),
    "consent to an agent's key in advance": lambda: case(
        [ADULT], agent=True, cover=Cover.QUESTION | Cover.AGENT, bound={"agent": "did:ids:aki"}
    ),
    "consent in advance for one audience": lambda: case(
        [ADULT], agent=True, cover=Cover.AUDIENCE | Cover.QUESTION | Cover.AGENT
    ),
    "until midnight": lambda: case([ADULT], status=True, bound={"expires_at": MIDNIGHT}),
    "the last day": lambda: case([ADULT], last=0),
    "just before midnight": lambda: case([ADULT], now=MIDNIGHT - timedelta(seconds=1), status=True),
    "just after midnight": lambda: replace(
        case([ADULT], now=MIDNIGHT - timedelta(seconds=1), status=True), now=MIDNIGHT + timedelta(seconds=100)
    ),
}


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[], Case]:
    """The accepted vector with another envelope."""

    def make_case() -> Case:
        one = ACCEPTED[name]()
        value = unpacked(one.text)
        change(value)
        return replace(one, text=packed(value))

    return make_case


def expecting(name: str, **expected: Any) -> Callable[[], Case]:
    """The accepted vector before a verifier that expects something else."""
    return lambda: (one := ACCEPTED[name]()) and replace(one, expected=one.expected | expected)


def vector_at_another_time(name: str, **later: float) -> Callable[[], Case]:
    """The accepted vector at another time."""
    return lambda: (one := ACCEPTED[name]()) and replace(one, now=one.now + timedelta(**later))


def asking(name: str, **question: Any) -> Callable[[], Case]:
    """The accepted vector before a verifier that asks something else."""

    def make_case() -> Case:
        one = ACCEPTED[name]()
        return replace(one, expected=one.expected | {"question": replace(one.scene.question, **question)})

    return make_case


def text_of(name: str, change: Callable[[str], str]) -> Callable[[], Case]:
    """The accepted vector in another spelling."""
    return lambda: (one := ACCEPTED[name]()) and replace(one, text=change(one.text))


def flipped(text: str, place: int) -> str:
    return text[:place] + ("B" if text[place] == "A" else "A") + text[place + 1 :]


def change_text(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for member in path[:-1]:
            value = value[member]
        value[path[-1]] = to(value[path[-1]]) if callable(to) else to

    return change


def spliced(name: str, other: str, *members: str) -> Callable[[], Case]:
    """The accepted vector with members of another one."""

    def make_case() -> Case:
        value, theirs = ACCEPTED[name](), unpacked(ACCEPTED[other]().text)
        own = unpacked(value.text)
        own.update({member: theirs[member] for member in members})
        return replace(value, text=packed(own))

    return make_case


def in_lowest_slot(name: str) -> Case:
    """The accepted vector as a prover makes it that reads "the first slot of the class" (4.2) as the lowest one."""

    def misread(question: Question) -> NormalForm:
        form = normal_form(question)
        last = form.inequalities[-1]
        (members,) = form.classes
        assert last.slot == members[0] != min(members)
        return replace(form, inequalities=(*form.inequalities[:-1], last._replace(slot=min(members))))

    good = ACCEPTED[name]()
    relation.PresentationRelation.from_statement.cache_clear()
    with patch.object(relation, "normal_form", misread):
        text = good.scene.prove()
    relation.PresentationRelation.from_statement.cache_clear()
    return replace(good, text=text)


REFUSED: dict[str, Callable[[], Case]] = {
    "another audience": expecting("consent", audience="https://bank.example"),
    "another nonce": expecting("consent", nonce=b"another nonce of another verifier"),
    "another key of the issuer": expecting("consent", keys={IVO.method: UNI.public}),
    "no key of the issuer": expecting("consent", keys={}),
    "an agent's key that was not asked for": expecting("agent", agent_key=None),
    "no agent's key": expecting("consent", agent_key=AGENT.public),
    "another capability": expecting("capability", capability=b"d" * 32),
    "no capability": expecting("consent", capability=b"d" * 32),
    "a consent that covers too little": expecting("consent to an agent's key in advance", cover=7),
    "another pseudonym's context": asking("pseudonym, plain", pseudonym="https://bank.example"),
    "a pseudonym that was not asked for": asking("pseudonym, consent", pseudonym=None),
    "validity was not asked for": asking("consent", validity=False),
    "status was asked for": asking("consent", status=True),
    "status was not asked for": asking("consent, not revoked", status=False),
    "a consent was asked for": asking("plain, valid", holder=HolderForm.CONSENT),
    "no consent was asked for": asking("consent", holder=PLAIN),
    "no holder was asked for": asking("plain, valid", holder=NONE),
    "no alternatives were asked for": asking("either of two intervals", either=()),
    "nothing that is the same was asked for": asking("same of two credentials", same=()),
    "expired": vector_at_another_time("consent", minutes=4),
    "not yet issued": vector_at_another_time("consent", seconds=-91),
    "the consent has ended": vector_at_another_time("until midnight", hours=3),
    "the list is of an epoch before": expecting("just after midnight", status_max_age=0),
    "padding": text_of("plain, valid", lambda text: text + "="),
    "a line's end": text_of("plain, valid", lambda text: text + "\n"),
    "cut off": text_of("plain, valid", lambda text: text[:-4]),
    "another alphabet": text_of("plain, valid", lambda text: "+" + text[1:]),
    "an empty text": text_of("plain, valid", lambda text: ""),
    "another suite": changed("plain, valid", change_text("suite", to="identity-bbs-predicates-1")),
    "version 1": changed("plain, valid", change_text("version", to=1)),
    "version as a text": changed("plain, valid", change_text("version", to="2")),
    "one member more": changed("plain, valid", lambda value: value.update(more=None)),
    "one member less": changed("plain, valid", lambda value: value.pop("sets")),
    "another question in the envelope": changed(
        "consent", change_text("question", "credentials", 0, "predicates", 0, "value", to="2000-01-01")
    ),
    "another audience in the envelope": changed(
        "consent", change_text("context", "audience", to="https://bank.example")
    ),
    "another expiry in the envelope": changed("consent", change_text("context", "expiresAt", to=lambda time: time + 1)),
    "another proof id": changed("consent", change_text("context", "proofId", to="proof-2")),
    "an unprintable proof id": changed("consent", change_text("context", "proofId", to="proof\u0007")),
    "a proof id that Unicode 14.0 does not assign": changed(
        "consent", change_text("context", "proofId", to="\U0001fa77")
    ),
    "another day": changed("plain, valid", change_text("day", to=lambda day: day - 1)),
    "no day": changed("plain, valid", change_text("day", to=None)),
    "a bit of the lead": changed("plain, valid", change_text("parts", 0, "proof", to=lambda text: flipped(text, 300))),
    "a bit of a further part": changed(
        "two credentials", change_text("parts", 1, "proof", to=lambda text: flipped(text, 300))
    ),
    "a bit of a list's part": changed(
        "consent, not revoked", change_text("status", 0, "proof", to=lambda text: flipped(text, 300))
    ),
    "a bit of the argument": changed("integer gte, lte", change_text("argument", to=lambda text: flipped(text, 400))),
    "a bit of a set's argument": changed(
        "string set of 5", change_text("sets", 0, to=lambda text: flipped(text, len(text) // 2))
    ),
    "a bit of the consent": changed("consent", change_text("consent", "value", to=lambda text: flipped(text, 100))),
    "a bit of the pseudonym": changed("pseudonym, plain", change_text("pseudonym", to=lambda text: flipped(text, 20))),
    "a bit of the agent's signature": changed(
        "agent", change_text("agent", "signature", to=lambda text: flipped(text, 20))
    ),
    "no signature of the agent": changed("agent", change_text("agent", "signature", to=None)),
    "another disclosed message": changed("string eq", change_text("disclosed", 0, 2, to="AURF")),
    "nothing disclosed": changed("string eq", change_text("disclosed", to=[])),
    "too short a part": changed("plain, valid", change_text("parts", 0, "proof", to=lambda text: text[:-4])),
    "no argument": changed("integer gte, lte", change_text("argument", to="")),
    "one set's argument less": changed("string set of 5", change_text("sets", to=[])),
    "a header of another issuer": spliced("consent", "four credentials of two issuers", "parts"),
    "a consent of another proof": spliced("consent", "custodian", "consent"),
    "an argument of another proof": spliced("integer gte, lte", "decimal gte", "argument"),
    "parts in another order": changed("two credentials", lambda value: value["parts"].reverse()),
    "the point at infinity": changed(
        "plain, valid", change_text("parts", 0, "proof", to=lambda text: "wA" + "A" * 62 + text[64:])
    ),
    "not null in the lowest slot of a class": lambda: in_lowest_slot("same, listed against the slots"),
    "times after the year 9999": changed("plain, valid", change_text("context", "expiresAt", to=253_402_300_800)),
}


def _json(one: Case) -> dict[str, Any]:
    question = one.expected.get("question", one.scene.question)
    return {**one.json, "headers": [credential.header.encoded.hex() for credential in question.credentials]}


def vectors() -> dict[str, list[dict[str, Any]]]:
    """Each with its name; those that are refused with the reason that the service's verifier has."""
    accepted = []
    for name, make in ACCEPTED.items():
        one = make()
        assert one.verdict is True, (name, one.verdict)
        accepted.append({"name": name, **_json(one)})
    refused = []
    for name, make in REFUSED.items():
        one = make()
        assert isinstance(one.verdict, str), name
        # Each JSON library has its own text behind the colon.
        refused.append({"name": name, "reason": one.verdict.partition(":")[0], **_json(one)})
    return {"accepted": accepted, "refused": refused}


def main() -> None:
    """Write the file."""
    FILE.write_text(json.dumps(vectors(), ensure_ascii=True, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
