"""Chapter 8: what was given is taken back."""

from __future__ import annotations

from typing import Any

from identity_core.cli.demo.cast import Cast, anchor_text
from identity_core.cli.demo.delegation import signed
from identity_core.cli.demo.proof import PATH
from identity_core.cli.demo.telling import Story
from identity_core.cli.demo.verification import verdict_text
from identity_core.client import ibct


def tell(story: Story, cast: Cast) -> None:
    """Leaves nothing in force."""
    reason = {"reason": "Aki was taken over"}
    story.tell(
        "Hana revokes the delegation",
        lambda: cast.hana.ask("POST", f"/delegations/{cast.delegation_id}/revoke", reason),
        lambda body: f"{body['status']} after {body['uses']} of {body['maxUses']} uses",
        promise=lambda body: body["status"] == "revoked",
    )
    token = signed(cast, ibct.action_text("age", "gte", pin=18))
    story.refused(
        "No token helps Aki now, not even a new one",
        lambda: cast.aki.ask("POST", PATH, ibct.proof_request(token, cast.credential_id, value=18)),
        "DELEGATION_REVOKED",
    )
    proof = f"/zkp/proofs/{cast.proved['proofId']}"
    story.tell(
        "The proof that was made stays good: the service checks what it keeps, as things are now",
        lambda: cast.vera.ask("POST", f"{proof}/verify", {}),
        lambda verdict: f"{verdict_text(verdict)}; warned: {', '.join(verdict['warnings'])}",
        promise=lambda verdict: verdict["verified"] is True,
    )
    story.tell(
        "Until Hana revokes that too",
        lambda: cast.hana.ask("POST", f"{proof}/revoke", reason | {"syncWaitMs": 5_000}),
        _revoked,
    )
    story.tell(
        "Now it is refused",
        lambda: cast.vera.ask("POST", f"{proof}/verify", {}),
        verdict_text,
        promise=lambda verdict: not verdict["verified"] and "PROOF_REVOKED" in verdict["errors"],
    )


def _revoked(body: dict[str, Any]) -> str:
    anchor = body["anchor"]
    if anchor is None or anchor.get("revokedBlock") is None:
        return f"revoked, {anchor_text(anchor)}"
    return f"revoked, and so is its anchor: block {anchor['revokedBlock']}"
