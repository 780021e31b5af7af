"""The consent of a holder whose wallet keeps the secret, which comes with the request (PROTOCOL-2.md §5.1).

It is checked completely before a use is counted, so an invalid one costs none. It is bound to this question, verifier and
challenge. A repetition with another request is refused, and with the same one gets the first answer. Or the holder gave it in
advance for this question and one agent's key. Then it is valid for any challenge until it ends, and the proof needs that agent's
signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from identity_bbs.bls12381.backend import ORDER, SCALAR_OCTETS
from identity_bbs.holders import HolderConsent
from identity_bound_credentials.domain.presentation import (
    DELEGATION_COVER,
    REQUEST_COVER,
    Agreement,
    ConsentTerms,
    Cover,
    check_consent,
)
from identity_bound_credentials.domain.question import Question
from identity_client.issuer_key import agent_key_of
from identity_codec.multibase import base64url_decode
from identity_codec.structs import UNSET, UnsetType, value_or
from identity_core.domain.credentials.credential import NO_SECRET, Binding
from identity_core.domain.proofs.predicate import unsupported
from identity_core.domain.proofs.proof import Context
from identity_core.errors import ProofInvalid
from identity_core.use_cases.credentials.signature_checks import SignatureChecks
from identity_core.use_cases.proofs.suite_1 import NO_CONSENT
from identity_core.wire import HolderConsent as SentConsent

LEAST_LIFETIME: Final = timedelta(minutes=1)
"""A proof ends with its consent: a shorter one could not be shown."""
LONGEST_IN_ADVANCE: Final = timedelta(days=2)
"""A consent in advance cannot be revoked; a life of one day touches two UTC days."""


async def agreement(
    sent: SentConsent | UnsetType,
    bindings: Sequence[Binding],
    question: Question,
    context_of: Callable[[], Context],
    check: SignatureChecks,
) -> Agreement | None:
    """Return the consent of a wallet; None if the custodian gives it.

    ``sent``: the ``holderConsent`` of the request. ``context_of``: returns the context of the proof. Raises
    ``PredicateUnsupported``, and ``Overloaded``.
    """
    if any(binding.secret != NO_SECRET for binding in bindings):
        if sent is not UNSET:
            raise unsupported(NO_CONSENT)
        return None
    if sent is UNSET:
        raise unsupported("a wallet keeps the holder's secret: send its holderConsent to createDelegatedPresentation")
    context = context_of()
    agreed = _read(sent, context.issued_at)
    message = agreed.terms.message(question, context, agreed.agent_key)
    await check(check_consent, agreed.consent, [one.commitment for one in bindings], message, question.pseudonym)
    return agreed


def _read(sent: SentConsent, now: datetime) -> Agreement:
    cover = Cover(value_or(sent.cover, int(REQUEST_COVER)))
    if not any(least & cover == least for least in (REQUEST_COVER, DELEGATION_COVER)):
        raise unsupported("the holder's consent covers audience, challenge and question, or question and agent's key")
    if (Cover.AGENT in cover) != (sent.agent_key is not UNSET):
        raise unsupported("agentKey stands beside a cover of the agent's key, and only there")
    try:
        terms = ConsentTerms(cover, sent.not_before, sent.not_after)
        terms.check_time(now)
        key = None if sent.agent_key is UNSET else agent_key_of(sent.agent_key)
        data, parts = base64url_decode(sent.value), [base64url_decode(one) for one in sent.blind_differences]
    except ProofInvalid:
        raise unsupported("the holder's consent is of another time") from None
    except ValueError as fault:
        raise unsupported(f"the holder's consent cannot be read: {fault}") from None
    if terms.not_after < (now + LEAST_LIFETIME).timestamp():
        raise unsupported("the holder's consent is about to end")
    if Cover.CHALLENGE not in cover and terms.not_after - terms.not_before > LONGEST_IN_ADVANCE.total_seconds():
        raise unsupported("a consent without the challenge is good for two UTC days at most")
    rhos = tuple(int.from_bytes(part, "big") for part in parts)
    if any(len(part) != SCALAR_OCTETS for part in parts) or any(rho >= ORDER for rho in rhos):
        raise unsupported("a difference of blinds is a scalar of 32 bytes, below the group order")
    return Agreement(terms, HolderConsent(data, rhos), key)
