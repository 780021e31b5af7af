"""The pages of an operator: the health of the service and its records, without attributes of credentials.

Each page asks operations that read, with the API key of the session. The attributes in rows are not shown: neither names nor values are
needed to run a service.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final, TypeVar

import orjson
from identity_api_keys.handlers import ApiKeyHandlers
from identity_api_keys.wire import ListApiKeysQuery
from identity_records.handlers import RecordsHandlers
from identity_records.use_cases.audit import CheckAuditChain
from identity_records.wire import GetVerificationStatsQuery, ListAuditLinesQuery, ListVerificationHistoryQuery
from identity_transparency.event_handlers import EventHandlers
from identity_transparency.ledger_handlers import LedgerHandlers
from identity_transparency.wire import GetLedgerCheckpointQuery, ListEventsQuery
from msgspec import Struct

from identity_client.operations import served_operations
from identity_core.api.dids import DidHandlers
from identity_core.api.request import Answer, Handler, Request
from identity_core.api.service import ServiceHandlers
from identity_core.errors import AuthFailed, Forbidden, InvalidRequest, NotFound
from identity_core.extension.declaration import Kernel
from identity_core.extension.opening import InstallationState
from identity_core.wire import ListDidsQuery
from identity_tlog.note import Checkpoint, Note
from identity_ui.anybody import placed
from identity_ui.figures import Rate, figures
from identity_ui.operations import answer_bytes, ask
from identity_ui.operator_session import OperatorSession, OperatorSessions
from identity_ui.panels import shown_panels
from identity_ui.plots import KeepFigures
from identity_ui.render import page, redirect

ROWS: Final = 25
HOME: Final = "/ui/operator"
SIGN_IN: Final = "/ui/operator/sign-in"
# What a line of the audit log tells here: who did what to what, and not the details.
_TOLD: Final = ("sequence", "at", "operation", "caller", "fingerprint", "target", "outcome")

S = TypeVar("S")
Show = Callable[[Request, OperatorSession], Awaitable[Answer]]


class OperatorPages(Struct, frozen=True):
    """Pages of an administrator. They call handlers that ``kernel`` has; those of an extension that is off are missing."""

    kernel: Kernel
    installation: InstallationState
    chain: CheckAuditChain
    figures: KeepFigures
    sessions: OperatorSessions

    def signed_in(self, show: Show) -> Handler:
        """``show`` for an operator who is signed in; everybody else is asked to sign in."""

        async def handler(request: Request) -> Answer:
            session = await self.sessions.find(request)
            return redirect(SIGN_IN) if session is None else await show(request, session)

        return handler

    def pages(self) -> dict[str, Handler]:
        """Return the pages that GET serves, by path."""
        shown = {
            "": self.overview,
            "/dids": self.dids,
            "/ledger": self.ledger,
            "/verifications": self.verifications,
            "/api-keys": self.api_keys,
            "/plugins": self.plugins,
            "/audit": self.audit,
            "/settings": self.settings,
            "/doctor": self.doctor,
        }
        return {SIGN_IN: self.sign_in} | {HOME + path: self.signed_in(each) for path, each in shown.items()}

    async def sign_in(self, request: Request) -> Answer:
        return page("operator_sign_in.html", request, refusal=None)

    async def begin(self, request: Request) -> Answer:
        """Return the overview for a key that is good, else the form again."""
        try:
            await self.sessions.begin(request, request.body.get("key", "").strip())
        except (AuthFailed, Forbidden) as error:
            return page("operator_sign_in.html", request, status=error.status, refusal=error)
        return redirect(HOME)

    async def end(self, request: Request) -> Answer:
        await self.sessions.end(request)
        return redirect("/ui/operator/sign-in")

    async def overview(self, request: Request, session: OperatorSession) -> Answer:
        session.caller.require_key("service:read")
        ready, text = await self._ready(request, session), self.figures.render()
        found = figures(text, datetime.now(UTC).timestamp()) if text else None
        hour = self.figures.list_intervals(text)
        rates = {} if found is None else self.figures.rates_of_hour(found.rates)
        total = reduce(lambda one, other: one.combined(other, 1), rates.values(), Rate())
        values = {"ready": ready, "found": found, "hour": hour, "rates": rates, "total": total}
        return self._page("operator.html", request, session, clock=_clock, **values)

    async def dids(self, request: Request, session: OperatorSession) -> Answer:
        """Return the newest changes, and all DIDs; those that the key made if it has an allowlist."""
        changes, older, size = await self._changes(request)
        cursor = request.query.get("cursor")
        query = ListDidsQuery(limit=ROWS, cursor=cursor, all=session.key.allowed_targets is None)
        owned = await ask(self.kernel.need(DidHandlers).list_dids, request, query=query, caller=session.caller)
        values = {"changes": changes, "older": older, "size": size, "owned": owned, "every": query.all}
        return self._page("operator_dids.html", request, session, **values)

    async def _changes(self, request: Request) -> tuple[list[Any], int, int]:
        """Return a page of changes, the newest first, behind which entry the older ones are, and how many there are."""
        log, ledger = self.kernel.find(EventHandlers), self.kernel.find(LedgerHandlers)
        if log is None or ledger is None:
            return [], 0, 0
        checkpoint = Checkpoint.parse(Note.parse(await _note(ledger, request)).text)
        end = _number(request, "before", checkpoint.size)
        query = ListEventsQuery(after=max(end - ROWS, 0), limit=min(ROWS, end) or 1)
        events = await ask(log.list_events, request, query=query)
        return [one for one in events["items"] if one["sequence"] <= end][::-1], max(end - ROWS, 0), checkpoint.size

    async def ledger(self, request: Request, session: OperatorSession) -> Answer:
        """Return the signed checkpoint of now, the newest that witnesses have cosigned, and the newest entry in the tree."""
        ledger = self._served(LedgerHandlers)
        text = await _note(ledger, request)
        note = Note.parse(text)
        key = await ask(ledger.get_ledger_key, request)
        changes, _, _ = await self._changes(request)
        shown = {"checkpoint": Checkpoint.parse(note.text), "note": text.decode(), "key": key, "newest": None}
        if changes:
            shown |= {"newest": changes[0]} | await placed(ledger, request, changes[0]["transactionHash"])
        witnesses = self.installation.witnesses()
        return self._page("operator_ledger.html", request, session, witnesses=witnesses, **shown)

    async def verifications(self, request: Request, session: OperatorSession) -> Answer:
        records, caller = self.kernel.need(RecordsHandlers), session.caller
        history = ListVerificationHistoryQuery(limit=ROWS, cursor=request.query.get("cursor"))
        found = await ask(records.list_verification_history, request, query=history, caller=caller)
        counts = await ask(records.get_verification_stats, request, query=GetVerificationStatsQuery(), caller=caller)
        return self._page("operator_verifications.html", request, session, found=found, counts=counts)

    async def api_keys(self, request: Request, session: OperatorSession) -> Answer:
        query = ListApiKeysQuery(limit=ROWS, cursor=request.query.get("cursor"))
        found = await ask(self._served(ApiKeyHandlers).list_api_keys, request, query=query, caller=session.caller)
        return self._page("operator_keys.html", request, session, found=found, own=session.key.id)

    async def plugins(self, request: Request, session: OperatorSession) -> Answer:
        ready = await self._ready(request, session)
        shown = self.installation.panels if request.query.get("show") == "panels" else {}
        panels, installed = await shown_panels(shown), self.installation.plugins()
        return self._page("operator_plugins.html", request, session, installed=installed, ready=ready, panels=panels)

    async def audit(self, request: Request, session: OperatorSession) -> Answer:
        """Return the newest lines, and how far the chain was followed."""
        checked = await self.chain()
        end = _number(request, "before", checked.total or checked.verified)
        query = ListAuditLinesQuery(after=max(end - ROWS, 0), limit=ROWS)
        found = await ask(
            self.kernel.need(RecordsHandlers).list_audit_lines, request, query=query, caller=session.caller
        )
        lines = [_line(one) for one in found["items"] if one["sequence"] <= end][::-1]
        older = max(end - ROWS, 0)
        return self._page("operator_audit.html", request, session, checked=checked, lines=lines, older=older)

    async def settings(self, request: Request, session: OperatorSession) -> Answer:
        return self._page("operator_settings.html", request, session, rows=self.installation.settings())

    async def doctor(self, request: Request, session: OperatorSession) -> Answer:
        """Show each dependency, and the reason and remedy of unhealthy ones."""
        ready = await self._ready(request, session)
        failed = [one for one in self.installation.plugins() if one.state in ("failed", "shut off")]
        reasons = self.installation.reasons()
        return self._page("operator_doctor.html", request, session, ready=ready, reasons=reasons, failed=failed)

    def _page(self, template: str, request: Request, session: OperatorSession, **values: Any) -> Answer:
        values["summaries"] = {name: one.summary for name, one in served_operations().items()}
        return page(template, request, operator=session.key.name, **values)

    def _served(self, handlers: type[S]) -> S:
        """Return the handlers of an extension. Raises ``NotFound``: if it is off."""
        found = self.kernel.find(handlers)
        if found is None:
            raise NotFound
        return found

    async def _ready(self, request: Request, session: OperatorSession) -> Mapping[str, Any]:
        return await ask(self.kernel.need(ServiceHandlers).get_readiness, request, caller=session.caller)


async def _note(ledger: LedgerHandlers, request: Request) -> bytes:
    query = GetLedgerCheckpointQuery()
    return await answer_bytes(ledger.get_ledger_checkpoint, request, query=query)


def _number(request: Request, name: str, default: int) -> int:
    """Return a number of the query, at most ``default``. Raises ``InvalidRequest``."""
    text = request.query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise InvalidRequest(f"{name} is not a number.", details={"parameter": name})
    return min(int(text), default)


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def _line(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the view of a line; an edited line may contain anything, and then only its number is shown."""
    try:
        said = orjson.loads(one["line"])
    except orjson.JSONDecodeError:
        said = None
    told = said if isinstance(said, dict) else {}
    return {name: told.get(name) for name in _TOLD} | {"sequence": one["sequence"]}
