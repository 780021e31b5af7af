"""From delegations to the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from identity_core.api import did_render
from identity_core.api.authors import author
from identity_core.domain.caller import Caller
from identity_core.domain.times import printed
from identity_core.errors import JsonValue
from identity_core.ports.delegations import DelegationPosition
from identity_core.use_cases.delegations.access import ShownDelegation
from identity_core.use_cases.delegations.list import DelegationPage
from identity_core.use_cases.delegations.revoke_ibct import IbctToRevoke, RevokedIbct

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def record(shown: ShownDelegation, reader: Caller) -> dict[str, JsonValue]:
    """``Delegation`` of the document, for ``reader``."""
    one = shown.delegation
    return {
        "id": one.id,
        "uri": f"urn:uuid:{one.id}",
        "holderDid": str(one.holder),
        "agentDid": str(one.agent),
        "grantorDid": str(one.grantor),
        "parentId": one.parent_id,
        "actions": [str(grant) for grant in one.grants],
        "predicates": [dict(predicate) for predicate in one.predicates],
        "credentialIds": _listed(one.credential_ids),
        "schemaIds": _listed(one.schema_ids),
        "verifiers": _listed(one.verifiers),
        "autonomyLevel": one.autonomy_level,
        "effectiveAutonomyLevel": shown.effective_autonomy,
        "maxUses": one.max_uses,
        "uses": one.uses,
        "maxRefusals": one.max_refusals,
        "refusals": one.refusals,
        "maxThresholds": one.max_thresholds,
        "thresholds": one.thresholds,
        "maxDepth": one.max_depth,
        "notBefore": printed(one.not_before),
        "expiresAt": printed(one.expires_at),
        "purpose": one.purpose,
        "status": shown.status.value,
        "suspendedReason": None if one.suspended_reason is None else one.suspended_reason.value,
        "createdAt": printed(one.created_at),
        "createdBy": author(one.created_by, reader),
        "revokedAt": None if one.revoked_at is None else printed(one.revoked_at),
        "revokedBy": None if one.revoked_by is None else author(one.revoked_by, reader),
        "revocationReason": one.revocation_reason,
        "version": one.version,
        "holderProof": _object(one.holder_proof),
        "signedRequest": _object(one.signed_request),
    }


def page(found: DelegationPage, reader: Caller) -> dict[str, JsonValue]:
    """``DelegationList`` of the document."""
    return {
        "items": [record(shown, reader) for shown in found.items],
        "nextCursor": None if found.end is None else cursor(found.end),
    }


def cursor(end: DelegationPosition) -> str:
    """The opaque form of where a page ended."""
    return did_render.cursor(f"{(end.created_at - _EPOCH) // timedelta(microseconds=1)} {end.id}")


def revoked_ibct(wish: IbctToRevoke, revoked: RevokedIbct) -> dict[str, JsonValue]:
    """``RevokedIbct`` of the document."""
    return {
        "invoker": str(wish.invoker),
        wish.member: wish.value,
        "revokedAt": printed(revoked.revoked_at),
        "keptUntil": printed(revoked.keep_until),
    }


def _listed(names: Sequence[str] | None) -> JsonValue:
    return None if names is None else [*names]


def _object(value: Mapping[str, JsonValue] | None) -> JsonValue:
    return None if value is None else dict(value)
