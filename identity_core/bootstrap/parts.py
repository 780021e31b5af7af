"""The kernel's own tags, which are opened in the loop of the extensions."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from identity_core import __version__
from identity_core.api.api_keys import ApiKeyHandlers
from identity_core.api.auth import AuthHandlers
from identity_core.api.errors import guide_folder
from identity_core.api.pages import guide_pages, log_pages
from identity_core.api.service import ServiceHandlers
from identity_core.api.verifications import VerificationHandlers
from identity_core.bootstrap.handlers import PageTags
from identity_core.bootstrap.probes import kernel_gauges, kernel_probes
from identity_core.bootstrap.runtime import Runtime
from identity_core.extension.declaration import Contribution, Extension
from identity_core.extension.order import InstalledExtension
from identity_core.plugin.load import PluginSource
from identity_core.use_cases.transparency import WitnessApprovals


def own_parts(opened: Runtime) -> list[InstalledExtension]:
    """Return the kernel's own tags as an extension, which is vital: if it cannot be opened, the startup stops."""

    @contextlib.asynccontextmanager
    async def open_kernel(kernel: Any) -> AsyncIterator[Contribution]:
        tags, need = kernel.need(PageTags), kernel.need
        own = (tags.dids, tags.credentials, tags.delegations, tags.proofs, tags.dashboard)
        others = map(need, (ApiKeyHandlers, AuthHandlers, ServiceHandlers, VerificationHandlers))
        methods = opened.reader.methods.values()
        pages = log_pages(methods, tags.dids.log, need(WitnessApprovals)) | guide_pages(guide_folder())
        gauges = tuple(kernel_gauges(opened, tags.dids.cache))
        yield Contribution(handlers=(*own, *others), pages=pages, gauges=gauges, probes=kernel_probes(opened))

    source = PluginSource("kernel", "identity-kernel", __version__, dict)
    return [InstalledExtension(source, Extension(name="_kernel", kernel=">=1", open=open_kernel, vital=True))]
