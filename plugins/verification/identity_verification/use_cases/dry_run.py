"""checkDelegatedProof: the refusal that a request for a proof or a presentation would get, without using up or recording anything.

It runs only steps 4 to 16. The later steps depend on the attribute, or on the questions of others. So only the transaction that uses up
the IBCT decides them. For a used IBCT the answer states only that it was used, because its earlier answer may be that of step 18.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from identity_codec.structs import UNSET, ValidationError, convert, plain
from identity_core.domain.callers import Caller
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.errors import (
    AnchoringDisabled,
    Forbidden,
    IbctReplayed,
    IdentityError,
    InvalidRequest,
    RequestInProgress,
)
from identity_core.ports.proofs import Precedent
from identity_core.use_cases.proofs.generate import GenerateDelegatedProof
from identity_core.use_cases.proofs.prepare import ProofRequest
from identity_core.use_cases.proofs.steps import ProofAttempt, check_capability, check_delegation
from identity_core.wire import DelegatedPresentationRequest, DelegatedProofRequest
from identity_verification.wire import DelegatedProofCheckRequest


class UsableDelegation(Struct, frozen=True):
    """The part of a delegation that the agent may know; ``uses_left`` is None for no limit."""

    id: str
    status: str
    uses_left: int | None
    expires_at: datetime

    @classmethod
    def from_chain(cls, chain: DelegationChain, now: datetime) -> UsableDelegation:
        """Return the permission of the whole chain."""
        left = [one.max_uses - one.uses for one in chain.records if one.max_uses is not None]
        ends = min(one.expires_at for one in chain.records)
        return cls(chain.leaf.id, chain.state(now).value, max(0, min(left)) if left else None, ends)


class DryRun(Struct, frozen=True):
    """The result of a dry run. ``refused`` is the first refusal, or None. ``delegation`` is None unless it is known to be that of the
    parties."""

    refused: IdentityError | None
    delegation: UsableDelegation | None


class CheckDelegatedProof(Struct, frozen=True):
    """Use case checkDelegatedProof. ``making`` is the use case that would make the proof."""

    making: GenerateDelegatedProof

    async def __call__(self, request: DelegatedProofCheckRequest, caller: Caller) -> DryRun:
        """Check a request. Raises ``InvalidRequest``, ``InvalidDid``. Raises ``Forbidden``: when the caller is not the agent. Failures of
        the service raise too; they do not depend on the request."""
        making = self.making
        attempt = ProofAttempt.from_request(checked_request(request), making.reader, making.clock.now())
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
            return DryRun(error, _find_delegation(attempt))
        return DryRun(None, _find_delegation(attempt))

    async def _unused(self, attempt: ProofAttempt) -> Precedent:
        """Return the known state of the invocation. Raises ``IbctReplayed``: when it came before, with any outcome."""
        delegation_id = attempt.capability.delegation_id
        try:
            found = await self.making.invocations.look_up(attempt.invocation, delegation_id, attempt.now)
        except RequestInProgress:
            raise IbctReplayed from None
        if found.outcome is not None:
            raise IbctReplayed
        return found


def _find_delegation(attempt: ProofAttempt) -> UsableDelegation | None:
    return None if attempt.chain is None else UsableDelegation.from_chain(attempt.chain, attempt.now)


def checked_request(request: DelegatedProofCheckRequest) -> ProofRequest:
    """Return the request to check: a request with ``predicate`` is for a proof, another one for a presentation.

    Raises ``InvalidRequest``: when the operation would not accept its members."""
    kind: type[ProofRequest] = DelegatedPresentationRequest if request.predicate is UNSET else DelegatedProofRequest
    try:
        return convert(plain(request), kind)
    except ValidationError as error:
        raise InvalidRequest(f"This is not the body of a {kind.__name__}: {error}.") from None
