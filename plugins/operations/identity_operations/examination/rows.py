"""Comparison of the store's rows with their sources: of the index with ledger entries, of the places of transactions with the tree,
and of others with the rows that they name. It only reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from identity_codec.times import micros
from identity_core.database import Database, Transaction
from identity_core.extension.declaration import RowRule
from identity_core.ports.ledger import LedgerEntry
from identity_core.ports.repositories import Suspicion
from identity_core.store.index_rows import MISSING, SELECT, VERSIONS, Row, is_ours
from identity_core.store.quarantine import QuarantinedDids
from identity_core.store.row_mac import RowMac

_IN_SPAN: Final = f"{SELECT} WHERE sequence > :after AND sequence <= :last ORDER BY sequence"
_NEWEST: Final = "SELECT max(sequence) FROM did_versions"
_BEHIND: Final = (
    "SELECT did, version_id FROM did_versions WHERE sequence > :last OR sequence < 1 ORDER BY sequence LIMIT :limit"
)
_PLACES: Final = "SELECT count(*), coalesce(sum((prefix % 1000003) * (sequence % 1000003)), 0) FROM transparency_places"
_LIMIT: Final = 1_000
PRIME: Final = 1_000_003

RULES: Final = (
    RowRule(
        "orphan",
        "SELECT id FROM delegations AS child WHERE parent_id IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM delegations WHERE id = child.parent_id)",
        "is a delegation whose parent is gone",
    ),
    RowRule(
        "orphan",
        "SELECT DISTINCT delegation_id FROM delegation_thresholds WHERE NOT EXISTS (SELECT 1 FROM delegations WHERE id = delegation_id)",
        "has thresholds, and there is no such delegation",
    ),
    RowRule(
        "orphan",
        "SELECT DISTINCT credential_id FROM disclosures WHERE NOT EXISTS (SELECT 1 FROM credentials WHERE id = credential_id)",
        "has disclosures, and there is no such credential",
    ),
    RowRule(
        "status",
        # A revoked credential whose handle is not listed would be proved to be in force.
        "SELECT id FROM credentials JOIN gap_handles ON credential_id = id "
        "WHERE listed <> CASE WHEN status = 'active' THEN 0 ELSE 1 END",
        "is not in its list of signed gaps as its status says",
    ),
    RowRule(
        "status",
        "SELECT id FROM credentials WHERE handle > 0 "
        "AND NOT EXISTS (SELECT 1 FROM gap_handles WHERE credential_id = id AND gap_handles.handle = credentials.handle)",
        "has a handle that no list of signed gaps has for it",
    ),
    RowRule(
        "status",
        "SELECT DISTINCT list_id FROM gap_handles WHERE NOT EXISTS (SELECT 1 FROM gap_lists WHERE id = list_id)",
        "has handles, and there is no such list of signed gaps",
    ),
)
"""The rules of the kernel's tables."""


class Finding(Struct, frozen=True):
    """A fault. ``kind`` is one of ``examiner.REMEDIES``, file, left, or that of a rule about rows; ``where`` is a file, a DID, an
    entry, a tile, a line or a row. Without a remedy it has that of its kind."""

    kind: str
    where: str
    says: str
    remedy: str = ""


class StoreExamination:
    """The examination of one store. ``is_keyed``: ``secret`` is the installation's, so tags are verified."""

    def __init__(self, database: Database, secret: bytes, *, is_keyed: bool) -> None:
        self._database = database
        self._mac = RowMac(secret, VERSIONS)
        self._is_keyed = is_keyed

    async def index(self, lines: Sequence[LedgerEntry], unread: Collection[str]) -> dict[int, Finding]:
        """Return the differences of these consecutive entries of the ledger, by sequence. ``unread`` are DIDs without rows."""
        span = {"after": lines[0].receipt.sequence - 1, "last": lines[-1].receipt.sequence}
        rows = await self._database.read(lambda reading: reading.execute(_IN_SPAN, span).fetchall())
        by_place: Mapping[int, Row] = {row[3]: tuple(row) for row in rows}
        found: dict[int, Finding] = {}
        for line in lines:
            row = by_place.get(line.receipt.sequence)
            if row is None:
                says = None if line.did in unread else MISSING
            else:
                says = self._difference(row, line)
            if says is not None:
                found[line.receipt.sequence] = Finding("index", line.did, f"version {line.version} {says}")
        return found

    def _difference(self, row: Row, line: LedgerEntry) -> str | None:
        receipt = line.receipt
        said = (line.did, line.version, receipt.block_number, micros(receipt.recorded_at), receipt.transaction_hash)
        if (row[0], row[1], row[4], row[5]) != said[:4] or bytes(row[6]).hex() != said[4]:
            return "is not the entry that the ledger has in its place"
        if row[-1] is None:
            return "has no tag"
        if self._is_keyed and not is_ours(self._mac, row):
            return "has a tag that is not ours: it was changed past the service"
        return None

    async def newest(self) -> int:
        """Return the last entry with a row in the index, 0 if there is none."""
        return int(await self._database.read(lambda reading: reading.execute(_NEWEST).fetchone()[0]) or 0)

    async def behind(self, last: int) -> list[Finding]:
        """Return rows of the index for entries that the ledger lacks."""
        span = {"last": last, "limit": _LIMIT}
        rows = await self._database.read(lambda reading: reading.execute(_BEHIND, span).fetchall())
        return [Finding("index", did, f"version {number} is not on the ledger") for did, number in rows]

    async def withheld(self) -> list[Finding]:
        """Return the DIDs that the service withholds."""
        listed: Sequence[Suspicion] = await QuarantinedDids(self._database).list(after="", limit=_LIMIT)
        return [Finding("index", one.did, f"is withheld: {one.reason}") for one in listed]

    async def places(self) -> tuple[int, int]:
        """Return the number of transactions with places in the tree, and the sum of their ``place_sum``."""
        count, total = await self._database.read(lambda reading: reading.execute(_PLACES).fetchone())
        return int(count), int(total)

    async def broken(self, rules: Iterable[RowRule]) -> list[Finding]:
        """Return the rows that break these rules, and those of the kernel's tables."""
        return await self._database.read(lambda transaction: [*_broken(transaction, [*RULES, *rules])])


def place_sum(transaction_hash: str, sequence: int) -> int:
    """Return what one place adds to the sum of ``StoreExamination.places``."""
    return (int(transaction_hash[:16], 16) >> 1) % PRIME * (sequence % PRIME)


def _broken(transaction: Transaction, rules: Iterable[RowRule]) -> Iterator[Finding]:
    for rule in rules:
        for (name,) in transaction.execute(f"{rule.rows} LIMIT :limit", {"limit": _LIMIT}).fetchall():
            yield Finding(rule.kind, str(name), rule.says, rule.remedy)
