"""Sentences by kind and role, and members that no page forgets."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from identity_ui.catalogues import TEMPLATES

from identity_client.presentation import CHECKS, DATA, EVENTS, ROLES, parts_of, role_of, sentence
from openapi.build import REFERENCE

PARTIES = {"holderDid": "did:ids:hana", "agentDid": "did:ids:aki", "issuerDid": "did:ids:ivo"}
ASKED = {"question": [{"attributeName": "age", "type": "gte", "value": 18}], "verifier": "https://shop.example"}
MEMBERS = DATA["members"]
KINDS = sorted({name.partition("/")[0] for name in EVENTS} - {"unknown"})


def item(kind: str, **more: Any) -> dict[str, Any]:
    return PARTIES | {"kind": kind, "outcome": "done", "code": None, "actor": None} | more


def words(kind: str, viewer: str | None, found: dict[str, Any] = ASKED, **more: Any) -> str | None:
    said = sentence(item(kind, **more), viewer, found)
    return said and "".join(str(fact) for _, fact in parts_of(said.text, said.facts | {"question": "age >= 18"}))


@pytest.mark.parametrize(
    ("kind", "holder", "agent", "issuer", "operator"),
    [
        ("delegation.created", "You let did:ids:aki prove", "lets you prove", None, "gave did:ids:aki a permission"),
        ("delegation.suspended", "You stopped", "stopped your permission", None, "stopped did:ids:aki"),
        ("delegation.resumed", "You let did:ids:aki continue", "lets you continue", None, "let did:ids:aki continue"),
        ("delegation.revoked", "You ended", "ended your permission", None, "ended a permission"),
        ("ibct.revoked", "You took back", "took back", None, "took back"),
        ("proof.generated", "proved to https://shop.example", "You got a proof", None, "got a proof of"),
        ("proof.refused", "was refused", "Refused", None, "Refused"),
        ("proof.verified", "It was valid", "your proof", None, "valid"),
        ("proof.revoked", "You withdrew the proof", "withdrew a proof", None, "withdrew a proof"),
        ("credential.issued", "issued you", None, "You issued did:ids:hana", "issued a credential"),
        ("credential.imported", "You imported", None, None, "imported"),
        ("credential.suspended", "suspended your", None, "You suspended", "suspended a"),
        ("credential.resumed", "resumed your", None, "You resumed", "resumed a"),
        ("credential.revoked", "revoked your", None, "You revoked", "revoked a"),
        ("client.authorized", "You let the program", "let you read", None, "let in a program"),
    ],
)
def test_a_sentence_is_by_the_role_of_the_viewer(
    kind: str, holder: str, agent: str | None, issuer: str | None, operator: str
) -> None:
    viewers = {"did:ids:hana": holder, "did:ids:aki": agent, "did:ids:ivo": issuer, None: operator}
    for viewer, expected in viewers.items():
        said = words(kind, viewer, code="CODE")
        assert said is None if expected is None else expected in str(said), (viewer, said)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("found", [{}, ASKED], ids=["unknown", "known"])
def test_a_holder_and_an_operator_see_every_kind(kind: str, found: dict[str, Any]) -> None:
    for code, outcome in (("CODE", "refused"), (None, "done")):
        if kind == "proof.refused" and code is None:
            continue
        assert words(kind, "did:ids:hana", found, code=code, outcome=outcome)
        operator = words(kind, None, found, code=code, outcome=outcome)
        assert operator
        assert "age" not in operator


def test_a_verifier_reads_of_itself_and_an_unknown_kind_is_told() -> None:
    assert role_of(PARTIES, "did:ids:vera") == "verifier"
    assert "You checked a proof" in str(words("proof.verified", "did:ids:vera"))
    assert words("credential.issued", "did:ids:vera") is None
    assert words("other.kind", "did:ids:hana") == "Something else happened (other.kind)."


def test_a_permission_that_its_agent_gave_back_says_so() -> None:
    assert "gave its permission back" in str(words("delegation.revoked", "did:ids:hana", actor="sub:did:ids:aki"))
    assert "You ended" in str(words("delegation.revoked", "did:ids:hana", actor="did:did:ids:hana"))


def test_events_have_known_roles_and_facts() -> None:
    facts = {"agent", "holder", "issuer", "verifier", "question", "code", "kind", "type"}
    for event in EVENTS.values():
        assert event.keys() <= {*ROLES, "icon", "tone"}
        for role in ROLES:
            for text in event.get(role, ()):
                assert {*re.findall(r"\{(\w+)\}", text)} <= facts
    assert all(answers.keys() <= {"yes", "no", "none"} for answers in CHECKS.values())


@pytest.mark.parametrize("schema", MEMBERS)
def test_every_member_is_shown_or_hidden_for_a_reason(schema: str) -> None:
    document = json.loads(REFERENCE.read_bytes())
    members, listed = document["components"]["schemas"][schema]["properties"], MEMBERS[schema]
    assert sorted(members) == sorted([*listed["shown"], *listed["hidden"]])
    pages = "".join((TEMPLATES / name).read_text() for name in listed["templates"])
    assert [name for name in listed["shown"] if not re.search(rf"\.{name}\b", pages)] == []
    assert all(listed["hidden"].values())
