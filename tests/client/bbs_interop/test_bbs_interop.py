"""An independent implementation of the BBS draft accepts the BBS part of every kind of proof that we make.

It knows nothing of predicates: it gets the key, the signed header, the presentation header and what is disclosed. With
another presentation header, header, key or disclosed message it refuses.
"""

import os

from identity_prover_bbs import BbsProver
from identity_prover_bbs.envelope import Envelope

from identity_core.conformance.prover_cases import HANA, NOW, SCHEMA, BbsIssuer, context, statement
from identity_core.crypto.bbs import core
from identity_core.crypto.bls12381 import select

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

    def seen(init, proof, disclosed, presentation_header):
        headers.append(presentation_header)
        check(init, proof, disclosed, presentation_header)

    monkeypatch.setattr(core, "check_challenge", seen)
    prover.verify(asked, made, context=context(), now=NOW)
    envelope = Envelope.decode(made.proof)
    return {
        "name": name,
        "publicKey": ISSUER.key.public_key.hex(),
        "header": SCHEMA.header.hex(),
        "presentationHeader": headers[0].hex(),
        "proof": envelope.bbs_proof.hex(),
        "disclosedIndexes": list(envelope.disclosed),
        "disclosedMessages": [octets.hex() for octets in envelope.disclosed.values()],
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
