"""The tables of the store, as SQLModel classes: what migrations are made from and checked against.

One file a noun; this one knows them all. Hot paths use hand-written SQL beside this; nothing imports the package but
migrations and tests. Times are microseconds since 1970 (UTC) unless a name says seconds; hashes and documents are raw
octets.
"""

from __future__ import annotations

from identity_core.store.tables.activity import TimelineEvent, VerificationTable, VerifierChallengeRow
from identity_core.store.tables.anchoring import AnchorBatch, AnchorLeafRow, AnchorLease
from identity_core.store.tables.api_keys import ApiKeyTag
from identity_core.store.tables.audit import AuditHead, AuditLine
from identity_core.store.tables.credentials import CredentialRow, CredentialSchemaRow, StatusListRow
from identity_core.store.tables.delegations import DelegationRow, DelegationThreshold, IbctRevocationRow
from identity_core.store.tables.dids import DidVersion, Projection, QuarantinedDid
from identity_core.store.tables.model import NAMING, StoreModel, metadata_of_store
from identity_core.store.tables.proofs import DisclosureRow, InvocationRow, ProofRow
from identity_core.store.tables.requests import IdempotencyKeyRow, SpentChallengeRow, UsageRow
from identity_core.store.tables.transparency import TransparencyHead, TransparencyPlace, TransparencyTile

__all__ = [
    "NAMING",
    "AnchorBatch",
    "AnchorLeafRow",
    "AnchorLease",
    "ApiKeyTag",
    "AuditHead",
    "AuditLine",
    "CredentialRow",
    "CredentialSchemaRow",
    "DelegationRow",
    "DelegationThreshold",
    "DidVersion",
    "DisclosureRow",
    "IbctRevocationRow",
    "IdempotencyKeyRow",
    "InvocationRow",
    "Projection",
    "ProofRow",
    "QuarantinedDid",
    "SpentChallengeRow",
    "StatusListRow",
    "StoreModel",
    "TimelineEvent",
    "TransparencyHead",
    "TransparencyPlace",
    "TransparencyTile",
    "UsageRow",
    "VerificationTable",
    "VerifierChallengeRow",
    "metadata_of_store",
]
