"""Checks of responses against the specification, by the plain client."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from pytest_bdd import parsers, then

from identity_kit.tests.specification.plain_client import did_path, read_signing_key
from identity_kit.tests.specification.story import SERVICE, PlainStory, parse_time


@then(parsers.re(r"the service responds (?P<status>\d{3})(?: (?P<code>[A-Z_]+))?"))
def check_status(plain: PlainStory, status: str, code: str | None) -> None:
    assert plain.response is not None
    assert plain.response.status_code == int(status), plain.response.text
    if int(status) >= 400:
        error = plain.content["error"]
        assert set(error) <= {"code", "message", "details"}
        assert isinstance(error["message"], str)
        assert isinstance(error["details"], dict)
        if code:
            assert error["code"] == code, error


@then(parsers.re(r"the response has the members (?P<names>.+)"))
def check_members(plain: PlainStory, names: str) -> None:
    for name in names.split(", "):
        part: Any = plain.content
        path, _, kind = name.partition(" ")
        for step in path.split("."):
            assert step in part, name
            part = part[step]
        if kind == "(time)":
            parse_time(part)
        else:
            types = {"(text)": str, "(integer)": int, "(true)": bool, "(false)": bool, "(object)": dict, "(list)": list}
            assert type(part) is types[kind], name
        if kind in ("(true)", "(false)"):
            assert part is (kind == "(true)"), name


@then("the response has no other member")
def check_deactivation_members(plain: PlainStory) -> None:
    assert set(plain.content) == {"did", "deactivated", "transactionHash", "blockNumber"}


@then(parsers.re(r"the keys (?P<names>.+) have an id, a public and a private part"))
def check_keys(plain: PlainStory, names: str) -> None:
    did = plain.content["did"]
    assert re.fullmatch(r"did:ids:\S+", did)
    for name in names.split(", "):
        key = plain.content["keys"][name]
        assert set(key) == {"keyId", "publicKey", "privateKey"}
        assert key["keyId"].startswith(did + "#")
        assert key["publicKey"].startswith("z")
        assert isinstance(key["privateKey"], str)


@then(parsers.parse("the resolved document is version {version:d}"))
def check_version(plain: PlainStory, version: int) -> None:
    metadata = plain.content["didDocumentMetadata"]
    assert metadata["versionId"] == version
    services = [one["type"] for one in plain.content["didDocument"].get("service", [])]
    assert ("LinkedDomains" in services) == (version > 1)


@then(parsers.re(r"the (?P<name>contentType|media type) is application/did\+ld\+json"))
def check_content_type(plain: PlainStory, name: str) -> None:
    assert plain.response is not None
    if name == "contentType":
        assert plain.content["didResolutionMetadata"]["contentType"] == "application/did+ld+json"
    else:
        assert plain.response.headers["Content-Type"].split(";")[0] == "application/did+ld+json"


@then("the current document shows the update")
def check_update(plain: PlainStory) -> None:
    sent = plain.notes["sent"]
    document = plain.client.request("GET", did_path(plain.did.did)).json()["didDocument"]
    methods = json.dumps(document["verificationMethod"])
    if sent["operation"] == "addService":
        assert SERVICE["serviceEndpoint"] in json.dumps(document["service"])
    elif sent["operation"] == "addVerificationMethod":
        assert sent["verificationMethod"]["publicKeyMultibase"] in methods
    else:
        assert sent["keyId"] not in methods


@then("gracePeriodEnd is the requested revokeOldAfter")
def check_grace_period(plain: PlainStory) -> None:
    assert parse_time(plain.content["gracePeriodEnd"]) == parse_time(plain.notes["sent"]["revokeOldAfter"])


@then(parsers.re(r"the (?P<which>old|new) key signs the next update"))
def check_key(plain: PlainStory, which: str) -> None:
    if which == "new" and "newKey" in plain.content:
        plain.did.key = read_signing_key(plain.content["newKey"]["privateKey"])
    response = plain.client.send_signed("PATCH", "", {"operation": "addService", "service": SERVICE}, plain.did)
    assert response.status_code == 200, response.text


@then("the challenge names the DID and expires later")
def check_challenge(plain: PlainStory) -> None:
    assert set(plain.content) >= {"challenge", "did", "expiresAt"}
    assert plain.content["did"] == plain.did.did
    assert parse_time(plain.content["expiresAt"]) > datetime.now(UTC)


@then("the shared API key is not limited")
def check_other_bucket(plain: PlainStory) -> None:
    assert plain.client.request("GET", "/dids", X_API_Key=plain.client.api_key).status_code == 200
