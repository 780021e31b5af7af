"""Presentations of any shape that a question can have, and what a hostile hand makes of them.

Everything is drawn from one seed. A mutant changes the text, which is opened and packed with the standard library's JSON and base64, or
what the verifier expects; some mutants are still good, and both verifiers have to say so.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from identity_bound_credentials.domain.presentation import DAY_SKEW, Acceptance, ConsentTerms, Cover
from identity_bound_credentials.domain.presented import sign_as_agent
from identity_bound_credentials.domain.question import HolderForm
from identity_kit.conformance.prover_cases import HANA, SCHEMA

from identity_bbs.bls12381 import ORDER
from identity_codec import ed25519
from identity_codec.values import replace
from identity_core.errors import PredicateNotSatisfied, PredicateUnsupported
from plugins.prover_bbs.tests.presentation_vectors import SMALL
from tests.presenting import DAY, NOW, Holder, Issuer, Scene, about, ask, context

ISSUERS = (Issuer(), Issuer("did:ids:uni", "uni"))
HANA_HOLDS = Holder()
AGENT = ed25519.generate(b"a".ljust(32, b"."))
BOUNDS = ("gte", "lte", "gt", "lt")
ORDERED = {one.name for one in (*SCHEMA.attributes, *SMALL.attributes) if one.type.ordered}
MIDNIGHT = datetime.combine((NOW + timedelta(days=1)).date(), datetime.min.time(), UTC)
OTHERS: dict[str, list[Any]] = {
    "name": ["", "JP", "Ada", "é\u0301 \U0001f600", '\\"/\x7f'],
    "country": ["DE", "FR", "Österreich"],
    "city": ["Ōsaka", "JP"],
    "resident": [False],
    "balance": [0, -1, "9223372036854775807", "-9223372036854775808", 9_007_199_254_740_991, "9007199254740992"],
    "score": [0, 1, 210, 212, 255],
    "height": ["0.00", "-0.05", "168.24", "168.26", "92233720368547758.07"],
    "birthDate": ["0001-01-01", "9999-12-31", "1969-03-31", "2000-02-29"],
    "lastSeen": ["2026-01-02T03:04:05.678902Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"],
    "debt": [12, 13],
}


@dataclass(frozen=True)
class Case:
    """A proof, and what its verifier expects."""

    scene: Scene
    text: str
    now: datetime
    expected: dict[str, Any]

    @property
    def json(self) -> dict[str, Any]:
        """For the other verifier."""
        own = {name: self.expected.get(name, default) for name, default in _defaults(self.scene).items()}
        terms = {"statusMaxAge": self.expected.get("status_max_age", 3600), "cover": self.expected.get("cover", 7)}
        data = {"agentKey": own["agent_key"], "capability": own["capability"], "nonce": own["nonce"]}
        return {
            "text": self.text,
            "question": own["question"].json,
            "keys": {method: key.hex() for method, key in own["keys"].items()},
            "audience": own["audience"],
            "now": int(self.now.timestamp()),
            **{name: None if value is None else value.hex() for name, value in data.items()},
            **terms,
        }

    @property
    def verdict(self) -> bool | str:
        """Of the Python package."""
        age = timedelta(seconds=self.expected.get("status_max_age", 3600))
        acceptance = Acceptance(self.now, age, Cover(self.expected.get("cover", 7)))
        own = {name: self.expected.get(name, default) for name, default in _defaults(self.scene).items()}
        return self.scene.verdict(self.text, acceptance=acceptance, **own)


def _defaults(scene: Scene) -> dict[str, Any]:
    return {
        "question": scene.question,
        "keys": scene.keys,
        "audience": scene.context.audience,
        "nonce": scene.context.nonce,
        "agent_key": scene.agent_key,
        "capability": scene.context.capability,
    }


def presentations(random: Random) -> Iterator[Case]:
    """Without an end; what is drawn and cannot be asked or is not so is drawn again."""
    while True:
        try:
            yield _presentation(random)
        except (PredicateUnsupported, PredicateNotSatisfied):
            continue


def _presentation(random: Random) -> Case:
    parts = []
    for number in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        issuer, schema = random.choice(ISSUERS), random.choice((SCHEMA, SMALL))
        status = random.random() < 0.8
        header = issuer.header(schema) if status else issuer.header(schema, status=None)
        values = {one.name: _value(random, one.name) for one in schema.attributes}
        handle = random.choice((1, 999, 1001, 2**32 - 2, 3_000_000_000 + number)) if status else 0
        last = random.choice((0, 1, 65_534 - DAY))
        particulars = about(handle=handle, first=DAY - random.choice((1, DAY)), last=DAY + last)
        held = HANA_HOLDS.obtain(issuer, header=header, values=values, particulars=particulars)
        parts.append(
            (header, held, values, [_predicate(random, values) for _ in range(random.choice((0, 1, 1, 2, 4)))])
        )
    asked = [predicate for *_, predicates in parts for predicate in predicates]
    either: tuple[tuple[int, ...], ...] = ()
    if len(asked) > 1 and random.random() < 0.5:
        either = (tuple(sorted(random.sample(range(len(asked)), min(len(asked), random.choice((2, 3, 4)))))),)
    classes = (tuple((number, name) for number in range(len(parts))) for name in ("country", "score"))
    same = tuple(group for group in classes if len(group) > 1 and random.random() < 0.3)
    question = ask(
        *((header, *predicates) for header, _, _, predicates in parts),
        either=either,
        same=same,
        holder=random.choice(tuple(HolderForm)),
        validity=(validity := random.random() < 0.7),
        status=validity and random.random() < 0.7,
        pseudonym=random.choice((None, "shop", "é \U0001f600")),
    )
    now = random.choice((NOW, MIDNIGHT - timedelta(seconds=random.choice((1, 100, 301))), MIDNIGHT - timedelta(days=1)))
    tomorrow = datetime.combine((now + timedelta(days=1)).date(), datetime.min.time(), UTC)
    agent = random.choice((None, None, AGENT.public))
    bound = context(
        issued_at=now - timedelta(seconds=30),
        expires_at=min(now + timedelta(minutes=9), tomorrow + DAY_SKEW),
        capability=random.choice((None, b"c" * 32)),
        agent=random.choice((None, "did:ids:ada")),
        proof_id=random.choice(("proof-1", 'é "\\ \U0001f600')),
    )
    scene = Scene(
        question,
        tuple(held for _, held, _, _ in parts),
        HANA_HOLDS,
        ISSUERS,
        now=now,
        seed=random.randrange(1 << 30),
        agent_key=agent,
        context=bound,
    )
    expected: dict[str, Any] = {}
    if question.consented and agent is not None and random.random() < 0.5:
        cover = Cover.QUESTION | Cover.AGENT
        scene.terms, expected["cover"] = ConsentTerms.around(now, timedelta(hours=1), cover), int(cover)
    text = scene.prove()
    return Case(scene, text if agent is None else sign_as_agent(text, AGENT.sign), now, expected)


def _value(random: Random, name: str) -> Any:
    own = (HANA | {"city": "Kōbe"})[name]
    return random.choice((own, own, own, *OTHERS[name], None))


def _predicate(random: Random, values: dict[str, Any]) -> tuple[str, str, Any]:
    """Often of the value itself, so that it often holds."""
    name = random.choice(list(values))
    own, others = values[name], OTHERS[name]
    other = random.choice(others)
    equal = other if own is None else own
    kind = random.choice(("eq", "neq", "set_member", *(BOUNDS if name in ORDERED else ())))
    if kind == "set_member":
        return name, kind, random.sample([*others, equal], random.randint(1, len(others) + 1))
    return name, kind, equal if kind in ("eq", "gte", "lte") and random.random() < 0.5 else other


# What becomes of a case.


def unpacked(text: str) -> Any:
    return json.loads(_unb64(text))


def packed(value: Any) -> str:
    return _b64(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode())


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def mutant(random: Random, case: Case, other: Case) -> tuple[str, Case]:
    """A case made of this one, perhaps with something of the other, and the kind of the change."""
    kind = random.choice(list(KINDS))
    return kind, KINDS[kind](random, case, other)


def _open_envelope(case: Case) -> tuple[Any, list[tuple[Any, Any, int]]]:
    """The envelope, and where it has bytes: container, key, and after how many of them the scalars begin."""
    value = unpacked(case.text)
    places = [(part, "proof", 144) for part in (*value["parts"], *value["status"])]
    places += [(value["sets"], n, 48) for n in range(len(value["sets"]))]
    places += [(value, "argument", 192)] if value["argument"] else []
    places += [(value, "pseudonym", 48)] if value["pseudonym"] else []
    if value["consent"]:
        points = len(value["parts"]) + (value["question"]["pseudonym"] is not None)
        places.append((value["consent"], "value", 48 * points))
    return value, places


def _bit(random: Random, case: Case, other: Case) -> Case:
    value, places = _open_envelope(case)
    if value["agent"] is not None:
        places.append((value["agent"], "signature", 0))
    places += [(one, 2, 0) for one in value["disclosed"]] + [(part, "header", 0) for part in value["parts"]]
    within, key, _ = random.choice(places)
    data = bytearray(_unb64(within[key]))
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    within[key] = _b64(bytes(data))
    return replace(case, text=packed(value))


def _scalar(random: Random, case: Case, other: Case) -> Case:
    value, places = _open_envelope(case)
    within, key, start = random.choice(places)
    data = _unb64(within[key])
    at = start + 32 * random.randrange(max(1, (len(data) - start) // 32))
    hostile = random.choice((0, 1, ORDER - 1, ORDER, (1 << 256) - 1)).to_bytes(32, "big")
    within[key] = _b64(data[:at] + hostile + data[at + 32 :])
    return replace(case, text=packed(value))


def _point(random: Random, case: Case, other: Case) -> Case:
    """Another of the proof's own, one out of order, the identity, minus it, one that is not on the curve."""
    value, places = _open_envelope(case)
    within, key, start = random.choice(places)
    data = _unb64(within[key])
    at = 48 * random.randrange(max(1, start // 48))
    own = data[at : at + 48]
    points = (
        data[:48],
        bytes([0xC0]) + bytes(47),
        bytes([own[0] ^ 0x20]) + own[1:],
        bytes([0x80]) + bytes(46) + b"\x04",
    )
    within[key] = _b64(data[:at] + random.choice(points) + data[at + 48 :])
    return replace(case, text=packed(value))


def _length(random: Random, case: Case, other: Case) -> Case:
    value, places = _open_envelope(case)
    within, key, _ = random.choice(places)
    data, size = _unb64(within[key]), random.choice((1, 32, 48))
    within[key] = _b64(random.choice((data[:-size], data + data[:size], b"")))
    return replace(case, text=packed(value))


def _splice(random: Random, case: Case, other: Case) -> Case:
    """A part of one proof in the other; the same proof again where both are one."""
    value, theirs = unpacked(case.text), unpacked(other.text)
    name = random.choice(sorted(value))
    value[name] = theirs[name]
    return replace(case, text=packed(value))


def change_member(random: Random, value: Any, hostile: Sequence[Any], added: Sequence[str] = ("more",)) -> None:
    """Change one member of JSON, at any depth: to one of ``hostile``, or away, or twice, or one with a name of ``added``."""
    within = value
    while True:
        keys = list(within) if isinstance(within, dict) else list(range(len(within)))
        if not keys:
            return
        key = random.choice(keys)
        if isinstance(within[key], dict | list) and within[key] and random.random() < 0.9:
            within = within[key]
            continue
        match random.randrange(5):
            case 0 if isinstance(within, dict):
                within[random.choice(added)] = random.choice(hostile)
            case 1:
                del within[key]
            case 2 if isinstance(within, list):
                within.insert(random.randrange(len(within) + 1), within[key])
            case 3 if type(within[key]) is int:
                within[key] += random.choice((-1, 1, 3600, 86_400))
            case _:
                within[key] = random.choice(hostile)
        return


def _member(random: Random, case: Case, other: Case) -> Case:
    value = unpacked(case.text)
    change_member(random, value, (None, True, False, 0, 1, -1, 1.5, "", "x", [], {}, 1 << 40, 2**53 - 1))
    return replace(case, text=packed(value))


def _spelling(random: Random, case: Case, other: Case) -> Case:
    data = _unb64(case.text)
    spellings = (
        case.text + "=",
        case.text + "\n",
        _b64(data + b" "),
        _b64(b"\xef\xbb\xbf" + data),
        _b64(data.replace(b'"version":2', b'"version":2.0')),
        _b64(data.replace(b'"version":2', b'"version":2,"version":2')),
        _b64(data.replace(b'"proofId":"', b'"proofId":"\\u0020')),
        _b64(data.replace(b'"proofId":"', b'"proofId":"\\ud800')),
        _b64(data.replace(b'"proofId":"', b'"proofId":"\xff')),
        _b64(data.replace(b'"audience":"h', b'"audience":"\\u0068')),
        case.text.translate(str.maketrans("-_", "+/")),
        case.text[:-1],
        case.text,
    )
    return replace(case, text=random.choice(spellings))


def _time(random: Random, case: Case, other: Case) -> Case:
    """Around every time that is looked at, the second before and after."""
    bound, value = case.scene.context, unpacked(case.text)
    begin = int(case.now.timestamp()) // 86_400 * 86_400
    times = [int(bound.issued_at.timestamp()) - 60, int(bound.expires_at.timestamp()), begin - 300, begin + 86_700]
    times += [begin, begin + 86_400, begin + 90_000] + ([value["consent"]["notAfter"]] if value["consent"] else [])
    moment = datetime.fromtimestamp(random.choice(times) + random.choice((-1, 0, 1)), UTC)
    return replace(case, now=moment, expected=case.expected | {"status_max_age": random.choice((0, 3600))})


def _expected(random: Random, case: Case, other: Case) -> Case:
    scene = case.scene
    keys = dict(scene.keys)
    swapped = dict(zip(keys, reversed(keys.values()), strict=True))
    change = random.choice(
        (
            {"audience": "https://other.example"},
            {"nonce": b"another nonce of the verifier"},
            {"agent_key": bytes(32)},
            {"agent_key": None},
            {"capability": bytes(32)},
            {"capability": None},
            {"keys": swapped},
            {"cover": random.choice((0, 4, 5, 12, 23, 31))},
            {"question": other.scene.question},
            {"question": replace(scene.question, pseudonym="bank")},
        )
    )
    return replace(case, expected=case.expected | change)


KINDS = {
    "a bit": _bit,
    "a scalar": _scalar,
    "a point": _point,
    "a length": _length,
    "a splice": _splice,
    "a member": _member,
    "a spelling": _spelling,
    "a time": _time,
    "an expectation": _expected,
}
