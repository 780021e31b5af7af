"""updateDid: one or several named operations in one atomic version."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.change import Authorization, Operation, Update
from identity_core.domain.did import Did
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.writer import DidWriter, RequestContext


@dataclass(frozen=True, slots=True)
class UpdateDid:
    """Raises ``InvalidDocument``, ``VersionConflict`` (``if_match``), and what every write raises."""

    writer: DidWriter

    async def __call__(
        self,
        did: Did,
        operations: tuple[Operation, ...],
        authorization: Authorization,
        occasion: RequestContext,
        *,
        if_match: int | None,
    ) -> IndexedVersion:
        change = Update(operations, authorization)
        return await self.writer.commit(did, lambda _: change, occasion, if_match=if_match)
