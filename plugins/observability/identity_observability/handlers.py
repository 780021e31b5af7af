"""The handler of the operation getMetrics.

Unless they are public, metrics are for API keys with the scope ``service:read``: they would reveal to an attacker what is installed, the
load, and whether an attack works.
"""

from __future__ import annotations

from msgspec import Struct

from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.errors import AuthRequired
from identity_core.use_cases.service import SCOPE, Dependencies
from identity_observability.metrics import CONTENT_TYPE, Metrics


class MetricsHandlers(Struct, frozen=True):
    """getMetrics."""

    dependencies: Dependencies
    metrics: Metrics
    is_public: bool

    async def get_metrics(self, request: Request) -> Answer:
        """Return the text of all processes. Raises ``AuthRequired`` and ``Forbidden``: when it is not public."""
        if not self.is_public:
            if request.caller is None:
                raise AuthRequired
            request.caller.require_key(SCOPE)
        text = self.metrics.render(await self.dependencies.states())
        return Answer(200, text, media_type=CONTENT_TYPE, headers=[NO_STORE])
