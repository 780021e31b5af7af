"""The handlers of the tag ``dashboard``."""

from __future__ import annotations

from identity_codec.times import printed
from identity_codec.values import value_class
from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.use_cases.dashboard import ResetDisclosures


@value_class
class DashboardHandlers:
    """Handler of resetDisclosures."""

    reset: ResetDisclosures

    async def reset_disclosures(self, request: Request) -> Answer:
        credential, at = await self.reset(request.body, request.context)
        body = wire.DisclosuresReset(
            credential_id=credential.id, holder_did=str(credential.holder), reset_at=printed(at)
        )
        return Answer(200, body, headers=[NO_STORE])
