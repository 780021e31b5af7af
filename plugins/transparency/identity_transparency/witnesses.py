"""What feeds the witnesses that the settings name."""

from __future__ import annotations

from contextlib import AsyncExitStack

from identity_core.bootstrap.beside import TransparencyLog
from identity_core.bootstrap.witnesses import read_witnesses
from identity_core.database.files import FileLock
from identity_core.ports.clock import Clock
from identity_core.settings import Settings
from identity_core.store.cosigned import StoredCosignedCheckpoints
from identity_transparency.use_cases.feed import CosignedLog, FedWitness, WitnessFeeder

LOCK = "witnesses.lock"


async def feed_witnesses(
    settings: Settings, logged: TransparencyLog, kept: StoredCosignedCheckpoints, clock: Clock, stack: AsyncExitStack
) -> WitnessFeeder | None:
    """What feeds the witnesses, at work; None where the settings name none. Raises ``SettingsError``."""
    policy = read_witnesses(settings)
    if policy is None:
        return None
    # httpx takes a tenth of a second to import, and only who has witnesses needs it.
    import httpx

    from identity_core.client.witness import DEADLINE_SECONDS, HttpWitness

    http = await stack.enter_async_context(
        httpx.AsyncClient(timeout=DEADLINE_SECONDS, trust_env=False, verify=httpx.create_ssl_context())
    )
    fed = [FedWitness(one, HttpWitness(http, one.url)) for one in policy.witnesses if one.url is not None]
    lock = FileLock(settings.data_dir / LOCK)
    stack.callback(lock.close)
    cosigned = CosignedLog(policy, logged.signer, kept)
    feeder = WitnessFeeder(cosigned, fed, logged.follower, logged.signer, logged.tree, clock, lock.try_acquire)
    await cosigned.refresh()
    return await stack.enter_async_context(feeder)
