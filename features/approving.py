"""What stories about witnesses send: Hana's DID of which Wendy must approve, and a good request for every operation on approvals."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from nacl.signing import SigningKey

from features.document import Operation
from features.world import DRAFTS, Draft, Person, World
from tests.attack.stranger import public, witness_proof

WITNESSES = {name: SigningKey(hashlib.sha256(name.encode()).digest()) for name in ("Wendy", "Eve")}


def witnessed(world: World) -> Person:
    """Hana, with a did:webvh of which Wendy must approve."""
    if "Hana" not in world.people:
        listed = [{"id": f"did:key:{public(WITNESSES['Wendy'])}"}]
        world.new_person("Hana", {"witness": {"threshold": 1, "witnesses": listed}}, method="webvh")
    return world.people["Hana"]


def approvals_path(did: str) -> str:
    return f"/dids/{quote(did, safe='')}/approvals"


def newest(world: World, did: str) -> str:
    """The versionId of the newest entry."""
    answer = world.call("getDidLog", did=did)
    version: str = json.loads(answer.content.splitlines()[-1])["versionId"]
    return version


def approval(version_id: str, key: SigningKey) -> dict[str, Any]:
    """The request of a witness."""
    return {"versionId": version_id, "proof": witness_proof(version_id, key)}


def _drafted(world: World, operation: Operation) -> Draft:
    # The method that raises is that of did:ids.
    did = (world.person("Vera") if "method:raise" in world.notes.get("fault", "") else witnessed(world)).did
    body = approval(newest(world, did), WITNESSES["Wendy"]) if operation.has_body else None
    return Draft(operation, approvals_path(did), body=body)


for _name in ("getDidApprovals", "approveDidVersion"):
    DRAFTS[_name] = _drafted
