"""The counting half of an invocation: revocations, uses, refusals, and how many questions an agent may choose itself.

Everything here runs inside the transaction that takes the nonce, and such transactions run one after the other: what ``limited`` has
read still holds when ``count`` writes. A use of a delegation is a use of every record of its chain, and so are its refusals and
thresholds; else an agent could pass its limits on to itself, many times over.
"""

from __future__ import annotations

from typing import Final

from identity_core.codec.times import micros
from identity_core.database import Transaction
from identity_core.domain.delegations.delegation import Suspension
from identity_core.errors import (
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
from identity_core.ports.proofs import Consumption, Disclosure, Invocation

ACTIVE: Final = "active"
REMEDIES: Final = (
    "ask again what was asked before",
    "let the holder pin the value, in the action of the IBCT",
)

_DELEGATION = "SELECT revoked_at, suspended_reason, max_uses, uses, max_thresholds FROM delegations WHERE id = :id"
# In one statement, because each costs the operation more in Python than in the database.
_IBCT_AND_CREDENTIAL = """
SELECT (SELECT count(*) FROM ibct_revocations WHERE invoker = :invoker
AND ((kind = 'id' AND digest = :id_digest) OR (kind = 'nonce' AND digest = :nonce_digest))),
(SELECT status FROM credentials WHERE id = :credential_id)
"""
# Who suspends, resumes or revokes in this very moment comes after this use.
_USE = """
UPDATE delegations SET uses = uses + 1, refusals = refusals + :refused, suspended_reason = CASE
WHEN :refused > 0 AND max_refusals IS NOT NULL AND refusals + :refused >= max_refusals THEN :reason
ELSE suspended_reason END
WHERE id = :id RETURNING refusals, max_refusals
"""
_THRESHOLDS = """
SELECT count(*), count(CASE WHEN digest = :digest THEN 1 END) FROM delegation_thresholds WHERE delegation_id = :id
"""
_ADD_THRESHOLD = """
INSERT INTO delegation_thresholds (delegation_id, digest) VALUES (:id, :digest) ON CONFLICT DO NOTHING
"""
_FORGET_DISCLOSURES = """
DELETE FROM disclosures WHERE credential_id = :credential_id AND attribute = :attribute AND at <= :since
"""
_DISCLOSURES = """
SELECT count(*), count(CASE WHEN digest = :digest THEN 1 END) FROM disclosures
WHERE credential_id = :credential_id AND attribute = :attribute
"""
_ADD_DISCLOSURE = """
INSERT INTO disclosures (credential_id, attribute, digest, at) VALUES (:credential_id, :attribute, :digest, :at)
ON CONFLICT (credential_id, attribute, digest) DO UPDATE SET at = excluded.at
"""
_SEALED = "SELECT sealed FROM credentials WHERE id = :id"


def revoked(transaction: Transaction, invocation: Invocation, spending: Consumption) -> IdentityError | None:
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


def limited(transaction: Transaction, spending: Consumption) -> IdentityError | None:
    """The refusal that a limit makes, or None: of uses, of refusals, of different questions. The credential is not looked at."""
    rows = [transaction.execute(_DELEGATION, {"id": one}).fetchone() for one in spending.delegations]
    if any(most is not None and uses >= most for _, _, most, uses, _ in rows):
        return DelegationExhausted()
    reasons = [reason for _, reason, _, _, _ in rows if reason is not None]
    if Suspension.MANUAL.value in reasons:
        return DelegationNotActive(details={"status": "suspended"})
    if reasons:
        return DelegationSuspended(details={"reason": reasons[0]})
    question = spending.question
    if question is None:
        return None
    for delegation_id, (_, _, _, _, most) in zip(spending.delegations, rows, strict=True):
        if most is not None and not _may_ask(transaction, _THRESHOLDS, {"id": delegation_id}, question, most):
            return DisclosureLimit(details={"of": "delegation", "maxThresholds": most, "remedies": [*REMEDIES]})
    about: dict[str, object] = {"credential_id": spending.credential_id, "attribute": question.attribute}
    if question.since is not None:
        transaction.execute(_FORGET_DISCLOSURES, about | {"since": micros(question.since)})
    # All agents together: anyone who splits a search over many delegations meets the same limit.
    if not _may_ask(transaction, _DISCLOSURES, about, question, question.most):
        return DisclosureLimit(details={"of": "credential", "maxThresholds": question.most, "remedies": [*REMEDIES]})
    return None


def _may_ask(transaction: Transaction, sql: str, about: dict[str, object], question: Disclosure, most: int) -> bool:
    """What was asked before may be asked again, because its answer is known."""
    asked, is_known = transaction.execute(sql, about | {"digest": question.digest}).fetchone()
    return bool(is_known) or asked < most


def sealed_values(transaction: Transaction, spending: Consumption) -> bytes:
    """The box that a credential's values are in. ``revoked`` has seen that the credential is there."""
    (box,) = transaction.execute(_SEALED, {"id": spending.credential_id}).fetchone()
    return bytes(box)


def count(transaction: Transaction, spending: Consumption, now: int, *, satisfied: bool) -> dict[str, JsonValue]:
    """Counts one use and its answer, by the same statements whatever that is; returns the counters that a refused agent may see."""
    question = spending.question
    refused = int(question is not None and not satisfied)
    counters: dict[str, JsonValue] = {}
    for delegation_id in spending.delegations:
        parameters = {"id": delegation_id, "refused": refused, "reason": Suspension.REFUSALS.value}
        refusals, max_refusals = transaction.execute(_USE, parameters).fetchone()
        if question is None:
            continue
        transaction.execute(_ADD_THRESHOLD, {"id": delegation_id, "digest": question.digest})
        counters = counters or {"refusals": refusals, "maxRefusals": max_refusals}
    if question is not None:
        row = {"credential_id": spending.credential_id, "attribute": question.attribute, "digest": question.digest}
        transaction.execute(_ADD_DISCLOSURE, row | {"at": now})
    return counters
