"""Invocations in the store: who comes first, decided by the database and never by memory. README.md has the reasoning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from identity_core.codec.times import micros
from identity_core.database import Database, Transaction
from identity_core.domain.ledger.anchoring import Anchor, AnchorStatus
from identity_core.domain.proofs.stored import DelegatedProof, StoredProof
from identity_core.errors import IbctReplayed, IdentityError, PredicateNotSatisfied, RequestInProgress
from identity_core.ports.activity import ActivityRow
from identity_core.ports.proofs import Consumption, Earlier, Holds, Invocation, Lease, Outcome, RefusedInvocation
from identity_core.store.activity import StoredActivity
from identity_core.store.proofs import add_proof, find_proof
from identity_core.store.records import Repository, Table
from identity_core.store.spending import count, limited, revoked, sealed_values, standing

LEASE: Final = timedelta(seconds=60)
# Rows that are no longer needed go in one statement for that many requests, not in one for each.
REQUESTS_BETWEEN_PRUNES: Final = 64
PRUNED_AT_ONCE: Final = 8 * REQUESTS_BETWEEN_PRUNES
_LEASE_OCTETS: Final = 16
PROVED: Final = "proved"
REFUSED: Final = "refused"
PATIENCE_SECONDS: Final = 0.005
"""How long the commits of a proof may wait for those of other proofs that are under way."""

_TABLE = Table("invocations", Invocation, extra=("lease", "lease_until"))
_FIND = """
SELECT nonce_digest, id_digest, request_digest, lease_until, outcome, proof_id, details FROM invocations
WHERE invoker = :invoker AND (nonce_digest = :nonce_digest OR id_digest = :id_digest)
"""
_TAKE = f"{_TABLE.insert} ON CONFLICT DO NOTHING"
_PRUNE = """
DELETE FROM invocations WHERE (invoker, nonce_digest) IN
(SELECT invoker, nonce_digest FROM invocations WHERE delete_after <= :now LIMIT :limit)
"""
_TAKE_OVER = """
UPDATE invocations SET lease = :lease, lease_until = :lease_until
WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND outcome IS NULL AND lease_until <= :now
"""
_END = """
UPDATE invocations SET outcome = :outcome, proof_id = :proof_id, details = :details, lease = NULL, lease_until = NULL
WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND outcome IS NULL AND lease = :lease
"""
_SETTLE = """
UPDATE invocations SET outcome = :outcome, details = :details
WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND lease = :lease
"""
_RELEASE = """
UPDATE invocations SET lease_until = 0
WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND outcome IS NULL AND lease = :lease
"""
_AMEND = """
UPDATE invocations SET details = :details
WHERE invoker = :invoker AND nonce_digest = :nonce_digest AND outcome = 'proved'
"""


class StoredInvocations(Repository):
    """See ``Invocations``. ``random`` gives octets for the tokens of leases."""

    def __init__(self, database: Database, activity: StoredActivity, random: Callable[[int], bytes]) -> None:
        super().__init__(database)
        self._activity = activity
        self._random = random
        self._requests_to_prune = 0
        self._leased: set[bytes] = set()

    async def find(self, invocation: Invocation, now: datetime) -> Outcome | None:
        return await self._database.read(lambda transaction: _seen(transaction, invocation, micros(now)))

    async def consume(
        self, invocation: Invocation, spending: Consumption, holds: Holds, now: datetime
    ) -> Lease | RefusedInvocation | Earlier:
        lease = Lease(invocation, spending, self._random(_LEASE_OCTETS))
        # Durable whatever the answer: the disk must not tell what the limits keep.
        ended = await self._database.write(
            lambda transaction: self._consume(transaction, lease, holds, now), patience_seconds=self._patience(lease)
        )
        if ended is lease:
            self._leased.add(lease.token)
        return ended

    def _patience(self, lease: Lease) -> float:
        """None for a proof that is made alone: there is nothing to wait for."""
        return PATIENCE_SECONDS if self._leased - {lease.token} else 0.0

    def _consume(
        self, transaction: Transaction, lease: Lease, holds: Holds, now: datetime
    ) -> Lease | RefusedInvocation | Earlier:
        taken = self._take(transaction, lease.invocation, lease.token, now)
        if isinstance(taken, Earlier):
            return taken
        spending = lease.spending
        asked = [
            (question, standing(transaction, lease.invocation, spending, question)) for question in spending.questions
        ]
        chain = asked[0][1] if asked else standing(transaction, lease.invocation, spending)
        refusal = revoked(transaction, spending, chain)
        if refusal is None and not taken:
            # The request that had the lease was counted, and only a predicate that holds gives a lease.
            return lease
        refusal = refusal or limited(chain, asked)
        if refusal is not None:
            return _end_refused(transaction, lease.invocation, lease.token, RefusedInvocation.of(refusal))
        satisfied = holds(sealed_values(transaction, spending))
        refused = RefusedInvocation.of(
            PredicateNotSatisfied(details=count(transaction, spending, micros(now), satisfied=satisfied))
        )
        # One statement for both answers, with other parameters.
        settled = {"outcome": None if satisfied else REFUSED, "details": orjson.dumps(refused.details)}
        transaction.execute(_SETTLE, _key(lease.invocation, lease.token) | settled)
        return lease if satisfied else refused

    async def refuse(
        self, invocation: Invocation, refused: RefusedInvocation, now: datetime
    ) -> RefusedInvocation | Earlier:
        token = self._random(_LEASE_OCTETS)

        def refuse(transaction: Transaction) -> RefusedInvocation | Earlier:
            taken = self._take(transaction, invocation, token, now)
            if not isinstance(taken, Earlier):
                return _end_refused(transaction, invocation, token, refused)
            # A proof that the identical request got in this moment is not for one that is refused.
            return taken if isinstance(taken.outcome, RefusedInvocation) else refused

        return await self._database.write(refuse)

    def _take(self, transaction: Transaction, invocation: Invocation, token: bytes, now: datetime) -> bool | Earlier:
        """Takes nonce and id. True: no one had them; False: a lease on them had ended, and is taken over."""
        self._take_turn(transaction)
        at = micros(now)
        self._prune(transaction, at)
        row = _TABLE.write(invocation, lease=token, lease_until=micros(now + LEASE), now=at)
        if transaction.execute(_TAKE, row).rowcount == 1:
            return True
        outcome = _seen(transaction, invocation, at)
        if outcome is not None:
            return Earlier(outcome)
        transaction.execute(_TAKE_OVER, row)
        return False

    def _prune(self, transaction: Transaction, now: int) -> None:
        if self._requests_to_prune == 0:
            self._requests_to_prune = REQUESTS_BETWEEN_PRUNES
            transaction.execute(_PRUNE, {"now": now, "limit": PRUNED_AT_ONCE})
        self._requests_to_prune -= 1

    async def finish(self, lease: Lease, proof: StoredProof, rows: Sequence[ActivityRow]) -> None:
        refusal = await self._database.write(
            lambda transaction: self._finish(transaction, lease, proof, rows), patience_seconds=self._patience(lease)
        )
        self._leased.discard(lease.token)
        if refusal is not None:
            raise refusal

    def _finish(
        self, transaction: Transaction, lease: Lease, proof: StoredProof, rows: Sequence[ActivityRow]
    ) -> IdentityError | None:
        """Returns the refusal instead of raising it, because what is written beside it must stay."""
        self._take_turn(transaction)
        invocation = lease.invocation
        refusal = revoked(transaction, lease.spending, standing(transaction, invocation, lease.spending))
        if refusal is not None:
            _end_refused(transaction, invocation, lease.token, RefusedInvocation.of(refusal))
            return refusal
        ending = {"outcome": PROVED, "proof_id": proof.id, "details": _anchor_json(proof.anchor)}
        if transaction.execute(_END, _key(invocation, lease.token) | ending).rowcount != 1:
            return RequestInProgress(details={"retryAfter": 1})
        add_proof(transaction, proof)
        self._activity.insert(transaction, rows)
        return None

    async def release(self, lease: Lease) -> None:
        self._leased.discard(lease.token)
        await self._change(_RELEASE, _key(lease.invocation, lease.token), durable=False)

    async def amend(self, lease: Lease, anchor: Anchor) -> None:
        row = _key(lease.invocation, lease.token) | {"details": _anchor_json(anchor)}
        await self._change(_AMEND, row, durable=False)


def _seen(transaction: Transaction, invocation: Invocation, now: int) -> Outcome | None:
    """What became of the same request, or None when it may go on. Raises ``IbctReplayed``, ``RequestInProgress``."""
    asked = (invocation.nonce_digest, invocation.id_digest, invocation.request_digest)
    rows: Sequence[Any] = transaction.execute(_FIND, _TABLE.write(invocation)).fetchall()
    if not rows:
        return None
    if len(rows) > 1 or tuple(bytes(digest) for digest in rows[0][:3]) != asked:
        raise IbctReplayed
    lease_until, outcome, proof_id, details = rows[0][3:]
    if outcome is None:
        if lease_until > now:
            raise RequestInProgress(
                "The identical request is still being answered.",
                details={"retryAfter": 1},
            )
        return None
    read = orjson.loads(bytes(details))
    if outcome == REFUSED:
        return RefusedInvocation.of(PredicateNotSatisfied(details=read))
    if outcome != PROVED:
        return RefusedInvocation(outcome, read["message"], read["details"])
    proof = find_proof(transaction, proof_id)
    if proof is None:
        # Its holder had it erased; what the token was for is done.
        raise IbctReplayed
    return DelegatedProof(proof.delegation_id, proof.proof, _anchor(read))


def _key(invocation: Invocation, token: bytes) -> dict[str, object]:
    return {"invoker": invocation.invoker, "nonce_digest": invocation.nonce_digest, "lease": token}


def _end_refused(
    transaction: Transaction, invocation: Invocation, token: bytes, refused: RefusedInvocation
) -> RefusedInvocation:
    details = orjson.dumps({"message": refused.message, "details": refused.details})
    ending = {"outcome": refused.code, "proof_id": None, "details": details}
    transaction.execute(_END, _key(invocation, token) | ending)
    return refused


def _anchor_json(anchor: Anchor | None) -> bytes:
    if anchor is None:
        return b"null"
    return orjson.dumps([anchor.status.value, anchor.tx_hash, anchor.block_number, anchor.revoked_block])


def _anchor(value: Any) -> Anchor | None:
    return None if value is None else Anchor(AnchorStatus(value[0]), *value[1:])
