"""The page on which a holder decides whether a client may read in her name (``api/authorize.py``).

It takes no session: a browser that comes from the client's page sends no cookie of ours, and the decision is a signature anyway.
"""

from __future__ import annotations

from identity_core.api.authorize import AuthorizationEndpoint
from identity_core.api.request import Answer, Request
from identity_core.domain.tokens import OauthRefusal
from identity_core.values import value_class
from identity_ui.render import page


@value_class
class AuthorizePage:
    """The request of a client in words."""

    endpoint: AuthorizationEndpoint

    async def show(self, request: Request) -> Answer:
        """The page; 400 for what the client did wrong, with the way back to it, which only the reader takes. Raises ``InvalidRequest``
        where there is no such way."""
        received = await self.endpoint.received(request.query_octets)
        try:
            wish = self.endpoint.wish(received)
        except OauthRefusal as error:
            back = received.going_back(error.kind, str(error))
            return page("authorize.html", request, status=400, received=received, wish=None, refusal=error, back=back)
        back = received.going_back("access_denied")
        return page("authorize.html", request, received=received, wish=wish, refusal=None, back=back)
