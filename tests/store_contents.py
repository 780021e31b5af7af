"""What a store keeps, for tests that look at all of it."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from identity_verification.store import StoredProofs

from identity_core.domain.proofs.stored import StoredProof
from identity_core.ports.proofs import Invocation
from identity_core.store import Store


async def kept_proofs(store: Store) -> list[StoredProof]:
    """Every proof, the newest first."""
    sql = "SELECT id FROM proofs ORDER BY created_at DESC, id DESC"
    rows = await store.database.read(lambda transaction: transaction.execute(sql).fetchall())
    found = [await StoredProofs.from_store(store).get(row[0]) for row in rows]
    return [proof for proof in found if proof is not None]


async def is_called_back(store: Store, invoker: str, id: str, nonce: str) -> bool:
    """Return whether the invoker revoked an unused IBCT by its id or nonce."""
    digests = [hashlib.sha256(text.encode()).digest() for text in (nonce, id)]
    now = datetime.now(UTC)
    found = await store.invocations.look_up(Invocation(invoker, *digests, bytes(32), now), None, now)
    return found.is_revoked
