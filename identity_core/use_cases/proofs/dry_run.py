"""checkDelegatedProof: what would refuse a request for a proof or a presentation, with nothing spent and nothing recorded.

Steps 4 to 16 alone. What comes after them is decided in the transaction that spends, because it tells of the attribute, or of what others
have asked; so it is never decided here. Of an IBCT that was used nothing is told but that, because the answer that it got may be step 18's.
"""

from __future__ import annotations

from datetime import datetime

from identity_codec.values import value_class
from identity_core.domain.callers import Caller
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.errors import AnchoringDisabled, Forbidden, IbctReplayed, IdentityError, RequestInProgress
from identity_core.ports.proofs import Precedent
from identity_core.use_cases.proofs.generate import GenerateDelegatedProof
from identity_core.use_cases.proofs.prepare import checked_request
from identity_core.use_cases.proofs.steps import ProofAttempt, check_capability, check_delegation
from identity_core.wire import DelegatedProofCheckRequest


@value_class
class UsableDelegation:
    """A delegation as the agent may know it; ``uses_left`` None for no limit."""

    id: str
    status: str
    uses_left: int | None
    expires_at: datetime

    @classmethod
    def of(cls, chain: DelegationChain, now: datetime) -> UsableDelegation:
        """Return the permission of the whole chain."""
        left = [one.max_uses - one.uses for one in chain.records if one.max_uses is not None]
        ends = min(one.expires_at for one in chain.records)
        return cls(chain.leaf.id, chain.state(now).value, max(0, min(left)) if left else None, ends)


@value_class
class DryRun:
    """``refused`` is the first refusal, None where there is none; ``delegation`` None until it is known to be that of the parties."""

    refused: IdentityError | None
    delegation: UsableDelegation | None


@value_class
class CheckDelegatedProof:
    """``making`` is what would make the proof."""

    making: GenerateDelegatedProof

    async def __call__(self, request: DelegatedProofCheckRequest, caller: Caller) -> DryRun:
        """Raises ``InvalidRequest``, ``InvalidDid``, ``Forbidden`` for a caller who is not the agent, and failures, which say nothing of
        the request."""
        making = self.making
        attempt = ProofAttempt.of(checked_request(request), making.reader, making.clock.now())
        await making.turns()
        try:
            with making.reader.index.one_look():
                await check_capability(attempt, caller, making.reader, making.policy)
            if attempt.anchor:
                making.anchoring.require_enabled()
            check_delegation(attempt, await self._unused(attempt))
            await making.prepare(attempt)
        except IdentityError as error:
            is_failure = error.status >= 500 and not isinstance(error, AnchoringDisabled)
            if is_failure or isinstance(error, Forbidden):
                raise
            return DryRun(error, _found(attempt))
        return DryRun(None, _found(attempt))

    async def _unused(self, attempt: ProofAttempt) -> Precedent:
        """Return the known state of the invocation. Raises ``IbctReplayed`` for one that came before, however it
        ended."""
        delegation_id = attempt.capability.delegation_id
        try:
            found = await self.making.invocations.look_up(attempt.invocation, delegation_id, attempt.now)
        except RequestInProgress:
            raise IbctReplayed from None
        if found.outcome is not None:
            raise IbctReplayed
        return found


def _found(attempt: ProofAttempt) -> UsableDelegation | None:
    return None if attempt.chain is None else UsableDelegation.of(attempt.chain, attempt.now)
