"""Proofs in the store. Rows are added by the transaction that ends an invocation (``invocations.py``), never alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from identity_core.database import Database, Transaction
from identity_core.domain.anchor import Anchor, AnchorStatus
from identity_core.domain.proof import ZkProof
from identity_core.ports.proofs import ProofRevocation, StoredProof
from identity_core.store.anchor_leaves import add_leaf, revoke_leaf
from identity_core.store.anchors import BLOCK, TX_HASH
from identity_core.store.times import micros, moment

_NAMES: Final = (
    "id",
    "delegation_id",
    "holder",
    "agent",
    "credential_id",
    "issuer",
    "schema_id",
    "predicate",
    "proof",
    "salt",
    "ibct_id",
    "nonce",
    "created_at",
    "expires_at",
    "caller",
    "challenge",
    "domain",
    "revoked_at",
    "revoked_by",
    "revocation_reason",
    "anchor_status",
    "anchor_tx_hash",
    "anchor_block",
    "anchor_revoked_block",
    "anchor_details",
)
# Only names of this file are put into SQL.
_INSERT = f"INSERT INTO proofs ({', '.join(_NAMES)}) VALUES (:{', :'.join(_NAMES)})"  # noqa: S608
_SHOWN = {"anchor_tx_hash": TX_HASH, "anchor_block": BLOCK}
_SELECT = f"SELECT {', '.join(_SHOWN.get(name, name) for name in _NAMES)} FROM proofs"  # noqa: S608
_GET = f"{_SELECT} WHERE id = :id"
_UNANCHORED = (
    f"{_SELECT} WHERE anchor_status = 'pre-phase7' AND revoked_at IS NULL ORDER BY created_at, id LIMIT :limit"
)
_LAST = " ORDER BY created_at DESC, id DESC LIMIT :limit"
_BEFORE = "(created_at < :at OR (created_at = :at AND id < :id))"
_REVOKE = """
UPDATE proofs SET revoked_at = :at, revoked_by = :by, revocation_reason = :reason WHERE id = :id AND revoked_at IS NULL
"""


class StoredProofs:
    """The port ``Proofs`` on the tables of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, proof_id: str) -> StoredProof | None:
        return await self._database.read(lambda transaction: find_proof(transaction, proof_id))

    async def list(
        self,
        *,
        holder: str | None = None,
        agent: str | None = None,
        before: tuple[datetime, str] | None = None,
        limit: int,
    ) -> Sequence[StoredProof]:
        wanted: dict[str, object] = {"holder": holder, "agent": agent}
        wanted = {name: did for name, did in wanted.items() if did is not None}
        where = [f"{name} = :{name}" for name in wanted]
        parameters = wanted | {"limit": limit}
        if before is not None:
            where.append(_BEFORE)
            parameters |= {"at": micros(before[0]), "id": before[1]}
        sql = _SELECT + (f" WHERE {' AND '.join(where)}" if where else "") + _LAST
        rows = await self._database.read(lambda transaction: transaction.execute(sql, parameters).fetchall())
        return [_proof(row) for row in rows]

    async def revoke(self, proof_id: str, revocation: ProofRevocation) -> StoredProof | None:
        parameters = {
            "id": proof_id,
            "at": micros(revocation.at),
            "by": revocation.by,
            "reason": revocation.reason,
        }

        def revoke(transaction: Transaction) -> StoredProof | None:
            transaction.execute(_REVOKE, parameters)
            revoke_leaf(transaction, proof_id)
            return find_proof(transaction, proof_id)

        return await self._database.write(revoke)

    async def bring_in(self, proofs: Sequence[StoredProof]) -> int:
        def bring_in(transaction: Transaction) -> int:
            new = [proof for proof in proofs if find_proof(transaction, proof.id) is None]
            # One id twice in a file is one proof.
            for proof in {proof.id: proof for proof in new}.values():
                add_proof(transaction, proof)
            return len({proof.id for proof in new})

        return await self._database.write(bring_in)


def find_proof(transaction: Transaction, proof_id: str) -> StoredProof | None:
    """The proof with this id, or None."""
    row = transaction.execute(_GET, {"id": proof_id}).fetchone()
    return None if row is None else _proof(row)


def oldest_unanchored(transaction: Transaction, limit: int) -> Sequence[StoredProof]:
    """Proofs from before anchoring existed that are not revoked."""
    return [_proof(row) for row in transaction.execute(_UNANCHORED, {"limit": limit}).fetchall()]


def add_proof(transaction: Transaction, proof: StoredProof) -> None:
    """Inserts the row of a new proof; where ``anchor`` is pending, also that of the outbox which the anchoring worker reads."""
    anchor, revocation = proof.anchor, proof.revocation
    if anchor is not None and anchor.status is AnchorStatus.PENDING:
        add_leaf(transaction, proof, proof.created_at)
    transaction.execute(
        _INSERT,
        {
            "id": proof.id,
            "delegation_id": proof.delegation_id,
            "holder": proof.holder,
            "agent": proof.agent,
            "credential_id": proof.credential_id,
            "issuer": proof.issuer,
            "schema_id": proof.schema_id,
            "predicate": orjson.dumps(dict(proof.predicate)),
            "proof": _zk_proof_json(proof.proof),
            "salt": proof.salt,
            "ibct_id": proof.ibct_id,
            "nonce": proof.nonce,
            "created_at": micros(proof.created_at),
            "expires_at": micros(proof.expires_at),
            "caller": proof.caller,
            "challenge": proof.challenge,
            "domain": proof.domain,
            "revoked_at": None if revocation is None else micros(revocation.at),
            "revoked_by": None if revocation is None else revocation.by,
            "revocation_reason": None if revocation is None else revocation.reason,
            "anchor_status": None if anchor is None else anchor.status.value,
            "anchor_tx_hash": None if anchor is None else anchor.tx_hash,
            "anchor_block": None if anchor is None else anchor.block_number,
            "anchor_revoked_block": None if anchor is None else anchor.revoked_block,
            "anchor_details": proof.anchor_details,
        },
    )


def _proof(row: Any) -> StoredProof:
    value = dict(zip(_NAMES, row, strict=True))
    revoked_at, status = value["revoked_at"], value["anchor_status"]
    details = value["anchor_details"]
    return StoredProof(
        proof=_zk_proof(bytes(value["proof"])),
        delegation_id=value["delegation_id"],
        holder=value["holder"],
        agent=value["agent"],
        credential_id=value["credential_id"],
        issuer=value["issuer"],
        schema_id=value["schema_id"],
        predicate=orjson.loads(bytes(value["predicate"])),
        salt=bytes(value["salt"]),
        ibct_id=value["ibct_id"],
        nonce=value["nonce"],
        created_at=moment(value["created_at"]),
        expires_at=moment(value["expires_at"]),
        caller=value["caller"],
        challenge=value["challenge"],
        domain=value["domain"],
        revocation=None
        if revoked_at is None
        else ProofRevocation(moment(revoked_at), value["revoked_by"], value["revocation_reason"]),
        anchor=None
        if status is None
        else Anchor(
            AnchorStatus(status), value["anchor_tx_hash"], value["anchor_block"], value["anchor_revoked_block"]
        ),
        anchor_details=None if details is None else bytes(details),
    )


def _zk_proof_json(proof: ZkProof) -> bytes:
    return orjson.dumps(
        {
            "proof": proof.proof,
            "publicSignals": proof.public_signals,
            "predicateType": proof.predicate_type,
            "proofId": proof.proof_id,
        }
    )


def _zk_proof(octets: bytes) -> ZkProof:
    value = orjson.loads(octets)
    return ZkProof(value["proof"], tuple(value["publicSignals"]), value["predicateType"], value["proofId"])
