"""The witnesses that the settings name, and what feeds them."""

from __future__ import annotations

from contextlib import AsyncExitStack

from identity_core.bootstrap.witnesses import is_prefix
from identity_core.database.files import FileLock
from identity_core.files import read_regular
from identity_core.ports.clock import Clock
from identity_core.settings import Settings, SettingsError
from identity_core.use_cases.ledger.project import TransparencyLog
from identity_tlog.policy import WitnessPolicy, label
from identity_tlog.tree import Malformed
from identity_transparency.cosigned import StoredCosignedCheckpoints
from identity_transparency.use_cases.feed import CosignedLog, FedWitness, WitnessFeeder

LOCK = "witnesses.lock"


def read_witnesses(settings: Settings) -> WitnessPolicy | None:
    """The policy of ``ledger.witnesses``; None where there is none. Raises ``SettingsError`` for a file that is none, and for a quorum that
    no checkpoint could ever have."""
    path = settings.ledger.witnesses
    if path is None:
        return None
    try:
        policy = WitnessPolicy.parse(read_regular(path))
    except (OSError, Malformed) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise _wrong(
            settings,
            f"The policy of the witnesses cannot be read: {what}.",
            "write it as c2sp.org/tlog-policy has it, or unset ledger.witnesses",
        ) from error
    for one in policy.witnesses:
        if one.url is not None and not is_prefix(one.url):
            says = f"The URL of the witness {label(one.name)} is none."
            raise _wrong(settings, says, "write its submission prefix, such as https://witness.example.org/prefix")
    if not policy.is_met([one.name for one in policy.witnesses if one.url is not None]):
        says = "The witnesses that have a URL are no quorum: no checkpoint would ever be valid."
        raise _wrong(settings, says, "give the witnesses of the quorum their submission prefixes")
    return policy


def _wrong(settings: Settings, what: str, fix: str) -> SettingsError:
    return SettingsError(what, f"{settings.ledger.witnesses} ({settings.origin('ledger.witnesses')})", fix)


async def feed_witnesses(
    settings: Settings, logged: TransparencyLog, kept: StoredCosignedCheckpoints, clock: Clock, stack: AsyncExitStack
) -> WitnessFeeder | None:
    """Start the job that feeds the witnesses, and return it; None if the settings name none. Raises ``SettingsError``."""
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
    feeder = WitnessFeeder(cosigned, fed, logged, clock, lock.try_acquire)
    await cosigned.refresh()
    return await stack.enter_async_context(feeder)
