"""Stores of credentials, their schemas, their status lists and delegations. Every write is durable on return.

Nothing here is a secret in the clear: ``sealed`` is a box that the use cases close and open (``use_cases/credentials``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from identity_codec.values import value_class
from identity_core.domain.credentials.credential import Credential, CredentialStatus, StatusPurpose
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import Delegation
from identity_core.domain.dids.did import Did
from identity_core.ports.repositories import RowPosition


@value_class
class RegisteredSchema:
    """A schema and who registered it (``Caller.author``)."""

    definition: CredentialSchema
    created_at: datetime
    created_by: str


@value_class
class SchemaPage:
    """Schemas in order of id, and whether more follow."""

    items: Sequence[RegisteredSchema]
    is_last: bool


class CredentialSchemas(Protocol):
    """Schemas by id."""

    async def get(self, schema_id: str) -> RegisteredSchema | None:
        """The schema, or None."""

    async def add(self, schema: RegisteredSchema) -> bool:
        """Stores it; False when the id is taken, and nothing changed."""

    async def list(self, *, after: str | None, limit: int, octets: int) -> SchemaPage:
        """In order of id, those after ``after`` first; no more than ``limit``, and than fit into ``data``, but one."""


@value_class
class CredentialFilter:
    """Which credentials a list shows. ``party`` is a DID that must be holder or issuer; None asks for nothing."""

    party: str | None = None
    holder: str | None = None
    issuer: str | None = None
    status: CredentialStatus | None = None


@value_class
class StatusList:
    """The bits of one list of the DID ``issuer``. ``version`` counts its changes, ``changed_at`` is the time of the last one,
    ``set_indexes`` are the places of the bits that are set."""

    issuer: str
    version: int
    changed_at: datetime
    set_indexes: Sequence[int]


class Credentials(Protocol):
    """Credentials by id, each with a place in its issuer's status lists."""

    async def get(self, credential_id: str) -> Credential | None:
        """The credential, or None."""

    async def sealed(self, credential_id: str) -> bytes | None:
        """The box with its values and signature, or None."""

    async def add(
        self, credential: Credential, sealed: bytes, tag: bytes | None = None, *, random: Callable[[int], bytes]
    ) -> Credential | None:
        """Stores it at a free random place of its issuer's status lists and returns it with that ``status_index``; the one
        it came with is not looked at. None when the id is taken, and nothing changed.

        ``tag`` is T of the holder's secret (PROTOCOL-2.md §3.2), None where it is unknown. An issuer has one for a holder, and a holder's
        is no other holder's. Raises ``Conflict`` for another one, unless ``binding.secret_replaced``: the record states then whether it
        is another one."""

    async def list(self, wanted: CredentialFilter, *, after: RowPosition | None, limit: int) -> Sequence[Credential]:
        """Newest first, those after ``after``."""

    async def set_status(
        self, credential: Credential, status: CredentialStatus, reason: str | None, now: datetime
    ) -> Credential | None:
        """The next version with this status, its status lists told. None when ``credential`` is not the newest version any
        more, and nothing changed."""

    async def reset_disclosures(self, credential_id: str, holder: str, now: datetime) -> bool:
        """Begins the count of questions about it anew, for delegations that are made after ``now``. False when ``holder`` does not hold it,
        and nothing changed. A reset is never put back to an earlier time."""

    async def status_list(self, list_id: str, purpose: StatusPurpose) -> StatusList | None:
        """Return the bits of a list, or None if the list does not exist."""

    async def status_at(self, list_id: str, place: int) -> CredentialStatus | None:
        """The status of the credential at a place below ``status_list.ENTRIES``, or None where there is none."""

    async def status_list_version(self, list_id: str) -> int | None:
        """The version of a list, cheaply, or None."""


class CopyStatus(Protocol):
    """The status of the credential that a wallet's copy was made from."""

    async def __call__(self, claims: Mapping[str, Any]) -> CredentialStatus | None:
        """Return the status that the ``claims`` of a copy refer to, None if they refer to none. Raises ``ValueError``: when the service
        does not know it."""


class UnknownCopyStatus(CopyStatus):
    """The status of copies in a service that makes no copies: every status that a copy refers to is unknown."""

    async def __call__(self, claims: Mapping[str, Any]) -> CredentialStatus | None:
        if "status" in claims:
            raise ValueError("its status is not looked up by this service")
        return None


@value_class
class DelegationFilter:
    """Which delegations a list shows. ``party`` is a DID that must be holder or agent, ``holders`` are DIDs of which the holder
    must be one; None asks for nothing."""

    party: str | None = None
    holders: frozenset[str] | None = None
    holder: str | None = None
    agent: str | None = None


IbctMember = Literal["id", "nonce"]
"""The member by which an IBCT is called back."""


class Delegations(Protocol):
    """Delegations by id, and IBCTs that were called back."""

    async def chain(self, delegation_id: str) -> DelegationChain | None:
        """The delegation and those that it descends from, as they are stored and not yet checked; None for an unknown id. Of a
        chain that is too long or goes in a circle it gives one record more than a chain may have."""

    async def add(self, delegation: Delegation) -> None:
        """Stores a new one."""

    async def list(
        self, wanted: DelegationFilter, *, after: RowPosition | None, limit: int
    ) -> Sequence[DelegationChain]:
        """Newest first, those after ``after``."""

    async def revoke(self, delegation_id: str, by: str, reason: str | None, now: datetime) -> DelegationChain | None:
        """Revokes it for good, and returns its chain as it is then. None when it was revoked before or is unknown, and nothing changed."""

    async def suspend(self, delegation_id: str, now: datetime) -> DelegationChain | None:
        """Suspends it by hand, and returns its chain as it is then. None when it is suspended, revoked or expired, and nothing changed."""

    async def resume(self, delegation_id: str, now: datetime) -> DelegationChain | None:
        """Ends a suspension; one by a limit also gives that limit's questions back. Returns its chain as it is then. None when it is not
        suspended, or revoked or expired, and nothing changed."""

    async def revoke_ibct(
        self, invoker: Did, member: IbctMember, value: str, *, keep_until: datetime, now: datetime
    ) -> datetime:
        """Store the revocation at least until ``keep_until``, and return when the IBCT was first revoked. Delete some revocations of
        IBCTs that cannot be used any more."""
