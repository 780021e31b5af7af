"""Delegations, and IBCTs called back."""

from __future__ import annotations

import secrets
from datetime import timedelta

from identity_core.api.delegations import DelegationHandlers
from identity_core.bootstrap.runtime import Runtime
from identity_core.domain.autonomy import AutonomyTable
from identity_core.use_cases.delegations.access import DelegationAccess
from identity_core.use_cases.delegations.create import CreateDelegation
from identity_core.use_cases.delegations.get import GetDelegation
from identity_core.use_cases.delegations.journal import Journal
from identity_core.use_cases.delegations.list import ListDelegations
from identity_core.use_cases.delegations.resume import ResumeDelegation
from identity_core.use_cases.delegations.revoke import RevokeDelegation
from identity_core.use_cases.delegations.revoke_ibct import RevokeIbct
from identity_core.use_cases.delegations.suspend import SuspendDelegation


def delegation_handlers(opened: Runtime, autonomy: AutonomyTable) -> DelegationHandlers:
    """The handlers of the tag ``delegations``."""
    reader, store, clock, chosen = opened.reader, opened.store, opened.clock, opened.settings.delegation
    access = DelegationAccess(store.delegations)
    journal = Journal(store.audit, store.timeline)
    longest_life = timedelta(days=chosen.max_lifetime_days)
    leeway = timedelta(seconds=chosen.clock_leeway_seconds)
    return DelegationHandlers(
        reader=reader,
        create=CreateDelegation(reader, access, journal, clock, secrets.token_bytes, autonomy, longest_life),
        list=ListDelegations(store.delegations, clock),
        get=GetDelegation(access, clock),
        revoke=RevokeDelegation(access, journal, clock),
        suspend=SuspendDelegation(access, journal, clock),
        resume=ResumeDelegation(access, journal, clock),
        ibct=RevokeIbct(store.delegations, journal, clock, longest_life, leeway),
    )
