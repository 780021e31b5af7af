"""A delegation with its ancestors, and the rules of the whole chain (README.md).

A child must be narrower than its parent. This is checked when it is made and whenever it is used, because another program may have
written a row. Revocation, suspension and budgets of every record apply, so that a change of a delegation affects all of its descendants
at once, without a write.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from identity_client.action import Action, literal_of
from identity_codec.strict_json import JsonValue
from identity_core.domain.delegations.delegation import (
    MAX_DEPTH,
    Delegation,
    DelegationState,
    Suspension,
    broken,
    no_delegation,
)
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    DelegationExpired,
    DelegationInvalid,
    DelegationNotActive,
    DelegationNotNarrower,
    DelegationRevoked,
    InvalidRequest,
    ScopeMismatch,
)

MAX_CHAIN: Final = MAX_DEPTH + 1

# The state of a chain is the first of these states that any of its records has.
_ORDER: Final = (
    DelegationState.REVOKED,
    DelegationState.EXPIRED,
    DelegationState.EXHAUSTED,
    DelegationState.SUSPENDED,
    DelegationState.SCHEDULED,
)


class DelegationChain(Struct, frozen=True):
    """A delegation and its ancestors, the leaf first. Callers must call ``check_sound`` first."""

    records: tuple[Delegation, ...]

    @property
    def leaf(self) -> Delegation:
        """The delegation itself."""
        return self.records[0]

    @property
    def root(self) -> Delegation:
        """The delegation that the holder granted."""
        return self.records[-1]

    @property
    def effective_autonomy(self) -> int:
        """Return the lowest level of the chain; ``AutonomyTable`` has the installation's ceiling."""
        return min(record.autonomy_level for record in self.records)

    def state(self, now: datetime) -> DelegationState:
        """Return the worst state of any record: a child has the state of its ancestors."""
        states = {record.state(now) for record in self.records}
        return next((state for state in _ORDER if state in states), DelegationState.ACTIVE)

    def check_sound(self, holder: Did, agent: Did) -> None:
        """Check the chain. Raises ``DelegationInvalid``: when it does not lead from ``holder`` to ``agent``, or a record is not narrower
        than the next.

        The details are the same for every cause: a reference to a delegation of others reveals nothing, not even that it exists.
        """
        if self.leaf.holder != holder or self.leaf.agent != agent:
            raise no_delegation()
        try:
            self.check_links()
        except (DelegationInvalid, DelegationNotNarrower) as error:
            raise no_delegation() from error

    def check_links(self) -> None:
        """Check the part of ``check_sound`` that needs no parties; the error states the cause. Raises ``DelegationInvalid``. Raises
        ``DelegationNotNarrower``: when a child allows more than its parent."""
        root = self.root
        if len(self.records) > MAX_CHAIN or root.parent_id is not None or root.grantor != root.holder:
            raise broken("the chain does not end at a delegation of the holder")
        parties = [record.agent for record in self.records]
        if len({record.id for record in self.records}) < len(self.records) or len({*parties, root.holder}) <= len(
            parties
        ):
            raise broken("the chain meets a delegation or a party twice")
        for child, parent in zip(self.records, self.records[1:], strict=False):
            child.check_link(parent)
            child.check_narrower(parent)

    def check_state(self, now: datetime) -> None:
        """Check the state. Raises ``DelegationRevoked``, ``DelegationExpired`` or ``DelegationNotActive`` (not begun, or manually
        suspended).

        A delegation that a limit has suspended or exhausted passes: the transaction that uses up the IBCT decides about limits.
        """
        if any(record.revoked_at is not None for record in self.records):
            raise DelegationRevoked
        if any(now >= record.expires_at for record in self.records):
            raise DelegationExpired
        if any(record.suspended_reason is Suspension.MANUAL for record in self.records):
            raise DelegationNotActive(details={"status": DelegationState.SUSPENDED.value})
        if any(now < record.not_before for record in self.records):
            raise DelegationNotActive(details={"status": DelegationState.SCHEDULED.value})

    def check_covers(self, action: Action, value: JsonValue) -> None:
        """Check the grants. Raises ``ScopeMismatch``: when a record does not cover the action for this value."""
        if not all(record.covers(action, value) for record in self.records):
            raise ScopeMismatch(details={"reason": "no grant of the delegation covers the action"})

    def check_credential(self, credential_id: str) -> None:
        """Check the credential id. Raises ``ScopeMismatch``: when a record does not allow it. ``check_schema`` checks the schema, because
        a credential that does not exist has none."""
        if not all(_allows(record.credential_ids, credential_id) for record in self.records):
            raise ScopeMismatch(details={"reason": "the delegation does not allow this credential"})

    def check_schema(self, schema_id: str) -> None:
        """Check the schema. Raises ``ScopeMismatch``: when a record does not allow credentials of this schema."""
        if not all(_allows(record.schema_ids, schema_id) for record in self.records):
            raise ScopeMismatch(details={"reason": "the delegation does not allow this credential"})

    def check_verifier(self, domain: str | None) -> None:
        """Check the verifier. Raises ``ScopeMismatch``: when the delegation lists verifiers and the request is for another one, or
        none."""
        if not all(record.verifiers is None or domain in record.verifiers for record in self.records):
            raise ScopeMismatch(details={"reason": "the delegation does not allow this verifier"})

    def is_pinned(self, action: Action) -> bool:
        """Return whether the holder left exactly one value: by the pin of the IBCT, or because all grants of the root for this
        attribute and type have the same pin. If there are several values, the agent chooses one. Pins that agents add further
        down restrict the predicate, but they are not the holder's approval of the value."""
        if action.pin is not None:
            return True
        pins = {grant.pin for grant in self.root.grants if grant.names(action)}
        return len(pins) == 1 and None not in pins

    def pins(self, action: Action) -> frozenset[str]:
        """Return the pins that apply to the action: its own, or those of the grants for its attribute and type."""
        if action.pin is not None:
            return frozenset({action.pin})
        return frozenset(
            grant.pin
            for record in self.records
            for grant in record.grants
            if grant.pin is not None and grant.names(action)
        )

    def only_value(self, action: Action) -> JsonValue:
        """Return the value for a request that omits it. Raises ``InvalidRequest``: unless exactly one pin applies and has a value."""
        pins = self.pins(action)
        value = literal_of(next(iter(pins))) if len(pins) == 1 else None
        if value is None:
            raise InvalidRequest(
                "The predicate needs a value: no single pin supplies it.", details={"member": "predicate.value"}
            )
        return value


def _allows(listed: tuple[str, ...] | None, name: str) -> bool:
    return listed is None or name in listed
