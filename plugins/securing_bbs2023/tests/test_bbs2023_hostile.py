"""Documents and proof values of an adversary, raw: each is refused for what it is, soon, and without asking anybody."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from identity_kit.conformance.securing_keys import KitIssuer
from identity_securing_bbs2023 import Bbs2023, cbor, statements
from identity_securing_bbs2023.contexts import CONTEXTS
from identity_securing_bbs2023.proof_values import decode_base, decode_derived
from identity_securing_bbs2023.refused import Malformed
from test_bbs2023_conformance import CLAIMS, ISSUER, UNSECURED

from identity_codec import multikey
from identity_codec.values import replace
from identity_core.errors import InvalidCredential, ProofInvalid

VC, TERMS = "https://www.w3.org/ns/credentials/v2", "https://www.w3.org/ns/credentials/undefined-terms/v2"
KEY = KitIssuer(multikey.BLS12381G2, bytes(range(32)))


@pytest.fixture(scope="module")
def bbs() -> Bbs2023:
    return Bbs2023()


@pytest.fixture(scope="module")
def issued(bbs: Bbs2023) -> dict[str, Any]:
    return issue(bbs, CLAIMS)


@pytest.fixture(scope="module")
def derived(bbs: Bbs2023, issued: dict[str, Any]) -> dict[str, Any]:
    found = bbs.derive(issued, KEY.public_key, pointers=["/credentialSubject/name", "/credentialSubject/club"])
    assert isinstance(found, dict)
    return found


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("it went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def issue(bbs: Bbs2023, claims: dict[str, Any]) -> dict[str, Any]:
    draft = bbs.draft(replace(UNSECURED, claims=claims, public_key=KEY.public_key))
    secured = bbs.secure(draft, asyncio.run(KEY.sign(draft)))
    assert isinstance(secured, dict)
    return secured


def claims(subject: Any, *contexts: Any) -> dict[str, Any]:
    return {
        "@context": [VC, *(contexts or (TERMS,))],
        "type": ["VerifiableCredential"],
        "issuer": ISSUER,
        "credentialSubject": subject,
    }


def ring(count: int) -> list[Any]:
    """Blank nodes in a circle, which only the search by permutations tells apart."""
    return [{"id": f"_:n{i}", "next": {"id": f"_:n{(i + 1) % count}"}} for i in range(count)]


def clique(count: int) -> list[Any]:
    """Each points to each other one: the poison graph of RDFC-1.0 §7.1."""
    return [{"id": f"_:n{i}", "knows": [{"id": f"_:n{j}"} for j in range(count) if j != i]} for i in range(count)]


HOSTILE: dict[str, Callable[[], Any]] = {
    "a clique of blank nodes": lambda: claims({"of": clique(16)}),
    "twice ten that look alike": lambda: claims({"of": [{"of": [{} for _ in range(10)]} for _ in range(2)]}),
    "two circles": lambda: claims({"of": [*ring(30), {"id": "_:m0", "next": {"id": "_:m0"}}]}),
    "more blank nodes than may be": lambda: claims({"of": [{"n": i} for i in range(70)]}),
    "more values than may be": lambda: claims({"of": [*range(2_000)]}),
    "more statements than may be": lambda: claims({f"of{n}": [*range(120 * n, 120 * n + 120)] for n in range(5)}),
    "more items than may be": lambda: claims({"of": [f"{number:04}" for number in range(129)]}),
    "more bytes than may be": lambda: claims({"of": "x" * 17_000}),
    "deeper than may be": lambda: claims(deep(40)),
    "very much deeper": lambda: claims(deep(900)),
    "a context of the network": lambda: claims({"a": 1}, "https://attacker.example/context"),
    "a context of a file": lambda: claims({"a": 1}, "file:///etc/passwd"),
    "a context that imports": lambda: claims({"a": 1}, {"@import": "https://attacker.example/c"}),
    "a term with a context": lambda: claims({"a": 1}, {"a": {"@id": "urn:a", "@context": {}}}),
    "a context for the null": lambda: claims({"a": 1}, {"name": None}),
    "a context inside": lambda: claims({"@context": TERMS, "a": 1}),
    "no contexts at all": lambda: {**claims({"a": 1}), "@context": []},
    "another first context": lambda: {**claims({"a": 1}), "@context": [TERMS, VC]},
    "the same context a thousand times": lambda: claims({"a": 1}, *[TERMS] * 300),
    "a protected term anew": lambda: claims({"a": 1}, {"issuer": "urn:other"}),
    "a term without meaning": lambda: claims({"name": "x", "unknown": 1}, "https://w3id.org/citizenship/v4rc1"),
    "a null": lambda: claims({"a": None}),
    "an empty list": lambda: claims({"a": []}),
    "a graph": lambda: claims({"@graph": [{"a": 1}]}),
    "a reversed member": lambda: claims({"@reverse": {"a": {"b": 1}}}),
    "an id with a statement inside": lambda: claims({"id": "urn:x> <urn:p> <urn:o> .\n<urn:y", "a": 1}),
    "a type with a statement inside": lambda: claims({"type": "urn:x> .\n_:b0 <urn:p> <urn:o", "a": 1}),
    "a member with a statement inside": lambda: claims({"urn:p> <urn:o> .\n<urn:s": 1}),
    "a vocabulary with a statement inside": lambda: claims({"a": 1}, {"@vocab": "urn:p> <urn:o> .\n<urn:"}),
    "a relative id": lambda: claims({"id": "hana", "a": 1}),
    "a name that stands for a blank node": lambda: claims({"id": "urn:bnid:_1_0", "a": 1}),
    "the same by a prefix": lambda: claims({"id": "x:_1_0", "a": 1}, {"x": "urn:bnid:", "a": "urn:a"}),
    "a language with a statement inside": lambda: claims({"a": {"@value": "x", "@language": "en .\n<urn:s"}}),
    "a control character": lambda: claims({"a": "x\x08y"}),
    "a lone surrogate": lambda: claims({"a": "\ud800"}),
    "a number beyond JSON": lambda: claims({"a": float("inf")}),
    "no JSON": lambda: claims({"a": {1, 2}}),
    "an issuer that is a list": lambda: {**claims({"a": 1}), "issuer": [ISSUER]},
    "the issuer of another key": lambda: {**claims({"a": 1}), "issuer": "did:web:victim.example"},
    "a time that is none": lambda: {**claims({"a": 1}), "validUntil": "tomorrow"},
}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_refused_to_everybody(bbs: Bbs2023, derived: dict[str, Any], name: str) -> None:
    """By issuers and verifiers alike. Without the bounds some of these would not come to an end."""
    document = HOSTILE[name]()
    with pytest.raises(InvalidCredential):
        bbs.draft(replace(UNSECURED, claims=document, public_key=KEY.public_key))
    with pytest.raises((InvalidCredential, ProofInvalid)):
        bbs.verify({**document, "proof": derived["proof"]}, KEY.public_key)


def test_largest_permitted_input_is_accepted(bbs: Bbs2023) -> None:
    """Some that look alike, sixty that do not, and sixteen kilobytes less the rest."""
    alike = {"of": [{"of": [{} for _ in range(4)]} for _ in range(2)]}
    for subject in (
        alike,
        {"of": [{"a": {}} for _ in range(20)]},
        {"of": [{"n": i} for i in range(60)]},
        {"of": "x" * 15_000},
    ):
        secured = issue(bbs, claims(subject))
        shown = bbs.derive(secured, KEY.public_key, pointers=["/credentialSubject"])
        assert bbs.verify(shown, KEY.public_key).claims == claims(subject)


def test_text_that_looks_like_a_label_stays_text(bbs: Bbs2023) -> None:
    """Labels are replaced where nodes are, and nowhere else."""
    subject = {"note": '_:c14n0 _:b1 <urn:bnid:_x> " \\ \n', "more": {"n": 1}}
    shown = bbs.derive(issue(bbs, claims(subject)), KEY.public_key, pointers=["/credentialSubject"])
    assert bbs.verify(shown, KEY.public_key).claims["credentialSubject"] == subject


def test_a_base_proof_is_no_presentation(bbs: Bbs2023, issued: dict[str, Any], derived: dict[str, Any]) -> None:
    with pytest.raises(InvalidCredential):
        bbs.verify(issued, KEY.public_key)
    with pytest.raises(InvalidCredential):
        bbs.derive(derived, KEY.public_key, pointers=["/credentialSubject"])


@pytest.mark.parametrize(
    "change",
    [
        {"cryptosuite": "bbs-2024"},
        {"type": "DataIntegrityProofs"},
        {"proofPurpose": "authentication"},
        {"verificationMethod": "did:web:victim.example#key-2"},
        {"verificationMethod": f"{ISSUER}#key-3"},
        {"verificationMethod": 7},
        {"created": "2026-01-01T00:00:01Z"},
        {"domain": "https://elsewhere.example"},
        {"expires": "2099-01-01T00:00:00Z"},
        {"unknown": "member"},
        {"@context": TERMS},
        {"proofValue": None},
        {"proofValue": "zabc"},
        {"proofValue": "u"},
        {"proofValue": "u2V0D"},
    ],
    ids=json.dumps,
)
def test_a_proof_with_other_members_is_refused(bbs: Bbs2023, derived: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises((InvalidCredential, ProofInvalid)):
        bbs.verify({**derived, "proof": {**derived["proof"], **change}}, KEY.public_key)


def test_a_set_of_proofs_has_one_of_this_suite(bbs: Bbs2023, derived: dict[str, Any]) -> None:
    other = {"type": "DataIntegrityProof", "cryptosuite": "eddsa-jcs-2022", "proofValue": "z1"}
    assert bbs.verify({**derived, "proof": [other, derived["proof"]]}, KEY.public_key)
    for proofs in ([derived["proof"]] * 2, [other], [], None, "proof"):
        with pytest.raises(InvalidCredential):
            bbs.verify({**derived, "proof": proofs}, KEY.public_key)


def test_a_proof_that_expires_ends_the_credential(bbs: Bbs2023, derived: dict[str, Any]) -> None:
    """The expiry of the proof is in the head, which the caller compares."""
    proof = {**derived["proof"], "expires": "2026-02-01T00:00:00Z"}
    until = bbs.read({**derived, "proof": proof}).valid_until
    assert until is not None
    assert until.isoformat() == "2026-02-01T00:00:00+00:00"


def test_indexes_and_labels_of_a_proof_are_its_own(bbs: Bbs2023, derived: dict[str, Any]) -> None:
    value = decode_derived(derived["proof"]["proofValue"])
    changed = [
        replace(value, mandatory=value.mandatory[::-1] or [1, 0]),
        replace(value, mandatory=[*value.mandatory, 400]),
        replace(value, selective=value.selective[:-1]),
        replace(value, selective=[*value.selective, 300]),
        replace(value, selective=[index + 1 for index in value.selective]),
        replace(value, labels={}),
        replace(value, labels=dict.fromkeys(value.labels, 0)),
        replace(value, labels={key: number + 1 for key, number in value.labels.items()}),
        replace(value, presentation_header=b"another"),
        replace(value, proof=value.proof[:-32]),
        replace(value, proof=value.proof + bytes(32)),
        replace(value, proof=b""),
    ]
    for one in changed:
        with pytest.raises((InvalidCredential, ProofInvalid)):
            bbs.verify({**derived, "proof": {**derived["proof"], "proofValue": one.encode()}}, KEY.public_key)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"\x18\x01",  # 1 in two bytes
        b"\x19\x00\xff",
        b"\x1b" + b"\xff" * 7,
        b"\x5f\x41a\xff",  # indefinite
        b"\x9b" + b"\xff" * 8,  # an array of 2^64 - 1
        b"\xbb" + b"\xff" * 8,
        b"\x5b" + b"\xff" * 8,
        b"\x81" * 5_000,  # nested
        b"\xa2\x01\x02\x01\x03",  # one key twice
        b"\xa2\x02\x02\x01\x03",  # in another order
        b"\xa1\x41a\x01",
        b"\xf9\x00\x00",  # a float
        b"\xc1\x01",  # a tag
        b"\xf6",
        b"\x20",
        b"\x61\xff",  # no UTF-8
        b"\x01\x01",  # something after it
    ],
    ids=lambda data: data[:6].hex(),
)
def test_cbor_of_another_form_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        cbor.decode(data)


def test_cbor_is_read_as_it_is_written() -> None:
    value = [b"bytes.", {0: 5, 24: 6, 300: 1}, [0, 23, 24, 255, 256, 65_536, 1 << 40], "tëxt", b"x" * 300]
    assert cbor.decode(cbor.encode(value)) == value


def test_no_base_proof_in_another_form_is_read(issued: dict[str, Any]) -> None:
    value = decode_base(issued["proof"]["proofValue"])
    for one in (
        replace(value, signature=value.signature[:-1]),
        replace(value, hmac_key=b""),
        replace(value, mandatory=[7]),  # type: ignore[list-item]
        replace(value, public_key=bytes(95)),
    ):
        with pytest.raises(Malformed):
            decode_base(one.encode())


def test_a_pointer_selects_nothing_that_is_not_there(bbs: Bbs2023, issued: dict[str, Any]) -> None:
    for pointer in (
        "/proof",
        "/credentialSubject/club/boats/2",
        "/credentialSubject/club/boats/-",
        "/credentialSubject/club/boats/00",
        "/credentialSubject/name/0",
        "/credentialSubject/name/length",
        "/type/0/x",
        "/credentialSubject/club/boats/٠",
    ):
        with pytest.raises(InvalidCredential):
            bbs.derive(issued, KEY.public_key, pointers=[pointer])
    with pytest.raises(InvalidCredential):
        bbs.derive(issued, KEY.public_key, pointers=["/credentialSubject"] * 129)


def test_every_context_of_the_wheel_is_there() -> None:
    """Each can be processed without a request."""
    rdf = statements.Statements()
    for context in CONTEXTS:
        document = {"@context": [VC, context], "type": "VerifiableCredential", "issuer": ISSUER}
        assert rdf.quads(rdf.expand(document))


@pytest.mark.parametrize("proof", [b"", bytes(271), bytes(272), b"\xff" * 272, b"\xc0" + bytes(399), b"\x01" * 304])
def test_malformed_proof_is_refused_before_canonicalization(
    bbs: Bbs2023, derived: dict[str, Any], monkeypatch: pytest.MonkeyPatch, proof: bytes
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the document was expanded")

    monkeypatch.setattr(statements.Statements, "expand", refuse)
    value = replace(decode_derived(derived["proof"]["proofValue"]), proof=proof)
    shown = {**derived, "proof": {**derived["proof"], "proofValue": value.encode()}}
    with pytest.raises(ProofInvalid) as refused:
        bbs.verify(shown, KEY.public_key)
    assert "malformed" in refused.value.details["reason"]
