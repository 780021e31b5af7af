"""Steps about the entries of the audit log."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pytest_bdd import parsers, then, when

from features.signing import call
from features.steps.answers import body_of
from features.steps.verifications.answers import no_value_in
from features.verifying import drafted, proof_of
from features.world import DRAFTS, World

DRAFTS |= dict.fromkeys(
    ("listAuditLines", "getDashboardTimeline", "listVerificationHistory", "getVerificationStats"), drafted
)

# When


@when("Mallory asks for the audit log")
def mallory_audits(world: World) -> None:
    call(world, "Mallory", "listAuditLines")


@when("Olu reads the audit log")
def reads_audit(world: World) -> None:
    """All of it, page by page: the stories of a run may share a server."""
    items: list[dict[str, Any]] = []
    while page := read_on(world, len(items)):
        items += page
    world.notes["audit"] = items


def read_on(world: World, after: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body_of(
        world.call("listAuditLines", headers=world.key_header(), after=after, limit=1000)
    )["items"]
    return found


# Then


@then("the audit log names who verified and holds together")
def chained(world: World) -> None:
    items = world.notes["audit"]
    link = bytes(32)
    for number, item in enumerate(items, 1):
        link = hashlib.sha256(b"identity audit line v1\n" + link + item["line"].encode()).digest()
        assert (item["sequence"], item["link"]) == (number, link.hex())
    lines = [json.loads(item["line"]) for item in items]
    found = [line for line in lines if line["target"] == proof_of(world)["proofId"]]
    assert [(line["operation"], line["details"]["verified"]) for line in found] == [("verifyStoredProof", True)]
    # A keyed one: who reads it cannot try keys against it.
    fingerprint = found[0]["fingerprint"]
    assert len(bytes.fromhex(fingerprint)) == 6
    assert fingerprint not in hashlib.sha256(world.server.api_key.encode()).hexdigest()
    assert no_value_in(json.dumps([line["details"] for line in lines]).encode())


@then(parsers.parse("the audit log has the refusal {code:w} of {operation:w} by {name:w}"))
def refusal_told(world: World, code: str, operation: str, name: str) -> None:
    lines = [json.loads(item["line"]) for item in world.notes["audit"]]
    found = [line for line in lines if line["caller"] == f"did:{world.person(name).did}"]
    assert [(line["operation"], line["outcome"], line["details"]) for line in found] == [
        (operation, "refused", {"code": code})
    ]
