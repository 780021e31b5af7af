"""Events, each with its request. Sinks write rows for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct, field

from identity_codec.strict_json import JsonValue
from identity_core.domain.callers import Caller


class RequestAttempt(Protocol):
    """One run of a request with an ``Idempotency-Key``. ``intent`` is the intended change that an earlier run stored; None if there is no
    such run."""

    @property
    def intent(self) -> Mapping[str, Any] | None: ...

    def random(self, size: int) -> bytes:
        """Return random bytes. A later run gets those of the earlier one, so that it makes the same keys."""

    async def intend(self, intent: Mapping[str, JsonValue]) -> None:
        """Store the intended change, durably and sealed. Raises ``RequestInProgress``: when another run has taken over."""

    def keeping(self, result: Callable[[Any], Any]) -> AbstractContextManager[None]:
        """Store the answer in the transaction of the next write within the context. ``result`` converts the result of the write to that
        of the handler; None stores nothing."""


class RequestContext(Struct, frozen=True):
    """The caller, operation and request of a change, and the caller's note on it. Without a request, its id is ``-``.
    ``attempt`` is set if the request has an ``Idempotency-Key``. ``result`` converts a recorded version to the result of
    the use case."""

    operation: str
    caller: Caller
    request_id: str = "-"
    note: str | None = None
    attempt: RequestAttempt | None = None
    result: Callable[[Any], Any] = lambda version: version

    @property
    def intent(self) -> Mapping[str, Any] | None:
        """Return the intended change of an earlier run of the same request."""
        return None if self.attempt is None else self.attempt.intent

    def keeping(self, result: Callable[[Any], Any]) -> AbstractContextManager[None]:
        """See ``RequestAttempt.keeping``; without an ``Idempotency-Key`` nothing is stored."""
        return nullcontext() if self.attempt is None else self.attempt.keeping(result)


SERVICE: Final = Caller(name="service")
"""The caller of the service's own background work."""

OPERATOR: Final = Caller()
"""The caller of a command. The command line does not authenticate."""

DONE: Final = "done"
REFUSED: Final = "refused"
REPLAYED: Final = "replayed"


class Parties(Struct, frozen=True):
    """The parties and the subject of a timeline event; DIDs and identifiers as text."""

    holder: str | None = None
    agent: str | None = None
    issuer: str | None = None
    delegation_id: str | None = None
    credential_id: str | None = None
    proof_id: str | None = None


class Event(Struct, frozen=True):
    """An action and its outcome. ``kind`` is its name in the timeline, such as ``delegation.created``, if it has ``parties``. ``target``
    is the DID or the identifier that the audit log names. ``outcome`` is ``done``, ``refused`` or ``replayed``, ``code`` that of the
    refusal. ``details`` are for the audit log: no attribute value, no predicate value, no secret. An action without a specific type is a
    plain event. ``verification`` is the verdict of a ``ProofVerified``. ``stored`` is the new record, for types that have one."""

    kind: str = ""
    target: str | None = None
    parties: Parties | None = None
    outcome: str = DONE
    code: str | None = None
    details: Mapping[str, JsonValue] = field(default_factory=dict)
    verification: Any = None
    stored: object = None


class DidChanged(Event, frozen=True):
    """A version of a DID, which is on the ledger."""


class ApiKeyChanged(Event, frozen=True):
    """An API key that was created, changed, rotated or revoked."""


class CredentialIssued(Event, frozen=True):
    """A credential that was issued or imported."""


class StatusChanged(Event, frozen=True):
    """A new status of a credential or a proof."""


class DelegationChanged(Event, frozen=True):
    """A delegation that was created, suspended, resumed or revoked, or an IBCT that was revoked."""


class ProofMade(Event, frozen=True):
    """A proof that was generated, or its repeated answer. ``stored`` is the ``StoredProof`` if it is new."""


class ProofVerified(Event, frozen=True):
    """A verification, whatever its result."""


class Refused(Event, frozen=True):
    """A refused request of an authenticated caller for a change."""


EVERY_EVENT: Final = frozenset[type[Event]]((Event, *Event.__subclasses__()))


class EventRecord(NamedTuple):
    """An event with its request and its time."""

    event: Event
    context: RequestContext
    at: datetime
