"""deactivateDid: the end of a DID, for good. The reason goes to the audit log only: the public log cannot forget."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.change import Authorization, Deactivate
from identity_core.domain.did import Did
from identity_core.errors import ConfirmationRequired
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.writer import DidWriter, RequestContext


@dataclass(frozen=True, slots=True)
class DeactivateDid:
    """Raises ``ConfirmationRequired`` unless ``confirm`` is True."""

    writer: DidWriter

    async def __call__(
        self, did: Did, *, confirm: bool, authorization: Authorization, occasion: RequestContext, if_match: int | None
    ) -> IndexedVersion:
        if not confirm:
            raise ConfirmationRequired(details={"did": str(did)})
        change = Deactivate(authorization)
        return await self.writer.commit(did, lambda _: change, occasion, if_match=if_match)
