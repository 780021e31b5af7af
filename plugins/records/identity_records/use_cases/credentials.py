"""getCredentialStats: the numbers of credentials that an issuer issued, by schema and state."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_codec.times import micros, moment
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden
from identity_core.ports.clock import Clock
from identity_core.store.records import Repository
from identity_core.use_cases.credentials.read import READ
from identity_records.wire import GetCredentialStatsQuery

SOON: Final = timedelta(days=30)
_COUNTS: Final = """
SELECT schema_id, status, sum(CASE WHEN valid_until > :now THEN 1 WHEN valid_until IS NULL THEN 1 ELSE 0 END), count(*),
sum(CASE WHEN valid_until > :now AND valid_until <= :soon THEN 1 ELSE 0 END)
FROM credentials WHERE issuer = :issuer GROUP BY schema_id, status ORDER BY schema_id
"""
_CHANGED: Final = "SELECT max(changed_at) FROM status_lists WHERE issuer = :issuer"


class CredentialCounts(Struct):
    """The numbers of credentials of one schema. ``valid`` and ``ending`` are neither suspended, revoked nor expired."""

    valid: int = 0
    suspended: int = 0
    revoked: int = 0
    ending: int = 0


class StoredCredentialCounts(Repository):
    """Counts of the rows of ``credentials``. The cost is linear in the number of credentials of the issuer."""

    async def count(self, issuer: str, now: datetime) -> Mapping[str, CredentialCounts]:
        """Return the counts by schema id."""
        times = {"now": micros(now), "soon": micros(now + SOON)}
        found = dict[str, CredentialCounts]()
        for schema_id, status, live, total, ending in await self._rows(_COUNTS, {"issuer": issuer, **times}):
            counts = found.setdefault(schema_id, CredentialCounts())
            if status == "active":
                counts.valid, counts.ending = int(live), int(ending)
            else:
                setattr(counts, status, total)
        return found

    async def changed_at(self, issuer: str) -> datetime | None:
        """Return when a status list of the issuer changed last; None before its first credential."""
        ((changed_at,),) = await self._rows(_CHANGED, {"issuer": issuer})
        return None if changed_at is None else moment(changed_at)


class GetCredentialStats(Struct, frozen=True):
    """Use case getCredentialStats, for the issuer and operators. Raises ``InvalidDid``, ``Forbidden``."""

    stored: StoredCredentialCounts
    clock: Clock

    async def __call__(
        self, query: GetCredentialStatsQuery, caller: Caller
    ) -> tuple[Mapping[str, CredentialCounts], datetime | None]:
        """Return the counts by schema id, and when a status list of the issuer changed last."""
        did = Did.parse(query.issuer_did)
        caller.require_scope(READ)
        if caller.api_key is not None:
            caller.api_key.require_target(did)
        elif caller.acting != did:
            raise Forbidden("Only the issuer counts its credentials.")
        return await self.stored.count(str(did), self.clock.now()), await self.stored.changed_at(str(did))
