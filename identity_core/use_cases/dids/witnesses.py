"""The witnesses of logs of DIDs (did:webvh 1.0, "DID Witnesses") as the kernel uses them, and what it does without their approvals."""

from __future__ import annotations

from typing import Final

import orjson

from identity_core.domain.dids.did import Did
from identity_core.errors import DidNotFound, InvalidDocument
from identity_core.use_cases.dids.read import DidLog, GetDidLog

WITNESS: Final = "witness"
"""The parameter of an entry that says who must approve."""


class WitnessApprovals:
    """The approvals of versions, which decide how much of a log is published. This one is that of a service that takes none."""

    def require(self) -> None:
        """Raise ``InvalidDocument``: when a DID cannot have witnesses at this service."""
        raise InvalidDocument(
            "This service takes no approvals of witnesses: the extension transparency is off.",
            details={"member": WITNESS},
        )

    async def published(self, log: GetDidLog, did: Did) -> DidLog:
        """Return the log as its own place shows it. Raises ``DidNotFound``: also when nothing of it is approved; and as ``log``."""
        whole = await log(did)
        if await is_witnessed(log, did):
            raise DidNotFound(details={"did": str(did), "reason": "unwitnessed"})
        return whole

    async def witness_file(self, log: GetDidLog, did: Did) -> bytes:
        """Return the did-witness.json. Raises ``DidNotFound``: when there is none."""
        await log(did)
        raise DidNotFound(details={"did": str(did)})


async def is_witnessed(log: GetDidLog, did: Did) -> bool:
    """Return whether the log has or had witnesses."""
    if orjson.loads(await log.first(did))["parameters"].get(WITNESS):
        return True
    head = await log.reader.recorded(did)
    return head is not None and head.state.witness_version is not None
