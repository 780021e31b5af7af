"""The kernel's own parts, which are opened in the loop of the extensions: what each serves."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Final

from identity_core import __version__
from identity_core.api.api_keys import ApiKeyHandlers
from identity_core.api.auth import AuthHandlers
from identity_core.api.errors import guide_folder
from identity_core.api.guide import guide_pages
from identity_core.api.service import ServiceHandlers
from identity_core.api.verifications import VerificationHandlers
from identity_core.bootstrap.gauges import kernel_gauges
from identity_core.bootstrap.handlers import PageTags, did_pages
from identity_core.bootstrap.probes import kernel_probes
from identity_core.bootstrap.runtime import Runtime
from identity_core.extension.declaration import Contribution, Extension
from identity_core.extension.opening import OpenKernel
from identity_core.extension.order import InstalledExtension
from identity_core.plugin.load import PluginSource
from identity_core.use_cases.transparency import WitnessApprovals

Make = Callable[[Runtime, OpenKernel, AsyncExitStack], Awaitable[Contribution]]


async def _kernel(opened: Runtime, kernel: OpenKernel, stack: AsyncExitStack) -> Contribution:
    tags, need = kernel.need(PageTags), kernel.need
    own = (tags.dids, tags.credentials, tags.delegations, tags.proofs)
    others = (
        need(ApiKeyHandlers),
        need(AuthHandlers),
        need(ServiceHandlers),
        tags.dashboard,
        need(VerificationHandlers),
    )
    pages = did_pages(opened, tags.dids, need(WitnessApprovals)) | guide_pages(guide_folder())
    gauges = tuple(kernel_gauges(opened, tags.dids.cache))
    return Contribution(handlers=(*own, *others), pages=pages, gauges=gauges, probes=kernel_probes(opened))


PARTS: Final = (_kernel,)


def own_parts(opened: Runtime) -> list[InstalledExtension]:
    """Return the kernel's parts as extensions. All are vital: one that cannot be opened stops the startup."""
    source = PluginSource("kernel", "identity-kernel", __version__, dict)

    def declare(make: Make) -> InstalledExtension:
        @contextlib.asynccontextmanager
        async def open_part(kernel: Any) -> AsyncIterator[Contribution]:
            async with AsyncExitStack() as stack:
                yield await make(opened, kernel, stack)

        return InstalledExtension(source, Extension(name=make.__name__, kernel=">=1", open=open_part, vital=True))

    return [declare(make) for make in PARTS]
