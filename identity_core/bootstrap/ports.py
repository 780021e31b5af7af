"""The resources with which each part of an installation is opened: clock, choices from the settings, plugins, the
service's own keys, the store. Faults of databases are converted to errors of a start."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from msgspec import Struct

from identity_codec import multikey
from identity_core.database import (
    Database,
    DatabaseDamaged,
    DatabaseError,
    DatabaseForbidden,
    MigrationFailed,
    MigrationPending,
    faults_of,
    migrate,
)
from identity_core.domain import callers as key_text
from identity_core.domain.delegations.delegation import AutonomyTable
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.extension.choice import extensions_on
from identity_core.extension.declaration import Extension
from identity_core.plugin.manager import PluginManager
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.ports.ledger import MOST_AHEAD_SECONDS, NOT_RECORDED, ClockAhead, LedgerBackend
from identity_core.settings import Settings, StartError, require_extras
from identity_core.store import Store
from identity_core.store.events import OpenSink
from identity_core.store.requests import StoredIdempotencyKeys
from identity_core.use_cases.background import CLOCK_SET_BACK
from identity_core.use_cases.credentials.sealed import CredentialSeal, SealedCredentials
from identity_core.use_cases.dids.log_keys import LogSigner

# Includes the time for which the machine sleeps, if the system supports it.
_COUNTER: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_BEGAN: Final = datetime.now(UTC) - timedelta(seconds=time.clock_gettime(_COUNTER))


class SystemClock(Struct, frozen=True):
    """The machine's clock, compared with its monotonic counter since the start of the process. The clock of the start
    is assumed to be right."""

    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def ahead_seconds(self, at: datetime) -> float:
        return (at - _BEGAN).total_seconds() - time.clock_gettime(_COUNTER)

    def fault(self) -> ClockAhead | None:
        """Return the error of a change while the clock is ahead, or so far behind that records of used values would
        be forgotten. None if it is right."""
        is_right = -CLOCK_SET_BACK.total_seconds() <= self.ahead_seconds(self.now()) <= MOST_AHEAD_SECONDS
        return None if is_right else ClockAhead(details=NOT_RECORDED)


def origin_of(settings: Settings) -> str:
    """Return the service's own origin, from which challenges, ``iss`` and ``aud`` are made. It never comes from a
    Host header."""
    return settings.server.public_url or f"http://{settings.server.host}:{settings.server.port}"


def autonomy_of(settings: Settings) -> AutonomyTable:
    """Return the table of the autonomy that each request needs."""
    chosen = settings.delegation
    return AutonomyTable(
        metadata=chosen.autonomy_metadata,
        pinned=chosen.autonomy_pinned,
        chosen=chosen.autonomy_chosen,
        anchor=chosen.autonomy_anchor,
        delegate=chosen.autonomy_delegate,
        ceiling=chosen.autonomy_ceiling,
    )


log = logging.getLogger("identity")


def load_plugins(settings: Settings, clock: SystemClock) -> PluginManager:
    """Return the installed plugins, none of them built, and make the data directory.

    Raises ``StartError``: when the data directory, or a database in it, is not writable.
    """
    require_extras(settings)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (settings.data_dir, *settings.data_dir.glob("*.sqlite")):
        if settings.database_url is None and not os.access(path, os.W_OK):
            fix = (
                "run it on a copy in a writable directory; `identity fsck` and `identity doctor` read this one as it is"
            )
            raise StartError("this command needs a writable data directory", str(path), fix)
    return PluginManager.load(settings, clock=clock, logger=log)


@contextlib.asynccontextmanager
async def open_ledger(settings: Settings) -> AsyncIterator[LedgerBackend]:
    """Open the ledger only. Raises ``StartError``: when it cannot be opened."""
    plugins = load_plugins(settings, SystemClock())
    try:
        yield plugins.ledger(settings.ledger.backend)
    finally:
        await plugins.close()


ANSWERS_KEY: Final = "answers"
ROWS_KEY: Final = "rows"


async def make_own_keys(custodian: Custodian) -> LogSigner:
    """Make the missing keys of the service, and return the signer of log entries."""
    signer = await LogSigner.open(custodian)
    await make_answers_key(custodian)
    return signer


async def make_answers_key(custodian: Custodian) -> None:
    """Make the key from which all secrets except that of the rows are derived, if it is missing."""
    await custodian.generate(ANSWERS_KEY, multikey.ED25519, did="-", purpose=ANSWERS_KEY)


async def answers_secret(custodian: Custodian) -> bytes:
    """Return the secret that seals stored answers."""
    return await _secret(custodian, b"identity: stored answers, v1")


async def rows_secret(custodian: Custodian) -> bytes:
    """Return the secret from which the tags of the store's rows are derived; the database alone cannot produce them.

    Raises ``KeyNotHeld``: before the first start that makes them.
    """
    await custodian.public_key(ROWS_KEY)
    return await _secret(custodian, b"identity: rows of the store, v1", key=ROWS_KEY)


async def make_rows_key(custodian: Custodian) -> None:
    """Make the key of ``rows_secret``. It has a separate name, because its existence means that rows have tags."""
    await custodian.generate(ROWS_KEY, multikey.ED25519, did="-", purpose=ROWS_KEY)


async def challenge_secret(custodian: Custodian) -> bytes:
    """Return the secret that authenticates issued challenges. A new secret makes issued challenges invalid, and
    clients must request new ones."""
    return await _secret(custodian, b"identity: challenges, v1")


async def consents_secret(custodian: Custodian) -> bytes:
    """Return the secret that seals the answers of holders to agents."""
    return await _secret(custodian, b"identity: answers of holders to agents, v1")


async def fingerprints(custodian: Custodian) -> Callable[[str], str]:
    """Return the function that computes the fingerprint of an API key's digest."""
    return partial(key_text.fingerprint, await _secret(custodian, b"identity: fingerprints of API keys, v1"))


async def did_hashes(custodian: Custodian) -> Callable[[str], str]:
    """Return the keyed hash that replaces a DID in logs: 12 hex digits. Without the key, a DID cannot be compared
    with the hash."""
    secret = await _secret(custodian, b"identity: hashes of DIDs in logs, v1")
    return lambda did: hmac.digest(secret, did.encode(), "sha256").hex()[:12]


async def open_sealed_credentials(custodian: Custodian, store: Store) -> SealedCredentials:
    """Return the credentials. Their values are sealed under a key derived from one of the custodian's, so the
    database alone cannot open them."""
    secret = await _secret(custodian, b"identity: credentials at rest, v1")
    return SealedCredentials(store.credentials, store.credential_schemas, CredentialSeal(secret, secrets.token_bytes))


async def _secret(custodian: Custodian, label: bytes, *, key: str = ANSWERS_KEY) -> bytes:
    # Ed25519 is deterministic: all processes derive the same secret, and the key itself never leaves the custodian.
    return hashlib.sha256(await custodian.sign(key, label)).digest()


async def open_store(plugins: PluginManager, custodian: Custodian, *, processes: int) -> Store:
    """Return the store, with the sinks of the extensions that are on. The tags of its rows are derived from a key of
    the custodian.

    Raises ``DatabaseUnavailable``, ``MigrationFailed``, ``StartError``.
    """
    settings = plugins.settings
    try:
        secret, is_first = await rows_secret(custodian), False
    except KeyNotHeld:
        await make_rows_key(custodian)
        secret, is_first = await rows_secret(custodian), True
    store = Store.open(
        settings.data_dir,
        settings.database_url,
        processes=processes,
        secret=secret,
        mapped_mebibytes=settings.mapped_mebibytes,
        readers=settings.database_readers,
    )
    kept = timedelta(hours=settings.retention.idempotency_hours)
    store.idempotency = StoredIdempotencyKeys(store.database, retention=kept)
    # A custodian may be older than its database. An empty database has no history to hide.
    is_new = is_first or await store.is_new()
    for one in (one.declared for one in extensions_on(plugins, store.database).on):
        _make_tables(store.database, one)
        store.activity.sinks += [OpenSink(one.name, sink, is_vital=one.vital) for sink in one.sinks(store, is_new)]
    if not store.activity.has_vital:
        log.warning(
            "no extension that is on writes an audit log: changes are not recorded. Enable records, or install it"
        )
    return store


def _make_tables(database: Database, extension: Extension) -> None:
    """Run the new steps of an extension, before jobs write to the database."""
    if extension.migrations is not None and not database.read_only:
        try:
            migrate(database, extension.migrations, f"{extension.name}_")
        except MigrationFailed as error:
            # ``open_extensions`` tries again, and refuses the operations of the extension.
            if extension.vital or isinstance(error, MigrationPending):
                raise


PUT_BACK = (
    "put the right databases back, all of one backup; if this is the backup that you want, run `identity ledger accept-rollback`, "
    "which says what is lost (with --new-origin NAME, if readers may have a newer checkpoint)"
)

BRING_UP = "make a backup, then `identity upgrade apply`; the next start does it as well"


@contextlib.contextmanager
def convert_storage_faults(settings: Settings) -> Iterator[None]:
    """Convert any fault of the databases to a ``StartError`` that names place and remedy."""
    try:
        yield
    except StartError as error:
        if not isinstance(error.__cause__, DatabaseDamaged | DatabaseForbidden | MigrationFailed):
            raise
        raise storage_error(settings, error.__cause__) from error
    except (DatabaseError, StorageMismatch) as error:
        raise storage_error(settings, error) from error
    except IdentityError as error:
        if not isinstance(error.__cause__, DatabaseError):
            raise
        raise storage_error(settings, error) from error


def storage_error(settings: Settings, error: Exception) -> StartError:
    """Return ``error`` as a start error of three lines."""
    where = str(settings.data_dir) if settings.database_url is None else "the database of database_url"
    cause = error if isinstance(error, DatabaseError) else error.__cause__
    if isinstance(cause, DatabaseDamaged):
        for path in sorted(settings.data_dir.glob("*.sqlite")):
            for fault in faults_of(path):
                fix = f"put {path.name} and the other databases back from one backup; keep the broken ones"
                return StartError(f"{path.name} is damaged: {fault}", str(path), fix)
    if isinstance(error, StorageMismatch):
        return StartError(f"the databases are not those that this service wrote: {error}", where, PUT_BACK)
    if isinstance(cause, MigrationPending):
        return StartError(f"the databases are of an older version: {cause}", where, BRING_UP)
    if isinstance(cause, MigrationFailed):
        fix = "install the version of identity-service that made it, or put back a backup from before the upgrade"
        return StartError(str(cause), where, fix)
    if isinstance(cause, DatabaseForbidden):
        why = f"the role of database_url may not do that: {' '.join(cause.reason.split())}"
        fix = "connect as the role that owns the tables (`\\dt` of psql names it), or give this one its rights"
        return StartError(why, where, fix)
    what = cause.reason if isinstance(cause, DatabaseError) else cause or error
    return StartError(f"the databases cannot be used: {what}", where, "see `identity doctor`")
