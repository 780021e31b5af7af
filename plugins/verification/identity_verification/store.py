"""The tables of the store that this extension reads: stored proofs with the receipts of their anchors, and challenges of verifiers.

The transaction that ends an invocation adds the rows of proofs (``identity_core.store.proofs``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Self

from identity_codec.times import micros, moment
from identity_core.database import Database, Transaction
from identity_core.domain.activity import EventRecord
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.chain import MAX_CHAIN
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, ProofRevocation, StoredProof
from identity_core.errors import Overloaded
from identity_core.store import Store
from identity_core.store.delegations import CHAIN_JOINED, chain_of
from identity_core.store.events import StoredEvents
from identity_core.store.proofs import BLOCK, TX_HASH, find_proof
from identity_core.store.records import Repository, Table, delete_first
from identity_verification.ports import CredentialRecord, ProofRecords, VerifierChallenge

_RECEIPTS = f"SELECT id, anchor_status, {TX_HASH}, {BLOCK}, anchor_revoked_block FROM proofs"  # noqa: S608  (its own text)


def anchors_of(transaction: Transaction, proof_ids: Collection[str | None]) -> Mapping[str, Anchor]:
    """Return the receipts of those proofs that are stored and have one, by one statement."""
    names = {f"id{number}": each for number, each in enumerate(sorted({one for one in proof_ids if one}))}
    if not names:
        return {}
    # The text of the statement has only names of parameters.
    wanted = ", ".join(f":{name}" for name in names)
    rows = transaction.execute(f"{_RECEIPTS} WHERE anchor_status IS NOT NULL AND id IN ({wanted})", names).fetchall()
    return {row[0]: Anchor(AnchorStatus(row[1]), *row[2:]) for row in rows}


# There is a row even without the proof and a credential, and one for each delegation of the chain.
_STANDS_ON = f"""
SELECT (SELECT count(*) FROM proofs WHERE id = :proof_id AND revoked_at IS NULL),
c.id, c.status, c.valid_from, c.valid_until, chain.*
FROM (SELECT 1 AS one) AS always LEFT JOIN credentials AS c ON c.id IN ({{}}) {CHAIN_JOINED}
"""  # noqa: S608
_REVOKE = """
UPDATE proofs SET revoked_at = :at, revoked_by = :by, revocation_reason = :reason WHERE id = :id AND revoked_at IS NULL
"""


class StoredProofs(Repository):
    """The port ``Proofs`` on the tables of the store."""

    def __init__(self, database: Database, activity: StoredEvents) -> None:
        super().__init__(database)
        self._activity = activity

    @classmethod
    def from_store(cls, store: Store) -> Self:
        """Return the proofs of a store."""
        return cls(store.database, store.activity)

    async def get(self, proof_id: str) -> StoredProof | None:
        return await self._database.read(lambda transaction: find_proof(transaction, proof_id))

    async def records(self, proof: StoredProof) -> ProofRecords:
        return await self._database.read(lambda transaction: read_records(transaction, proof))

    async def revoke(self, proof_id: str, revocation: ProofRevocation, event: EventRecord) -> StoredProof | None:
        revoked = {"at": micros(revocation.at), "by": revocation.by, "reason": revocation.reason}

        def revoke(transaction: Transaction) -> StoredProof | None:
            if transaction.execute(_REVOKE, {"id": proof_id, **revoked}).rowcount:
                self._activity.insert(transaction, (event,))
            return find_proof(transaction, proof_id)

        return await self._database.write(revoke)


def read_records(transaction: Transaction, proof: StoredProof) -> ProofRecords:
    """Return the records of the proof, read in a transaction of the caller."""
    # PostgreSQL has no NUL in texts; no credential has such an id either.
    ids = {f"id{number}": each.replace("\0", "\1") for number, each in enumerate(proof.credential_ids)}
    # The text of the statement has only names of parameters.
    statement = _STANDS_ON.format(", ".join(f":{name}" for name in ids))
    chain = {"id": proof.delegation_id, "hops": MAX_CHAIN}
    rows = transaction.execute(statement, {"proof_id": proof.id, **chain, **ids}).fetchall()
    found = {row[1]: _credential_record(*row[2:5]) for row in rows if row[1] is not None}
    credentials = tuple(found.get(each) for each in ids.values())
    # It stands beside each credential.
    first = [row[5:] for row in rows if row[1] == rows[0][1]]
    return ProofRecords(not rows[0][0], credentials, chain_of(first))


def _credential_record(status: str, valid_from: int, valid_until: int | None) -> CredentialRecord:
    return CredentialRecord(
        CredentialStatus(status), moment(valid_from), None if valid_until is None else moment(valid_until)
    )


LIVE_PER_OWNER = 4096
PRUNED_AT_ONCE = 8

_PRUNE = delete_first("verifier_challenges", "spent = 0 AND expires_at <= :now ORDER BY expires_at")
_FORGET = delete_first("verifier_challenges", "spent = 1 AND expires_at <= :until ORDER BY expires_at")
_COUNT = """
SELECT count(*) FROM (SELECT 1 FROM verifier_challenges WHERE owner = :owner AND expires_at > :now LIMIT :most) AS live
"""
_OF_VERIFIERS = Table("verifier_challenges", VerifierChallenge, extra=("digest",))
_FIND = f"{_OF_VERIFIERS.select} WHERE digest = :digest"
_SPEND = """
UPDATE verifier_challenges SET spent = 1 WHERE digest = :digest AND spent = 0 AND expires_at > :now RETURNING spent
"""


class StoredVerifierChallenges(Repository):
    """The port ``VerifierChallenges`` on the tables of the store."""

    def __init__(self, database: Database, *, live_per_owner: int = LIVE_PER_OWNER) -> None:
        super().__init__(database)
        self._most = live_per_owner

    async def add(self, text: str, challenge: VerifierChallenge, now: datetime) -> None:
        row = _OF_VERIFIERS.write(challenge, digest=_digest(text))
        row |= {"now": micros(now), "limit": PRUNED_AT_ONCE, "most": self._most}
        await self._database.write(lambda transaction: self._add(transaction, row), durable=False)

    def _add(self, transaction: Transaction, row: dict[str, Any]) -> None:
        transaction.execute(_PRUNE[self._database.dialect], row)
        (live,) = transaction.execute(_COUNT, row).fetchone()
        if live >= self._most:
            raise Overloaded("Too many challenges of this verifier are live.", details={"retryAfter": 60})
        transaction.execute(_OF_VERIFIERS.insert, row)

    async def find(self, text: str) -> VerifierChallenge | None:
        rows = await self._database.look_up(_FIND, {"digest": _digest(text)})
        return _OF_VERIFIERS.read(rows[0]) if rows else None

    async def spend(self, text: str, now: datetime) -> bool:
        parameters = {"digest": _digest(text), "now": micros(now)}
        row = await self._database.write(lambda transaction: transaction.execute(_SPEND, parameters).fetchone())
        return row is not None

    async def forget(self, until: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET, {"until": micros(until), "limit": limit})


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
