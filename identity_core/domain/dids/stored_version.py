"""A version of a DID as the document index stores it."""

from __future__ import annotations

from identity_codec.values import value_class


@value_class
class StoredVersion:
    """A version as the index has it, and as it is answered. ``changes``: bytes of a JSON array. Times: microseconds since 1970."""

    version_id: int
    created: int
    updated: int
    deactivated: bool
    document: bytes
    sequence: int
    transaction_hash: str
    operation: str
    recorded: int
    block_number: int
    previous_hash: str | None
    entry_hash: str
    key_id: str | None
    changes: bytes
    unbound_changes: int | None
