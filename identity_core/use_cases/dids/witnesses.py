"""The witnesses of logs of DIDs (did:webvh 1.0, "DID Witnesses") as the kernel uses them, and what it does without their approvals."""

from __future__ import annotations

from typing import Final, Protocol

import orjson

from identity_core.domain.dids.did import Did
from identity_core.errors import DidNotFound, InvalidDocument
from identity_core.use_cases.dids.read import DidLog, GetDidLog

WITNESS: Final = "witness"
"""The parameter of an entry that says who must approve."""


class WitnessApprovals(Protocol):
    """The approvals of versions, which decide how much of a log is published."""

    def require(self) -> None:
        """Raise ``InvalidDocument``: when a DID cannot have witnesses at this service."""
        ...

    async def published(self, log: GetDidLog, did: Did) -> DidLog:
        """Return the log as its own place shows it. Raises ``DidNotFound``: also when nothing of it is approved; and as ``log``."""
        ...

    async def witness_file(self, log: GetDidLog, did: Did) -> bytes:
        """Return the did-witness.json. Raises ``DidNotFound``: when there is none."""
        ...


class NoApprovals(WitnessApprovals):
    """A service that takes no approvals: a DID cannot have witnesses, and the log of one that has is not published."""

    def require(self) -> None:
        raise InvalidDocument(
            "This service takes no approvals of witnesses: its extension transparency is off.",
            details={"member": WITNESS},
        )

    async def published(self, log: GetDidLog, did: Did) -> DidLog:
        whole = await log(did)
        if await is_witnessed(log, did):
            raise unwitnessed(did)
        return whole

    async def witness_file(self, log: GetDidLog, did: Did) -> bytes:
        await log(did)
        raise DidNotFound(details={"did": str(did)})


async def is_witnessed(log: GetDidLog, did: Did) -> bool:
    """Return whether the log has or had witnesses."""
    if orjson.loads(await log.first(did))["parameters"].get(WITNESS):
        return True
    head = await log.reader.recorded(did)
    return head is not None and head.state.witness_version is not None


def unwitnessed(did: Did) -> DidNotFound:
    """Return the refusal of a log of which nothing is approved."""
    return DidNotFound(details={"did": str(did), "reason": "unwitnessed"})
