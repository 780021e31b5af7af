"""An independent implementation of the BBS draft accepts the BBS part of every kind of proof that we make.

It knows nothing of predicates: it gets the key, the signed header, the presentation header and what is disclosed. With
another presentation header, header, key or disclosed message it refuses. So it does with the lead of every presentation, plain and
consented.
"""

import os

from identity_kit.conformance.prover_cases import HANA, NOW, SCHEMA, BbsIssuer, context, statement
from identity_prover_bbs import BbsProver
from identity_prover_bbs.envelope import Envelope
from identity_prover_bbs.suite2 import PresentationEnvelope

from identity_bbs import core
from identity_bbs.bls12381 import select
from plugins.prover_bbs.tests.presentation_vectors import CASES, scene
from plugins.prover_bbs.tests.test_presentation_parity import VECTORS
from tests.presenting import Issuer

ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "1"))
ISSUER = BbsIssuer()
STATEMENTS = {
    "64-bit bound": [("balance", "gte", 5)],
    "two-sided bound": [("balance", "gt", 5), ("balance", "lt", "9223372036854775800")],
    "date bound": [("birthDate", "lte", "2008-01-01")],
    "aggregated bounds": [("balance", "gte", 5), ("score", "lte", 230), ("lastSeen", "gte", "2026-01-01T00:00:00Z")],
    "numeric equality": [("score", "eq", 211)],
    "several equalities": [("score", "eq", 211), ("height", "eq", "168.25"), ("balance", "gte", 5)],
    "disclosure": [("country", "eq", "JP"), ("resident", "eq", True)],
    "set of numbers": [("score", "set_member", [1, 211, 230])],
    "set of strings": [("country", "set_member", ["DE", "JP"])],
    "all": [
        ("balance", "gte", 5),
        ("birthDate", "lt", "2008-01-01"),
        ("score", "eq", 211),
        ("country", "set_member", ["DE", "JP"]),
        ("resident", "eq", True),
        ("name", "eq", "Hana Mori-Castellanos"),
    ],
}


def case(name, predicates, monkeypatch):
    """What an implementation of the draft gets to see of one of our proofs."""
    prover = BbsProver(select(), os.urandom)
    asked = statement(ISSUER.key, *predicates)
    made = prover.prove(asked, ISSUER.credential(SCHEMA, HANA), context=context())
    headers = []
    check = core.check_challenge

    def record_header(init, proof, disclosed, presentation_header):
        headers.append(presentation_header)
        check(init, proof, disclosed, presentation_header)

    monkeypatch.setattr(core, "check_challenge", record_header)
    prover.verify(asked, made, context=context(), now=NOW)
    envelope = Envelope.decode(made.proof)
    return {
        "name": name,
        "publicKey": ISSUER.key.public_key.hex(),
        "header": SCHEMA.header.hex(),
        "presentationHeader": headers[0].hex(),
        "proof": envelope.bbs_proof.hex(),
        "disclosedIndexes": list(envelope.disclosed),
        "disclosedMessages": [data.hex() for data in envelope.disclosed.values()],
    }


def flipped(text):
    return text[:-1] + ("0" if text[-1] != "0" else "1")


def test_every_kind_of_proof(independent, monkeypatch):
    good, bad = [], []
    for name, predicates in STATEMENTS.items():
        one = case(name, predicates, monkeypatch)
        good.append(one)
        for member in ("presentationHeader", "header", "proof"):
            bad.append({**one, "name": f"{name}, another {member}", member: flipped(one[member])})
        bad.append({**one, "name": f"{name}, another key", "publicKey": BbsIssuer("mallory").key.public_key.hex()})
        bad.append({**one, "name": f"{name}, no presentation header", "presentationHeader": ""})
        if one["disclosedMessages"]:
            messages = [flipped(one["disclosedMessages"][0]), *one["disclosedMessages"][1:]]
            bad.append({**one, "name": f"{name}, another message", "disclosedMessages": messages})
    verdicts = independent("verify.mjs", [*good, *bad])
    assert {one["name"]: verdicts[one["name"]] for one in good} == dict.fromkeys(STATEMENTS, True)
    assert [one["name"] for one in bad if verdicts[one["name"]] is True] == []


def lead(name):
    """What the implementation gets to see of the frozen presentation of this name: K' of the first credential, where one consents."""
    vector = VECTORS["presentations"][name]
    envelope = PresentationEnvelope.decode(vector["proof"])
    return {
        "name": name,
        "publicKey": Issuer().public.hex(),
        "header": scene(name).question.credentials[0].header.encoded.hex(),
        "presentationHeader": vector["presentationHeader"],
        "proof": envelope.credential_proofs[0].hex(),
        "disclosed": [[slot, data.hex()] for part, slot, data in envelope.disclosed if part == 0],
        "point": envelope.consent[:48].hex() if envelope.consent else None,
    }


def test_the_lead_of_every_presentation(independent):
    good, bad = [lead(name) for name in CASES], []
    assert {one["point"] is None for one in good} == {True, False}
    other = lead("pseudonym")["point"]
    for one in good if ROUNDS > 1 else [one for one in good if one["name"] in ("plain", "set")]:
        name = one["name"]
        for member in ("presentationHeader", "header", "proof"):
            bad.append({**one, "name": f"{name}, another {member}", member: flipped(one[member])})
        bad.append({**one, "name": f"{name}, another key", "publicKey": Issuer(seed="eve").public.hex()})
        bad.append({**one, "name": f"{name}, another base", "point": None if one["point"] else other})
        if one["point"] not in (None, other):
            bad.append({**one, "name": f"{name}, another's consent", "point": other})
        for index, message in one["disclosed"]:
            bad.append({**one, "name": f"{name}, another message", "disclosed": [[index, flipped(message)]]})
    verdicts = independent("verify_leads.mjs", [*good, *bad])
    assert {one["name"]: verdicts[one["name"]] for one in good} == dict.fromkeys(CASES, True)
    assert [one["name"] for one in bad if verdicts[one["name"]] is True] == []
