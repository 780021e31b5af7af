"""Delegations and revocations of IBCTs in the store. Guarded statements change the state, so one of two racing writers gets True."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from identity_codec.times import micros, moment
from identity_core.database import Transaction
from identity_core.domain.delegations.chain import MAX_CHAIN, DelegationChain
from identity_core.domain.delegations.delegation import Delegation
from identity_core.domain.dids.did import Did
from identity_core.ports.credentials import DelegationFilter, IbctMember
from identity_core.ports.proofs import Invocation
from identity_core.ports.repositories import RowPosition
from identity_core.store.records import Repository, Table, delete_first

PRUNED_AT_ONCE = 8

# Fields that change or are searched have a column; all others share one.
_SEARCHED = (
    *("id", "holder", "agent", "grantor", "parent_id", "not_before", "expires_at", "max_uses", "max_refusals"),
    *("max_thresholds", "uses", "refusals", "suspended_reason", "revoked_at", "revoked_by", "revocation_reason"),
    *("version", "created_at", "created_by"),
)
_TABLE = Table("delegations", Delegation, document=("record", _SEARCHED), omit=("thresholds",), alias="d")
_COLUMNS = f"(SELECT count(*) FROM delegation_thresholds AS t WHERE t.delegation_id = d.id), {_TABLE.columns}"  # noqa: S608
# One hop more than the limit of a chain, so that a circle appears as a chain that is too long.
_HOPS = """
(WITH RECURSIVE chain (id, hop) AS (
SELECT id, 0 FROM delegations WHERE id = :id
UNION ALL
SELECT d.parent_id, chain.hop + 1 FROM chain JOIN delegations AS d ON d.id = chain.id
WHERE d.parent_id IS NOT NULL AND chain.hop < :hops) SELECT id, hop FROM chain) AS hops
"""
_IN_CHAIN = f"FROM {_HOPS} JOIN delegations AS d ON d.id = hops.id ORDER BY hops.hop"
_CHAIN = f"SELECT {_COLUMNS} {_IN_CHAIN}"
CHAIN_JOINED = f"LEFT JOIN (SELECT hops.hop, {_COLUMNS} {_IN_CHAIN}) AS chain ON 1 = 1"
"""A join that adds the chain of the delegation ``:id``, with at most ``:hops`` hops, to each row of a statement; see ``chain_of``."""
_OF_IBCT = """
(SELECT count(*) FROM ibct_revocations WHERE invoker = :invoker
AND ((kind = 'id' AND digest = :id_digest) OR (kind = 'nonce' AND digest = :nonce_digest))),
(SELECT count(*) FROM invocations WHERE invoker = :invoker AND (nonce_digest = :nonce_digest OR id_digest = :id_digest))
"""
_IBCT = f"SELECT {_OF_IBCT}"
# One statement, because each one takes more time in Python than in the database. Most delegations are granted by the holder directly, and
# the search for a chain takes as long as the rest.
_IBCT_AND_LEAF = f"SELECT {_OF_IBCT}, {_COLUMNS} FROM delegations AS d WHERE d.id = :id"  # noqa: S608  (its own text)
_REVOKE = """
UPDATE delegations SET revoked_at = :now, revoked_by = :by, revocation_reason = :reason, version = version + 1
WHERE id = :id AND revoked_at IS NULL
"""
_SUSPEND = """
UPDATE delegations SET suspended_reason = 'manual', version = version + 1
WHERE id = :id AND suspended_reason IS NULL AND revoked_at IS NULL AND expires_at > :now
"""
_RESUME_BY_HAND = """
UPDATE delegations SET suspended_reason = NULL, version = version + 1
WHERE id = :id AND suspended_reason = 'manual' AND revoked_at IS NULL AND expires_at > :now
"""
_RESUME_LIMITED = """
UPDATE delegations SET suspended_reason = NULL, refusals = 0, version = version + 1
WHERE id = :id AND suspended_reason IS NOT NULL AND revoked_at IS NULL AND expires_at > :now
"""
_FORGET_THRESHOLDS = "DELETE FROM delegation_thresholds WHERE delegation_id = :id"
_REVOKE_IBCT = """
INSERT INTO ibct_revocations (invoker, kind, digest, keep_until, revoked_at)
VALUES (:invoker, :kind, :digest, :keep_until, :now)
ON CONFLICT (invoker, kind, digest) DO UPDATE SET keep_until =
CASE WHEN excluded.keep_until > ibct_revocations.keep_until THEN excluded.keep_until ELSE ibct_revocations.keep_until END
RETURNING revoked_at
"""
_PRUNE_IBCTS = delete_first("ibct_revocations", "keep_until <= :now ORDER BY keep_until")


class StoredDelegations(Repository):
    """The port ``Delegations`` on the tables of the store."""

    async def chain(self, delegation_id: str) -> DelegationChain | None:
        return await self._database.read(lambda transaction: read_chain(transaction, delegation_id))

    async def add(self, delegation: Delegation) -> None:
        await self._change(_TABLE.insert, _TABLE.write(delegation))

    async def list(
        self, wanted: DelegationFilter, *, after: RowPosition | None, limit: int
    ) -> Sequence[DelegationChain]:
        sql, parameters = _page(wanted, after, limit)

        def page(transaction: Transaction) -> list[DelegationChain]:
            found = [_delegation(row) for row in transaction.execute(sql, parameters).fetchall()]
            alone = [DelegationChain((leaf,)) for leaf in found]
            return [
                chain if chain.leaf.parent_id is None else read_chain(transaction, chain.leaf.id) or chain
                for chain in alone
            ]

        return await self._database.read(page)

    async def revoke(self, delegation_id: str, by: str, reason: str | None, now: datetime) -> DelegationChain | None:
        return await self._changed((_REVOKE,), delegation_id, now, by=by, reason=reason)

    async def suspend(self, delegation_id: str, now: datetime) -> DelegationChain | None:
        return await self._changed((_SUSPEND,), delegation_id, now)

    async def resume(self, delegation_id: str, now: datetime) -> DelegationChain | None:
        return await self._changed((_RESUME_BY_HAND, _RESUME_LIMITED), delegation_id, now)

    async def _changed(
        self, statements: Sequence[str], delegation_id: str, now: datetime, **values: str | None
    ) -> DelegationChain | None:
        """Return the chain after the first of the statements that changes the delegation; None if none does."""
        parameters = {"id": delegation_id, "now": micros(now), **values}

        def change(transaction: Transaction) -> DelegationChain | None:
            done = next((sql for sql in statements if transaction.execute(sql, parameters).rowcount), None)
            if done == _RESUME_LIMITED:
                transaction.execute(_FORGET_THRESHOLDS, parameters)
            return None if done is None else read_chain(transaction, delegation_id)

        return await self._database.write(change)

    async def revoke_ibct(
        self, invoker: Did, member: IbctMember, value: str, *, keep_until: datetime, now: datetime
    ) -> datetime:
        parameters = {
            "invoker": str(invoker),
            "kind": member,
            # A reader of the table learns no id or nonce that could be presented.
            "digest": hashlib.sha256(value.encode()).digest(),
            "keep_until": micros(keep_until),
            "now": micros(now),
            "limit": PRUNED_AT_ONCE,
        }

        def revoke(transaction: Transaction) -> datetime:
            transaction.execute(_PRUNE_IBCTS[self._database.dialect], parameters)
            return moment(transaction.execute(_REVOKE_IBCT, parameters).fetchone()[0])

        return await self._database.write(revoke)


def read_chain(transaction: Transaction, delegation_id: str) -> DelegationChain | None:
    """Return the chain as the caller's transaction reads it, or None for an unknown id."""
    rows = transaction.execute(_CHAIN, {"id": delegation_id, "hops": MAX_CHAIN}).fetchall()
    return DelegationChain(tuple(_delegation(row) for row in rows)) if rows else None


def chain_of(rows: Sequence[Any]) -> DelegationChain | None:
    """Return the chain of rows that were selected as ``chain.*`` of ``CHAIN_JOINED``, in any order."""
    there = sorted((row for row in rows if row[0] is not None), key=itemgetter(0))
    return DelegationChain(tuple(_delegation(row[1:]) for row in there)) if there else None


def read_invoked(
    transaction: Transaction, invocation: Invocation, delegation_id: str | None
) -> tuple[DelegationChain | None, bool, bool]:
    """Return the chain that an IBCT names, whether the IBCT was revoked, and whether its nonce or id was used before."""
    token = {"invoker": invocation.invoker, "id_digest": invocation.id_digest, "nonce_digest": invocation.nonce_digest}
    row, chain = None, None
    if delegation_id is not None:
        row = transaction.execute(_IBCT_AND_LEAF, {"id": delegation_id, **token}).fetchone()
    if row is not None:
        leaf = _delegation(row[2:])
        chain = DelegationChain((leaf,)) if leaf.parent_id is None else read_chain(transaction, leaf.id)
    revocations, uses = (row or transaction.execute(_IBCT, token).fetchone())[:2]
    return chain, revocations > 0, uses > 0


def _page(wanted: DelegationFilter, after: RowPosition | None, limit: int) -> tuple[str, dict[str, object]]:
    """Return the statement of one page. It has only the conditions of the filter, so that each uses its index."""
    conditions = ["1 = 1"]
    parameters: dict[str, object] = {"limit": limit}
    if wanted.party is not None:
        conditions.append("(d.holder = :party OR d.agent = :party)")
        parameters["party"] = wanted.party
    if wanted.holders is not None:
        names = {f"holder{number}": holder for number, holder in enumerate(sorted(wanted.holders))}
        conditions.append(f"d.holder IN ({', '.join(f':{name}' for name in names)})" if names else "1 = 0")
        parameters |= names
    if wanted.holder is not None:
        conditions.append("d.holder = :holder")
        parameters["holder"] = wanted.holder
    if wanted.agent is not None:
        conditions.append("d.agent = :agent")
        parameters["agent"] = wanted.agent
    if after is not None:
        conditions.append("(d.created_at, d.id) < (:created_at, :id)")
        parameters |= {"created_at": micros(after.created_at), "id": after.id}
    # Conditions are constants of this function; input of callers is passed as parameters.
    where = " AND ".join(conditions)
    order = "ORDER BY d.created_at DESC, d.id DESC LIMIT :limit"
    return f"SELECT {_COLUMNS} FROM delegations AS d WHERE {where} {order}", parameters  # noqa: S608


def _delegation(row: Any) -> Delegation:
    return _TABLE.read(row[1:], thresholds=row[0])
