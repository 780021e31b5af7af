"""The text around a proof: JSON, base64url, headers, caps. Nothing reaches the curve that should not."""

import json

import pytest
from identity_kit.conformance.prover_cases import HANA, NOW, SCHEMA, context
from identity_prover_bbs import BbsProver
from identity_prover_bbs.envelope import MAX_SUB_PROOFS, Envelope
from identity_prover_bbs.verifier import Verifying

from identity_bbs.bls12381 import select
from identity_codec import jcs
from identity_codec.values import replace
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.proof import ZkProof
from identity_core.errors import PredicateUnsupported, ProofInvalid
from tests.attack.prover_forge import ISSUER, Forger, ask, b64, fixed_random, honest, unb64, verdict

ASKED = ask(("balance", "gte", 5), ("country", "eq", "JP"), ("score", "set_member", [1, 211]))


@pytest.fixture(scope="module")
def proof():
    return honest(ASKED)


@pytest.fixture
def cheap(monkeypatch):
    """A verifier whose curve work fails the test."""
    verifying = Verifying(select())
    monkeypatch.setattr(Verifying, "_check", lambda *_: pytest.fail("the curve was reached"))
    return verifying


def refused(cheap, proof, text):
    made = replace(proof, proof=text)
    with pytest.raises(ProofInvalid) as first:
        cheap.verify(ASKED, made, context(), NOW)
    with pytest.raises(ProofInvalid):
        Envelope.decode(text)
    return first.value.details.get("reason", "")


def test_the_envelope_reads_back(proof):
    assert Envelope.decode(proof.proof).encode() == proof.proof
    assert verdict(ASKED, proof) is True


def edits(text):
    """(name, other text) made by hand on the JSON."""
    value = json.loads(text)

    def dumped(change):
        copy = json.loads(text)
        change(copy)
        return json.dumps(copy, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

    yield "white space", json.dumps(value, sort_keys=True)
    yield "another order", json.dumps(dict(reversed(value.items())), separators=(",", ":"))
    yield "a tail", text + " "
    yield "an unknown member", dumped(lambda v: v.update(ph="AAAA"))
    yield "an issuer key", dumped(lambda v: v.update(issuerKey="AAAA"))
    for member in value:
        yield f"no {member}", dumped(lambda v, m=member: v.pop(m))
        yield f"{member} is null", dumped(lambda v, m=member: v.update({m: None}))
        yield f"{member} is a number", dumped(lambda v, m=member: v.update({m: 7}))
        yield f"{member} is a list", dumped(lambda v, m=member: v.update({m: [[]]}))
    yield "a duplicate member", text.replace('"version":1', '"version":1,"version":1')
    yield "an escaped duplicate", text.replace('"version":1', '"version":1,"versio\\u006e":1')
    yield "an escape", text.replace('"suite":"identity', '"suite":"\\u0069dentity')
    yield "another version", dumped(lambda v: v.update(version=2))
    yield "version as a fraction", text.replace('"version":1', '"version":1.0')
    yield "version as a boolean", dumped(lambda v: v.update(version=True))
    yield "another suite", dumped(lambda v: v.update(suite="identity-bbs-predicates-2"))
    yield "another method", dumped(lambda v: v.update(verificationMethod="did:example:mallory#bbs"))
    yield "a time as a string", dumped(lambda v: v["context"].update(issuedAt=str(v["context"]["issuedAt"])))
    yield "a time as a fraction", text.replace('"expiresAt":1767312600', '"expiresAt":1767312600.0')
    yield "a time past 2^53", dumped(lambda v: v["context"].update(expiresAt=2**53 + 1))
    yield "an unknown context member", dumped(lambda v: v["context"].update(domain="x"))
    yield "another bound", dumped(lambda v: v["predicates"][0].update(value=6))
    yield "a bound as a string", dumped(lambda v: v["predicates"][0].update(value="5"))
    yield "a bound past 2^53", dumped(lambda v: v["predicates"][0].update(value=2**53 + 1))
    yield "a bound as a fraction", text.replace('"value":5', '"value":5.0')
    yield "minus zero", text.replace('"value":5', '"value":-0')
    yield "another attribute", dumped(lambda v: v["predicates"][0].update(attributeName="score"))
    yield "predicates in another order", dumped(lambda v: v["predicates"].reverse())
    yield "a set in another order", dumped(lambda v: v["predicates"][2]["value"].reverse())
    yield "a set with a duplicate", dumped(lambda v: v["predicates"][2]["value"].append(211))
    yield "no predicates", dumped(lambda v: v.update(predicates=[]))
    yield "a stripped sub-proof", dumped(lambda v: v["predicateProofs"].pop())
    yield "an added sub-proof", dumped(lambda v: v["predicateProofs"].append(v["predicateProofs"][0]))
    yield "swapped sub-proofs", dumped(lambda v: v["predicateProofs"].reverse())
    yield "nothing disclosed", dumped(lambda v: v.update(disclosed=[]))
    yield "disclosed as an object", dumped(lambda v: v.update(disclosed={"1": "AA"}))
    yield "a numeric slot disclosed", dumped(lambda v: v["disclosed"].append([SCHEMA.numeric_slot("debt"), "AA"]))
    yield "the hashed slot of a bounded attribute disclosed", dumped(lambda v: v["disclosed"].append([3, "AA"]))
    yield "a slot twice", dumped(lambda v: v["disclosed"].append(v["disclosed"][0]))
    yield "slots in descending order", dumped(lambda v: v["disclosed"].insert(0, [4, "AA"]))
    yield "another disclosed value", dumped(lambda v: v["disclosed"][0].__setitem__(1, b64(b"\x01DE")))
    yield "a disclosed scalar", dumped(lambda v: v["disclosed"][0].__setitem__(1, 5))
    yield "a negative slot", dumped(lambda v: v["disclosed"][0].__setitem__(0, -1))
    yield "a slot as a boolean", dumped(lambda v: v["disclosed"][0].__setitem__(0, True))
    yield "padding", dumped(lambda v: v.update(bbsProof=v["bbsProof"] + "="))
    yield "the other base64 alphabet", dumped(lambda v: v.update(header=v["header"] + "+"))
    yield "a blank in base64url", dumped(lambda v: v.update(bbsProof=v["bbsProof"][:8] + "\n" + v["bbsProof"][8:]))
    yield (
        "another header",
        dumped(lambda v: v.update(header=b64(unb64(v["header"]).replace(b"resident/1", b"resident/2")))),
    )
    yield (
        "a header in another order",
        dumped(lambda v: v.update(header=b64(unb64(v["header"]).replace(b'"slot":0,', b"", 1)))),
    )
    yield "a foreign header", dumped(lambda v: v.update(header=b64(bytes(64))))
    yield "an empty header", dumped(lambda v: v.update(header=""))
    yield "a list", "[]"
    yield "a string", '"x"'
    yield "null", "null"
    yield "NaN", text.replace('"version":1', '"version":NaN')
    yield "deep", "[" * 100_000
    yield "not UTF-8", text.replace("JP", "\udcff")


def test_every_edit_is_refused_before_the_curve(cheap, proof):
    text = unb64(proof.proof).decode()
    names = []
    for name, other in edits(text):
        if name == "swapped sub-proofs":
            # The lengths differ here; where they do not, the challenge decides (test_prover_soundness).
            assert "sub-proofs" in refused_by_verifier(cheap, proof, b64(other.encode()))
            continue
        if name in ("a stripped sub-proof", "an added sub-proof"):
            assert "sub-proofs" in refused_by_verifier(cheap, proof, b64(other.encode()))
            continue
        data = other.encode("utf-8", "surrogateescape")
        assert data != text.encode(), f"{name} changes nothing"
        if name in ACCEPTED_BY_READ:
            refused_by_verifier(cheap, proof, b64(data))
        else:
            refused(cheap, proof, b64(data))
        names.append(name)
    assert len(names) > 80


ACCEPTED_BY_READ = {
    "another method",
    "another bound",
    "another attribute",
    "predicates in another order",
    "nothing disclosed",
    "the hashed slot of a bounded attribute disclosed",
    "slots in descending order",
    "another disclosed value",
    "another header",
}
"""Well-formed statements that are not the verifier's; ``read`` tells them, ``verify`` refuses them."""


def refused_by_verifier(cheap, proof, text):
    with pytest.raises(ProofInvalid) as refusal:
        cheap.verify(ASKED, replace(proof, proof=text), context(), NOW)
    return refusal.value.details.get("reason", "")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text + "=",
        lambda text: text + "A",
        lambda text: text + "\n",
        lambda text: " " + text,
        lambda text: text[:100] + "\n" + text[100:],
        lambda text: text.replace("-", "+").replace("_", "/") + "+",
        lambda text: text[:-1],
        lambda text: text[:-1] + chr(ord(text[-1]) + 1),
        lambda text: text + "\u0661",
        lambda text: "",
        lambda text: "A" * 131_073,
    ],
)
def test_base64url_has_one_form(cheap, proof, spoil):
    refused_by_verifier(cheap, proof, spoil(proof.proof))


def test_the_longest_envelope_that_is_made_and_read(cheap, proof):
    """131,072 characters, as verifyProof takes: what is made can be verified everywhere."""
    envelope = Envelope.decode(proof.proof)
    longer = 131_072 * 3 // 4 - len(unb64(proof.proof))
    # Bytes of the proof are base64url within the text that is base64url itself.
    texts = {}
    for data in range(longer * 3 // 4 - 8, longer * 3 // 4 + 2_000):
        try:
            text = replace(envelope, bbs_proof=bytes(data)).encode()
        except PredicateUnsupported:
            break
        texts[len(text)] = text
    assert 131_066 < max(texts) <= 131_072
    assert Envelope.decode(texts[max(texts)]).encode() == texts[max(texts)]
    too_long = b64(unb64(texts[max(texts)]) + b" " * 8)
    assert len(too_long) > 131_072
    with pytest.raises(ProofInvalid) as refusal:
        Envelope.decode(too_long)
    assert "131072 characters" in refusal.value.details["reason"]


def test_more_sub_proofs_than_a_statement_has_are_not_read(proof):
    """One for all ranges and one for each of sixteen sets."""
    envelope = Envelope.decode(proof.proof)
    assert MAX_SUB_PROOFS == 17
    for count in (0, 1, 17):
        text = replace(envelope, predicate_proofs=(b"proof",) * count).encode()
        assert Envelope.decode(text).predicate_proofs == (b"proof",) * count
    with pytest.raises(ProofInvalid) as refusal:
        Envelope.decode(replace(envelope, predicate_proofs=(b"proof",) * 18).encode())
    assert "shape" in refusal.value.details["reason"]


def test_a_statement_in_an_envelope_has_its_limits(proof):
    value = json.loads(unb64(proof.proof))
    one = {"attributeName": "balance", "type": "gte", "value": 5}

    def with_members(**members):
        return b64(jcs.canonicalize({**value, **members}))

    for members in (
        {"predicates": [one] * 16},
        {"verificationMethod": "m"},
        {"verificationMethod": "m" * 1024},
        {"disclosed": [[0, "AA"], [1, "AA"]]},
        {"disclosed": [[len(SCHEMA.attributes) - 1, "AA"]]},
    ):
        assert Envelope.decode(with_members(**members)).encode() == with_members(**members)
    for members, reason in (
        ({"predicates": [one] * 17}, "shape"),
        ({"predicates": [{**one, "attributeName": 5}]}, "shape"),
        ({"predicates": [{**one, "type": 5}]}, "shape"),
        ({"predicates": [{**one, "more": 5}]}, "shape"),
        ({"verificationMethod": ""}, "shape"),
        ({"verificationMethod": "m" * 1025}, "shape"),
        ({"verificationMethod": "m\n"}, "shape"),
        ({"verificationMethod": ["m"]}, "shape"),
        ({"disclosed": "AA"}, "shape"),
        ({"disclosed": [[1, "AA"], [1, "AA"]]}, "ascending"),
        ({"disclosed": [[-1, "AA"]]}, "ascending"),
        ({"disclosed": [[False, "AA"]]}, "ascending"),
        ({"disclosed": [[len(SCHEMA.attributes), "AA"]]}, "ascending"),
    ):
        with pytest.raises(ProofInvalid) as refusal:
            Envelope.decode(with_members(**members))
        assert reason in refusal.value.details["reason"], members


def test_sixteen_large_sets_refused_before_elements_read(monkeypatch, proof):
    envelope = json.loads(unb64(proof.proof))
    one = {"attributeName": "balance", "type": "set_member", "value": list(range(1000))}
    text = b64(json.dumps({**envelope, "predicates": [one] * 5}, sort_keys=True, separators=(",", ":")).encode())
    monkeypatch.setattr(Attribute, "read", lambda *_: pytest.fail("an element was read"))
    with pytest.raises(ProofInvalid) as refusal:
        Envelope.decode(text)
    assert "4096 elements in all" in refusal.value.details["reason"]


def test_reasons_say_what_differs(cheap, proof):
    text = unb64(proof.proof).decode()
    found = dict(edits(text))
    for name, reason in (
        ("another bound", "the expected predicates"),
        ("another method", "the expected issuer"),
        ("another header", "the expected schema"),
        ("another disclosed value", "discloses something else"),
        ("a stripped sub-proof", "sub-proofs"),
        ("a duplicate member", "same name"),
        ("an unknown member", "exactly its members"),
        ("no header", "exactly its members"),
        ("a list", "exactly its members"),
    ):
        assert reason in refused_by_verifier(cheap, proof, b64(found[name].encode()))


def test_reasons_are_public(proof):
    """No reason quotes the proof, so that a refusal may be shown."""
    for name, other in edits(unb64(proof.proof).decode()):
        if name not in ACCEPTED_BY_READ | {"a stripped sub-proof", "an added sub-proof", "swapped sub-proofs"}:
            with pytest.raises(ProofInvalid) as refusal:
                Envelope.decode(b64(other.encode("utf-8", "surrogateescape")))
            assert len(str(refusal.value.details)) < 200, name
            assert not [
                value for value in HANA.values() if len(str(value)) > 6 and str(value) in str(refusal.value.details)
            ]


def test_a_larger_set_than_allowed_is_no_statement():
    with pytest.raises(PredicateUnsupported):
        ask(("balance", "set_member", list(range(4097))))


def test_more_digits_than_allowed_are_refused_before_the_curve():
    schema = Schema("urn:wide", tuple(Attribute(f"n{n}", AttributeType.INTEGER) for n in range(16)))
    asked = ask(*((f"n{n}", "gte", 1) for n in range(16)), schema=schema)
    with pytest.raises(PredicateUnsupported):
        honest(asked, values={f"n{n}": 5 for n in range(16)})
    empty = ZkProof("AAAA", (), "gte", "x")
    with pytest.raises(ProofInvalid):
        BbsProver(select(), fixed_random()).verify(asked, empty, context=context(), now=NOW)


def test_the_largest_statement_goes_through():
    """Caps and lengths fit together: the longest header, names, values and context still make a proof that verifies."""
    names = [f"{n:02}" + "語" * 20 for n in range(60)]
    schema = Schema("s" * 512, tuple(Attribute(name, AttributeType.STRING) for name in names))
    value = "語" * 341
    asked = ask(*((name, "eq", value) for name in names[:15]), (names[15], "set_member", [value, "x"]), schema=schema)
    long = replace(asked, issuer=replace(asked.issuer, verification_method="語" * 1024))
    bound = replace(context(), audience="語" * 512, proof_id="語" * 512, agent="語" * 512, nonce=b"n" * 256)
    proof = honest(long, values=dict.fromkeys(names, value), bound=bound)
    assert verdict(long, proof, bound=bound) is True


def test_an_envelope_that_would_be_too_long_is_not_made():
    members = [f"{n:04}" + "x" * 100 for n in range(2000)]
    asked = ask(("country", "set_member", [*members, "JP"]))
    with pytest.raises(PredicateUnsupported):
        honest(asked)


def test_a_verifier_needs_its_own_statement(proof):
    """What the envelope says about itself is not what was asked."""
    said = BbsProver(select(), fixed_random()).read(proof.proof)
    assert said.statement(ISSUER.key.public_key) == ASKED
    assert (
        verdict(ask(("balance", "gte", 6), ("country", "eq", "JP"), ("score", "set_member", [1, 211])), proof)
        is not True
    )


def test_one_attribute_in_every_combination():
    """At most one sub-proof a slot, whatever is asked about it; contradictions are not statements."""
    for predicates, expected in (
        ([("score", "gte", 5), ("score", "lte", 220)], 1),
        ([("score", "gte", 5), ("score", "set_member", [4, 211, 240])], 1),
        ([("score", "set_member", [4, 211, 240]), ("score", "set_member", [211, 240])], 1),
        ([("score", "eq", 211), ("score", "gte", 3)], 0),
        ([("score", "gte", 211), ("score", "lte", 211)], 0),
        ([("country", "eq", "JP"), ("country", "set_member", ["JP", "DE"])], 0),
        ([("score", "gte", 5), ("height", "gte", "1"), ("birthDate", "lt", "2008-01-01")], 1),
    ):
        asked = ask(*predicates)
        made = honest(asked)
        assert verdict(asked, made) is True
        assert len(Envelope.decode(made.proof).predicate_proofs) == expected
    for predicates in (
        [("score", "eq", 211), ("score", "lt", 211)],
        [("score", "set_member", [1, 2]), ("score", "gt", 2)],
        [("country", "eq", "JP"), ("country", "eq", "DE")],
    ):
        with pytest.raises(PredicateUnsupported):
            honest(ask(*predicates))


def test_two_holders_sign_one_header_and_show_one_size():
    other = dict.fromkeys(HANA) | {"balance": 6, "country": "JP", "score": 1}
    first, second = honest(ASKED), honest(ASKED, values=other)
    assert len(first.proof) == len(second.proof)
    assert Envelope.decode(first.proof).presented.schema.header == Envelope.decode(second.proof).presented.schema.header


def test_the_forger_module_reads_what_it_writes():
    assert Forger(ASKED).relation.argument_octets == tuple(
        map(len, Envelope.decode(honest(ASKED).proof).predicate_proofs)
    )
