"""The rows of ``did_versions``: what is written for a version, what is read back, and the tag that says that the two are one."""

from __future__ import annotations

import struct
from typing import Any, Final

import orjson

from identity_core.codec.times import micros, moment
from identity_core.domain.dids.state import state_from_json, state_to_json
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion
from identity_core.store.row_mac import RowMac, version_octets

VERSIONS: Final = b"identity did_versions v1"
NAMES: Final = (
    *("did", "version_id", "printed_second", "sequence", "block_number", "recorded_at", "transaction_hash"),
    *("state", "document", "changes", "key_id", "owner"),
)
_COLUMNS: Final = (*NAMES, "mac")
SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM did_versions"  # noqa: S608 - made of constants
INSERT: Final = (
    f"INSERT INTO did_versions ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)}) ON CONFLICT DO NOTHING"  # noqa: S608
)

# The columns in the order of ``NAMES``; what is read has the tag behind them.
Row = tuple[Any, ...]


def row_of(version: IndexedVersion, owner: str | None) -> Row:
    """The row of a version that was recorded; ``owner`` is kept in the first one."""
    state, receipt = version.state, version.receipt
    if receipt is None:
        raise ValueError(f"version {state.version_id} of {state.did} was never recorded on the ledger")
    return (
        state.did.text,
        state.version_id,
        micros(state.updated_at) // 1_000_000,
        receipt.sequence,
        receipt.block_number,
        micros(receipt.recorded_at),
        bytes.fromhex(receipt.transaction_hash),
        state_to_json(state),
        state.document.octets,
        orjson.dumps(version.changes),
        state.key_id,
        owner if state.version_id == 1 else None,
    )


def tagged(mac: RowMac, row: Row) -> dict[str, object]:
    """The row with its tag, by column."""
    return {**dict(zip(NAMES, row, strict=True)), "mac": mac.tag(version_octets(row))}


def is_ours(mac: RowMac, read: Row) -> bool:
    """Whether what was read, tag and all, is what was written."""
    *row, tag = read
    try:
        return mac.holds(version_octets(row), tag)
    except (TypeError, AttributeError, struct.error):
        # A column of another type than any that is written: SQLite keeps whatever it is given.
        return False


def version_of(read: Row) -> IndexedVersion:
    """The version; for rows that are ours."""
    _, _, _, sequence, block_number, recorded_at, transaction_hash, state, document, changes, _, _, _ = read
    return IndexedVersion(
        state_from_json(bytes(state), bytes(document)),
        Receipt(bytes(transaction_hash).hex(), block_number, sequence, moment(recorded_at)),
        tuple(orjson.loads(bytes(changes))),
    )
