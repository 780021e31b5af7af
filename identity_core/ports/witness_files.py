"""What witnesses have approved of logs of did:webvh."""

from __future__ import annotations

from typing import Protocol

from identity_core.domain.activity import EventRecord
from identity_core.values import value_class


@value_class
class WitnessFile:
    """The did-witness.json of a DID, which approves the first ``versions`` of its log; their lines have ``log_octets`` together, without
    what ends them."""

    versions: int
    log_octets: int
    octets: bytes


class WitnessFiles(Protocol):
    """One did-witness.json a DID."""

    async def find(self, did: str) -> WitnessFile | None:
        """The one of the DID."""
        ...

    async def replace(
        self, did: str, before: bytes | None, after: WitnessFile, event: EventRecord | None = None
    ) -> bool:
        """Keeps ``after`` durably in the place of the one with the octets ``before`` (None: where there was none), and the rows of
        ``event`` with it, both or neither. False where another is there."""
        ...
