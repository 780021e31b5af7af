"""One log record per answered request, so that an operator can find the request that a client names.

A record contains the operation and its outcome, never the subject: no target, query, header or body, no DID, no key
and no address. A caller is the fingerprint of an API key, as in the audit log, or a keyed hash of a DID. The hash
stays the same as long as the installation keeps its keys. ``cli/log_lines.py`` formats the line. If it is the only
log handler, it is called without a record, because a record costs more than the line.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from identity_core.api.request import NOTHING, Request
from identity_core.cache import BoundedCache
from identity_core.domain.callers import Caller

if TYPE_CHECKING:
    from identity_core.api.guard import Observe

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# A client pays nothing for these refusals, so a flood of them must not fill a disk.
FREE: Final = frozenset({429, 503})
FREE_A_SECOND: Final = 50
REMEMBERED_DIDS: Final = 4_096

log = logging.getLogger("identity.request")


class AnsweredRequest(NamedTuple):
    """The logged facts of one request. ``code`` is empty if it was not refused. No member has a character that a line
    of text or of JSON would escape: all are fixed words, digits, and a checked request id."""

    method: str
    operation: str
    status: int
    milliseconds: float
    octets_in: int
    octets_out: int
    caller: str
    request_id: str
    code: str = ""

    def fields(self) -> dict[str, Any]:
        """Return the members of a record."""
        found = dict(zip(MEMBERS, self, strict=False))
        return found | {"code": self.code} if self.code else found


MEMBERS: Final = ("method", "operation", "status", "milliseconds", "octetsIn", "octetsOut", "caller", "requestId")


class RequestHandler(logging.Handler):
    """A log handler that needs no record of a request. It is not an abstract class, because an ``isinstance`` check
    of one takes a tenth of the time of a line."""

    def answered(self, answered: AnsweredRequest) -> None:
        """Log a request. Must not raise."""
        raise NotImplementedError


class FreeRefusals:
    """Choice of the refusals in ``FREE`` that are logged: ``FREE_A_SECOND`` per second. The next logged one contains
    the number of those that were not logged."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._second = float("-inf")
        self._count = 0
        self._left_out = 0

    def takes(self) -> bool:
        """Return whether the next one is logged."""
        now = self._monotonic()
        if now - self._second >= 1.0:
            self._second, self._count = now, 0
        self._count += 1
        if self._count > FREE_A_SECOND:
            self._left_out += 1
            return False
        return True

    def report_omitted(self) -> Mapping[str, Any]:
        """Return the note on the requests that were not logged before this one."""
        if not self._left_out:
            return NOTHING
        told, self._left_out = {"leftOut": self._left_out}, 0
        return told


def write(answered: AnsweredRequest, more: Mapping[str, Any] = NOTHING) -> None:
    """Write a line, or a record if another handler is installed or there is ``more`` to log."""
    handlers = logging.root.handlers
    if len(handlers) == 1 and isinstance(handlers[0], RequestHandler) and not more:
        handlers[0].answered(answered)
    else:
        # Without a search for the calling function, which costs as much as the rest.
        fields = {"fields": {**answered.fields(), **more}}
        log.handle(log.makeRecord(log.name, logging.INFO, __file__, 0, "request", (), None, extra=fields))


def write_refused_connection(status: int, code: str, byte_count: int, request_id: str, free: FreeRefusals) -> None:
    """Write a record of a connection that was refused before it had a request. ``byte_count``: the length of the answer."""
    if log.isEnabledFor(logging.INFO) and free.takes():
        write(AnsweredRequest("-", "-", status, 0.0, 0, byte_count, "-", request_id, code), free.report_omitted())


def observe_with(observers: Sequence[Callable[[Request, float], None]]) -> Observe:
    """Return an observer of answered requests that calls each of ``observers``."""

    def observe(request: Request, seconds: float) -> None:
        for each in observers:
            each(request, seconds)

    return observe


class RequestLog:
    """Observer that writes a record per request.

    ``success_share``: the share of the answers below 400 that are logged, from 0 to 1, evenly. Every refusal is
    logged, except those of ``FREE`` beyond ``FREE_A_SECOND``; the next record of the kind contains their number.
    ``hashed``: returns the keyed hash of a DID.
    """

    def __init__(
        self, hashed: Callable[[str], str], *, success_share: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._hashed = hashed
        self._share = success_share
        self._due = 0.0
        self._free = FreeRefusals(monotonic)
        self._hashes: BoundedCache[str, str] = BoundedCache(REMEMBERED_DIDS)

    def __call__(self, request: Request, seconds: float) -> None:
        """Log a request that took ``seconds``."""
        if not log.isEnabledFor(logging.INFO):
            return
        status, more = request.status or 0, NOTHING
        if status < 400:
            if self._share < 1.0 and not self._is_due():
                return
        elif status in FREE:
            if not self._free.takes():
                return
            more = self._free.report_omitted()
        answered = AnsweredRequest(
            request.method if request.method in METHODS else "-",
            request.operation_id or "-",
            status,
            # Equals ``round`` to two digits, in half the time.
            int(seconds * 100_000 + 0.5) / 100,
            len(request.body_octets),
            request.sent_octets,
            "-" if request.caller is None else self._named(request.caller),
            request.request_id,
            request.refusal,
        )
        write(answered, more)

    def _is_due(self) -> bool:
        self._due += self._share
        # Shares such as 0.1 are not sums of powers of two.
        if self._due < 1.0 - 1e-9:
            return False
        self._due -= 1.0
        return True

    def _named(self, caller: Caller) -> str:
        if caller.key is not None:
            return f"key:{caller.key.fingerprint}"
        did = str(caller.acting)
        return f"did:{self._hashes.get(did) or self._hashes.store(did, self._hashed(did))}"
