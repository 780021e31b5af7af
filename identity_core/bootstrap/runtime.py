"""What is open when the handlers are built."""

from __future__ import annotations

from collections.abc import Callable

from identity_core.bootstrap.beside import ApiKeyAdministration
from identity_core.bootstrap.jobs import Jobs
from identity_core.bootstrap.ports import SystemClock
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.extension.choice import ChosenExtensions, extensions_on
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian
from identity_core.ports.key_store import KeyStore
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import Settings
from identity_core.store import Store
from identity_core.throttle.fallback import FallbackStorage
from identity_core.throttle.token_bucket import TokenBucketStorage
from identity_core.use_cases.api_keys.authenticate import ApiKeyCache
from identity_core.use_cases.api_keys.tagged import KeyStoreWatch
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.dids.log_keys import LogSigner
from identity_core.values import value_class


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
        return extensions_on(self.plugins, self.store.database)

    @property
    def has_pages(self) -> bool:
        """Return whether a holder can decide on a page: the settings want pages, and the extension that serves them is on."""
        return self.settings.ui.enabled and any(one.declared.name == "ui" for one in self.extensions.on)

    @property
    def signer(self) -> LogSigner:
        """What signs the entries of logs."""
        return self.jobs.follow.signer

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
