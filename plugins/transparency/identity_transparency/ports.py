"""What witnesses have approved of logs of did:webvh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from identity_core.ports.activity import ActivityRow
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
        self, did: str, before: bytes | None, after: WitnessFile, rows: Sequence[ActivityRow] = ()
    ) -> bool:
        """Keeps ``after`` durably in the place of the one with the octets ``before`` (None: where there was none), and ``rows`` with it,
        both or neither. False where another is there."""
        ...
