"""What waits for the witnesses of a DID, as it answers."""

from __future__ import annotations

from typing import Final

from identity_core import wire
from identity_core.api.request import NO_STORE, Answer
from identity_core.use_cases.dids.witnessed import Approvals

MOST_WAITING: Final = 50


def approvals_shown(found: Approvals) -> Answer:
    """200 with what is published and what waits."""
    waiting = tuple(
        wire.WaitingVersion(
            version_id=one.version_id,
            threshold=one.witnesses.threshold,
            witnesses=tuple(f"did:key:{key}" for key in sorted(one.witnesses.keys)),
            approved_by=tuple(f"did:key:{key}" for key in sorted(one.approved)),
        )
        for one in found.waiting[:MOST_WAITING]
    )
    body = wire.DidApprovals(
        did=str(found.did),
        versions=found.versions,
        published_versions=found.published,
        version_id=found.version_id,
        waiting=waiting,
    )
    return Answer(200, body, headers=[NO_STORE])
