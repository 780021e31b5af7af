"""What happened, for the people whom it concerns: the rows of ``/dashboard/timeline`` (research/delegation.md §3.10).

Beside the audit log, which is the operator's and complete, the timeline is what holder, agent and issuer may see. No
attribute value, no predicate value, no secret ever stands in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from identity_core.domain.anchor import Anchor


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One event. ``kind`` is a dotted name such as ``delegation.created`` or ``proof.refused``; ``outcome`` is ``done`` or
    ``refused``, with the ``code`` of the refusal; ``actor`` is ``Caller.identity``; DIDs and identifiers as text."""

    at: datetime
    kind: str
    outcome: str
    actor: str | None
    code: str | None = None
    holder: str | None = None
    agent: str | None = None
    issuer: str | None = None
    delegation_id: str | None = None
    credential_id: str | None = None
    proof_id: str | None = None


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A stored event. Ids ascend with time; ``anchor`` is that of the proof as it is now, None without one."""

    id: str
    entry: TimelineEntry
    anchor: Anchor | None


@dataclass(frozen=True, slots=True)
class TimelineQuery:
    """Which rows: those that concern one of ``dids`` (None: all), of ``kind`` or of the noun that it is (None: all), from
    ``since`` on and before ``until``, with ids before ``before``."""

    dids: frozenset[str] | None
    kind: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: str | None = None
    limit: int = 50


class Timeline(Protocol):
    """Where events are written, and read by those whom they concern."""

    def record(self, entry: TimelineEntry, *, durable: bool = False) -> Awaitable[None]:
        """Queues a row at once; it is stored when the awaitable resolves. Not durable by default: it outlives the process, and a
        loss of power only when ``durable``, because the record that it tells of is durable itself."""
        ...

    async def list(self, wish: TimelineQuery) -> Sequence[TimelineRow]:
        """Newest first. A row concerns its holder and its agent; its issuer only where it is about the credential itself, because
        an issuer must not learn when and where its credentials are shown."""
        ...
