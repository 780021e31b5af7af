"""Invocations in the store. The database, never memory, decides which request is first. README.md has the reasoning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import orjson

from identity_codec.times import micros
from identity_core.database import Database, Job, Transaction
from identity_core.domain.activity import EventRecord
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, DelegatedProof, StoredProof
from identity_core.errors import IbctReplayed, IdentityError, PredicateNotSatisfied, RequestInProgress
from identity_core.ports.proofs import (
    Consumption,
    Earlier,
    Holds,
    Invocation,
    Lease,
    Outcome,
    Precedent,
    RefusedInvocation,
)
from identity_core.store.delegations import read_invoked
from identity_core.store.events import StoredEvents
from identity_core.store.proofs import add_proof, find_proof
from identity_core.store.records import Repository, Table, delete_first
from identity_core.store.spending import count, in_force, limited, read_state, revoked, sealed_values

T = TypeVar("T")

LEASE: Final = timedelta(seconds=60)
# Rows that are no longer needed go in one statement for that many requests, not in one for each; more rows would hold the writer too long.
REQUESTS_BETWEEN_PRUNES: Final = 16
PRUNED_AT_ONCE: Final = 8 * REQUESTS_BETWEEN_PRUNES
_LEASE_OCTETS: Final = 16
PROVED: Final = "proved"
REFUSED: Final = "refused"
PATIENCE_SECONDS: Final = 0.005
"""The batch window in seconds: the time for which commits of a proof may wait for those of other running proofs."""

_TABLE = Table("invocations", Invocation, extra=("lease", "lease_until"))
_BEGIN = Table("invocations", Invocation, extra=("lease", "lease_until", "outcome", "details"))
_FIND = """
SELECT nonce_digest, id_digest, request_digest, lease_until, outcome, proof_id, details FROM invocations
WHERE invoker = :invoker AND (nonce_digest = :nonce_digest OR id_digest = :id_digest)
"""
_TAKE = f"{_TABLE.insert} ON CONFLICT DO NOTHING"
_PRUNE = delete_first("invocations", "delete_after <= :now ORDER BY delete_after")
_TAKE_OVER = """
UPDATE invocations SET lease = :lease, lease_until = :lease_until
WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND outcome IS NULL AND lease_until <= :now
"""
_END = """
UPDATE invocations SET outcome = :outcome, proof_id = :proof_id, details = :details, lease = NULL, lease_until = NULL
WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND outcome IS NULL AND lease = :lease
"""
_RELEASE = """
UPDATE invocations SET lease_until = 0
WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND outcome IS NULL AND lease = :lease
"""
_RELEASE_ALL = "UPDATE invocations SET lease_until = 0 WHERE lease_until > 0 AND outcome IS NULL"
_AMEND = """
UPDATE invocations SET details = :details WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND outcome = 'proved'
"""


class StoredInvocations(Repository):
    """The port ``Invocations`` on the tables of the store. ``random`` returns bytes for the tokens of leases."""

    def __init__(self, database: Database, activity: StoredEvents, random: Callable[[int], bytes]) -> None:
        super().__init__(database)
        self._activity = activity
        self._random = random
        self._requests_to_prune = 0
        # The leases of the running proofs, and how many of them wait for a commit.
        self._leased: set[bytes] = set()
        self._waiting = 0

    async def look_up(self, invocation: Invocation, delegation_id: str | None, now: datetime) -> Precedent:
        def look_up(transaction: Transaction) -> Precedent:
            chain, is_revoked, was_used = read_invoked(transaction, invocation, delegation_id)
            return Precedent(_find_prior(transaction, invocation, micros(now)) if was_used else None, chain, is_revoked)

        return await self._database.read(look_up)

    async def consume(
        self, invocation: Invocation, spending: Consumption, holds: Holds, now: datetime
    ) -> Lease | RefusedInvocation | Earlier:
        lease = Lease(invocation, spending, self._random(_LEASE_OCTETS))
        self._leased.add(lease.token)
        ended: Lease | RefusedInvocation | Earlier | None = None
        try:
            # Durable for every answer: disk writes must not disclose the answer that the limits protect.
            ended = await self._committed(lambda transaction: self._consume(transaction, lease, holds, now))
            return ended
        finally:
            if ended is not lease:
                self._leased.discard(lease.token)

    async def _committed(self, job: Job[T]) -> T:
        """Return the result of a job of a proof, committed with other jobs. It does not wait if all running proofs are waiting, so a
        single proof is never delayed."""
        self._waiting += 1
        window = PATIENCE_SECONDS if len(self._leased) > self._waiting else 0.0
        try:
            return await self._database.write(job, patience_seconds=window)
        finally:
            self._waiting -= 1

    def _consume(
        self, transaction: Transaction, lease: Lease, holds: Holds, now: datetime
    ) -> Lease | RefusedInvocation | Earlier:
        invocation, spending, at = lease.invocation, lease.spending, micros(now)
        self._prune(transaction, at)
        asked = [(question, read_state(transaction, invocation, spending, question)) for question in spending.questions]
        chain = asked[0][1] if asked else read_state(transaction, invocation, spending)
        refusal = revoked(transaction, spending, chain)
        if not chain or chain[0].invocations:
            taken = _take(transaction, invocation, lease.token, now)
            if isinstance(taken, Earlier):
                return taken
            # The request that had the lease was counted, and only a predicate that holds gives a lease.
            return lease if refusal is None else _end_refused(transaction, invocation, lease.token, refusal)
        leased = lease.token, micros(now + LEASE)
        refusal = refusal or limited(chain, asked)
        if refusal is not None:
            ended = RefusedInvocation.from_error(refusal)
            row = _BEGIN.row(invocation, *leased, *_refused(ended).values())
            transaction.execute(_BEGIN.insert_by_place, row)
            return ended
        satisfied = holds(sealed_values(transaction, spending, chain))
        refused = RefusedInvocation.from_error(
            PredicateNotSatisfied(details=count(transaction, spending, asked, at, satisfied=satisfied))
        )
        # One statement for both answers, with other parameters.
        settled = None if satisfied else REFUSED, orjson.dumps(refused.details)
        transaction.execute(_BEGIN.insert_by_place, _BEGIN.row(invocation, *leased, *settled))
        return lease if satisfied else refused

    async def refuse(
        self, invocation: Invocation, refused: RefusedInvocation, now: datetime
    ) -> RefusedInvocation | Earlier:
        token = self._random(_LEASE_OCTETS)

        def refuse(transaction: Transaction) -> RefusedInvocation | Earlier:
            self._prune(transaction, micros(now))
            taken = _take(transaction, invocation, token, now)
            if not isinstance(taken, Earlier):
                _end(transaction, invocation, token, refused)
                return refused
            # A refused request must not get the proof that the identical request got meanwhile.
            return taken if isinstance(taken.outcome, RefusedInvocation) else refused

        return await self._database.write(refuse)

    def _prune(self, transaction: Transaction, now: int) -> None:
        if self._requests_to_prune == 0:
            self._requests_to_prune = REQUESTS_BETWEEN_PRUNES
            transaction.execute(_PRUNE[self._database.dialect], {"now": now, "limit": PRUNED_AT_ONCE})
        self._requests_to_prune -= 1

    async def finish(self, lease: Lease, proof: StoredProof, event: EventRecord) -> None:
        refusal = await self._committed(lambda transaction: self._finish(transaction, lease, proof, event))
        self._leased.discard(lease.token)
        if refusal is not None:
            raise refusal

    def _finish(
        self, transaction: Transaction, lease: Lease, proof: StoredProof, event: EventRecord
    ) -> IdentityError | None:
        """Store the proof or return the refusal. The refusal is not raised, because its rows must be committed."""
        invocation, spending = lease.invocation, lease.spending
        guard, guarded = in_force(invocation, spending)
        ending = {"outcome": PROVED, "proof_id": proof.id, "details": _anchor_json(proof.anchor)}
        if transaction.execute(_END + guard, _key(invocation, lease.token) | ending | guarded).rowcount != 1:
            refusal = revoked(transaction, spending, read_state(transaction, invocation, spending))
            if refusal is None:
                return RequestInProgress(details={"retryAfter": 1})
            _end_refused(transaction, invocation, lease.token, refusal)
            return refusal
        add_proof(transaction, proof)
        self._activity.insert(transaction, (event,))
        return None

    async def release(self, lease: Lease) -> None:
        self._leased.discard(lease.token)
        await self._change(_RELEASE, _key(lease.invocation, lease.token), durable=False)

    async def release_all(self) -> None:
        """End every lease, for a process that starts while no other one serves."""
        await self._change(_RELEASE_ALL, {}, durable=False)

    async def amend(self, lease: Lease, anchor: Anchor) -> None:
        row = _key(lease.invocation, lease.token) | {"details": _anchor_json(anchor)}
        await self._change(_AMEND, row, durable=False)


def _find_prior(transaction: Transaction, invocation: Invocation, now: int) -> Outcome | None:
    """Return the result of the same request, or None if it may continue. Raises ``IbctReplayed``,
    ``RequestInProgress``."""
    asked = (invocation.nonce_digest, invocation.id_digest, invocation.request_digest)
    rows: Sequence[Any] = transaction.execute(_FIND, _TABLE.write(invocation)).fetchall()
    if not rows:
        return None
    if len(rows) > 1 or tuple(bytes(digest) for digest in rows[0][:3]) != asked:
        raise IbctReplayed
    lease_until, outcome, proof_id, details = rows[0][3:]
    if outcome is None:
        if lease_until > now:
            raise RequestInProgress("The identical request is still being answered.", details={"retryAfter": 1})
        return None
    read = orjson.loads(bytes(details))
    if outcome == REFUSED:
        return RefusedInvocation.from_error(PredicateNotSatisfied(details=read))
    if outcome != PROVED:
        return RefusedInvocation(outcome, read["message"], read["details"])
    proof = find_proof(transaction, proof_id)
    if proof is None:
        # The holder had the proof erased; the token stays used.
        raise IbctReplayed
    return DelegatedProof(proof.delegation_id, proof.proof, _anchor(read))


def _key(invocation: Invocation, token: bytes) -> dict[str, object]:
    return {"invoker": invocation.invoker, "nonce_digest": invocation.nonce_digest, "lease": token}


def _take(transaction: Transaction, invocation: Invocation, token: bytes, now: datetime) -> Earlier | None:
    """Store nonce and id, also if an earlier lease on them had ended. Return ``Earlier`` if an identical request was answered."""
    at = micros(now)
    row = _TABLE.write(invocation, lease=token, lease_until=micros(now + LEASE), now=at)
    if transaction.execute(_TAKE, row).rowcount == 1:
        return None
    outcome = _find_prior(transaction, invocation, at)
    if outcome is not None:
        return Earlier(outcome)
    transaction.execute(_TAKE_OVER, row)
    return None


def _end_refused(
    transaction: Transaction, invocation: Invocation, token: bytes, refusal: IdentityError
) -> RefusedInvocation:
    refused = RefusedInvocation.from_error(refusal)
    _end(transaction, invocation, token, refused)
    return refused


def _end(transaction: Transaction, invocation: Invocation, token: bytes, refused: RefusedInvocation) -> None:
    transaction.execute(_END, _key(invocation, token) | _refused(refused) | {"proof_id": None})


def _refused(refused: RefusedInvocation) -> dict[str, object]:
    return {"outcome": refused.code, "details": orjson.dumps({"message": refused.message, "details": refused.details})}


def _anchor_json(anchor: Anchor | None) -> bytes:
    if anchor is None:
        return b"null"
    return orjson.dumps([anchor.status.value, anchor.tx_hash, anchor.block_number, anchor.revoked_block])


def _anchor(value: Any) -> Anchor | None:
    return None if value is None else Anchor(AnchorStatus(value[0]), *value[1:])
