"""What has become since of all that a stored proof stands on: the proof itself, its credential, its delegation, its anchor.

A proof does not say so, so a record must; and whoever could ask it for ever would follow a holder by its changes. Therefore it
answers those who took part, and while the proof lasts: afterwards a proof is expired, and that is all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from identity_core.domain.anchor import Anchor, AnchorStatus
from identity_core.domain.caller import Caller
from identity_core.domain.credential import Credential, CredentialStatus
from identity_core.domain.delegation import DelegationState
from identity_core.domain.delegation_chain import DelegationChain
from identity_core.domain.proof import NEVER_PROVEN
from identity_core.domain.verification import Check, CheckCode, ProofVerification, right, wrong
from identity_core.ports.credentials import Credentials
from identity_core.ports.delegations import Delegations
from identity_core.ports.proofs import Proofs, StoredProof
from identity_core.use_cases.proofs.access import ProofAccess

_DELEGATION_WARNINGS: Final = {
    DelegationState.REVOKED: CheckCode.DELEGATION_REVOKED,
    DelegationState.EXPIRED: CheckCode.DELEGATION_EXPIRED,
    DelegationState.SUSPENDED: CheckCode.DELEGATION_SUSPENDED,
}
_ANCHOR_WARNINGS: Final = {
    AnchorStatus.FAILED: CheckCode.ANCHOR_FAILED,
    AnchorStatus.REVOKED: CheckCode.ANCHOR_REVOKED,
}


@dataclass(frozen=True, slots=True)
class ProofStatus:
    """Completes verdicts about stored proofs."""

    access: ProofAccess
    proofs: Proofs
    credentials: Credentials
    delegations: Delegations

    async def __call__(
        self, verdict: ProofVerification, stored: StoredProof, caller: Caller, now: datetime
    ) -> tuple[ProofVerification, Anchor | None]:
        """The verdict with what the records say, and the proof's anchor; both as they were for whom they do not concern. To be asked
        after the mathematics, so that what was revoked meanwhile is seen."""
        if now >= stored.expires_at or not await self.access.knows_status(stored, caller):
            return verdict, None
        newest = await self.proofs.get(stored.id)
        revoked = newest is None or newest.revocation is not None
        checks = (
            wrong("revocation", CheckCode.PROOF_REVOKED) if revoked else right("revocation"),
            _credential_check(await self.credentials.get(stored.credential_id), now),
        )
        warnings = _warnings(await self.delegations.chain(stored.delegation_id), stored.anchor, now)
        # Of an imported proof nobody here has seen the holder's token.
        told = set(NEVER_PROVEN) - (set() if stored.ibct_id else {"holder"})
        unchecked = tuple(name for name in verdict.unchecked if name not in told)
        verdict = replace(
            verdict,
            checks=(*verdict.checks, *checks),
            warnings=(*verdict.warnings, *warnings),
            unchecked=unchecked,
        )
        return verdict, stored.anchor


def _credential_check(credential: Credential | None, now: datetime) -> Check:
    if credential is None:
        return wrong("credential", CheckCode.CREDENTIAL_UNKNOWN)
    if credential.status is CredentialStatus.REVOKED:
        return wrong("credential", CheckCode.CREDENTIAL_REVOKED)
    if credential.status is CredentialStatus.SUSPENDED:
        return wrong("credential", CheckCode.CREDENTIAL_SUSPENDED)
    if now < credential.valid_from or (credential.valid_until is not None and now >= credential.valid_until):
        return wrong("credential", CheckCode.CREDENTIAL_EXPIRED)
    return right("credential")


def _warnings(chain: DelegationChain | None, anchor: Anchor | None, now: datetime) -> list[CheckCode]:
    """A used-up delegation is in order: using it up is what it was given for."""
    found: list[CheckCode] = []
    if chain is None:
        found.append(CheckCode.DELEGATION_UNKNOWN)
    elif (state := chain.state(now)) in _DELEGATION_WARNINGS:
        found.append(_DELEGATION_WARNINGS[state])
    if anchor is not None and anchor.status in _ANCHOR_WARNINGS:
        found.append(_ANCHOR_WARNINGS[anchor.status])
    return found
