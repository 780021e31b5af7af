"""The chain of the audit log, and the check of it that needs nothing but the lines.

``link`` is SHA-256 over a tag, the link before and the line; the line holds its own number. An edited, removed, inserted or swapped
line breaks it. Anyone who can rewrite the whole log can rewrite the chain, or cut off its end; so the log keeps a head with a tag (a MAC)
beside it, which says where the chain ends and how it came there. A head that is missing, that somebody else made or that says
otherwise shows that. What is left is a log that was put back as a whole, its old head with it: that is found only by comparing
with a head that was remembered elsewhere.

Lines that are past their time go from the front. The *cut* is the number and the link of the last of them: it has a tag like the head's,
and the log itself tells it in a line of its own, for those who have only an export.

Who asked for what and what came of it, as the records of it say.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.verification import ProofVerification


class RequestAttempt(Protocol):
    """One run of a request that carries an ``Idempotency-Key``. ``intent`` is what an earlier run has noted of the change that it was about
    to make, None where there is no such run."""

    @property
    def intent(self) -> Mapping[str, Any] | None: ...

    def random(self, size: int) -> bytes:
        """Return random bytes; in a later run those of the earlier one, so that it makes the same keys."""
        ...

    async def intend(self, intent: Mapping[str, JsonValue]) -> None:
        """Store, durably and sealed, what is about to be changed. Raises ``RequestInProgress`` where another run has taken over."""
        ...

    def keeping(self, result: Callable[[Any], Any]) -> AbstractContextManager[None]:
        """Store the answer in the transaction of the next write within the context. ``result`` turns what the write returns into what the
        handler shows; None stores nothing."""
        ...


@value_class
class RequestContext:
    """Who asked, through which operation and request, and what the caller noted about a change. Where there was no request, its id is
    ``-``. ``attempt`` is there where the request carries an ``Idempotency-Key``. ``result`` turns a recorded version into what the use case
    returns."""

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
"""Asks for what the service does by itself."""

OPERATOR: Final = Caller()
"""Asks at the command line, where no one is authenticated."""

DONE: Final = "done"
REFUSED: Final = "refused"
REPLAYED: Final = "replayed"


@value_class
class Parties:
    """Whom an event of the timeline concerns and what it is about; DIDs and identifiers as text."""

    holder: str | None = None
    agent: str | None = None
    issuer: str | None = None
    delegation_id: str | None = None
    credential_id: str | None = None
    proof_id: str | None = None


@value_class
class Event:
    """An act and what came of it. ``kind`` is its name in the timeline, such as ``delegation.created``, if it has ``parties``; ``target``
    the DID or the identifier that the audit log names; ``outcome`` is ``done``, ``refused`` or ``replayed``, ``code`` that of the refusal.
    ``details`` are for the audit log: no attribute value, no predicate value, no secret. An act that has no type of its own is a plain
    event. ``stored`` is the new record, if the type of the event says so."""

    kind: str = ""
    target: str | None = None
    parties: Parties | None = None
    outcome: str = DONE
    code: str | None = None
    details: Mapping[str, JsonValue] = field(default_factory=dict)
    verification: ProofVerification | None = None
    stored: object = None


class DidChanged(Event):
    """A version of a DID, which is on the ledger."""


class ApiKeyChanged(Event):
    """An API key that was created, changed, rotated or revoked."""


class CredentialIssued(Event):
    """A credential that was issued or imported."""


class StatusChanged(Event):
    """A new status of a credential or a proof."""


class DelegationChanged(Event):
    """A delegation that was created, suspended, resumed or revoked, or an IBCT that was revoked."""


class ProofMade(Event):
    """A proof that was generated, or its repeated answer. ``stored`` is the ``StoredProof`` if it is new."""


class ProofVerified(Event):
    """A verification, whatever its result."""


class Refused(Event):
    """A refused request of an authenticated caller for a change."""


EVERY_EVENT: Final = frozenset[type[Event]]((Event, *Event.__subclasses__()))


class EventRecord(NamedTuple):
    """An event with the request that it came of, and its time."""

    event: Event
    context: RequestContext
    at: datetime


GENESIS: Final = bytes(32)
_TAG: Final = b"identity audit line v1\n"


class ChainBroken(ValueError):
    """The lines are not those that were written; the message says at which line, and why."""


@value_class
class ChainedLine:
    """One line as it is stored: its number from 1, its JSON as it was hashed, and the link (32 octets)."""

    sequence: int
    line: bytes
    link: bytes


@value_class
class ChainHead:
    """The number and the link of the last line; 0 and ``GENESIS`` for an empty log."""

    sequence: int = 0
    link: bytes = GENESIS


def next_link(previous: bytes, line: bytes) -> bytes:
    """The link of ``line`` behind a line whose link is ``previous``."""
    return hashlib.sha256(_TAG + previous + line).digest()


def follow(head: ChainHead, lines: Iterable[ChainedLine], *, known: ChainHead | None = None) -> ChainHead:
    """The head after ``lines``, which must follow ``head``. ``known`` is a head that was seen before: the line of its number must
    have its link. Raises ``ChainBroken``."""
    for one in lines:
        number = head.sequence + 1
        if one.sequence != number:
            raise ChainBroken(f"line {number} is missing, line {one.sequence} stands in its place")
        if not one.line.startswith(b'{"sequence":%d,' % number):
            raise ChainBroken(f"line {number} says another number: it was edited, or moved here")
        if one.link != next_link(head.link, one.line):
            raise ChainBroken(f"line {number} does not follow from the lines before it: one of them was edited")
        if known is not None and known.sequence == number and known.link != one.link:
            raise ChainBroken(f"line {number} is another than the one that was remembered: the log was written anew")
        head = ChainHead(number, one.link)
    return head


def check_reached(head: ChainHead, known: ChainHead | None) -> None:
    """Raises ``ChainBroken`` when the log ends before a head that was seen already."""
    if known is not None and head.sequence < known.sequence:
        raise ChainBroken(
            f"the log ends at line {head.sequence}, line {known.sequence} was seen before: its end was cut off"
        )


CUT: Final = "cutAuditLog"
"""The operation of a line that tells of a cut."""


def cut_details(cut: ChainHead) -> dict[str, JsonValue]:
    """What the line that tells of a cut says of it."""
    return {"through": cut.sequence, "link": cut.link.hex()}


def encode_cut(cut: ChainHead) -> bytes:
    """What the tag of a cut is over."""
    return b"identity audit cut v1\n%d %s" % (cut.sequence, cut.link)


def follow_export(lines: Iterable[ChainedLine], *, known: ChainHead | None = None) -> tuple[ChainHead, ChainHead]:
    """The cut that an export begins behind, and the head after it. Where the first line is not line 1, a later one must tell that what was
    before it was cut, and with which link. Raises ``ChainBroken``."""
    rest = iter(lines)
    first = next(rest, None)
    if first is None or first.sequence <= 1:
        return ChainHead(), follow(ChainHead(), () if first is None else itertools.chain([first], rest), known=known)
    told = dict[int, bytes]()
    heard = _listened(itertools.chain([first], rest), told)
    next(heard)
    reached = follow(ChainHead(first.sequence, first.link), heard, known=known)
    gone = first.sequence - 1
    if gone not in told:
        raise ChainBroken(f"lines 1 to {gone} are missing, and no line tells that they were past their time")
    cut = ChainHead(gone, told[gone])
    follow(cut, [first], known=known)
    return cut, reached


def _listened(lines: Iterable[ChainedLine], told: dict[int, bytes]) -> Iterator[ChainedLine]:
    """The same lines; the cuts that they tell of are put into ``told``."""
    for one in lines:
        if b'"operation":"%s"' % CUT.encode() in one.line:
            details = _details(one)
            told[details["through"]] = bytes.fromhex(details["link"])
        yield one


def _details(one: ChainedLine) -> dict[str, Any]:
    try:
        said = json.loads(one.line)
        details: dict[str, Any] = said["details"] if said["operation"] == CUT else {"through": 0, "link": ""}
        bytes.fromhex(details["link"])
        hash(details["through"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ChainBroken(f"line {one.sequence} tells of a cut and does not say which") from error
    return details


@value_class
class KeyedHead:
    """The head that the log keeps of itself. ``keyed_from`` is the number of the first line that was written since there are tags: what
    stands before it was found there then."""

    head: ChainHead
    keyed_from: int

    def encode(self) -> bytes:
        """What the tag is over."""
        return b"identity audit head v1\n%d %d %s" % (self.head.sequence, self.keyed_from, self.head.link)


def check_kept(reached: ChainHead, kept: KeyedHead) -> None:
    """Raises ``ChainBroken`` when the chain does not end where its own head, whose tag holds, says."""
    said = kept.head
    if reached.sequence < said.sequence:
        raise ChainBroken(
            f"the log ends at line {reached.sequence}, line {said.sequence} was written: its end was cut off"
        )
    if reached.sequence > said.sequence:
        raise ChainBroken(f"line {said.sequence + 1} was not written by this service")
    if reached.link != said.link:
        raise ChainBroken("the log does not lead to the head that was written: it was written anew")
