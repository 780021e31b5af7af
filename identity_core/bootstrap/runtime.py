"""The resources that are open when the handlers are built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from identity_codec.values import value_class
from identity_core.bootstrap.beside import ApiKeyAdministration
from identity_core.bootstrap.jobs import Jobs
from identity_core.bootstrap.ports import SystemClock
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.extension.choice import ChosenExtensions, extensions_on
from identity_core.extension.order import InstalledExtension, in_order
from identity_core.files import install_command
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian
from identity_core.ports.key_store import KeyStore
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import Settings, SettingsError
from identity_core.store import Store
from identity_core.throttle.fallback import FallbackStorage
from identity_core.throttle.memory import TokenBucketStorage
from identity_core.use_cases.api_keys.tagged import KeyStoreWatch
from identity_core.use_cases.auth.authenticate import ApiKeyCache
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.dids.log_keys import LogSigner

RESOURCES: Final = ("mcp.enabled", "a2a.enabled")
"""Settings of the kernel that only an extension fulfils."""


def require_resources(installed: Sequence[InstalledExtension], settings: Settings) -> None:
    """Raise ``SettingsError``: when a setting is true that no installed extension fulfils."""
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
    """Return the paths of the other resources and of extensions that are off, each with its extension and the setting that must be true.

    The setting is empty if the extension must be enabled.
    """
    served = served_resources(chosen, settings)
    return {path: (one.declared.name, "") for one in chosen.off for path in one.declared.paths} | {
        path: (one.declared.name, "" if attrgetter(key)(settings) else key)
        for one in (*chosen.on, *chosen.off)
        for path, key in one.declared.resources.items()
        if path not in served
    }


@value_class
class Runtime:
    """The settings, and the ports that they chose.

    ``anonymous_verifier`` verifies for strangers, apart from ``provers``. ``answers_secret``: what stored answers are sealed under;
    ``challenge_secret``: what vouches for challenges; ``fingerprint`` makes that of the digest of an API key.
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
    keys: ApiKeyAdministration
    key_watch: KeyStoreWatch

    @property
    def extensions(self) -> ChosenExtensions:
        """Return the installed extensions. Raises ``StartError``: when they do not fit together or with the settings."""
        require_resources(in_order(self.plugins.collection.extensions), self.settings)
        return extensions_on(self.plugins, self.store.database)

    @property
    def resources(self) -> tuple[str, ...]:
        """Return the paths that have access tokens of their own."""
        return served_resources(self.extensions, self.settings)

    @property
    def signer(self) -> LogSigner:
        """Return the signer of log entries."""
        return self.jobs.signer

    @property
    def mismatch(self) -> Callable[[], IdentityError | None]:
        """Return the function that makes the refusal of a change: of the databases, or of a clock that is ahead; None without one."""
        watch, clock = self.jobs.watch, self.clock
        return lambda: (
            clock.fault() if (one := watch.mismatch) is None else StorageMismatch(str(one), details=one.details)
        )

    @property
    def limiter(self) -> FallbackStorage | None:
        """The buckets where processes share them: those may be out of reach."""
        return self.buckets if isinstance(self.buckets, FallbackStorage) else None
