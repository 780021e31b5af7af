"""The whole story on the command line: Hana delegates and signs, Aki asks, Vera checks without the service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from identity_commands.local_server import LocalServer

from identity_client import Session
from tests.unit.cli.conftest import Commands

SCHEMA = {"attributes": [{"name": "age", "type": "integer"}]}
ISSUER = {
    "method": "ids",
    "options": {
        "storeSecrets": True,
        "additionalKeys": [{"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}],
    },
}


def credential(server: LocalServer, holder: str) -> str:
    with Session(server.url, api_key=server.api_key) as session:
        issuer = session.create(ISSUER)["did"]
        schema = session.call("POST", "/credential-schemas", body=SCHEMA)["id"]
        claims = {"issuerDid": issuer, "holderDid": holder, "schemaId": schema, "attributes": {"age": 37}}
        made: dict[str, Any] = session.call("POST", "/credentials", body=claims)
    return str(made["id"])


def test_from_the_token_to_a_proof_that_anybody_checks(server: LocalServer, remote: Commands, tmp_path: Path) -> None:
    hana, aki, token, proof = (tmp_path / name for name in ("hana.json", "aki.json", "token.json", "proof.json"))
    holder = remote.json("did", "create", "--keys", hana)["did"]
    agent = remote.json("did", "create", "--keys", aki)["did"]
    held = credential(server, holder)
    delegation = remote.json(
        "delegation", "create", "--keys", hana, "--agent", agent, "--action", "zkp.prove.age.gte", "--level", "3"
    )["id"]  # fmt: skip
    wish = ("--agent", agent, "--delegation", delegation, "--predicate", "age", "gte")
    token.write_text(remote.ok("ibct", "issue", "--keys", hana, *wish))
    assert remote.json("ibct", "verify", token, "--resolve", server.url)["delegationId"] == delegation

    request = ("proof", "request", "--ibct", token, "--credential", held, "--domain", "https://vera.example")
    made = remote.json(*request, "--value", "18", "--keys", aki)
    assert remote.json(*request, "--value", "18", "--keys", aki) == made
    assert "IBCT_REPLAYED" in remote.refused(*request, "--value", "21", "--keys", aki)[0]
    assert "FORBIDDEN" in remote.refused(*request, "--value", "18", "--keys", hana)[0]

    proof.write_text(json.dumps(made))
    nonce = json.loads(token.read_text())["nonce"]
    asked = ("--audience", "https://vera.example", "--challenge", nonce, "--predicate", "age", "gte", "18")
    verify = ("proof", "verify", proof, "--resolve", server.url)
    assert "--issuer, or give --signature-only" in remote.refused(*verify, *asked, status=2)[0]
    found = remote.json(*verify, *asked, "--issuer", issuer_of(made["proof"]))
    assert (found["verified"], found["verdict"]) == (True, "valid")
    others = ("--audience", "https://mallory.example", "--challenge", nonce, "--signature-only")
    remote.refused(*verify, *others)


def issuer_of(proof: dict[str, Any]) -> str:
    issuer: str = proof["publicSignals"][1].partition("#")[0]
    return issuer


def test_several_predicates_from_the_token_to_one_proof(server: LocalServer, remote: Commands, tmp_path: Path) -> None:
    hana, aki, token, proof = (tmp_path / name for name in ("hana.json", "aki.json", "token.json", "proof.json"))
    held = credential(server, remote.json("did", "create", "--keys", hana)["did"])
    agent = remote.json("did", "create", "--keys", aki)["did"]
    allowed = ("--action", "zkp.prove.age.*", "--level", "3")
    delegation = remote.json("delegation", "create", "--keys", hana, "--agent", agent, *allowed)["id"]
    wish = ("--agent", agent, "--delegation", delegation, "--predicate", "age", "gte", "--predicate", "age", "lt")
    token.write_text(remote.ok("ibct", "issue", "--keys", hana, *wish))
    request = ("proof", "request", "--ibct", token, "--credential", held, "--keys", aki)
    assert "names 2 predicates" in remote.refused(*request, "--value", "18")[0]
    proof.write_text(json.dumps(remote.json(*request, "--value", "18", "--value", "120")))
    verify = ("proof", "verify", proof, "--resolve", server.url, "--signature-only")
    both = ("--predicate", "age", "gte", "18", "--predicate", "age", "lt", "120")
    assert "predicates" not in remote.json(*verify, *both)["unchecked"]
    remote.refused(*verify, "--predicate", "age", "gte", "18")


def test_one_question_from_holder_to_agent_to_verifier(server: LocalServer, remote: Commands, tmp_path: Path) -> None:
    """The holder signs a question about two credentials, the agent asks it, the verifier reads the proof of it."""
    hana, aki, token, proof, asked, expected = (
        tmp_path / f"{name}.json" for name in ("hana", "aki", "token", "proof", "asked", "expected")
    )
    holder = remote.json("did", "create", "--keys", hana)["did"]
    agent = remote.json("did", "create", "--keys", aki)["did"]
    with Session(server.url, api_key=server.api_key) as session:
        issuer = session.create(ISSUER)["did"]
        schema = session.call("POST", "/credential-schemas", body=SCHEMA)["id"]
        claims = {"issuerDid": issuer, "holderDid": holder, "schemaId": schema, "attributes": {"age": 37}, "suite": 2}
        held = [session.call("POST", "/credentials", body=claims)["id"] for _ in range(2)]
    adult = [{"attributeName": "age", "type": "gte", "value": 18}]
    same = [[{"credential": number, "attributeName": "age"} for number in range(2)]]
    more = {"same": same, "pseudonym": "https://vera.example"}
    asked.write_text(json.dumps(more | {"credentials": [{"credentialId": one, "predicates": adult} for one in held]}))
    named = {"issuerDid": issuer, "schemaId": schema, "predicates": adult}
    expected.write_text(json.dumps(more | {"credentials": [named, named]}))
    allowed = [
        ("--action", one) for one in ("zkp.credential", "zkp.prove.age.gte", "zkp.prove.age.same", "zkp.pseudonym")
    ]
    actions = [text for pair in allowed for text in pair]
    delegation = remote.json("delegation", "create", "--keys", hana, "--agent", agent, *actions, "--level", "2")["id"]
    wish = ("ibct", "issue", "--keys", hana, "--agent", agent, "--delegation", delegation)
    assert "--question" in remote.refused(*wish, status=2)[0]
    token.write_text(remote.ok(*wish, "--question", asked))
    request = ("proof", "request", "--ibct", token, "--keys", aki)
    assert "what is asked" in remote.refused(*request, status=2)[0]
    made = remote.json(*request, "--question", asked)
    proof.write_text(json.dumps(made))
    verify = ("proof", "verify", proof, "--resolve", server.url, "--signature-only")
    found = remote.json(*verify, "--question", expected, "--require", "holder", "--require", "credentialStatus")
    assert found["question"]["same"] == same
    assert len(found["question"]["pseudonymValue"]) == 64
    assert "same       age of 0 = age of 1" in remote.ok(*verify, "--question", expected)
    remote.refused(*verify)
    expected.write_text(json.dumps({"credentials": [named, named], "same": same}))
    remote.refused(*verify, "--question", expected)
    assert "credential 1: " in remote.ok("proof", "get", made["proofId"], "--keys", aki)


def test_a_refusal_names_every_remedy(server: LocalServer, remote: Commands, tmp_path: Path) -> None:
    hana, aki, token = (tmp_path / name for name in ("hana.json", "aki.json", "token.json"))
    held = credential(server, remote.json("did", "create", "--keys", hana)["did"])
    agent = remote.json("did", "create", "--keys", aki)["did"]
    allowed = ("--action", "zkp.prove.age.gte", "--level", "2")
    delegation = remote.json("delegation", "create", "--keys", hana, "--agent", agent, *allowed)["id"]
    wish = ("--agent", agent, "--delegation", delegation, "--predicate", "age", "gte")
    token.write_text(remote.ok("ibct", "issue", "--keys", hana, *wish))
    request = ("proof", "request", "--ibct", token, "--credential", held, "--keys", aki)
    said = remote.refused(*request, "--value", "18")
    assert "AUTONOMY_TOO_LOW" in said[0]
    assert said[2] == (
        "  do: let the holder pin the value: in the action of the IBCT, or in a grant of the delegation; "
        "or let the holder delegate with --level 3 or more."
    )
    assert "null is not a value" in remote.refused(*request, "--value", "null", status=2)[0]
