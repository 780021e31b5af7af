"""The extension ``vcalm``: its handlers over what the kernel offers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial

from identity_verification.use_cases.check import IssuerKeys
from identity_verification.use_cases.credentials import VerifyCredential

from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.ports.credentials import CopyStatus
from identity_vcalm.handlers import VcalmHandlers
from identity_vcalm.presentation import PresentationChallengeKey
from identity_vcalm.verify import CreateVcalmChallenge, VerifyVcalmCredential, VerifyVcalmPresentation
from identity_vcalm.wire import DOCUMENT


@contextlib.asynccontextmanager
async def open_vcalm(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension."""
    clock, key = kernel.clock, PresentationChallengeKey(kernel.secret("challenges"))
    keys, own, status = IssuerKeys(kernel.dids), kernel.need(VerifyCredential), kernel.need(CopyStatus)
    formats = (kernel.formats(anonymous=True), kernel.formats(anonymous=False))
    first = VerifyVcalmCredential(formats[0], keys, own, status, clock)
    second = VerifyVcalmCredential(formats[1], keys, partial(own, is_known=True), status, clock)
    shown, known = (VerifyVcalmPresentation(one, kernel.dids, key, kernel.challenges, clock) for one in (first, second))
    challenge = CreateVcalmChallenge(key, kernel.random, clock)
    yield Contribution(handlers=(VcalmHandlers((first, second), (shown, known), challenge),))


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="vcalm",
        kernel=">=1,<2",
        document=DOCUMENT,
        open=open_vcalm,
        requires=("verification",),
        after=("wallets",),
        default=False,
    )
