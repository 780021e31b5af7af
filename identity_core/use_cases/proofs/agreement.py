"""The consent of a holder whose wallet keeps the secret, which comes with the request (PROTOCOL-2.md §5.1).

It is looked at whole before the use: what no verifier would take costs none. It is to this question, for this verifier and challenge; who
sends it again with another request is refused, and with the same one gets the first answer.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from identity_core.codec.multibase import base64url_decode
from identity_core.codec.structs import UNSET, given
from identity_core.crypto.bls12381.backend import ORDER, SCALAR_OCTETS
from identity_core.domain.credentials.credential import NO_SECRET
from identity_core.domain.proofs.presentation import REQUEST_COVER, Agreement, ConsentTerms, Cover, HolderConsent
from identity_core.domain.proofs.proof import Context
from identity_core.domain.proofs.question import refused
from identity_core.errors import ProofInvalid
from identity_core.use_cases.credentials.signature_checks import SignatureChecks
from identity_core.use_cases.proofs.prepare import PreparedProof
from identity_core.wire import DelegatedProofRequest
from identity_core.wire import HolderConsent as SentConsent

LEAST_LIFETIME: Final = timedelta(minutes=1)
"""A proof ends with its consent: for less nobody could show it."""


async def agreement(
    request: DelegatedProofRequest, prepared: PreparedProof, context: Context, check: SignatureChecks
) -> Agreement | None:
    """The consent of a wallet; None where the custodian gives it, or where none is needed. ``context`` is what the proof would be bound to.
    Raises ``PredicateUnsupported``, and ``Overloaded``."""
    bindings = [credential.binding for credential in prepared.credentials if credential.binding is not None]
    sent, question = request.holder_consent, prepared.question
    if question is None or any(binding.secret != NO_SECRET for binding in bindings):
        if sent is not UNSET:
            raise refused("no wallet keeps the holder's secret: leave holderConsent out")
        return None
    if sent is UNSET:
        raise refused("a wallet keeps the holder's secret: the request needs its holderConsent")
    agreed = _read(sent, context.issued_at)
    message = agreed.terms.message(question, context, None)
    commitments = [binding.commitment for binding in bindings]
    await check(agreed.consent.check, commitments, message, question.pseudonym)
    return agreed


def _read(sent: SentConsent, now: datetime) -> Agreement:
    cover = Cover(given(sent.cover, int(REQUEST_COVER)))
    if REQUEST_COVER & cover != REQUEST_COVER or Cover.AGENT in cover:
        raise refused("the holder's consent covers audience, challenge and question, and no agent's key")
    try:
        terms = ConsentTerms(cover, sent.not_before, sent.not_after)
        terms.check_time(now)
        octets, parts = base64url_decode(sent.value), [base64url_decode(one) for one in sent.blind_differences]
    except ProofInvalid:
        raise refused("the holder's consent is of another time") from None
    except ValueError as fault:
        raise refused(f"the holder's consent cannot be read: {fault}") from None
    if terms.not_after < (now + LEAST_LIFETIME).timestamp():
        raise refused("the holder's consent is about to end")
    rhos = tuple(int.from_bytes(part, "big") for part in parts)
    if any(len(part) != SCALAR_OCTETS for part in parts) or any(rho >= ORDER for rho in rhos):
        raise refused("a difference of blinds is a scalar of 32 octets, below the group order")
    return Agreement(terms, HolderConsent(octets, rhos))
