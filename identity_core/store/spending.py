"""The counters of an invocation: revocations, uses, refusals, and the questions that an agent may choose itself.

Everything in this module runs inside the transaction that stores the nonce. Such transactions run one after the other, so the values that
``limited`` read are still valid when ``count`` writes. A use of a delegation is a use of every record of its chain, and so are its
refusals and thresholds. Otherwise an agent could multiply its limits by delegating to itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from identity_codec.strict_json import JsonValue
from identity_codec.times import micros
from identity_core.database import Transaction
from identity_core.domain.delegations.delegation import Suspension, no_delegation
from identity_core.errors import (
    CredentialNotFound,
    CredentialRevoked,
    DelegationExhausted,
    DelegationNotActive,
    DelegationRevoked,
    DelegationSuspended,
    DisclosureLimit,
    IbctRevoked,
    IdentityError,
)
from identity_core.ports.proofs import Consumption, Disclosure, Invocation

ACTIVE: Final = "active"
REMEDIES: Final = ("ask again what was asked before", "let the holder pin the value, in the action of the IBCT")

# One statement, because each one takes more time in Python than in the database. A threshold of an older release has the predicate without
# the credential: it counts for this credential if the credential has that question.
_STANDING = """
SELECT revoked_at, suspended_reason, max_uses, uses, max_thresholds,
(SELECT count(*) FROM delegation_thresholds WHERE delegation_id = :id),
(SELECT count(*) FROM delegation_thresholds WHERE delegation_id = :id AND (digest = :threshold OR digest = :digest
AND EXISTS (SELECT 1 FROM disclosures WHERE credential_id = :credential_id AND attribute = :attribute AND digest = :digest))),
(SELECT count(*) FROM disclosures WHERE credential_id = :credential_id AND attribute = :attribute AND at > :since),
(SELECT count(*) FROM disclosures WHERE credential_id = :credential_id AND attribute = :attribute AND digest = :digest
AND at > :since),
(SELECT count(*) FROM ibct_revocations WHERE invoker = :invoker
AND ((kind = 'id' AND digest = :id_digest) OR (kind = 'nonce' AND digest = :nonce_digest))),
(SELECT count(*) FROM invocations WHERE invoker = :invoker AND (nonce_digest = :nonce_digest OR id_digest = :id_digest)),
CASE WHEN credentials.forgotten_at IS NULL THEN credentials.status ELSE 'revoked' END, credentials.sealed,
credentials.disclosures_reset_at
FROM delegations LEFT JOIN credentials ON credentials.id = :credential_id WHERE delegations.id = :id
"""
# An agent that has used a delegation from before the reset knows the answers.
_NEW_SINCE = """
SELECT 1 FROM delegations AS one WHERE id = :id AND created_at > :reset_at AND NOT EXISTS
(SELECT 1 FROM delegations AS earlier WHERE earlier.agent = one.agent AND earlier.holder = one.holder
AND earlier.created_at <= :reset_at AND earlier.uses > 0)
"""
# A parallel suspension, resumption or revocation is ordered after this use.
_USE = """
UPDATE delegations SET uses = uses + 1, refusals = refusals + :refused, suspended_reason = CASE
WHEN :refused > 0 AND max_refusals IS NOT NULL AND refusals + :refused >= max_refusals THEN :reason
ELSE suspended_reason END
WHERE id = :id RETURNING refusals, max_refusals
"""
_ADD_THRESHOLD = """
INSERT INTO delegation_thresholds (delegation_id, digest) VALUES (:id, :threshold) ON CONFLICT DO NOTHING
"""
_FORGET_DISCLOSURES = """
DELETE FROM disclosures WHERE credential_id = :credential_id AND attribute = :attribute AND at <= :since
"""
_ADD_DISCLOSURE = """
INSERT INTO disclosures (credential_id, attribute, digest, at) VALUES (:credential_id, :attribute, :digest, :at)
ON CONFLICT (credential_id, attribute, digest) DO UPDATE
SET at = CASE WHEN disclosures.at > excluded.at THEN disclosures.at ELSE excluded.at END
"""
_SEALED = "SELECT sealed FROM credentials WHERE id = :id"
# No proof is made with a credential whose secret the service must not use any more, on request of its holder.
_STATUS = "SELECT CASE WHEN forgotten_at IS NULL THEN status ELSE 'revoked' END FROM credentials WHERE id = :id"


class Standing(NamedTuple):
    """A delegation of the chain in its current state, with values for the whole chain: revocations and earlier uses of the IBCT, status
    and box of the credential (None: there is none), its holder's last reset, and the earlier questions about its attribute, with or
    without this one."""

    revoked_at: int | None
    suspended_reason: str | None
    max_uses: int | None
    uses: int
    max_thresholds: int | None
    thresholds: int
    same_thresholds: int
    disclosures: int
    same_disclosures: int
    ibct_revocations: int
    invocations: int
    status: str | None
    sealed: bytes | None
    reset_at: int | None


def read_state(
    transaction: Transaction, invocation: Invocation, spending: Consumption, question: Disclosure | None = None
) -> list[Standing]:
    """Return the state of each record of the chain; empty if one of them is missing. Without ``question``, omit the questions."""
    parameters: dict[str, Any] = {
        "invoker": invocation.invoker,
        "id_digest": invocation.id_digest,
        "nonce_digest": invocation.nonce_digest,
        "credential_id": spending.credential_ids[0] if question is None else question.credential_id,
        "attribute": "" if question is None else question.attribute,
        "digest": b"" if question is None else question.digest,
        "threshold": b"" if question is None else question.threshold,
        "since": 0 if question is None or question.since is None else micros(question.since),
    }
    chain = _chain(transaction, spending, parameters)
    reset_at = chain[0].reset_at if chain else None
    if question is None or reset_at is None or not _is_new(transaction, spending, reset_at):
        return chain
    return _chain(transaction, spending, parameters | {"since": max(parameters["since"], reset_at)})


def _chain(transaction: Transaction, spending: Consumption, parameters: Mapping[str, Any]) -> list[Standing]:
    rows = [transaction.execute(_STANDING, {**parameters, "id": one}).fetchone() for one in spending.delegations]
    return [] if None in rows else [Standing(*row) for row in rows]


def _is_new(transaction: Transaction, spending: Consumption, reset_at: int) -> bool:
    """Return whether every delegation of the chain is newer than the reset, and no agent of the chain has used an earlier one of the
    holder's. So a reset grants only what the holder delegates anew, and an agent that has used a disclosure keeps the first limit."""
    found = (
        transaction.execute(_NEW_SINCE, {"id": one, "reset_at": reset_at}).fetchone() for one in spending.delegations
    )
    return all(row is not None for row in found)


def revoked(transaction: Transaction, spending: Consumption, chain: Sequence[Standing]) -> IdentityError | None:
    """Return the refusal of an invocation if something was revoked since the earlier checks, or None. ``chain`` is the result of
    ``standing``."""
    if not chain:
        return no_delegation()
    if any(record.revoked_at is not None for record in chain):
        return DelegationRevoked()
    leaf = chain[0]
    if leaf.ibct_revocations:
        return IbctRevoked()
    ids = spending.credential_ids
    # The status of a single credential was read already.
    rows = [transaction.execute(_STATUS, {"id": one}).fetchone() for one in ids] if len(ids) > 1 else [(leaf.status,)]
    statuses = [None if row is None else row[0] for row in rows]
    if None in statuses:
        return CredentialNotFound()
    ended = next((status for status in statuses if status != ACTIVE), None)
    return None if ended is None else CredentialRevoked(details={"status": ended})


def limited(chain: Sequence[Standing], asked: Sequence[tuple[Disclosure, Sequence[Standing]]]) -> IdentityError | None:
    """Return the refusal by a limit, or None: of uses, of refusals, of different questions, each with the chain in its state for it. An
    earlier question may be repeated, because its answer is known. All of several questions must be within the limit, or none is answered.
    The credential is not read."""
    if any(record.max_uses is not None and record.uses >= record.max_uses for record in chain):
        return DelegationExhausted()
    reasons = [record.suspended_reason for record in chain if record.suspended_reason is not None]
    if Suspension.MANUAL.value in reasons:
        return DelegationNotActive(details={"status": "suspended"})
    if reasons:
        return DelegationSuspended(details={"reason": reasons[0]})
    new = Counter[int | tuple[str, str]]()
    for question, records in asked:
        for number, record in enumerate(records):
            most = record.max_thresholds
            new[number] += not record.same_thresholds
            if most is not None and not record.same_thresholds and record.thresholds + new[number] > most:
                return DisclosureLimit(details={"of": "delegation", "maxThresholds": most, "remedies": [*REMEDIES]})
        # The limit is for all agents together, so that a search over many delegations has the same limit.
        leaf, most = records[0], question.most
        about = (question.credential_id, question.attribute)
        new[about] += not leaf.same_disclosures
        if not leaf.same_disclosures and leaf.disclosures + new[about] > most:
            return DisclosureLimit(details={"of": "credential", "maxThresholds": most, "remedies": [*REMEDIES]})
    return None


def in_force(invocation: Invocation, spending: Consumption) -> tuple[str, dict[str, object]]:
    """Return an additional condition and its parameters that restrict a statement to rows that ``revoked`` does not
    refuse."""
    delegations = {f"delegation{number}": one for number, one in enumerate(spending.delegations)}
    credentials = {f"credential{number}": one for number, one in enumerate(spending.credential_ids)}
    parameters: dict[str, object] = {"id_digest": invocation.id_digest, **delegations, **credentials}
    return _in_force(len(delegations), len(credentials)), parameters


@cache
def _in_force(delegations: int, credentials: int) -> str:
    """Return the text of the condition, which has only names of parameters."""
    every_delegation = ", ".join(f":delegation{number}" for number in range(delegations))
    every_credential = ", ".join(f":credential{number}" for number in range(credentials))
    return f"""
AND (SELECT count(*) FROM delegations WHERE id IN ({every_delegation}) AND revoked_at IS NULL) = {delegations}
AND (SELECT count(*) FROM credentials WHERE id IN ({every_credential}) AND status = '{ACTIVE}' AND forgotten_at IS NULL) = {credentials}
AND NOT EXISTS (SELECT 1 FROM ibct_revocations WHERE invoker = :invoker
AND ((kind = 'id' AND digest = :id_digest) OR (kind = 'nonce' AND digest = :nonce_digest)))
"""  # noqa: S608


def sealed_values(transaction: Transaction, spending: Consumption, chain: Sequence[Standing]) -> list[bytes]:
    """Return the box with each credential's values. ``revoked`` has checked that the credentials exist."""
    ids = spending.credential_ids
    # The box of a single credential was read already.
    boxes = (
        [transaction.execute(_SEALED, {"id": one}).fetchone()[0] for one in ids] if len(ids) > 1 else [chain[0].sealed]
    )
    if not all(boxes):
        # Erased a moment ago.
        raise CredentialNotFound
    return [bytes(box) for box in boxes if box is not None]


def count(
    transaction: Transaction,
    spending: Consumption,
    asked: Sequence[tuple[Disclosure, Sequence[Standing]]],
    now: int,
    *,
    satisfied: bool,
) -> dict[str, JsonValue]:
    """Count one use and its answer, by the same statements for every answer. Return the counters that a refused agent may see. ``asked``
    has the questions, as for ``limited``."""
    refused = int(bool(asked) and not satisfied)
    counters: dict[str, JsonValue] = {}
    for number, delegation_id in enumerate(spending.delegations):
        parameters = {"id": delegation_id, "refused": refused, "reason": Suspension.REFUSALS.value}
        refusals, max_refusals = transaction.execute(_USE, parameters).fetchone()
        for question, records in asked:
            if not records[number].same_thresholds:
                transaction.execute(_ADD_THRESHOLD, {"id": delegation_id, "threshold": question.threshold})
            counters = counters or {"refusals": refusals, "maxRefusals": max_refusals}
    for question in spending.questions:
        row = _row(question)
        if question.since is not None:
            transaction.execute(_FORGET_DISCLOSURES, row | {"since": micros(question.since)})
        transaction.execute(_ADD_DISCLOSURE, row | {"at": now})
    return counters


def _row(question: Disclosure) -> dict[str, str | bytes]:
    return {"credential_id": question.credential_id, "attribute": question.attribute, "digest": question.digest}
