"""Timeline and verification history: the sink that writes their rows, which are read newest first by the index of each role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Final

import orjson
from identity_verification.domain.checks import BoundPart, compared_of
from identity_verification.domain.verification import ProofVerification, issuer_of
from identity_verification.store import anchors_of
from msgspec import Struct

from identity_core.database import Transaction
from identity_core.domain.activity import EVERY_EVENT, REFUSED, ApiKeyChanged, DidChanged, Event, EventRecord, Parties
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.stored import Anchor
from identity_core.store.records import Repository, Table, bounds, row_id
from identity_records.queries import TimelineQuery, VerificationCounts, VerificationQuery


class TimelineEntry(Struct, frozen=True):
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


class Verification(Struct, frozen=True):
    """One verification.

    - ``caller``: ``Caller.identity``.
    - ``verifier``: its DID, or ``fingerprint``: that of its key.
    - ``holder``: only if the proof is stored here, byte by byte; a foreign proof names no holder.
    - ``attribute``, ``predicate_type``: None for a proof of several predicates, or an unreadable one.
    - ``codes``: why it was not verified; of a verified one the parts of ``BOUND`` that were compared (none in older rows).
    """

    at: datetime
    verified: bool
    caller: str
    verifier: str | None
    fingerprint: str | None
    holder: str | None
    issuer: str | None
    schema_id: str | None
    proof_id: str | None
    attribute: str | None
    predicate_type: str | None
    codes: tuple[str, ...]

    @property
    def missing(self) -> tuple[BoundPart, ...]:
        """Return the parts of ``BOUND`` that were not compared; none if it was not verified."""
        return compared_of(self.codes) if self.verified else ()


class TimelineRow(Struct, frozen=True):
    """A stored event. Ids ascend with time; ``anchor`` is the current one of the proof, or None."""

    id: str
    entry: TimelineEntry
    anchor: Anchor | None


class VerificationRow(Struct, frozen=True):
    """A stored verification. Ids ascend with time; ``anchor`` is the current one of the proof."""

    id: str
    verification: Verification
    anchor: Anchor | None


EVENTS: Final = Table("timeline", TimelineEntry, extra=("id",))
VERIFICATIONS: Final = Table("verifications", Verification, extra=("id",))
# In the order in which ``TimelineEntry`` has them.
_OF_PARTIES: Final = attrgetter(*Parties.__struct_fields__)
_EVENT_PAGE = f"SELECT id, {EVENTS.columns} FROM timeline WHERE id >= :since AND id < :before"  # noqa: S608  (its own text)
_LAST = " ORDER BY id DESC LIMIT :limit"
# Each kind is found by one look into the index on kinds, so that no row is read but the first of each.
_KINDS_OF_NOUN = """
WITH RECURSIVE kinds(kind) AS (
    SELECT min(kind) FROM timeline WHERE kind >= :first AND kind < :after
    UNION ALL
    SELECT (SELECT min(kind) FROM timeline WHERE kind > kinds.kind AND kind < :after) FROM kinds WHERE kinds.kind IS NOT NULL
)
SELECT kind FROM kinds WHERE kind IS NOT NULL
"""
_OF_CREDENTIALS = "credential"


class ActivityRows:
    """The sink of the timeline and of the verification history. ``random`` returns bytes, so that ids of rows reveal no count."""

    kinds = EVERY_EVENT - {DidChanged, ApiKeyChanged}

    def __init__(self, random: Callable[[int], bytes]) -> None:
        self._random = random

    def write(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        for one in records:
            event, caller = one.event, one.context.caller
            if event.parties is not None:
                outcome = "done" if event.code is None else REFUSED
                about = _OF_PARTIES(event.parties)
                self.insert(
                    transaction, TimelineEntry(one.at, event.kind, outcome, caller.identity, event.code, *about)
                )
            if event.verification is not None:
                self.insert(transaction, _verification(caller, event, event.verification, one.at))

    def insert(self, transaction: Transaction, row: TimelineEntry | Verification) -> None:
        """Add a row, which gets a new id."""
        id = row_id(row.at, self._random)
        if isinstance(row, TimelineEntry):
            transaction.execute(EVENTS.insert_by_place, EVENTS.row(row, id))
        else:
            transaction.execute(VERIFICATIONS.insert_by_place, VERIFICATIONS.row(row, id))


def _verification(caller: Caller, event: Event, verdict: ProofVerification, at: datetime) -> Verification:
    presented = verdict.presented
    only = presented.predicates[0].json if presented is not None and len(presented.predicates) == 1 else None
    return Verification(
        at=at,
        verified=verdict.verified,
        caller=caller.identity,
        verifier=None if caller.acting is None else str(caller.acting),
        fingerprint=None if caller.key is None else caller.key.fingerprint,
        holder=None if event.parties is None else event.parties.holder,
        issuer=None if presented is None else issuer_of(presented),
        schema_id=None if presented is None else presented.schema.id,
        proof_id=event.target,
        attribute=None if only is None else str(only["attributeName"]),
        predicate_type=None if only is None else str(only["type"]),
        codes=compared_of(verdict.missing) if verdict.verified else tuple(map(str, verdict.errors)),
    )


class StoredTimeline(Repository):
    """The timeline."""

    async def list(self, wish: TimelineQuery) -> Sequence[TimelineRow]:
        return await self._database.read(lambda transaction: _read_events(transaction, wish))


def _read_events(transaction: Transaction, wish: TimelineQuery) -> list[TimelineRow]:
    since, before = bounds(wish.since, wish.until, wish.before)
    parameters: dict[str, object] = {"since": since, "before": before, "limit": wish.limit}
    # Each page runs along one index; a page of each is enough for the page of all.
    pages = [
        f"SELECT * FROM ({_EVENT_PAGE}{part}{_LAST}) AS page"  # noqa: S608
        for part in _timeline_parts(transaction, wish, parameters)
    ]
    if not pages:
        return []
    rows = transaction.execute(" UNION ".join(pages) + _LAST, parameters).fetchall()
    found = [(row[0], EVENTS.read(row[1:])) for row in rows]
    anchors = anchors_of(transaction, [entry.proof_id for _, entry in found])
    return [TimelineRow(id, entry, anchors.get(entry.proof_id or "")) for id, entry in found]


def _timeline_parts(transaction: Transaction, wish: TimelineQuery, parameters: dict[str, object]) -> list[str]:
    """Return a condition for each role and kind, whose values are added to ``parameters``."""
    kinds = [""] if wish.kind is None else _kinds_of(transaction, wish.kind)
    roles = {"": kinds}
    if wish.dids is not None:
        names = {f"did{number}": did for number, did in enumerate(sorted(wish.dids))}
        parameters |= names
        wanted = ", ".join(f":{name}" for name in names)
        credential = _kinds_of(transaction, _OF_CREDENTIALS) if wish.kind is None else kinds
        shown = [kind for kind in credential if kind.startswith(f"{_OF_CREDENTIALS}.")]
        of_role = {"holder": kinds, "agent": kinds, "issuer": shown}
        roles = {f" AND {role} IN ({wanted})": of for role, of in of_role.items() if names}
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kind for of in roles.values() for kind in of))}
    parameters |= {f"kind{number}": kind for kind, number in numbers.items()}
    return [f"{role} AND kind = :kind{numbers[kind]}" if kind else role for role, of in roles.items() for kind in of]


def _kinds_of(transaction: Transaction, wanted: str) -> list[str]:
    """Return the kinds with rows of a noun; for a whole kind, only that one."""
    if "." in wanted:
        return [wanted]
    noun = {"first": f"{wanted}.", "after": f"{wanted}/"}  # the character after the full stop
    return [row[0] for row in transaction.execute(_KINDS_OF_NOUN, noun).fetchall()]


class StoredVerifications(Repository):
    """The verification history."""

    async def list(self, wish: VerificationQuery) -> Sequence[VerificationRow]:
        parts, parameters = _parts(wish, before=wish.before)
        # A page of each role along its own index is enough for the page of all.
        select = f"SELECT id, {VERIFICATIONS.columns} FROM verifications"  # noqa: S608
        pages = [f"SELECT * FROM ({select}{part}{_LAST}) AS page" for part in parts]  # noqa: S608
        sql = " UNION ".join(pages) + _LAST
        return await self._database.read(
            lambda transaction: _read_verifications(transaction, sql, parameters | {"limit": wish.limit})
        )

    async def counts(self, wish: VerificationQuery) -> VerificationCounts:
        parts, parameters = _parts(wish, before=None)
        seen = " UNION ".join(f"SELECT id, verified, codes FROM verifications{part}" for part in parts)  # noqa: S608
        sql = f"SELECT verified, codes, count(*) FROM ({seen}) AS seen GROUP BY verified, codes"  # noqa: S608
        rows = await self._rows(sql, parameters)
        reasons: Counter[str] = Counter()
        valid = held = 0
        for verified, encoded, count in rows:
            codes = orjson.loads(bytes(encoded))
            held += count if verified else 0
            valid += count if verified and not compared_of(codes) else 0
            reasons.update(dict.fromkeys(() if verified else codes, count))
        return VerificationCounts(sum(row[2] for row in rows), valid, held, dict(sorted(reasons.items())))


def _parts(wish: VerificationQuery, *, before: str | None) -> tuple[list[str], dict[str, object]]:
    """Return a WHERE clause for each role that may see rows. Its text contains only names of this file and of parameters."""
    since, last = bounds(wish.since, wish.until, before)
    parameters: dict[str, object] = {"since": since, "before": last}
    common = " WHERE id >= :since AND id < :before"
    if wish.verified is not None:
        parameters["verified"] = int(wish.verified)
        common += " AND verified = :verified"
    for name, value in (("holder", wish.holder), ("issuer", wish.issuer)):
        if value is not None:
            parameters[name] = value
            common += f" AND {name} = :{name}"
    if wish.caller is None and wish.dids is None:
        return [common], parameters
    names = {f"did{number}": did for number, did in enumerate(sorted(wish.dids or ()))}
    parameters |= names | {"caller": wish.caller or ""}
    roles = ["caller = :caller"]
    if names:
        wanted = ", ".join(f":{name}" for name in names)
        roles += [f"verifier IN ({wanted})", f"holder IN ({wanted})"]
    return [f"{common} AND {role}" for role in roles], parameters


def _read_verifications(transaction: Transaction, sql: str, parameters: dict[str, object]) -> list[VerificationRow]:
    found = [(row[0], VERIFICATIONS.read(row[1:])) for row in transaction.execute(sql, parameters).fetchall()]
    anchors = anchors_of(transaction, [verification.proof_id for _, verification in found])
    return [VerificationRow(id, one, anchors.get(one.proof_id or "")) for id, one in found]
