"""The document index beside a running service: to compare it with the ledger, and to repair it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

from identity_core.bootstrap.clock import SystemClock
from identity_core.bootstrap.plugins import load_plugins
from identity_core.bootstrap.store import store_beside
from identity_core.settings import Settings
from identity_core.store import Store
from identity_core.use_cases.dids.catch_up import CatchUp
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index_audit import IndexAudit


@dataclass(frozen=True, slots=True)
class IndexTools:
    """What compares and repairs, and the store that it works on."""

    audit: IndexAudit
    catch_up: CatchUp
    store: Store


@contextlib.asynccontextmanager
async def index_tools(settings: Settings) -> AsyncIterator[IndexTools]:
    """Opens the index, the ledger and the DID methods, for the command line. Raises ``StartError``."""
    async with AsyncExitStack() as stack:
        plugins = load_plugins(settings, SystemClock())
        stack.push_async_callback(plugins.close)
        methods, ledger = plugins.did_methods(), plugins.ledger(settings.ledger.backend)
        store = await store_beside(settings, plugins.custodian(settings.custodian.backend))
        stack.push_async_callback(store.close)
        check = HeadCheck(methods, ledger, store.documents, store.quarantine)
        audit = IndexAudit(check, ledger, store.index_rows, store.quarantine)
        yield IndexTools(audit, CatchUp(methods, ledger, store.documents, check), store)
