"""Credentials, their schemas and status lists, handles and tags of suite 2, delegations, and revoked IBCTs."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, Integer, LargeBinary, PrimaryKeyConstraint, Text, UniqueConstraint
from sqlmodel import Field

from identity_core.store.tables import Name, StoreModel, partial_index


class CredentialSchemaRow(StoreModel, table=True):
    """An immutable schema. ``attributes`` is the JSON array of ``domain/credentials/credential_schema.py``, ``titles`` a JSON object."""

    __tablename__ = "credential_schemas"

    id: str = Field(sa_type=Name, primary_key=True)
    attributes: bytes = Field(sa_type=LargeBinary)
    created_at: int = Field(sa_type=BigInteger)
    created_by: str = Field(sa_type=Text)
    titles: bytes | None = Field(sa_type=LargeBinary)


class CredentialRow(StoreModel, table=True):
    """A credential; see ``domain/credentials/credential.py``. ``sealed`` is the box with its values and signature; nothing else in the
    row is secret. The place in the status lists is unique for the issuer. The four columns after it are those of suite 2.
    ``disclosures_reset_at`` is the time of the holder's last reset of the count of questions (``store/spending.py``). From
    ``forgotten_at`` on, the former secret of the binding is not used any more. ``secret_replaced`` is 1 if the issuer accepted another."""

    __tablename__ = "credentials"
    __table_args__ = (
        UniqueConstraint("issuer", "status_index"),
        Index(None, "holder", "created_at", "id"),
        Index(None, "issuer", "created_at", "id"),
        # The index that retention scans; ``ports/retention.py`` has the name of the erased holder.
        partial_index("ix_credentials_that_expire", "valid_until", where="holder <> 'did:erased:holder'"),
        # The rows from which a status list is computed.
        partial_index("ix_credentials_not_active", "issuer", "status", "status_index", where="status <> 'active'"),
    )

    id: str = Field(sa_type=Name, primary_key=True)
    issuer: str = Field(sa_type=Name)
    holder: str = Field(sa_type=Name)
    schema_id: str = Field(sa_type=Name)
    verification_method: str = Field(sa_type=Text)
    issuer_public_key: bytes = Field(sa_type=LargeBinary)
    valid_from: int = Field(sa_type=BigInteger)
    valid_until: int | None = Field(default=None, sa_type=BigInteger)
    status: str = Field(sa_type=Text)
    status_reason: str | None = Field(default=None, sa_type=Text)
    status_index: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=Integer)
    created_at: int = Field(sa_type=BigInteger)
    created_by: str = Field(sa_type=Text)
    sealed: bytes = Field(sa_type=LargeBinary)
    bound_header: bytes | None = Field(default=None, sa_type=LargeBinary)
    commitment: bytes | None = Field(default=None, sa_type=LargeBinary)
    handle: int | None = Field(default=None, sa_type=BigInteger)
    holder_secret: str | None = Field(default=None, sa_type=Text)
    disclosures_reset_at: int | None = Field(default=None, sa_type=BigInteger)
    forgotten_at: int | None = Field(default=None, sa_type=BigInteger)
    secret_replaced: int | None = Field(default=None, sa_type=Integer)


class HolderTagRow(StoreModel, table=True):
    """The tag T by which an issuer recognises a holder's secret (PROTOCOL-2.md §3.3): the one with the highest number. A former one
    stays, so that no other holder can have it."""

    __tablename__ = "holder_tags"
    __table_args__ = (PrimaryKeyConstraint("issuer", "tag"), UniqueConstraint("issuer", "holder", "number"))

    issuer: str = Field(sa_type=Name)
    tag: bytes = Field(sa_type=LargeBinary)
    holder: str = Field(sa_type=Name)
    number: int = Field(sa_type=BigInteger)


class StatusListRow(StoreModel, table=True):
    """An issuer's list: the number of its credentials, and the number of changes of its bits."""

    __tablename__ = "status_lists"
    __table_args__ = (UniqueConstraint("issuer", "number"),)

    id: str = Field(sa_type=Name, primary_key=True)
    issuer: str = Field(sa_type=Name)
    number: int = Field(sa_type=BigInteger)
    issued: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)
    changed_at: int = Field(sa_type=BigInteger)


class GapListRow(StoreModel, table=True):
    """An issuer's list of signed gaps; see ``StoredStatusGaps``."""

    __tablename__ = "gap_lists"

    id: str = Field(sa_type=Name, primary_key=True)
    issuer: str = Field(sa_type=Name)
    method: str = Field(sa_type=Text)
    period: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)


class GapHandleRow(StoreModel, table=True):
    """The handle of a credential. The row stays after the credential has expired, so that the handle is not assigned again."""

    __tablename__ = "gap_handles"
    __table_args__ = (
        PrimaryKeyConstraint("list_id", "handle"),
        UniqueConstraint("credential_id"),
        # The rows from which the list of an epoch is computed.
        partial_index("ix_gap_handles_listed", "list_id", "last_day", where="listed = 1"),
    )

    list_id: str = Field(sa_type=Name)
    handle: int = Field(sa_type=BigInteger)
    credential_id: str = Field(sa_type=Name)
    last_day: int = Field(sa_type=BigInteger)
    listed: int = Field(sa_type=Integer)


class DelegationRow(StoreModel, table=True):
    """One delegation. ``record`` is the JSON of the immutable fields that are not searched. Counters and state have columns, so
    that guarded statements can change them."""

    __tablename__ = "delegations"
    __table_args__ = (
        Index(None, "holder", "created_at", "id"),
        Index(None, "agent", "created_at", "id"),
        Index(None, "created_at", "id"),
    )

    id: str = Field(sa_type=Name, primary_key=True)
    holder: str = Field(sa_type=Name)
    agent: str = Field(sa_type=Name)
    grantor: str = Field(sa_type=Name)
    parent_id: str | None = Field(default=None, sa_type=Name)
    record: bytes = Field(sa_type=LargeBinary)
    not_before: int = Field(sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)
    max_uses: int | None = Field(default=None, sa_type=BigInteger)
    uses: int = Field(default=0, sa_type=BigInteger)
    max_refusals: int | None = Field(default=None, sa_type=BigInteger)
    refusals: int = Field(default=0, sa_type=BigInteger)
    max_thresholds: int | None = Field(default=None, sa_type=BigInteger)
    suspended_reason: str | None = Field(default=None, sa_type=Text)
    revoked_at: int | None = Field(default=None, sa_type=BigInteger)
    revoked_by: str | None = Field(default=None, sa_type=Text)
    revocation_reason: str | None = Field(default=None, sa_type=Text)
    version: int = Field(default=1, sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)
    created_by: str = Field(sa_type=Text)


class DelegationThreshold(StoreModel, table=True):
    """A question (attribute, type and value, as a digest) that an agent chose under a delegation."""

    __tablename__ = "delegation_thresholds"
    __table_args__ = (PrimaryKeyConstraint("delegation_id", "digest"),)

    delegation_id: str = Field(sa_type=Name)
    digest: bytes = Field(sa_type=LargeBinary)


class IbctRevocationRow(StoreModel, table=True):
    """An IBCT that its invoker revoked, by the SHA-256 of its id or of its nonce (``kind``)."""

    __tablename__ = "ibct_revocations"
    __table_args__ = (PrimaryKeyConstraint("invoker", "kind", "digest"), Index(None, "keep_until"))

    invoker: str = Field(sa_type=Name)
    kind: str = Field(sa_type=Name)
    digest: bytes = Field(sa_type=LargeBinary)
    keep_until: int = Field(sa_type=BigInteger)
    revoked_at: int = Field(sa_type=BigInteger)
