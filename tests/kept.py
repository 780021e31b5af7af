"""What a store keeps, for tests that look at all of it."""

from __future__ import annotations

from identity_core.domain.proofs.stored import StoredProof
from identity_core.store import Store


async def kept_proofs(store: Store) -> list[StoredProof]:
    """Every proof, the newest first."""
    sql = "SELECT id FROM proofs ORDER BY created_at DESC, id DESC"
    rows = await store.database.read(lambda transaction: transaction.execute(sql).fetchall())
    found = [await store.proofs.get(row[0]) for row in rows]
    return [proof for proof in found if proof is not None]
