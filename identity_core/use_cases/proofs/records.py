"""What a request for a proof leaves behind: the proof with what it is about, and what the timeline tells."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from identity_codec.strict_json import JsonValue
from identity_codec.structs import given
from identity_core.domain.activity import REFUSED, Event, Parties, ProofMade, Refused
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.anchor import Anchor, AnchorStatus
from identity_core.domain.proofs.proof import ZkProof
from identity_core.domain.proofs.stored import StoredProof
from identity_core.errors import RequestInProgress
from identity_core.use_cases.proofs.steps import ProofAttempt

MAX_TARGET: Final = 256
"""Characters of a credential id that records repeat."""


def event_of(attempt: ProofAttempt, outcome: str, code: str | None = None, proof: StoredProof | None = None) -> Event:
    """No value of a predicate, no attribute. The timeline is the holder's and the agent's: a refusal is told there only once the
    holder's signature was checked, so that no one writes into it who holds no token."""
    asked, holder, agent = attempt.asked, str(attempt.holder), str(attempt.agent)
    credential_ids = [part.credential_id[:MAX_TARGET] for part in asked.parts]
    credential_id = credential_ids[0]
    details: dict[str, JsonValue] = {"agent": agent, "credentialId": credential_id, "anchor": attempt.anchor}
    names: list[JsonValue] = [{"attributeName": one.attribute_name, "type": one.type} for one in asked.predicates]
    details |= names[0] if len(names) == 1 and isinstance(names[0], dict) else {"predicates": names}
    if asked.is_joint:
        # What a pseudonym is for tells where its holder goes: that there is one is enough.
        same = sorted({name for together in asked.same for _, name in together})
        details |= {"credentialIds": [*credential_ids], "same": [*same], "pseudonym": asked.pseudonym is not None}
        details["issuers"] = [None if one is None else str(one.issuer) for one in attempt.credentials]
    if proof is not None:
        details |= {"proofId": proof.id, "delegationId": proof.delegation_id}
        return ProofMade("proof.generated", holder, proof.parties, outcome, details=details, stored=proof)
    parties = None
    # That the first of two identical requests still runs is no event of anyone's.
    if outcome == REFUSED and attempt.capability is not None and code != RequestInProgress.code:
        delegation_id = None if attempt.chain is None else attempt.chain.leaf.id
        parties = Parties(holder, agent, delegation_id=delegation_id, credential_id=credential_id)
    return (Refused if outcome == REFUSED else ProofMade)("proof.refused", holder, parties, outcome, code, details)


def to_keep(
    attempt: ProofAttempt, proof: ZkProof, *, created_at: datetime, expires_at: datetime, salt: bytes, caller: Caller
) -> StoredProof:
    """The proof with what it is about. ``salt`` has ``SALT_OCTETS``."""
    request, capability, prepared = attempt.request, attempt.capability, attempt.prepared
    credential = prepared.credentials[0]
    return StoredProof(
        proof=proof,
        delegation_id=attempt.chain.leaf.id,
        holder=str(attempt.holder),
        agent=str(attempt.agent),
        credential_id=credential.id,
        issuer=str(credential.issuer),
        schema_id=credential.schema.id,
        predicate={} if attempt.asked.is_joint else prepared.predicates[0][0].json,
        salt=salt,
        ibct_id=capability.id,
        nonce=capability.nonce,
        created_at=created_at,
        expires_at=expires_at,
        caller=caller.identity,
        challenge=given(request.challenge, None),
        domain=given(request.domain, None),
        anchor=Anchor(AnchorStatus.PENDING) if attempt.anchor else None,
        question=prepared.joint,
    )
