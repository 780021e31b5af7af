"""Pages of a verifier: a question with its link and QR code, the results, and the page to which the link leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import segno
from identity_consents.handlers import RequestHandlers
from identity_consents.wire import AnswerVerifierRequestRequest, ListVerifierRequestsQuery
from identity_records.wire import ListVerificationHistoryQuery
from msgspec import Struct

from identity_codec import strict_json
from identity_core.api.request import Answer, Request
from identity_core.errors import IdentityError, InvalidRequest
from identity_ui.holder import ROWS, HolderPages
from identity_ui.operations import ask
from identity_ui.render import page
from identity_ui.session import Session


class VerifierPages(Struct, frozen=True):
    """Pages of a DID that verifies; no requests without the extension ``consents``."""

    holder: HolderPages
    requests: RequestHandlers | None

    async def form(self, request: Request, session: Session) -> Answer:
        """Return the form, and the newest request that waits."""
        found = next((one for one in await self._list_requests(request, session) if one["status"] == "waiting"), None)
        values: dict[str, Any] = {"found": found, "own": True, "qr": found and qr_code(found["link"])}
        return await self.holder.page("ask.html", request, session, **values)

    async def results(self, request: Request, session: Session) -> Answer:
        """Return the verifier's requests, and the verifications that it may see."""
        query = ListVerificationHistoryQuery(limit=ROWS, cursor=request.query.get("cursor"))
        read = self.holder.names.records.list_verification_history
        found = await ask(read, request, query=query, caller=session.caller)
        asked = await self._list_requests(request, session)
        return await self.holder.page("results.html", request, session, found=found, asked=asked)

    async def _list_requests(self, request: Request, session: Session) -> Sequence[Any]:
        """Return the verifier's requests, the newest first."""
        if self.requests is None:
            return ()
        read, wanted = self.requests.list_verifier_requests, ListVerifierRequestsQuery()
        return list((await ask(read, request, query=wanted, caller=session.caller))["items"])

    async def show_request(self, request: Request) -> Answer:
        """Return the question of a request, and for its verifier the link and the result."""
        return await self._request(request)

    async def answered(self, request: Request) -> Answer:
        """Return the question with the verdict on the proof in the form, which is the answer if it holds."""
        self.holder.sessions.require_own_page(request)
        try:
            value = strict_json.loads(request.body.get("proof", "").encode())
            proof = value.get("proof") if isinstance(value, dict) else None
            proof = {"proof": proof} if isinstance(proof, str) else proof
            if not isinstance(proof, dict) or not isinstance(proof.get("proof"), str):
                raise InvalidRequest("A proof is a JSON object with the member proof.")
            handler, body = self._handlers.answer_verifier_request, AnswerVerifierRequestRequest(proof=proof["proof"])
            verdict = await ask(handler, request, path=request.path, body=body)
        except strict_json.JsonRefused as error:
            return await self._request(request, 422, refusal=InvalidRequest(f"This is not JSON: {error.reason}."))
        except IdentityError as error:
            if error.status >= 500:
                raise
            return await self._request(request, 422, refusal=error)
        return await self._request(request, verdict=verdict)

    async def _request(self, request: Request, status: int = 200, **values: Any) -> Answer:
        session = await self.holder.sessions.find(request)
        caller = None if session is None else session.caller
        found = await ask(self._handlers.get_verifier_request, request, path=request.path, caller=caller)
        who = {"signed_in": None if session is None else session.target}
        shown = {"verdict": None, "refusal": None, "labels": await self.holder.names.labels(request, session)} | values
        return page("request.html", request, status=status, found=found, qr=qr_code(found["link"]), **who, **shown)

    @property
    def _handlers(self) -> RequestHandlers:
        assert self.requests is not None, "the pages of requests are served with the extension alone"
        return self.requests


def qr_code(text: str) -> tuple[int, str]:
    """Return the width of a QR code in modules with its quiet zone, and the SVG path of the dark ones (ISO/IEC 18004)."""
    matrix = segno.make(text, error="m").matrix
    path = "".join(f"M{x + 4} {y + 4}h1v1h-1z" for y, row in enumerate(matrix) for x, dark in enumerate(row) if dark)
    return len(matrix) + 8, path
