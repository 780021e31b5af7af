"""A worker process that was taken over writes any bytes into its channel: the server takes messages of the declared types, or nothing."""

from __future__ import annotations

import json
import struct
from typing import Any

import msgspec
import pytest
from identity_isolation.calls import Presented, Prove, Read, Verify, decode_call, encode_call
from identity_isolation.messages import MAX_MESSAGE_OCTETS, FrameReader, Message, Raised, Unreadable
from identity_kit.conformance.prover_cases import NOW

from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, PresentedProof, WitnessInvalid
from identity_core.errors import IdentityError, InvalidDid, PredicateUnsupported, ProofInvalid
from identity_core.plugin.border import Fault

CONTRACT: tuple[type[IdentityError], ...] = (ProofInvalid, PredicateUnsupported, WitnessInvalid)
SCHEMA = Schema("urn:channel", (Attribute("age", AttributeType.INTEGER),))
CONTEXT = Context("a", bytes(16), NOW.replace(microsecond=0), NOW.replace(microsecond=0, year=2099), "p", None, None)
PRESENTED = PresentedProof("did:example:ivo#bbs", SCHEMA, (Predicate.parse(SCHEMA, "age", "gte", 18),), CONTEXT)
PROOF = {"proof": "cA", "public_signals": ["a"], "predicate_type": "gte", "proof_id": "p"}


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def received(body: bytes) -> list[Message]:
    return list(FrameReader().feed(struct.pack(">I", len(body)) + body))


def only(body: bytes) -> Message:
    (message,) = received(body)
    return message


UNREADABLE = {
    "nothing": b"",
    "no JSON": b"\x80\x04\x95",
    "a pickle": b"cos\nsystem\n(S'id'\ntR.",
    "no object": b"[1]",
    "no type": b'{"text":"a"}',
    "a call": b'{"type":"Read","proof":"a"}',
    "an unknown type": b'{"type":"os.system","text":"a"}',
    "an unknown member": b'{"type":"Failed","text":"a","level":"INFO"}',
    "a missing member": b'{"type":"Unfit","text":"a"}',
    "a number for a text": b'{"type":"Failed","text":7}',
    "a text for a flag": b'{"type":"Unfit","text":"a","waits":"true"}',
    "no suite": b'{"type":"Ready","suite":"","predicate_types":[]}',
    "a long suite": b'{"type":"Ready","suite":"%s","predicate_types":[]}' % (b"s" * 201),
    "many predicate types": b'{"type":"Ready","suite":"s","predicate_types":%s}'
    % json.dumps([*map(str, range(101))]).encode(),
    "no predicate types": b'{"type":"Ready","suite":"s","predicate_types":[1]}',
    "NaN": b'{"type":"Returned","value":NaN}',
    "too deep": b'{"type":"Returned","value":' + b"[" * 100_000,
    "too deep for a text": b'{"type":"Failed","text":' + b"[" * 100_000,
    "half a surrogate": b'{"type":"Failed","text":"\\ud800"}',
    "no UTF-8": b'{"type":"Failed","text":"\xff"}',
    "more than a message": b'{"type":"Failed","text":"a"}{}',
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_malformed_message_is_refused(name: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        received(UNREADABLE[name])
    assert len(str(refusal.value)) < 100


def test_a_message_that_is_too_long_is_refused_before_it_arrives() -> None:
    with pytest.raises(Unreadable, match="announced 4194305 bytes"):
        list(FrameReader().feed(struct.pack(">I", MAX_MESSAGE_OCTETS + 1)))


def test_messages_arrive_in_any_pieces() -> None:
    bodies = [b'{"type":"Failed","text":"a"}', b'{"type":"Line","text":"b","level":"INFO"}']
    data = b"".join(struct.pack(">I", len(body)) + body for body in bodies)
    reader = FrameReader()
    seen = [message for byte in data for message in reader.feed(bytes([byte]))]
    assert seen == received(bodies[0]) + received(bodies[1])


@pytest.mark.parametrize("kind", ['"Failed"', '"Line","level":"INFO"', '"Unfit","waits":false'])
def test_words_are_one_short_line(kind: str) -> None:
    text = json.dumps("ok\nFAKE a line\r\n\v" + "x" * 10_000)
    message: Any = only(f'{{"type":{kind},"text":{text}}}'.encode())
    assert len(message.text.splitlines()) == 1
    assert len(message.text) <= 2_000


NO_ANSWERS: dict[str, bytes] = {
    "null or not": b"false",
    "a number": b"1",
    "a text": b'"True"',
    "NaN": b"NaN",
    "infinity": b"1e999",
    "deep": deep(40),
    "very deep": b"[" * 100_000,
    "too many": b"[" + b"0," * 20_000 + b"0]",
    "half a surrogate": b'"\\ud800"',
    "no UTF-8": b'"\xff"',
    "two members of one name": b'{"proof":"a","proof":"b"}',
    "an integer beyond 64 bits": b"%d" % 2**70,
    "an empty object": b"{}",
}


@pytest.mark.parametrize("call", [Prove, Read, Verify])
@pytest.mark.parametrize("name", NO_ANSWERS)
def test_malformed_answer_is_a_fault(call: type[Prove | Read | Verify], name: str) -> None:
    with pytest.raises(Fault) as fault:
        call.read(NO_ANSWERS[name])
    assert "surrogate" not in str(fault.value)
    assert len(str(fault.value)) < 100


@pytest.mark.parametrize(
    "change",
    [
        {"proof": 1},
        {"proof": None},
        {"public_signals": "abc"},
        {"public_signals": ["a", 7]},
        {"public_signals": [["a"]]},
        {"predicate_type": {}},
        {"proof_id": True},
    ],
)
def test_a_member_of_a_proof_of_another_type_is_a_fault(change: dict[str, object]) -> None:
    assert Prove.read(json.dumps(PROOF).encode()).public_signals == ("a",)
    with pytest.raises(Fault):
        Prove.read(json.dumps(PROOF | change).encode())
    for name in PROOF:
        with pytest.raises(Fault):
            Prove.read(json.dumps({one: value for one, value in PROOF.items() if one != name}).encode())


def test_an_unknown_member_of_a_proof_goes_nowhere() -> None:
    proof = Prove.read(json.dumps(PROOF | {"__class__": "os.system", "verified": True}).encode())
    assert not hasattr(proof, "verified")


def presented(**changes: object) -> bytes:
    return json.dumps(json.loads(msgspec.json.encode(Presented.from_proof(PRESENTED))) | changes).encode()


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"verification_method": 7},
        {"header": "no base64!"},
        {"header": "AAAA"},
        {"header": 1},
        {"predicates": [["age", "gte", 18, "extra"]]},
        {"predicates": [["age", "gte"]]},
        {"predicates": [["age", "nosuch", 18]]},
        {"predicates": [["other", "gte", 18]]},
        {"predicates": [["age", "gte", {"a": [1]}]]},
        {"predicates": [[["age"], "gte", 18]]},
        {"predicates": [{"attributeName": "age", "type": "gte", "value": 18}]},
        {"predicates": {"age": 18}},
        {"context": {}},
        {"context": CONTEXT.json | {"extra": "a"}},
        {"context": CONTEXT.json | {"expiresAt": 1.5}},
        {"context": CONTEXT.json | {"expiresAt": 10**15}},
        {"context": CONTEXT.json | {"nonce": "AA"}},
        {"context": CONTEXT.json | {"agent": 5}},
        {"context": None},
    ],
)
def test_a_presentation_is_what_the_domain_reads(change: dict[str, object]) -> None:
    assert Read.read(presented()) == PRESENTED
    with pytest.raises(Fault):
        Read.read(presented(**change))


def refusal(error: str = "ProofInvalid", message: str = "m", details: bytes = b"{}") -> Raised:
    head = json.dumps({"type": "Raised", "error": error, "message": message})
    message_ = only(head[:-1].encode() + b',"details":' + details + b"}")
    assert isinstance(message_, Raised)
    return message_


def test_a_refusal_is_an_error_of_the_contract() -> None:
    error = refusal(details=b'{"reason":"r","n":[1,{"a":null}]}').read(CONTRACT)
    assert type(error) is ProofInvalid
    assert error.details == {"reason": "r", "n": [1, {"a": None}]}


@pytest.mark.parametrize("error", ["SystemExit", "os.system", "", "__class__", InvalidDid.__name__])
def test_an_error_of_another_name_is_a_fault(error: str) -> None:
    with pytest.raises(Fault):
        refusal(error).read(CONTRACT)


@pytest.mark.parametrize(
    "details", [b"[]", b'"a"', b"null", deep(40), b'{"a":1,"a":2}', b'{"a":18446744073709551617}', b'{"a":1e999}']
)
def test_details_are_a_small_object(details: bytes) -> None:
    with pytest.raises(Fault):
        refusal(details=details).read(CONTRACT)


def test_a_refusal_does_not_say_more_than_a_page() -> None:
    with pytest.raises(Fault):
        refusal(message="m" * 2_001).read(CONTRACT)


def test_a_call_arrives_as_it_was_sent() -> None:
    statement = PRESENTED.statement(bytes(96))
    attributes: dict[str, Any] = {"age": 2**70, "name": "\udc80", "list": [1.5, None, {"a": True}]}
    call = Prove(statement, b"\xff" * 80, attributes, CONTEXT)
    assert decode_call(encode_call(call)) == call
    verify = Verify(statement, Prove.read(json.dumps(PROOF).encode()), CONTEXT, NOW)
    assert decode_call(encode_call(verify)) == verify
