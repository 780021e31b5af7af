"""Issuers say what holders are, in the service or at home."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.credentialing import ABSENT, VALUES, issued, issuer, signed, signed_for_wallet, wish
from features.delegating import remember
from features.formats import base64url, from_base64url, printed
from features.signing import call
from features.steps.answers import body_of
from features.steps.dids import UNKNOWN
from features.world import World

HEADER_TAG = b"IDENTITY-SERVICE-CREDENTIAL-V2:"
MALFORMED: dict[str, dict[str, Any]] = {
    "a fraction for an integer": {"age": 24.5},
    "a text for an integer": {"age": "24"},
    "an age beyond the schema": {"age": 151},
    "more digits than the scale": {"income": "1.505"},
    "no value for an attribute": {"age": ...},
    "an attribute that the schema does not have": {"height": 180},
}


def values(**changed: Any) -> dict[str, Any]:
    return {name: value for name, value in (VALUES | changed).items() if value is not ...}


def in_days(days: float) -> str:
    return printed(datetime.now(UTC) + timedelta(days=days))


def midnight(days: int, time: str = "T00:00:00Z") -> str:
    return in_days(days)[:10] + time


# Given


@given(parsers.parse("{by:w} has issued a bound credential to {of:w}"))
def has_issued_bound(world: World, by: str, of: str) -> None:
    issued(world, by, of, suite=2)


@given(parsers.parse("{by:w} has issued a credential of suite 1 to {of:w}"))
def has_issued_unbound(world: World, by: str, of: str) -> None:
    issued(world, by, of, suite=1)


@given(parsers.parse("{by:w} has issued a credential to {of:w}"))
def has_issued(world: World, by: str, of: str) -> None:
    issued(world, by, of)


@given(parsers.parse("{name:w} keeps her keys to herself"))
def keeps(world: World, name: str) -> None:
    issuer(world, name, held=False)


@given(parsers.parse("{holder:w} lets {agent:w} act at level {level:d}"))
def delegates(world: World, holder: str, agent: str, level: int) -> None:
    remember(world, holder, agent, autonomyLevel=level)


# When


@when(parsers.parse("{by:w} issues a credential to {of:w}"))
def issues(world: World, by: str, of: str) -> None:
    call(world, by, "issueCredential", "IssueCredentialRequest", wish(world, by, of))


@when(parsers.parse("{by:w} issues a credential of suite 1 to {of:w}"))
def issues_unbound(world: World, by: str, of: str) -> None:
    call(world, by, "issueCredential", "IssueCredentialRequest", wish(world, by, of, suite=1))


@when(parsers.parse("{by:w} issues a credential to {of:w} that ends within a day"))
def issues_by_the_hour(world: World, by: str, of: str) -> None:
    changed = {"validUntil": midnight(30, "T12:30:00Z")}
    call(world, by, "issueCredential", "IssueCredentialRequest", wish(world, by, of, **changed))


@when(parsers.parse("{by:w} issues a credential to {of:w} with {what}"))
def issues_bad(world: World, by: str, of: str, what: str) -> None:
    changed: dict[str, Any]
    if what in MALFORMED:
        changed = {"attributes": values(**MALFORMED[what])}
    else:
        changed = {
            "an unregistered schema": {"schemaId": ABSENT},
            "an end in the past": {"validUntil": in_days(-1)},
        }[what]
    call(world, by, "issueCredential", "IssueCredentialRequest", wish(world, by, of, **changed))


@when(parsers.parse("{by:w} issues a bound credential to {of:w}"))
def issues_bound(world: World, by: str, of: str) -> None:
    call(world, by, "issueCredential", "IssueCredentialRequest", wish(world, by, of, suite=2))


@when(parsers.parse("{by:w} issues a bound credential to {of:w} with {what}"))
def issues_bad_bound(world: World, by: str, of: str, what: str) -> None:
    changed: dict[str, Any]
    if what in MALFORMED:
        changed = {"attributes": values(**MALFORMED[what])}
    else:
        changed = {
            "an end within a day": {"validUntil": midnight(30, "T00:00:01Z")},
            "a beginning within a day": {"validFrom": midnight(-1, "T12:00:00Z")},
            "an end in the far future": {"validUntil": "2149-06-07T00:00:00Z"},
            "suite 3": {"suite": 3},
        }[what]
    call(world, by, "issueCredential", "IssueCredentialRequest", wish(world, by, of, **({"suite": 2} | changed)))


@when(parsers.parse("{by:w} imports a credential of {of:w} that she signed at home"))
@when(parsers.parse("{by:w} imports a credential of {of:w} that he signed at home"))
def imports(world: World, by: str, of: str) -> None:
    call(world, by, "importCredential", "ImportCredentialRequest", signed(world, by, of))


@when(parsers.parse("{by:w} imports a credential that {of:w}'s wallet asked for"))
def imports_bound(world: World, by: str, of: str) -> None:
    world.notes["imported"] = signed_for_wallet(world, by, of)
    call(world, by, "importCredential", "ImportCredentialRequest", world.notes["imported"])


@when(parsers.parse("{by:w} imports it again with {what}"))
def imports_again(world: World, by: str, what: str) -> None:
    body = dict(world.notes["imported"])
    if what == "a handle that was not signed":
        body["bound"] = body["bound"] | {"handle": body["bound"]["handle"] ^ 1 or 2}
    elif what == "an unknown list":
        header = json.loads(from_base64url(body["bound"]["header"]).removeprefix(HEADER_TAG))
        header["status"]["list"] = "A" * 22
        text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        body["bound"] = body["bound"] | {"header": base64url(HEADER_TAG + text.encode())}
    else:
        assert what == "nothing changed"
    call(world, by, "importCredential", "ImportCredentialRequest", body)


@when(parsers.parse("{by:w} imports a credential of {of:w} with {what}"))
def imports_bad(world: World, by: str, of: str, what: str) -> None:
    changed: dict[str, dict[str, Any]] = {
        "values that were not signed": {"attributes": values(age=25)},
        "an invalid signature": {"signature": base64url(bytes(80))},
        "another issuer's key": {
            "verificationMethod": issuer(world, "Mallory").created["keys"]["assertionMethod"]["keyId"]
        },
        "an unregistered schema": {"schemaId": ABSENT},
    }
    body = signed(world, by, of) | changed[what]
    call(world, by, "importCredential", "ImportCredentialRequest", body)


@when(parsers.re(r"(?P<operation_id>issueCredential|importCredential) names (?P<what>.+) as (?P<role>holder|issuer)"))
def names(world: World, operation_id: str, what: str, role: str) -> None:
    draft = world.draft(operation_id)
    if what == "a DID that is deactivated":
        person = world.new_person("Late")
        body = {"confirm": True, "reason": "over"}
        headers = world.signed(person, "deactivateDid", body)
        world.call("deactivateDid", headers=headers, did=person.did, body=world.model("DeactivateDidRequest", body))
        did = person.did
    else:
        did = {"no DID": "did:ids:short", "an unregistered DID": UNKNOWN}[what]
    draft.body[f"{role}Did"] = did
    world.send(draft)


# Then


@then(parsers.parse("the credential is one of suite 2 that {by:w}'s header names"))
def is_bound(world: World, by: str) -> None:
    record = body_of(world.answer)
    shown = record["credential"]
    header = from_base64url(shown["proof"]["header"])
    assert record["suite"] == 2
    assert shown["proof"]["cryptosuite"] == "identity-bbs-credential-2"
    said = json.loads(header.removeprefix(HEADER_TAG))
    keeper = "wallet" if "imported" in world.notes else "custodian"
    assert (said["issuer"], said["holder"]) == (world.people[by].did, keeper)
    assert said["method"] == shown["proof"]["verificationMethod"]
    *_, entry = shown["credentialStatus"]
    assert entry["type"] == "IdentityStatusGapsEntry"
    assert entry["statusListCredential"].endswith(f"/status-gaps/{said['status']['list']}")
    assert 0 < int(entry["statusListIndex"]) < 2**32 - 1
    assert shown["validFrom"].endswith("T00:00:00Z")
    world.notes["credential"] = record


@then("the credential is one of suite 1")
def is_unbound(world: World) -> None:
    record = body_of(world.answer)
    assert record["suite"] == 1
    proof = record["credential"]["proof"]
    assert proof["cryptosuite"] == "identity-bbs-credential-1"
    assert proof.keys().isdisjoint({"header", "commitment"})
    assert [one["type"] for one in record["credential"]["credentialStatus"]] == ["BitstringStatusListEntry"] * 2
    world.notes["credential"] = record


@then("the credential says what was asked for")
def check_issued_credential(world: World) -> None:
    record = body_of(world.answer)
    shown = record["credential"]
    assert shown["credentialSubject"] == {"id": world.people["Hana"].did, **VALUES}
    # Two bits, and of suite 2 the handle in the list of signed gaps.
    handle = {1: [], 2: ["revocation"]}[record["suite"]]
    assert [one["statusPurpose"] for one in shown["credentialStatus"]] == ["revocation", "suspension", *handle]
    world.notes["credential"] = body_of(world.answer)
