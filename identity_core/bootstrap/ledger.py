"""The ledger and the transparency log over it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

from identity_core.bootstrap.choices import origin_of
from identity_core.bootstrap.clock import SystemClock
from identity_core.bootstrap.plugins import load_plugins
from identity_core.bootstrap.store import store_beside
from identity_core.ports.custodian import Custodian
from identity_core.ports.ledger import LedgerBackend
from identity_core.settings import Settings
from identity_core.store import Store
from identity_core.store.transparency import TransparencyTree
from identity_core.use_cases.ledger.checkpoints import CheckpointSigner
from identity_core.use_cases.ledger.project import LedgerFollower, ProjectLedger


@dataclass(frozen=True, slots=True)
class TransparencyLog:
    """The ledger and the transparency log over it, without a server around them."""

    ledger: LedgerBackend
    tree: TransparencyTree
    follower: LedgerFollower
    signer: CheckpointSigner

    @classmethod
    async def over(
        cls, settings: Settings, ledger: LedgerBackend, store: Store, custodian: Custodian
    ) -> TransparencyLog:
        """The log of ``ledger``; its follower has not begun."""
        follower = LedgerFollower(ProjectLedger(ledger, store.transparency))
        here = f"{origin_of(settings).partition('://')[2]}/api/v1/ledger"
        # A log keeps its name on another port and behind another host: whoever holds a checkpoint knows it by that.
        origin = settings.ledger.origin or await store.transparency.named(here)
        signer = await CheckpointSigner.open(custodian, origin)
        return cls(ledger, store.transparency, follower, signer)


@contextlib.asynccontextmanager
async def transparency_log(settings: Settings) -> AsyncIterator[TransparencyLog]:
    """Opens both, for the command line. Raises ``StartError``."""
    async with AsyncExitStack() as stack:
        log, _ = await open_beside(settings, stack)
        yield log


async def open_beside(settings: Settings, stack: AsyncExitStack) -> tuple[TransparencyLog, Store]:
    """The log and the store under it, beside a running service; ``stack`` closes them. Raises ``StartError``."""
    plugins = load_plugins(settings, SystemClock())
    stack.push_async_callback(plugins.close)
    ledger = plugins.ledger(settings.ledger.backend)
    custodian = plugins.custodian(settings.custodian.backend)
    store = await store_beside(settings, custodian)
    stack.push_async_callback(store.close)
    return await TransparencyLog.over(settings, ledger, store, custodian), store
