"""The background jobs of a serving process, and the resources that are open when the handlers are built."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, closing
from operator import attrgetter
from typing import Final

from msgspec import Struct

from identity_codec.values import Hidden
from identity_core.bootstrap.ports import SystemClock
from identity_core.database.files import FileLock
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.extension.choice import ChosenExtensions, InstalledExtension, extensions_on, in_order
from identity_core.files import install_command
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import AttendedCustodian, Custodian
from identity_core.ports.key_store import KeyStore
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import Settings, SettingsError
from identity_core.store import Store
from identity_core.throttle.memory import TokenBucketStorage
from identity_core.use_cases.auth.authenticate import ApiKeyCache
from identity_core.use_cases.auth.challenge import ForgetExpired
from identity_core.use_cases.auth.tagged import KeyStoreWatch
from identity_core.use_cases.background import AttendCustodian, Repeating, erasing_time
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import CatchUp, DidReader, IndexRepair
from identity_core.use_cases.dids.index_audit import IndexAudit, RecordSuspicions
from identity_core.use_cases.dids.log_keys import LogSigner
from identity_core.use_cases.record import Record
from identity_core.use_cases.transparency import RollbackGuard, StorageWatch


class Jobs(Struct, frozen=True):
    """The jobs that requests or metrics use."""

    signer: LogSigner
    suspicions: RecordSuspicions
    watch: StorageWatch


async def begin_jobs(
    settings: Settings, guard: RollbackGuard, signer: LogSigner, reader: DidReader, store: Store, stack: AsyncExitStack
) -> Jobs:
    """Bring the index up to the ledger, and run all jobs until the stack is closed. Raises ``StartError``: when the
    ledger does not fit."""
    clock, check, custodian = SystemClock(), reader.check, signer.custodian
    if settings.database_url is None:
        lock = stack.enter_context(closing(FileLock(settings.data_dir / "serving.lock")))
        await store.end_dead_requests(lock, erasing_time(clock))
    if isinstance(custodian, AttendedCustodian):
        attend = AttendCustodian(custodian)
        # After this, a rotation that begins while this process starts is noticed.
        await attend.guarded()
        await stack.enter_async_context(attend)
    follow, repair, suspicions = await _keep_index(settings, guard, signer, check, store, stack)
    forgetting = ForgetExpired(store.spent_challenges, store.idempotency, store.usage, clock, clock.monotonic)
    await stack.enter_async_context(forgetting)
    watch = await stack.enter_async_context(guard.watch(follow, store, clock))
    watch.hold_up(repair, suspicions)
    if settings.database_url is not None:
        watch.spare(repair, suspicions, follow)
    return Jobs(signer, suspicions, watch)


async def _keep_index(
    settings: Settings, guard: RollbackGuard, signer: LogSigner, check: HeadCheck, store: Store, stack: AsyncExitStack
) -> tuple[Repeating | None, IndexRepair, RecordSuspicions]:
    """Bring the index up to the ledger, compare a sample of it with the ledger, and keep it up to date. If the ledger
    is not the one from which the index was made, raise.

    The returned suspicions contain the withheld rows.
    """
    await guard.require_ledger(check.ledger, store)
    # Retired keys must be known before any of their entries is verified.
    follow = await guard.follow(signer, check, store)
    catch_up = CatchUp(check.methods, check.ledger, store.documents, check)
    audit = IndexAudit(check, check.ledger, store.index_rows, store.quarantine, Record(store.activity), SystemClock())
    # Catching up requires rows of the present form.
    await audit.seal()
    await catch_up()
    await audit.sample(settings.ledger.sample, secrets.randbelow)
    await audit.release()
    suspicions = RecordSuspicions(audit)
    await suspicions.step()
    repair = IndexRepair(catch_up)
    for job in filter(None, (repair, suspicions, follow)):
        await stack.enter_async_context(job)
    return follow, repair, suspicions


RESOURCES: Final = ("mcp.enabled", "a2a.enabled")
"""Settings of the kernel that need an extension."""


def require_resources(installed: Sequence[InstalledExtension], settings: Settings) -> None:
    """Raise ``SettingsError`` when a setting in ``RESOURCES`` is true and no installed extension implements it."""
    known = {key for one in installed for key in one.declared.resources.values()}
    for key in RESOURCES:
        if attrgetter(key)(settings) and key not in known:
            what = f"{key} is true, and no extension that is installed serves it."
            fix = f"{install_command('identity-service[mcp]')}, or set it to false."
            raise SettingsError(what, f"{settings.origin(key)} ({key})", fix)


def served_resources(chosen: ChosenExtensions, settings: Settings) -> tuple[str, ...]:
    """Return the paths of resources that are served."""
    declared = [each for one in chosen.on for each in one.declared.resources.items()]
    return tuple(path for path, key in declared if attrgetter(key)(settings))


def unserved_resources(chosen: ChosenExtensions, settings: Settings) -> dict[str, tuple[str, str]]:
    """Return the paths of the other resources and of extensions that are off, each with its extension and the setting
    that must be true.

    The setting is empty if the extension must be enabled.
    """
    served = served_resources(chosen, settings)
    return {path: (one.declared.name, "") for one in chosen.off for path in one.declared.paths} | {
        path: (one.declared.name, "" if attrgetter(key)(settings) else key)
        for one in (*chosen.on, *chosen.off)
        for path, key in one.declared.resources.items()
        if path not in served
    }


class Runtime(Hidden, Struct, frozen=True):
    """The settings, and the ports that they chose.

    ``anonymous_verifier``: verifies for unauthenticated clients, separate from ``provers``.
    ``answers_secret``: seals stored answers. ``challenge_secret``: authenticates challenges.
    ``fingerprint``: returns the fingerprint of an API key's digest.
    """

    settings: Settings
    clock: SystemClock
    plugins: PluginManager
    provers: ProofWorkers
    anonymous_verifier: ProofWorkers
    custodian: Custodian
    keeper: Custodian
    store: Store
    reader: DidReader
    answers_secret: bytes
    challenge_secret: bytes
    fingerprint: Callable[[str], str]
    jobs: Jobs
    buckets: TokenBucketStorage
    key_stores: tuple[KeyStore, ...]
    known_keys: ApiKeyCache
    key_watch: KeyStoreWatch

    @property
    def extensions(self) -> ChosenExtensions:
        """Return the installed extensions. Raises ``StartError``: when they do not fit together or with the settings."""
        require_resources(in_order(self.plugins.collection.extensions), self.settings)
        return extensions_on(self.plugins, self.store.database)

    @property
    def resources(self) -> tuple[str, ...]:
        """Return the paths that have separate access tokens."""
        return served_resources(self.extensions, self.settings)

    @property
    def signer(self) -> LogSigner:
        """Return the signer of log entries."""
        return self.jobs.signer

    @property
    def mismatch(self) -> Callable[[], IdentityError | None]:
        """Return the function that makes the error of a refused change, if the databases do not match or the clock is
        ahead; None if changes are allowed."""
        watch, clock = self.jobs.watch, self.clock
        return lambda: (
            clock.fault() if (one := watch.mismatch) is None else StorageMismatch(str(one), details=one.details)
        )
