"""GENERATED from openapi/ by `python -m openapi.build`: what identity_transparency.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

DOCUMENT: bytes


class ApproveDidVersionRequest(Struct, frozen=True, kw_only=True):
    version_id: str
    proof: WitnessProof

class DidApprovals(Struct, frozen=True, kw_only=True):
    did: str
    versions: int
    published_versions: int
    version_id: str
    waiting: tuple[WaitingVersion, ...]

class EarlierLedgerKey(Struct, frozen=True, kw_only=True):
    verifier_key: str
    public_key_multibase: str
    number: int
    tree_size: int
    replaced_at: str
    compromised: bool
    succession: str | None

class Event(Struct, frozen=True, kw_only=True):
    sequence: int
    did: str
    version_id: int
    operation: str
    timestamp: str
    transaction_hash: str
    block_number: int

class EventList(Struct, frozen=True, kw_only=True):
    items: tuple[Event, ...]
    next_after: int

class GetLedgerBlockQuery(Struct, frozen=True, kw_only=True):
    after: int = 0
    limit: int = 100

class GetLedgerCheckpointQuery(Struct, frozen=True, kw_only=True):
    quorum: str | None = None

class GetLedgerConsistencyProofQuery(Struct, frozen=True, kw_only=True):
    first: int
    second: int | None = None

class GetLedgerInclusionProofQuery(Struct, frozen=True, kw_only=True):
    transaction: str
    size: int | None = None

class LedgerBlock(Struct, frozen=True, kw_only=True):
    block_number: int
    first_sequence: int
    last_sequence: int
    items: tuple[LedgerBlockEntry, ...]
    next_after: int | None

class LedgerBlockEntry(Struct, frozen=True, kw_only=True):
    sequence: int
    did: str
    version_id: int
    timestamp: str
    transaction_hash: str

class LedgerConsistencyProof(Struct, frozen=True, kw_only=True):
    first: int
    second: int
    first_root_hash: str
    second_root_hash: str
    hashes: tuple[str, ...]

class LedgerInclusionProof(Struct, frozen=True, kw_only=True):
    transaction_hash: str
    sequence: int
    leaf_index: int
    leaf_hash: str
    tree_size: int
    root_hash: str
    hashes: tuple[str, ...]
    checkpoint: str | None

class LedgerKey(Struct, frozen=True, kw_only=True):
    origin: str
    verifier_key: str
    public_key_multibase: str
    service_did: str | None | UnsetType = UNSET
    earlier_keys: tuple[EarlierLedgerKey, ...] | UnsetType = UNSET

class LedgerTransaction(Struct, frozen=True, kw_only=True):
    transaction_hash: str
    block_number: int
    sequence: int
    did: str
    version_id: int
    timestamp: str
    recorded_at: str
    entry: str
    leaf_hash: str

class ListEventsQuery(Struct, frozen=True, kw_only=True):
    after: int = 0
    limit: int = 100

class WaitingVersion(Struct, frozen=True, kw_only=True):
    version_id: str
    threshold: int
    witnesses: tuple[str, ...]
    approved_by: tuple[str, ...]

class WitnessProof(Struct, frozen=True, kw_only=True):
    type: str
    cryptosuite: str
    verification_method: str
    created: str | UnsetType = UNSET
    proof_purpose: str
    proof_value: str
