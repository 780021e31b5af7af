"""A delegation with those that it descends from: what holds along the whole chain (README.md).

A child is narrower than its parent when it is made, and again whenever it is used, because a row may have been written by other
hands. Revocation, suspension and budgets are those of every record, so that what happens to a delegation happens at once to
everything below it, without a write.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from identity_client.action import Action, literal_of
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
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

# The first of these that any record of a chain is in is the state of the chain.
_ORDER: Final = (
    DelegationState.REVOKED,
    DelegationState.EXPIRED,
    DelegationState.EXHAUSTED,
    DelegationState.SUSPENDED,
    DelegationState.SCHEDULED,
)


@value_class
class DelegationChain:
    """A delegation and those that it descends from, the leaf first. ``check_sound`` comes before everything else."""

    records: tuple[Delegation, ...]

    @property
    def leaf(self) -> Delegation:
        """The delegation itself."""
        return self.records[0]

    @property
    def root(self) -> Delegation:
        """The one that the holder gave."""
        return self.records[-1]

    @property
    def effective_autonomy(self) -> int:
        """The lowest level of the chain; ``AutonomyTable`` knows the installation's ceiling."""
        return min(record.autonomy_level for record in self.records)

    def state(self, now: datetime) -> DelegationState:
        """The worst state of any record: a child is what its ancestors are."""
        states = {record.state(now) for record in self.records}
        return next((state for state in _ORDER if state in states), DelegationState.ACTIVE)

    def check_sound(self, holder: Did, agent: Did) -> None:
        """Raises ``DelegationInvalid`` unless the chain leads from ``holder`` to ``agent``, each record narrower than the next.

        The details are the same for every cause: a reference to a delegation of others reveals nothing, not even that it exists.
        """
        if self.leaf.holder != holder or self.leaf.agent != agent:
            raise no_delegation()
        try:
            self.check_links()
        except (DelegationInvalid, DelegationNotNarrower) as error:
            raise no_delegation() from error

    def check_links(self) -> None:
        """The part of ``check_sound`` that needs no parties; it says what is wrong. Raises ``DelegationInvalid`` or, for a child that
        allows more than its parent, ``DelegationNotNarrower``."""
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
        """Raises ``DelegationRevoked``, ``DelegationExpired`` or ``DelegationNotActive`` (not begun, suspended by hand).

        What a limit has suspended or exhausted passes here: that is decided in the transaction that spends.
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
        """Raises ``ScopeMismatch`` unless every record covers the action for this value."""
        if not all(record.covers(action, value) for record in self.records):
            raise ScopeMismatch(details={"reason": "no grant of the delegation covers the action"})

    def check_credential(self, credential_id: str) -> None:
        """Raises ``ScopeMismatch`` unless every record allows the credential. Its schema is for ``check_schema``, because a credential that
        does not exist has none."""
        if not all(_allows(record.credential_ids, credential_id) for record in self.records):
            raise ScopeMismatch(details={"reason": "the delegation does not allow this credential"})

    def check_schema(self, schema_id: str) -> None:
        """Raises ``ScopeMismatch`` unless every record allows credentials of this schema."""
        if not all(_allows(record.schema_ids, schema_id) for record in self.records):
            raise ScopeMismatch(details={"reason": "the delegation does not allow this credential"})

    def check_verifier(self, domain: str | None) -> None:
        """Raises ``ScopeMismatch`` where the delegation lists verifiers and the request is for another one, or for none."""
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
        """The pins that apply to the action: its own, or those of the grants that are about its attribute and type."""
        if action.pin is not None:
            return frozenset({action.pin})
        return frozenset(
            grant.pin
            for record in self.records
            for grant in record.grants
            if grant.pin is not None and grant.names(action)
        )

    def only_value(self, action: Action) -> JsonValue:
        """The value of a request that leaves it out. Raises ``InvalidRequest`` unless one pin applies and tells its value."""
        pins = self.pins(action)
        value = literal_of(next(iter(pins))) if len(pins) == 1 else None
        if value is None:
            raise InvalidRequest(
                "The predicate needs a value: no single pin supplies it.", details={"member": "predicate.value"}
            )
        return value


def _allows(listed: tuple[str, ...] | None, name: str) -> bool:
    return listed is None or name in listed
