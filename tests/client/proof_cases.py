"""Proofs of both suites, mutants of them, and the verdict of the Python verifier, with which a client must agree.

Everything is drawn from one seed. A mutant changes the text of a proof, the members around it, the verifier's expectation or its clock. The
verdict is that of ``verifyProof`` with the issuers' documents in place of a resolver.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from typing import Any, Final

import msgspec
from identity_bound_credentials.use_cases.suite import BoundChecks
from identity_kit.conformance.prover_cases import HANA, SCHEMA, BbsIssuer
from identity_prover_bbs import BbsProver
from identity_verification.answers import verification
from identity_verification.domain.checks import CheckCode, wrong
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import ProofVerification
from identity_verification.expectation import expectation_of
from identity_verification.offline import GivenDocuments
from identity_verification.suites import SuiteOneChecks
from identity_verification.use_cases.check import CheckProof
from identity_verification.wire import VerifyProofRequest

from identity_bbs.bls12381 import ORDER, select
from identity_client.action import PredicateType
from identity_codec import multikey
from identity_codec.structs import convert
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, Statement
from identity_core.errors import PredicateNotSatisfied, PredicateUnsupported, ProofInvalid
from tests.proving import Workers
from tests.random_presentations import AGENT, OTHERS, Case, _predicate, change_member, presentations

Json = dict[str, Any]
# Proof, expectation, documents of issuers, and the time in seconds since 1970.
Job = dict[str, Any]
PRIME: Final = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
NOW: Final = datetime(2026, 11, 23, 12, 0, 30, tzinfo=UTC)
HOSTILE: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 1.5, -0.0, 1e300, "", "x", [], {}, 1 << 40, 2**53 - 1, 2**53, 2**64, "__proto__", "constructor"),
    *({"__proto__": {"suite": 1}}, {"toString": 1}, [[[[]]]], "\ud7ff", "\u0378", "é", "e\u0301", " ", "\u00a0", "a" * 2000),
)  # fmt: skip


def point_octets(x: int, *, larger: bool = False) -> bytes:
    """Return 48 bytes of a point with this x."""
    data = bytearray(x.to_bytes(48, "big"))
    data[0] |= 0xA0 if larger else 0x80
    return bytes(data)


@functools.cache
def outside_points() -> tuple[bytes, ...]:
    """Return points of the curve outside of the subgroup, one of order 3 among them."""
    on_curve = [x for x in range(40) if pow(x**3 + 4, (PRIME - 1) // 2, PRIME) == 1]
    return tuple(point_octets(x, larger=larger) for x in on_curve for larger in (False, True))


@functools.cache
def hostile_points() -> tuple[bytes, ...]:
    """Return bytes that encode no point of the subgroup, or not in their one form."""
    off_curve = next(x for x in range(40) if pow(x**3 + 4, (PRIME - 1) // 2, PRIME) == PRIME - 1)
    return (
        *outside_points(),
        bytes([0xC0]) + bytes(47),
        bytes([0xC0]) + bytes(46) + b"\x01",
        bytes([0x40]) + bytes(47),
        bytes(48),
        b"\xff" * 48,
        point_octets(off_curve),
        point_octets(PRIME),
        point_octets(PRIME + 4),
    )


# Good proofs.


def document(method: str, key: bytes) -> Json:
    did = method.partition("#")[0]
    text = multikey.encode_public(multikey.BLS12381G2, key)
    own = {"id": method, "type": "Multikey", "controller": did, "publicKeyMultibase": text}
    return {"id": did, "verificationMethod": [own], "assertionMethod": [method]}


def plain_proofs(random: Random) -> Iterator[Job]:
    """Yield proofs of suite 1, without an end."""
    prover = BbsProver(select(), random.randbytes)
    while True:
        issuer = BbsIssuer(random.choice(("ivo", "uni")))
        values = {name: random.choice((HANA[name], HANA[name], *OTHERS[name], None)) for name in HANA}
        asked = [_predicate(random, values) for _ in range(random.choice((1, 1, 2, 3, 6)))]
        try:
            # What suite 2 alone proves is drawn again.
            predicates = tuple(Predicate.parse(SCHEMA, *one) for one in asked)
            made_at = NOW - timedelta(seconds=random.choice((0, 30)))
            context = Context(
                "https://shop.example",
                b"a nonce of the verifier, 31 octets",
                made_at,
                made_at + timedelta(minutes=9),
                random.choice(("proof-1", 'é "\\ \U0001f600')),
                random.choice((None, b"c" * 32)),
                random.choice((None, "did:ids:ada")),
            )
            statement = Statement(issuer.key, SCHEMA, predicates)
            made = prover.prove(statement, issuer.credential(SCHEMA, values), context=context)
        except (PredicateUnsupported, PredicateNotSatisfied):
            continue
        method = issuer.key.verification_method
        yield {
            "proof": {
                "proof": made.proof,
                "publicSignals": list(made.public_signals),
                "predicateType": made.predicate_type,
                "proofId": made.proof_id,
            },
            "expect": {
                "predicates": [one.json for one in predicates],
                "challenge": context.nonce.decode(),
                "domain": context.audience,
                "issuerDid": method.partition("#")[0],
            },
            "documents": [document(method, issuer.key.public_key)],
            "now": int(NOW.timestamp()),
        }


def presented_proofs(random: Random) -> Iterator[Job]:
    """Yield proofs of suite 2, without an end."""
    for case in presentations(random):
        yield _presented(case)


def _presented(case: Case) -> Job:
    question, bound = case.scene.question, case.scene.context
    expect: Json = {
        "credentials": [
            {
                "issuerDid": one.header.issuer,
                "schemaId": one.header.schema.id,
                "predicates": [each.json for each in one.predicates],
            }
            for one in question.credentials
        ],
        "same": [[{"credential": part, "attributeName": name} for part, name in group] for group in question.same],
        "either": [list(group) for group in question.either],
        "challenge": bound.nonce.decode(),
        "domain": bound.audience,
    }
    if question.pseudonym is not None:
        expect["pseudonym"] = question.pseudonym
    if case.scene.agent_key is not None:
        expect["agentKey"] = multikey.encode_public(multikey.ED25519, case.scene.agent_key)
    if "cover" in case.expected:
        expect["consentCover"] = case.expected["cover"]
    documents = [document(method, key) for method, key in case.scene.keys.items()]
    return {"proof": case.text, "expect": expect, "documents": documents, "now": int(case.now.timestamp())}


def good_proofs(seed: int, count: int) -> list[Job]:
    """Return proofs of both suites by turns."""
    random = Random(seed)
    both = zip(plain_proofs(random), presented_proofs(random), strict=True)
    return [one for pair in islice(both, (count + 1) // 2) for one in pair][:count]


# Mutants.


def text_of(job: Job) -> str:
    proof = job["proof"]
    return str(proof if isinstance(proof, str) else proof["proof"])


def with_text(job: Job, text: str) -> Job:
    proof = job["proof"]
    # What stands around the text is compared with it, and has mutants of its own.
    return job | {"proof": text if isinstance(proof, str) else {"proof": text}}


def open_case(job: Job) -> Any:
    return json.loads(_unb64(text_of(job)))


def packed(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return _b64(text.encode("utf-8", "surrogatepass"))


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _places(value: Any) -> list[tuple[Any, Any, int]]:
    """Return where an envelope has bytes: container, key, and how many of them are points."""
    if "bbsProof" in value:
        subs = value["predicateProofs"]
        points = [4 if "argument" not in value and place == 0 else 2 for place in range(len(subs))]
        return [(value, "bbsProof", 144), *((subs, place, 48 * count) for place, count in enumerate(points))]
    places = [(part, "proof", 144) for part in (*value["parts"], *value["status"])]
    places += [(value["sets"], place, 96) for place in range(len(value["sets"]))]
    places += [(value, "argument", 192)] if value["argument"] else []
    places += [(value, "pseudonym", 48)] if value["pseudonym"] else []
    if value["consent"]:
        count = len(value["parts"]) + (value["question"]["pseudonym"] is not None)
        places.append((value["consent"], "value", 48 * count))
    return places


def _bit(random: Random, job: Job, other: Job) -> Job:
    value = open_case(job)
    within, key, _ = random.choice(_places(value))
    data = bytearray(_unb64(within[key]))
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    within[key] = _b64(bytes(data))
    return with_text(job, packed(value))


def _scalar(random: Random, job: Job, other: Job) -> Job:
    value = open_case(job)
    within, key, _ = random.choice(_places(value))
    data = _unb64(within[key])
    at = len(data) - 32 * random.randint(1, max(1, len(data) // 64))
    own = int.from_bytes(data[at : at + 32], "big")
    hostile = random.choice((0, 1, ORDER - 1, ORDER, (1 << 256) - 1, min(own + ORDER, (1 << 256) - 1)))
    within[key] = _b64(data[:at] + hostile.to_bytes(32, "big") + data[at + 32 :])
    return with_text(job, packed(value))


def _point(random: Random, job: Job, other: Job) -> Job:
    value = open_case(job)
    within, key, points = random.choice(_places(value))
    data = _unb64(within[key])
    at = 48 * random.randrange(max(1, points // 48))
    own = data[at : at + 48]
    negated = bytes([own[0] ^ 0x20]) + own[1:]
    uncompressed = bytes([own[0] & 0x7F]) + own[1:]
    chosen = random.choice((random.choice(hostile_points()), data[:48], negated, uncompressed))
    within[key] = _b64(data[:at] + chosen + data[at + 48 :])
    return with_text(job, packed(value))


def _length(random: Random, job: Job, other: Job) -> Job:
    value = open_case(job)
    within, key, _ = random.choice(_places(value))
    data, size = _unb64(within[key]), random.choice((1, 32, 48, 96))
    within[key] = _b64(random.choice((data[:-size], data + data[:size], b"", data * 20)))
    return with_text(job, packed(value))


def _splice(random: Random, job: Job, other: Job) -> Job:
    value, theirs = open_case(job), open_case(other)
    name = random.choice(sorted(value))
    value[name] = theirs.get(name)
    return with_text(job, packed(value))


def _member(random: Random, job: Job, other: Job) -> Job:
    value = open_case(job)
    _change(random, value)
    return with_text(job, packed(value))


def _header(random: Random, job: Job, other: Job) -> Job:
    """Change the JSON of a signed header."""
    value = open_case(job)
    parts = [value] if "header" in value else [*value["parts"], *value["status"]]
    part = random.choice(parts)
    tag, _, text = _unb64(part["header"]).partition(b":")
    header = json.loads(text)
    _change(random, header)
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    part["header"] = _b64(tag + b":" + encoded.encode("utf-8", "surrogatepass"))
    return with_text(job, packed(value))


def _change(random: Random, value: Any) -> None:
    change_member(random, value, HOSTILE, ("more", "__proto__", "constructor"))


def _spelling(random: Random, job: Job, other: Job) -> Job:
    text = text_of(job)
    data = _unb64(text)
    number = b"2" if b'"version":2' in data else b"1"
    spellings = (
        text + "=",
        text + "\n",
        " " + text,
        "",
        "é",
        text[:-1],
        text + "A" * 140_000,
        text.translate(str.maketrans("-_", "+/")),
        text,
        *map(
            _b64,
            (
                data + b" ",
                b"\xef\xbb\xbf" + data,
                data[:-1],
                b"[" * 60_000,
                b'{"a":' * 20_000,
                b"null",
                b"[]",
                data.replace(b'"version":' + number, b'"version":' + number + b".0"),
                data.replace(b'"version":' + number, b'"version":' + number + b"e0"),
                data.replace(b'"version":', b'"version":' + number + b',"version":'),
                data.replace(b'"proofId":"', b'"proofId":"\\u0020'),
                data.replace(b'"proofId":"', b'"proofId":"\\ud800'),
                data.replace(b'"proofId":"', b'"proofId":"\xff'),
                data.replace(b'"proofId":"', b'"proofId":"\xed\xa0\x80'),
                data.replace(b'"audience":"h', b'"audience":"\\u0068'),
                data.replace(b'"issuedAt":', b'"issuedAt":-'),
                data.replace(b'"expiresAt":', b'"expiresAt":9007199254740993'),
            ),
        ),
    )
    return with_text(job, random.choice(spellings))


def _time(random: Random, job: Job, other: Job) -> Job:
    """Look at a proof at the seconds around each time that is compared."""
    value = open_case(job)
    context = value["context"]
    midnight = job["now"] // 86_400 * 86_400
    times = [context["issuedAt"] - 60, context["issuedAt"], context["expiresAt"], midnight, midnight - 300]
    times += [midnight + 86_400, midnight + 86_700, midnight + 90_000]
    if value.get("consent"):
        times += [value["consent"]["notBefore"] - 60, value["consent"]["notAfter"]]
    limits = random.choice(
        ({}, {"maxAge": random.choice((0, 30, 60))}, {"statusMaxAge": random.choice((0, 3600, 90_000))})
    )
    return job | {"now": random.choice(times) + random.choice((-1, 0, 1)), "expect": job["expect"] | limits}


def _around(random: Random, job: Job, other: Job) -> Job:
    """Change the members around the text, or put the proof into an answer."""
    proof = job["proof"]
    if isinstance(proof, str):
        context = open_case(job)["context"]
        right = {"proof": proof, "proofId": context["proofId"]}
        return job | {"proof": random.choice((right, {"proof": right, "anchor": None}, right | {"proofId": "another"}))}
    changed = copy.deepcopy(proof)
    match random.randrange(6):
        case 0:
            changed[random.choice(sorted(changed))] = random.choice(HOSTILE)
        case 1:
            del changed[random.choice(sorted(changed))]
        case 2:
            signals = changed["publicSignals"]
            signals[random.randrange(len(signals))] = random.choice(("x", "", None, 1, signals[0]))
        case 3:
            return job | {"proof": {"proof": changed, "anchor": None}}
        case 4:
            changed["publicSignals"] = [*changed["publicSignals"], "x"]
        case _:
            return job | {"proof": random.choice((None, [], 1, {}, {"proof": []}, {"__proto__": changed}))}
    return job | {"proof": changed}


def _expected(random: Random, job: Job, other: Job) -> Job:
    expect = copy.deepcopy(job["expect"])
    predicates = [each for one in expect.get("credentials", [expect]) for each in one.get("predicates", ())]
    match random.randrange(9):
        case 0:
            expect["challenge"] = random.choice(
                ("another challenge of it", expect["challenge"] + " ", "\ufeff" + expect["challenge"])
            )
        case 1:
            expect["domain"] = random.choice(
                (expect["domain"].upper(), expect["domain"] + "/", "https://other.example")
            )
        case 2 if "issuerDid" in expect:
            expect["issuerDid"] = random.choice(("did:ids:eve", "x", expect["issuerDid"] + "#bbs"))
        case 3 if predicates:
            one = random.choice(predicates)
            one["type"] = random.choice((*PredicateType, "neq", "x", "__proto__"))
        case 4 if predicates:
            one = random.choice(predicates)
            one["value"] = random.choice(
                (18, 18.0, 1.5, "168.3", 168.25, True, "JP", ["JP", "DE"], [2, 1], "1969-04-01", one["value"])
            )
        case 5 if predicates:
            random.choice(predicates)["attributeName"] = random.choice((*HANA, "x", "__proto__", "constructor"))
        case 6:
            del expect[random.choice(sorted(expect.keys() - {"same", "either", "pseudonym", "credentials"}))]
        case 7:
            expect |= random.choice(
                (
                    {"requires": ["holder"]},
                    {"requires": ["credentialValidity", "credentialStatus"]},
                    {"consentCover": random.choice((0, 4, 5, 7, 12, 23, 31))},
                    {"agentKey": multikey.encode_public(multikey.ED25519, AGENT.public)},
                    {"schemaId": SCHEMA.id} if "credentials" not in expect else {"pseudonym": "bank"},
                    {"schemaId": "urn:other"} if "credentials" not in expect else {"either": [[0, 1]]},
                )
            )
        case _:
            expect = copy.deepcopy(other["expect"])
    return job | {"expect": expect}


def _issuer(random: Random, job: Job, other: Job) -> Job:
    """Change the documents of the issuers."""
    documents: list[Any] = copy.deepcopy(job["documents"])
    place = random.randrange(len(documents))
    own = documents[place]
    method = own["verificationMethod"][0]
    match random.randrange(8):
        case 0:
            del documents[place]
        case 1:
            method["revoked"] = datetime.fromtimestamp(job["now"] + random.choice((-1, 0, 1)), UTC).isoformat()
        case 2:
            method["controller"] = "did:ids:eve"
        case 3:
            own["assertionMethod"] = random.choice(
                ([], [method], [{"id": method["id"]}], ["#bbs"], "x", [None, method["id"]])
            )
        case 4:
            method["publicKeyMultibase"] = random.choice(
                ("z", "x", method["publicKeyMultibase"][:-1], 5, "z" + "1" * 98)
            )
        case 5:
            others = [each for each in documents if each is not own] or [document("did:ids:x#bbs", os.urandom(96))]
            method["publicKeyMultibase"] = others[0]["verificationMethod"][0]["publicKeyMultibase"]
        case 6:
            text = method["publicKeyMultibase"]
            own["verificationMethod"] += [method | {"id": f"#{n}", "publicKeyMultibase": text} for n in range(6)]
            own["assertionMethod"] = [*own["assertionMethod"], *(f"#{n}" for n in range(random.choice((3, 6))))]
        case _:
            own["verificationMethod"] = random.choice(([], None, [None, 1, method], {"x": method}))
    return job | {"documents": documents}


KINDS: Final[Mapping[str, Callable[[Random, Job, Job], Job]]] = {
    "a bit": _bit,
    "a scalar": _scalar,
    "a point": _point,
    "a length": _length,
    "a splice": _splice,
    "a member": _member,
    "a header": _header,
    "a spelling": _spelling,
    "a time": _time,
    "members around": _around,
    "an expectation": _expected,
    "an issuer": _issuer,
}


def mutants(seed: int, jobs: list[Job], count: int) -> list[tuple[str, Job]]:
    """Return mutants with their kinds, each kind as often as the others."""
    random, kinds = Random(seed), list(KINDS)
    return [
        (kind, KINDS[kind](random, random.choice(jobs), random.choice(jobs)))
        for kind in (kinds[place % len(kinds)] for place in range(count))
    ]


# The verdict of the Python verifier.


PROVER: Final = BbsProver(select(), os.urandom)


def python_result(job: Job) -> Json:
    """Return the result of ``verifyProof`` as JSON. The calls of the prover travel as to the processes of the service."""
    wish = convert({"proof": "x", **job["expect"]}, VerifyProofRequest)
    question, now = expectation_of(wish), datetime.fromtimestamp(job["now"], UTC)
    documents = GivenDocuments({one["id"]: one for one in job["documents"]})
    suites = (SuiteOneChecks(), BoundChecks())
    check = CheckProof(Workers(PROVER), suites, documents, documents)  # type: ignore[arg-type]
    try:
        received = ReceivedProof.parse(job["proof"])
    except ProofInvalid:
        verdict = ProofVerification((wrong("form", CheckCode.PROOF_INVALID),), None, question.unchecked)
    else:
        verdict = asyncio.run(check(received, question, now))
    found: Json = json.loads(msgspec.json.encode(verification(verdict, None)))
    return found
