"""Delegations: the permissions that a holder grants an agent, further delegation, and validity (README.md).

A delegation is an upper limit; the holder signs an IBCT for each use of it. A child descends from the delegation of the agent that grants
it and is narrower in every dimension. ``chain`` has the rules of a chain of delegations.

Autonomy levels are integers from 0 to 5; a higher one means less involvement of people, as in SAE J3016. A table of the installation has
the level that a request needs. The level of an agent is the lowest one of its chain of delegations, under the installation's ceiling.

The holder may sign a delegation: ``eddsa-jcs-2022`` (VC Data Integrity EdDSA 1.0 §3.3), purpose ``capabilityDelegation``. A proof does not
need this signature, because the holder signs every IBCT. It shows an auditor that the holder requested the record. The signed document is
the request that made the record, without ``holderProof`` itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from identity_client.action import Action, Grant
from identity_client.data_integrity import CRYPTOSUITE, PROOF_TYPE, check_proof_options, proof_input
from identity_codec import ed25519, multibase
from identity_codec.strict_json import JsonValue
from identity_core.domain.activity import DelegationChanged, Event, Parties
from identity_core.domain.dids import keys
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.errors import AutonomyTooLow, DelegationInvalid, DelegationNotNarrower, InvalidDocument

MAX_DEPTH: Final = 8
MAX_GRANTS: Final = 64
DEFAULT_MAX_REFUSALS: Final = 1
DEFAULT_MAX_THRESHOLDS: Final = 3


class DelegationState(StrEnum):
    """The derived status of a delegation."""

    SCHEDULED = "scheduled"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    EXHAUSTED = "exhausted"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Suspension(StrEnum):
    """The cause of a suspension: manual, or the number of refused questions reached the holder's limit."""

    MANUAL = "manual"
    REFUSALS = "refusals"


FINAL: Final = frozenset({DelegationState.REVOKED, DelegationState.EXPIRED, DelegationState.EXHAUSTED})
"""The states that no delegation leaves."""


class Delegation(Struct, frozen=True):
    """One record. None in a list or a limit means: any, without limit. ``grants`` contains the compiled ``predicates`` too.

    ``uses``, ``refusals`` and ``thresholds`` count for this record and all of its descendants: a use of a child is a
    use of every record of its chain. ``created_by`` and ``revoked_by`` are a DID, or ``apiKey:`` and a fingerprint.
    ``holder_proof`` is the holder's signature over ``signed_request``, the request that made the record.
    """

    id: str
    holder: Did
    agent: Did
    grantor: Did
    parent_id: str | None
    grants: tuple[Grant, ...]
    credential_ids: tuple[str, ...] | None
    schema_ids: tuple[str, ...] | None
    verifiers: tuple[str, ...] | None
    autonomy_level: int
    max_uses: int | None
    max_refusals: int | None
    max_thresholds: int | None
    max_depth: int
    not_before: datetime
    expires_at: datetime
    created_at: datetime
    created_by: str
    purpose: str | None = None
    predicates: tuple[Mapping[str, JsonValue], ...] = ()
    holder_proof: Mapping[str, JsonValue] | None = None
    signed_request: Mapping[str, JsonValue] | None = None
    uses: int = 0
    refusals: int = 0
    thresholds: int = 0
    suspended_reason: Suspension | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    revocation_reason: str | None = None
    version: int = 1

    def state(self, now: datetime) -> DelegationState:
        """Return the state of this record alone; that of its chain may be worse."""
        if self.revoked_at is not None:
            return DelegationState.REVOKED
        if now >= self.expires_at:
            return DelegationState.EXPIRED
        if self.max_uses is not None and self.uses >= self.max_uses:
            return DelegationState.EXHAUSTED
        if self.suspended_reason is not None:
            return DelegationState.SUSPENDED
        return DelegationState.SCHEDULED if now < self.not_before else DelegationState.ACTIVE

    def event(self, kind: str) -> Event:
        """Return an event of the delegation; ``kind`` is its name, such as ``delegation.created``."""
        holder, agent = str(self.holder), str(self.agent)
        parties = Parties(holder=holder, agent=agent, delegation_id=self.id)
        return DelegationChanged(kind, holder, parties, details={"delegationId": self.id, "agent": agent})

    def covers(self, action: Action, value: JsonValue) -> bool:
        """Return whether a grant covers the action for this value."""
        return any(grant.covers(action, value) for grant in self.grants)

    def check_link(self, parent: Delegation) -> None:
        """Check the link to ``parent``, independent of the permissions. Raises ``DelegationInvalid``: when this record cannot descend
        from it."""
        if self.parent_id != parent.id or self.holder != parent.holder:
            raise broken("the parent is another delegation, or another holder's")
        if self.grantor != parent.agent:
            raise broken("the grantor is not the agent of the parent")
        if parent.max_depth < 1:
            raise broken("the parent may not be passed on")

    def check_narrower(self, parent: Delegation) -> None:
        """Check that this record allows no more than ``parent``. Raises ``DelegationNotNarrower``; ``details.member`` names the first
        dimension in which it allows more."""
        for member, narrower in (
            ("actions", all(any(own.is_within(other) for other in parent.grants) for own in self.grants)),
            ("credentialIds", _subset(self.credential_ids, parent.credential_ids)),
            ("schemaIds", _subset(self.schema_ids, parent.schema_ids)),
            ("verifiers", _subset(self.verifiers, parent.verifiers)),
            ("autonomyLevel", self.autonomy_level <= parent.autonomy_level),
            ("maxUses", _at_most(self.max_uses, parent.max_uses)),
            ("maxRefusals", _at_most(self.max_refusals, parent.max_refusals)),
            ("maxThresholds", _at_most(self.max_thresholds, parent.max_thresholds)),
            ("maxDepth", self.max_depth < parent.max_depth),
            ("notBefore", self.not_before >= parent.not_before),
            ("expiresAt", self.expires_at <= parent.expires_at),
        ):
            if not narrower:
                raise DelegationNotNarrower(details={"member": member})


def no_delegation() -> DelegationInvalid:
    """Return the refusal of a ``delegationRef``. It is the same for every cause, so that it reveals nothing of others' delegations."""
    return DelegationInvalid(details={"remedies": ["createDelegation; its id is the delegationRef"]})


def broken(reason: str) -> DelegationInvalid:
    """Return the refusal of an invalid chain."""
    return DelegationInvalid(details={"reason": reason})


def _subset(own: tuple[str, ...] | None, others: tuple[str, ...] | None) -> bool:
    return others is None or (own is not None and set(own) <= set(others))


def _at_most(own: int | None, other: int | None) -> bool:
    return other is None or (own is not None and own <= other)


HIGHEST: Final = 5


class AutonomyTable(Struct, frozen=True):
    """The levels that requests need. ``pinned``: a proof of a value that the holder fixed. ``chosen``: a proof of a value that the agent
    chose. ``anchor``: the addition to either for ``anchor: true``, because ledger entries are permanent. ``delegate``: a delegation to
    another agent. ``metadata``: reading a credential without its values. ``ceiling``: the maximum level of every agent."""

    metadata: int = 1
    pinned: int = 2
    chosen: int = 3
    anchor: int = 1
    delegate: int = 5
    ceiling: int = HIGHEST

    def required_autonomy(self, *, pinned: bool, anchor: bool) -> int:
        """Return the autonomy that a proof requires."""
        return (self.pinned if pinned else self.chosen) + (self.anchor if anchor else 0)

    def check_proof(self, level: int, *, pinned: bool, anchor: bool) -> None:
        """Check the level for a proof. Raises ``AutonomyTooLow``: when it is too low; ``details.remedies`` list all remedies."""
        required = self.required_autonomy(pinned=pinned, anchor=anchor)
        remedies = []
        if not pinned and level >= self.required_autonomy(pinned=True, anchor=anchor):
            remedies.append("let the holder pin the value: in the action of the IBCT, or in a grant of the delegation")
        if anchor and level >= self.required_autonomy(pinned=pinned, anchor=False):
            remedies.append("send anchor: false")
        if not pinned and anchor and not remedies and level >= self.pinned:
            remedies.append("let the holder pin the value, and send anchor: false")
        self._check(level, required, remedies)

    def check_metadata(self, level: int) -> None:
        """Check the level for metadata. Raises ``AutonomyTooLow``: when the agent may not read a credential's metadata."""
        self._check(level, self.metadata, [])

    def check_delegate(self, level: int) -> None:
        """Check the level for a delegation. Raises ``AutonomyTooLow``: when the agent may not delegate further."""
        self._check(level, self.delegate, ["let the holder delegate to the other agent"])

    def _check(self, level: int, required: int, remedies: Sequence[str]) -> None:
        effective = min(level, self.ceiling)
        if effective >= required:
            return
        named: list[JsonValue] = [*remedies]
        if required <= self.ceiling:
            named.append(f"let the holder delegate with autonomyLevel {required} or more")
        raise AutonomyTooLow(details={"required": required, "effective": effective, "remedies": named})


def check_holder_proof(
    proof: Mapping[str, JsonValue], request: Mapping[str, JsonValue], document: DidDocument, now: datetime
) -> None:
    """Verify the holder's signature of ``request``. Raises ``DelegationInvalid``: when no key that the holder's ``document`` allows to
    delegate has signed it."""
    if (proof.get("type"), proof.get("cryptosuite"), proof.get("proofPurpose")) != (
        PROOF_TYPE,
        CRYPTOSUITE,
        keys.CAPABILITY_DELEGATION,
    ):
        reason = "its type, cryptosuite or purpose is another"
        raise DelegationInvalid(details={"member": "holderProof", "reason": reason})
    try:
        check_proof_options(proof, now)
        check_holder_signature(proof, request, document, now)
    except (LookupError, ValueError) as error:
        raise DelegationInvalid(details={"member": "holderProof", "reason": str(error)}) from error


def check_holder_signature(
    proof: Mapping[str, JsonValue], signed: Mapping[str, JsonValue], document: DidDocument, now: datetime
) -> str:
    """Return the multikey of the holder's ``document`` that made the ``proof`` of ``signed`` (``eddsa-jcs-2022``).

    Raises ``LookupError``: the document names no such key for the proof's purpose. Raises ``ValueError``: the signature is wrong.
    """
    method = document.method(str(proof.get("verificationMethod")))
    if (
        method is None
        or method.type != keys.ED25519.name
        or method.id not in document.related(str(proof.get("proofPurpose")))
        or (method.revoked is not None and method.revoked <= now)
    ):
        raise LookupError(f"the holder's document names no such key for {proof.get('proofPurpose')}")
    config = {name: value for name, value in proof.items() if name != "proofValue"}
    try:
        signature = multibase.base58btc_decode(str(proof.get("proofValue")))
        ed25519.verify(keys.PublicKey.parse(method.type, method.multibase).raw, proof_input(config, signed), signature)
    except (ValueError, InvalidDocument, ed25519.Ed25519SignatureInvalid) as error:
        raise ValueError("the holder's signature is wrong") from error
    return method.multibase
