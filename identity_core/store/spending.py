"""The counting half of an invocation: revocations, uses, refusals, and how many questions an agent may choose itself.

Everything here runs inside the transaction that takes the nonce. A use of a delegation is a use of every record of its chain, and
so are its refusals and thresholds; else an agent could pass its limits on to itself, many times over.
"""

from __future__ import annotations

from typing import Final

from identity_core.database import Transaction
from identity_core.domain.delegation import Suspension
from identity_core.domain.errors import (
    CredentialNotFound,
    CredentialRevoked,
    DelegationExhausted,
    DelegationInvalid,
    DelegationNotActive,
    DelegationRevoked,
    DelegationSuspended,
    DisclosureLimit,
    IbctRevoked,
    IdentityError,
    JsonValue,
)
from identity_core.ports.invocations import Invocation, Question, Spending
from identity_core.store.times import micros

ACTIVE: Final = "active"

_DELEGATION = "SELECT revoked_at, suspended_reason, max_uses, uses FROM delegations WHERE id = :id"
# In one statement, because each costs the operation more in Python than in the database.
_IBCT_AND_CREDENTIAL = """
SELECT (SELECT count(*) FROM ibct_revocations WHERE invoker = :invoker
AND ((kind = 'id' AND digest = :id_digest) OR (kind = 'nonce' AND digest = :nonce_digest))),
(SELECT status FROM credentials WHERE id = :credential_id)
"""
# The guard and the increment are one statement, so that no two requests can have the last use.
_USE = """
UPDATE delegations SET uses = uses + 1, refusals = refusals + :refused, suspended_reason = CASE
WHEN :refused > 0 AND max_refusals IS NOT NULL AND refusals + :refused >= max_refusals THEN :reason
ELSE suspended_reason END
WHERE id = :id AND revoked_at IS NULL AND suspended_reason IS NULL AND (max_uses IS NULL OR uses < max_uses)
RETURNING refusals, max_refusals, max_thresholds
"""
_ADD_THRESHOLD = """
INSERT INTO delegation_thresholds (delegation_id, digest) VALUES (:id, :digest) ON CONFLICT DO NOTHING
"""
_COUNT_THRESHOLDS = "SELECT count(*) FROM delegation_thresholds WHERE delegation_id = :id"
_FORGET_DISCLOSURES = """
DELETE FROM disclosures WHERE credential_id = :credential_id AND attribute = :attribute AND at <= :since
"""
_ADD_DISCLOSURE = """
INSERT INTO disclosures (credential_id, attribute, digest, at) VALUES (:credential_id, :attribute, :digest, :at)
ON CONFLICT (credential_id, attribute, digest) DO UPDATE SET at = excluded.at
"""
_COUNT_DISCLOSURES = "SELECT count(*) FROM disclosures WHERE credential_id = :credential_id AND attribute = :attribute"


def revoked(transaction: Transaction, invocation: Invocation, spending: Spending) -> IdentityError | None:
    """The refusal that an invocation gets because something was revoked since it was looked at, or None."""
    for delegation_id in spending.delegations:
        row = transaction.execute(_DELEGATION, {"id": delegation_id}).fetchone()
        if row is None:
            return DelegationInvalid()
        if row[0] is not None:
            return DelegationRevoked()
    parameters = {
        "invoker": invocation.invoker,
        "id_digest": invocation.id_digest,
        "nonce_digest": invocation.nonce_digest,
        "credential_id": spending.credential_id,
    }
    ibct_revocations, status = transaction.execute(_IBCT_AND_CREDENTIAL, parameters).fetchone()
    if ibct_revocations:
        return IbctRevoked()
    if status is None:
        return CredentialNotFound()
    return None if status == ACTIVE else CredentialRevoked(details={"status": status})


def spend(transaction: Transaction, spending: Spending, now: int) -> dict[str, JsonValue]:
    """Counts one use and returns the counters that a refused agent may see.

    Raises ``DelegationExhausted``, ``DelegationSuspended``, ``DelegationNotActive``, ``DisclosureLimit``; the caller's transaction is
    then undone.
    """
    question = spending.question
    refused = int(question is not None and not spending.satisfied)
    counters: dict[str, JsonValue] = {}
    limits: list[tuple[str, int | None]] = []
    for delegation_id in spending.delegations:
        parameters = {"id": delegation_id, "refused": refused, "reason": Suspension.REFUSALS.value}
        row = transaction.execute(_USE, parameters).fetchone()
        if row is None:
            raise _unusable(transaction, spending)
        refusals, max_refusals, max_thresholds = row
        limits.append((delegation_id, max_thresholds))
        if question is not None and not counters:
            counters = {"refusals": refusals, "maxRefusals": max_refusals}
    if question is not None:
        for delegation_id, most in limits:
            _ask(transaction, delegation_id, most, question)
        _disclose(transaction, spending.credential_id, question, now)
    return counters


def _unusable(transaction: Transaction, spending: Spending) -> IdentityError:
    rows = [transaction.execute(_DELEGATION, {"id": one}).fetchone() for one in spending.delegations]
    if any(most is not None and uses >= most for _, _, most, uses in rows):
        return DelegationExhausted()
    reasons = [reason for _, reason, _, _ in rows if reason is not None]
    if Suspension.MANUAL.value in reasons:
        return DelegationNotActive(details={"status": "suspended"})
    return DelegationSuspended(details={"reason": reasons[0]} if reasons else {})


def _ask(transaction: Transaction, delegation_id: str, most: int | None, question: Question) -> None:
    parameters = {"id": delegation_id, "digest": question.digest}
    added = transaction.execute(_ADD_THRESHOLD, parameters).rowcount
    if not added or most is None:
        return
    (count,) = transaction.execute(_COUNT_THRESHOLDS, parameters).fetchone()
    if count > most:
        raise DisclosureLimit(details={"of": "delegation", "maxThresholds": most})


def _disclose(transaction: Transaction, credential_id: str, question: Question, now: int) -> None:
    """All agents together: whoever splits a search over many delegations meets the same limit."""
    parameters = {
        "credential_id": credential_id,
        "attribute": question.attribute,
        "digest": question.digest,
        "at": now,
        "since": micros(question.since),
    }
    transaction.execute(_FORGET_DISCLOSURES, parameters)
    transaction.execute(_ADD_DISCLOSURE, parameters)
    (count,) = transaction.execute(_COUNT_DISCLOSURES, parameters).fetchone()
    if count > question.most:
        raise DisclosureLimit(details={"of": "credential", "maxThresholds": question.most})
