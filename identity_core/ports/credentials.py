"""Stores of credentials, their schemas, their status lists and delegations. Every write is durable on return.

The stores never receive a secret in plaintext: ``sealed`` is a box that the use cases encrypt and decrypt (``use_cases/credentials``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from msgspec import Struct

from identity_core.domain.credentials.credential import Credential, CredentialStatus, StatusPurpose
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import Delegation
from identity_core.domain.dids.did import Did
from identity_core.ports.repositories import RowPosition


class RegisteredSchema(Struct, frozen=True):
    """A schema and the caller that registered it (``Caller.author``). ``titles`` contains the members ``title`` and ``titles`` for people:
    of each attribute by its name, of the schema by the empty name. No signature and no digest covers them."""

    definition: CredentialSchema
    created_at: datetime
    created_by: str
    titles: Mapping[str, Mapping[str, Any]] | None = None


class SchemaPage(Struct, frozen=True):
    """Schemas in order of id, and whether more follow."""

    items: Sequence[RegisteredSchema]
    is_last: bool


class CredentialSchemas(Protocol):
    """Schemas by id."""

    async def get(self, schema_id: str) -> RegisteredSchema | None:
        """Return the schema, or None."""

    async def add(self, schema: RegisteredSchema) -> bool:
        """Store the schema. Return False, without a change, if the id is taken."""

    async def list(self, *, after: str | None, limit: int, byte_count: int) -> SchemaPage:
        """Return the schemas after ``after`` in order of id: at most ``limit``, and at most ``byte_count`` bytes in all; at least one."""


class CredentialFilter(Struct, frozen=True):
    """A filter of credentials. ``party`` is a DID that must be holder or issuer. None does not restrict a member."""

    party: str | None = None
    holder: str | None = None
    issuer: str | None = None
    status: CredentialStatus | None = None


class StatusList(Struct, frozen=True):
    """The bits of one list of the DID ``issuer``. ``version`` counts its changes, ``changed_at`` is the time of the last one.
    ``set_indexes`` are the positions of the bits that are set."""

    issuer: str
    version: int
    changed_at: datetime
    set_indexes: Sequence[int]


class Credentials(Protocol):
    """Credentials by id, each with a place in its issuer's status lists."""

    async def get(self, credential_id: str) -> Credential | None:
        """Return the credential, or None."""

    async def sealed(self, credential_id: str) -> bytes | None:
        """Return the box with its values and signature, or None."""

    async def add(
        self, credential: Credential, sealed: bytes, tag: bytes | None = None, *, random: Callable[[int], bytes]
    ) -> Credential | None:
        """Store the credential at a free random place of its issuer's status lists. Return it with that ``status_index``; the given
        one is ignored. Return None, without a change, if the id is taken.

        ``tag`` is T of the holder's secret (PROTOCOL-2.md §3.2), None if it is unknown. An issuer has one tag for a holder, and no two
        holders share a tag. Raises ``Conflict``: when the tag differs, unless ``binding.secret_replaced``; the record then states
        whether it differs."""

    async def list(self, wanted: CredentialFilter, *, after: RowPosition | None, limit: int) -> Sequence[Credential]:
        """Return the credentials after ``after``, newest first."""

    async def set_status(
        self, credential: Credential, status: CredentialStatus, reason: str | None, now: datetime
    ) -> Credential | None:
        """Store the next version with this status, update its status lists, and return it. Return None, without a change, if
        ``credential`` is not the newest version any more."""

    async def reset_disclosures(self, credential_id: str, holder: str, now: datetime) -> bool:
        """Reset the count of questions about the credential, for delegations that are made after ``now``. Return False, without a
        change, if ``holder`` does not hold it. A reset never moves to an earlier time."""

    async def status_list(self, list_id: str, purpose: StatusPurpose) -> StatusList | None:
        """Return the bits of a list, or None if the list does not exist."""

    async def status_at(self, list_id: str, place: int) -> CredentialStatus | None:
        """Return the status of the credential at a place below ``status_list.ENTRIES``, or None if the place is free."""

    async def status_list_version(self, list_id: str) -> int | None:
        """Return the version of a list by a cheap query, or None if the list does not exist."""


class CopyStatus(Protocol):
    """The status of the credential that a wallet's copy was made from."""

    async def __call__(self, claims: Mapping[str, Any]) -> CredentialStatus | None:
        """Return the status to which the ``claims`` of a copy refer, or None if they refer to none. Raises ``ValueError``: when the
        service does not know it."""


class UnknownCopyStatus(CopyStatus):
    """The status of copies in a service that makes no copies: every referenced status is unknown."""

    async def __call__(self, claims: Mapping[str, Any]) -> CredentialStatus | None:
        if "status" in claims:
            raise ValueError("its status is not looked up by this service")
        return None


class DelegationFilter(Struct, frozen=True):
    """A filter of delegations. ``party`` is a DID that must be holder or agent. The holder must be one of ``holders``. None does not
    restrict a member."""

    party: str | None = None
    holders: frozenset[str] | None = None
    holder: str | None = None
    agent: str | None = None


# The member by which an IBCT is revoked.
IbctMember = Literal["id", "nonce"]


class Delegations(Protocol):
    """Delegations by id, and revoked IBCTs."""

    async def chain(self, delegation_id: str) -> DelegationChain | None:
        """Return the delegation and its ancestors, as they are stored and not yet checked; None for an unknown id. If a chain is too
        long or circular, it has one record more than the limit of a chain."""

    async def add(self, delegation: Delegation) -> None:
        """Store a new delegation."""

    async def list(
        self, wanted: DelegationFilter, *, after: RowPosition | None, limit: int
    ) -> Sequence[DelegationChain]:
        """Return the delegations after ``after``, newest first."""

    async def revoke(self, delegation_id: str, by: str, reason: str | None, now: datetime) -> DelegationChain | None:
        """Revoke the delegation permanently and return its new chain. Return None, without a change, if it is revoked or unknown."""

    async def suspend(self, delegation_id: str, now: datetime) -> DelegationChain | None:
        """Suspend the delegation manually and return its new chain. Return None, without a change, if it is suspended, revoked or
        expired."""

    async def resume(self, delegation_id: str, now: datetime) -> DelegationChain | None:
        """End a suspension and return the new chain. If a limit caused the suspension, the questions of that limit are reset too. Return
        None, without a change, if the delegation is not suspended, or is revoked or expired."""

    async def revoke_ibct(
        self, invoker: Did, member: IbctMember, value: str, *, keep_until: datetime, now: datetime
    ) -> datetime:
        """Store the revocation at least until ``keep_until``, and return when the IBCT was first revoked. Delete some revocations of
        IBCTs that cannot be used any more."""
