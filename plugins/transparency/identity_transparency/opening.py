"""Opening of an installation's transparency log, and of the checks of its databases, for the extension and for commands."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from identity_commands.beside import store_beside
from msgspec import Struct

from identity_core.bootstrap.ports import PUT_BACK, SystemClock, log, origin_of
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.ports.ledger import LedgerBackend
from identity_core.settings import NAME_OF_LOG, Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import CatchUp
from identity_core.use_cases.dids.index_audit import IndexAudit
from identity_core.use_cases.dids.log_keys import LogSigner
from identity_core.use_cases.record import Record
from identity_tlog.tree import Malformed
from identity_transparency.domain.checkpoint_keys import CheckpointKeys
from identity_transparency.remembered import CheckpointFile, Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import ReadCheckpointKeys
from identity_transparency.use_cases.follow import FollowServiceLog, find_service
from identity_transparency.use_cases.project import CheckpointSigner, LedgerFollower, TransparencyLog
from identity_transparency.use_cases.storage import CheckStorage


async def followed(signer: LogSigner, ledger: LedgerBackend, store: Store, check: HeadCheck) -> FollowServiceLog:
    """Read the service log, and update ``signer`` and the refusals of ``check`` from it. A store that lacks the log's DID, because
    it was rebuilt from the ledger, gets it. Raises ``StartError``."""
    tree = TransparencyTree(store.database)
    if await tree.service_did() is None and (found := await find_service(ledger, signer.custodian)):
        await tree.begin_service(found)
        log.warning(
            "the store did not know the service's own DID, and the ledger has it: %s. If the store is a new one, set ledger.origin to the "
            "name that the log had; API keys, credentials, delegations and proofs are only in a backup",
            found,
        )
    follow = FollowServiceLog(signer, ledger, tree, SystemClock(), check.retired)
    await follow.now()
    if not signer.multikey:
        raise StartError(
            "the first key of the log is retired, and neither the store nor the ledger has the service log that says which followed",
            "the service log",
            "put the ledger and the custodian back from one backup",
        )
    signer.generations = check.generations = follow
    return follow


async def open_log(settings: Settings, ledger: LedgerBackend, store: Store, custodian: Custodian) -> TransparencyLog:
    """Return the transparency log of ``ledger``, without a server around it."""
    tree = TransparencyTree(store.database)
    follower = LedgerFollower(ledger, tree)
    here = f"{origin_of(settings).partition('://')[2]}/api/v1/ledger"
    # A log keeps its name on another port and behind another host: anyone who holds a checkpoint knows it by that.
    origin = settings.ledger.origin or await tree.named(here)
    read = ReadCheckpointKeys(custodian, ledger, tree, origin)
    signer = CheckpointSigner(custodian, await read.with_first_key(), SystemClock(), read)
    return TransparencyLog(ledger, tree, follower, signer)


@contextlib.asynccontextmanager
async def transparency_log(settings: Settings) -> AsyncIterator[TransparencyLog]:
    """Open the log beside a running service, for the command line. Raises ``StartError``."""
    async with log_beside(settings) as (opened, _):
        yield opened


@contextlib.asynccontextmanager
async def log_beside(settings: Settings) -> AsyncIterator[tuple[TransparencyLog, Store]]:
    """Open the log and the store under it beside a running service. Raises ``StartError``."""
    async with store_beside(settings) as (plugins, custodian, store):
        yield await open_log(settings, plugins.ledger(settings.ledger.backend), store, custodian), store


def checkpoint_file_of(settings: Settings) -> Path:
    """Return the file of the last checkpoint. It is never in the data directory, with which it would be restored. Several
    installations may share a settings file, so the name contains the digest of the path."""
    if settings.ledger.checkpoint_path is not None:
        return settings.ledger.checkpoint_path
    data_dir = settings.data_dir.resolve()
    if settings.file is None:
        return data_dir.with_name(f"{data_dir.name}.checkpoint")
    digest = hashlib.sha256(str(data_dir).encode()).hexdigest()
    return settings.file.resolve().with_name(f"{data_dir.name}-{digest[:8]}.checkpoint")


def check_of(ledger: LedgerBackend, store: Store) -> CheckStorage:
    """Return the check over open databases."""
    return CheckStorage(ledger, store.documents, TransparencyTree(store.database))


def load_remembered(settings: Settings) -> Remembered | None:
    """Return the stored checkpoint and audit line. Raises ``StartError``: when they cannot be read."""
    try:
        return CheckpointFile(checkpoint_file_of(settings)).load()
    except (Malformed, OSError) as error:
        what = f"the checkpoint that is remembered cannot be read: {error}"
        fix = (
            "put the right file back; `identity ledger accept-rollback` begins a new one from the databases as they are"
        )
        raise StartError(what, str(checkpoint_file_of(settings)), fix) from error


async def checkpoint_keys(read: Callable[[], Awaitable[CheckpointKeys]]) -> CheckpointKeys:
    """Return the keys of checkpoints that ``read`` returns. Raises ``StartError``: when the custodian does not hold the one in use."""
    try:
        return await read()
    except KeyNotHeld as error:
        what = "the custodian does not hold the key of the log, with which the checkpoint that is remembered was signed"
        raise StartError(what, "the custodian", PUT_BACK) from error


def check_new_origin(settings: Settings, new_origin: str) -> None:
    """Check a new name of the log. Raises ``StartError``: for an invalid name, and when the settings name another."""
    if re.fullmatch(NAME_OF_LOG, new_origin) is None:
        raise StartError(
            "no log has such a name", new_origin, "take up to 200 printable ASCII characters, without plus or blank"
        )
    if settings.ledger.origin not in (None, new_origin):
        what = f"the settings say that the log is called {settings.ledger.origin}"
        raise StartError(what, "ledger.origin", "set ledger.origin to the new name, or take it out")


class IndexTools(Struct, frozen=True):
    """The tools that compare and repair the index, and their store."""

    audit: IndexAudit
    catch_up: CatchUp
    store: Store


@contextlib.asynccontextmanager
async def index_tools(settings: Settings) -> AsyncIterator[IndexTools]:
    """Open the index, the ledger and the DID methods, for the command line. Raises ``StartError``."""
    async with store_beside(settings) as (plugins, _, store):
        methods, ledger = plugins.did_methods(), plugins.ledger(settings.ledger.backend)
        check = HeadCheck(methods, ledger, store.documents, store.quarantine)
        audit = IndexAudit(check, ledger, store.index_rows, store.quarantine, Record(store.activity), SystemClock())
        yield IndexTools(audit, CatchUp(methods, ledger, store.documents, check), store)
