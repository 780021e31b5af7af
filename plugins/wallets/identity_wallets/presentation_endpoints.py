"""The endpoints of the verifier for wallets of OpenID (OpenID4VP 1.0): the signed request object, and the answer.

Pages beside the document, as ``issuance_endpoints.py`` has them. Who has the link may present; who made the request reads what came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from identity_oauth.domain.tokens import OauthRefusal
from identity_oauth.refusals import wallet_error
from msgspec import Struct

from identity_codec import strict_json
from identity_core.api.pages import form_members
from identity_core.api.request import NO_STORE, Answer, Cost, Handler, Operation, PageForm, Request
from identity_core.errors import IdentityError
from identity_wallets.use_cases.present import AcceptPresentation, SignRequestObject

WALLET_SCHEME: Final = "openid4vp://"
REQUESTS: Final = "/openid/requests/"
RESPONSES: Final = "/openid/responses/"
REQUEST_OBJECT: Final = "application/oauth-authz-req+jwt"
MAX_BODY: Final = 256 * 1024
RESPONSE: Final = RESPONSES + "{request}"

# At least a token for each presentation: six with their key bindings fit into the bytes that cost nothing.
PRESENT: Final = Operation(
    "presentCredentials", "POST", RESPONSE, frozenset(), "", shape=wallet_error, cost=Cost(first=6), waits=True
)


class PresentationEndpoints(Struct, frozen=True):
    """``mismatch`` as the gate's: nothing is kept in databases that are not those that this service wrote."""

    origin: str
    sign: SignRequestObject
    accept: AcceptPresentation
    mismatch: Callable[[], IdentityError | None]

    @property
    def pages(self) -> dict[str, Handler]:
        """Return what GET serves, by path."""
        return {REQUESTS + "{request}": self.request_object}

    @property
    def forms(self) -> dict[str, PageForm]:
        """Return what POST takes, by path."""
        return {RESPONSE: PageForm(self.response, PRESENT, MAX_BODY)}

    async def request_object(self, request: Request) -> Answer:
        """Return the request (OpenID4VP 1.0 §5.7). Raises ``PresentationNotFound``."""
        request_id = request.path["request"]
        signed = await self.sign(request_id, f"{self.origin}{RESPONSES}{request_id}")
        return Answer(200, signed.encode("ascii"), REQUEST_OBJECT, [NO_STORE])

    async def response(self, request: Request) -> Answer:
        """Return the answer of a wallet, ``direct_post`` or ``direct_post.jwt`` (OpenID4VP 1.0 §8.2, §8.3.1). Raises
        ``OauthRefusal``, ``PresentationNotFound``, ``StorageMismatch``."""
        if (found := self.mismatch()) is not None:
            raise found
        form, request_id = form_members(request.body_octets), request.path["request"]
        if "response" in form:
            return _redirect_answer(await self.accept.encrypted(request_id, form["response"]))
        if "error" in form:
            return _redirect_answer(await self.accept.decline(request_id, form.get("state")))
        return _redirect_answer(await self.accept(request_id, form.get("state"), read_token(form.get("vp_token"))))


def read_token(text: str | None) -> Any:
    """Return the JSON of ``vp_token``. Raises ``OauthRefusal``."""
    try:
        return strict_json.loads((text or "").encode())
    except strict_json.JsonRefused as error:
        raise OauthRefusal("invalid_request", f"vp_token is not JSON that can be read: {error.reason}.") from None


def _redirect_answer(redirect: str | None) -> Answer:
    body = {} if redirect is None else {"redirect_uri": redirect}
    return Answer(200, body, headers=[NO_STORE])
