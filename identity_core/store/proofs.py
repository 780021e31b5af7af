"""Proofs in the store, and the receipts of their anchors.

The transaction that ends an invocation (``invocations.py``) adds the rows; nothing else does. The final state of an anchor is in the
proof's own row. While it is pending, transaction and block are those of its batch, so that progress of a batch updates one row and
not ten thousand. A revoked proof reads its batch too, which continues without it.

``RULES`` are the retention rules of the tables of the kernel. README.md gives the reasons.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from identity_codec.times import micros, moment
from identity_core.database import Database, Transaction
from identity_core.domain.activity import EventRecord
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.chain import MAX_CHAIN
from identity_core.domain.proofs.stored import ProofRevocation, StoredProof
from identity_core.domain.proofs.verification import Anchor, AnchorStatus
from identity_core.ports.proofs import CredentialRecord, ProofRecords
from identity_core.ports.retention import ERASED_HOLDER, RetentionRule
from identity_core.store.delegations import CHAIN_JOINED, chain_of
from identity_core.store.events import StoredEvents
from identity_core.store.records import Repository, Table

_OF_BATCH = """
CASE WHEN anchor_status IN ('pending', 'revoked') THEN
(SELECT {} FROM anchor_batches WHERE anchor_batches.id = (SELECT batch_id FROM anchor_leaves WHERE proof_id = proofs.id))
ELSE {} END
"""
TX_HASH: Final = _OF_BATCH.format("tx_hash", "anchor_tx_hash")
BLOCK: Final = _OF_BATCH.format("block", "anchor_block")
"""The column of ``proofs`` with the block of a receipt, for selections."""

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


PROOFS: Final = Table(
    "proofs",
    StoredProof,
    extra=("id",),
    spread={
        "revocation": ("revoked_at", "revoked_by", "revocation_reason"),
        "anchor": ("anchor_status", "anchor_tx_hash", "anchor_block", "anchor_revoked_block"),
    },
    shown={"anchor_tx_hash": TX_HASH, "anchor_block": BLOCK},
)
_SELECT = PROOFS.select
_GET = f"{_SELECT} WHERE id = :id"
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


def find_proof(transaction: Transaction, proof_id: str) -> StoredProof | None:
    """Return the proof with this id, or None."""
    row = transaction.execute(_GET, {"id": proof_id}).fetchone()
    return None if row is None else PROOFS.read(row)


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


def add_proof(transaction: Transaction, proof: StoredProof) -> None:
    """Insert the row of a new proof."""
    transaction.execute(PROOFS.insert_by_place, PROOFS.row(proof, proof.id))


_CREDENTIALS: Final = RetentionRule(
    kind="credentials",
    # As the partial index has it, or it is not used.
    expired=f"valid_until <= :until AND holder <> '{ERASED_HOLDER}' ORDER BY valid_until",
    forget=f"UPDATE credentials SET holder = '{ERASED_HOLDER}', sealed = :nothing, status_reason = NULL",  # noqa: S608
    dependent="DELETE FROM disclosures WHERE credential_id = :id",
    columns="id issuer holder schema_id verification_method valid_from valid_until status status_reason created_at created_by",
    roles=("holder", "issuer"),
)
_PROOFS: Final = RetentionRule(
    kind="proofs",
    expired="expires_at <= :until ORDER BY expires_at",
    # A proof whose anchor is pending is still needed for the final state. The expression is a value and not NOT EXISTS, because a server
    # may execute the latter as a join that reads all leaves for a step of a few proofs.
    undecided="""
(SELECT count(*) FROM anchor_leaves WHERE proof_id = proofs.id AND (state IN ('queued', 'revoking')
OR (state = 'batched' AND (SELECT state FROM anchor_batches WHERE id = batch_id) NOT IN ('confirmed', 'failed'))))
""",
    columns="id delegation_id holder agent credential_id issuer schema_id predicate proof created_at expires_at caller challenge domain "
    "revoked_at revoked_by revocation_reason anchor_status question",
    roles=("holder", "agent"),
)
RULES: Final = (_CREDENTIALS, _PROOFS)
