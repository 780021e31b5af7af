"""The handlers of the tag ``vcalm`` over the ports and the installed formats."""

from __future__ import annotations

import secrets

from identity_core.api.vcalm import VcalmHandlers
from identity_core.bootstrap.runtime import Runtime
from identity_core.bootstrap.wallets import copy_status
from identity_core.domain.credentials.presentation import PresentationChallengeKey
from identity_core.use_cases.credentials.verify import VerifyCredential
from identity_core.use_cases.proofs.check import IssuerKeys
from identity_core.use_cases.vcalm import CreateVcalmChallenge, VerifyVcalmCredential, VerifyVcalmPresentation


def vcalm_handlers(opened: Runtime, own: VerifyCredential) -> VcalmHandlers:
    """The handlers of the tag ``vcalm``; ``own`` verifies the credentials of this service."""
    clock, key = opened.clock, PresentationChallengeKey(opened.challenge_secret)
    keys, status, spent = IssuerKeys(opened.reader), copy_status(opened), opened.store.spent_challenges
    formats = (opened.plugins.securing_workers(anonymous=True), opened.plugins.securing_workers(anonymous=False))
    first, second = (VerifyVcalmCredential(found, keys, own, status, clock) for found in formats)
    shown, known = (VerifyVcalmPresentation(one, opened.reader, key, spent, clock) for one in (first, second))
    return VcalmHandlers((first, second), (shown, known), CreateVcalmChallenge(key, secrets.token_bytes, clock))
