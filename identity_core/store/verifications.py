"""The verification history in the store. ``ports/verifications.py`` says what stands in a row and what never does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson

from identity_core.database import Database, Transaction
from identity_core.ports.verifications import Verification, VerificationCounts, VerificationQuery, VerificationRow
from identity_core.store.anchors import anchors_of
from identity_core.store.row_ids import bounds, row_id
from identity_core.store.times import micros, moment

_INSERT = """
INSERT INTO verifications (id, at, verified, caller, verifier, fingerprint, holder, issuer, schema_id, proof_id,
attribute, predicate_type, codes) VALUES (:id, :at, :verified, :caller, :verifier, :fingerprint, :holder, :issuer,
:schema_id, :proof_id, :attribute, :predicate_type, :codes)
"""
_COLUMNS = "id, at, verified, caller, verifier, fingerprint, holder, issuer, schema_id, proof_id, attribute, predicate_type, codes"
_LAST = " ORDER BY id DESC LIMIT :limit"
_PROOF = 9


class StoredVerifications:
    """See ``Verifications``. ``random`` gives octets, so that ids tell no count."""

    def __init__(self, database: Database, random: Callable[[int], bytes]) -> None:
        self._database = database
        self._random = random

    def record(self, verification: Verification) -> Awaitable[None]:
        row = {
            "id": row_id(verification.at, self._random),
            "at": micros(verification.at),
            "verified": int(verification.verified),
            "caller": verification.caller,
            "verifier": verification.verifier,
            "fingerprint": verification.fingerprint,
            "holder": verification.holder,
            "issuer": verification.issuer,
            "schema_id": verification.schema_id,
            "proof_id": verification.proof_id,
            "attribute": verification.attribute,
            "predicate_type": verification.predicate_type,
            "codes": orjson.dumps(verification.codes),
        }
        return self._database.write(lambda transaction: _insert(transaction, row), durable=False)

    async def list(self, wish: VerificationQuery) -> Sequence[VerificationRow]:
        parts, parameters = _parts(wish, before=wish.before)
        # A page of each role along its own index is enough for the page of all.
        pages = [f"SELECT * FROM (SELECT {_COLUMNS} FROM verifications{part}{_LAST}) AS page" for part in parts]  # noqa: S608
        sql = " UNION ".join(pages) + _LAST
        return await self._database.read(
            lambda transaction: _read(transaction, sql, parameters | {"limit": wish.limit})
        )

    async def counts(self, wish: VerificationQuery) -> VerificationCounts:
        parts, parameters = _parts(wish, before=None)
        seen = " UNION ".join(f"SELECT id, verified, codes FROM verifications{part}" for part in parts)  # noqa: S608
        sql = f"SELECT verified, codes, count(*) FROM ({seen}) AS seen GROUP BY verified, codes"  # noqa: S608
        rows = await self._database.read(lambda transaction: transaction.execute(sql, parameters).fetchall())
        reasons: Counter[str] = Counter()
        for _, codes, count in rows:
            for code in orjson.loads(bytes(codes)):
                reasons[code] += count
        held = sum(count for verified, _, count in rows if verified)
        return VerificationCounts(sum(row[2] for row in rows), held, dict(sorted(reasons.items())))


def _parts(wish: VerificationQuery, *, before: str | None) -> tuple[list[str], dict[str, object]]:
    """A WHERE for each role in which rows are seen. Only names of this file and of parameters go into the text."""
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


def _insert(transaction: Transaction, row: dict[str, Any]) -> None:
    transaction.execute(_INSERT, row)


def _read(transaction: Transaction, sql: str, parameters: dict[str, object]) -> list[VerificationRow]:
    rows = transaction.execute(sql, parameters).fetchall()
    anchors = anchors_of(transaction, [row[_PROOF] for row in rows])
    return [VerificationRow(row[0], _verification(row), anchors.get(row[_PROOF])) for row in rows]


def _verification(row: Any) -> Verification:
    _, at, verified, *rest, codes = row
    members: tuple[Any, ...] = (moment(at), bool(verified), *rest, tuple(orjson.loads(bytes(codes))))
    return Verification(*members)
