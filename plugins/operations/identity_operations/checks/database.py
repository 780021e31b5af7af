"""Checks of databases: durability of acknowledged writes, integrity of the files, declared tables, agreement of the files,
rollbacks, and withheld DIDs. They only read, and create no missing table."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from identity_codec.times import printed
from identity_core.cli.options import shown_database
from identity_core.database import DatabaseError, faults_of, look_at
from identity_core.errors import IdentityError
from identity_core.extension.choice import read_store
from identity_core.extension.declaration import Diagnosis, listed, ok, unchecked, warn, wrong
from identity_core.files import install_command
from identity_core.ports.ledger import MOST_AHEAD_SECONDS
from identity_core.settings import Settings

# Two connections that write or checkpoint in the same instant may lose the start of a log that is being reset.
WAL_RESET_BUG: Final = ((3, 7, 0), (3, 51, 2))
# Their locks are missing, advisory or late; SQLite in WAL mode needs shared memory besides.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "fuse.sshfs"}
)
ASKED: Final = ("fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names")
STANDBYS: Final = "connected synchronous standbys"
# A user who is not a member of pg_monitor sees that a standby is connected, and not which kind it is.
QUESTION: Final = """
SELECT name, setting FROM pg_settings WHERE name = ANY(%s)
UNION ALL
SELECT %s, count(*)::text FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')
"""


def database(settings: Settings) -> Iterator[Diagnosis]:
    """Check the database that the settings name."""
    if settings.database_url is None:
        yield _sqlite(settings.data_dir)
    else:
        yield from _postgresql(shown_database(settings), settings.database_url)


def _sqlite(folder: Path) -> Diagnosis:
    first, last = WAL_RESET_BUG
    version = sqlite3.sqlite_version
    kind = file_system(folder, Path("/proc/self/mounts"))
    if kind in NETWORK_FILE_SYSTEMS:
        says = f"{folder} is on a network file system ({kind}), which SQLite must not be"
        return wrong(says, "use a local disk, or a PostgreSQL server: --database-url")
    if first <= sqlite3.sqlite_version_info <= last:
        return ok(
            f"SQLite {version} in {folder}; write with no other program: before 3.51.3 SQLite can lose commits then"
        )
    return ok(f"SQLite {version} in {folder}")


def file_system(folder: Path, mounts: Path) -> str | None:
    """Return the type of the file system of ``folder``, which need not exist; None if it is unknown."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return None
    place, kinds = f"{os.path.realpath(folder)}/", {}
    for line in lines:
        _, point, kind, *_ = line.split(" ")
        kinds[point.replace("\\040", " ").rstrip("/") + "/"] = kind
    above = [point for point in kinds if place.startswith(point)]
    return kinds[max(above, key=len)] if above else None


def _postgresql(where: str, url: str) -> Iterator[Diagnosis]:
    try:
        reported = ask(url)
    except ImportError:
        yield wrong("psycopg is not installed", install_command("identity-service[postgresql]"))
        return
    except OSError as error:
        yield wrong(f"{where} does not answer: {error}", "start it, or correct database_url")
        return
    standby = ok(f"{where}, with a synchronous standby ({reported['synchronous_standby_names']})")
    yield from list(judge(reported)) or [standby]


def judge(reported: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Yield the faults of a server with the ``reported`` settings."""
    for name in ("fsync", "full_page_writes"):
        if reported[name] != "on":
            says = f"PostgreSQL runs with {name} = {reported[name]}: a loss of power loses acknowledged entries"
            yield wrong(says, _set_on(name))
    if reported["synchronous_commit"] in ("off", "local"):
        says = f"synchronous_commit is {reported['synchronous_commit']}: a failure loses acknowledged entries"
        yield wrong(says, _set_on("synchronous_commit"))
    if not reported["synchronous_standby_names"].strip():
        says = "PostgreSQL has no synchronous standby: a failover loses acknowledged entries"
        yield warn(
            says,
            "name one in synchronous_standby_names (plugins/ledger_sql/patroni), or keep one server and its backups",
        )
    elif reported[STANDBYS] == "0":
        says = "no synchronous standby is connected to PostgreSQL: whatever is written waits for one, and is refused"
        yield warn(says, "start the standby, or look into its log")


def _set_on(name: str) -> str:
    return f"as its superuser: psql -c 'ALTER SYSTEM SET {name} = on' -c 'SELECT pg_reload_conf()'"


def ask(url: str) -> dict[str, str]:
    """Return the settings ``ASKED`` of the server that takes writes, and the number of its ``STANDBYS``. Raises ``OSError``: when
    it is unreachable."""
    import psycopg

    try:
        with psycopg.connect(url, connect_timeout=5, target_session_attrs="read-write") as connection:
            return dict(connection.execute(QUESTION, (list(ASKED), STANDBYS)).fetchall())
    except psycopg.Error as error:
        raise OSError(str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__) from error


BEFORE: Final = "see the findings before this one"
_OTHER_TABLES: Final = (
    "put the database back from a backup, or make by hand what the steps in identity_core/store/migrations make"
)
_WITHHELD: Final = "SELECT did, reason FROM quarantined_dids ORDER BY did"
_REMEDY: Final = (
    "`identity ledger audit` says what differs, `identity ledger repair --all` writes them anew from the ledger"
)


def tables(settings: Settings) -> Iterator[Diagnosis]:
    """Check that the tables of the store are those that this version declares. If there are none, or those of another version,
    yield nothing, because other checks report that."""
    from identity_core.store.migrations import bring_up
    from identity_operations.checks.tables import compare

    try:
        database = look_at(settings.database_url, settings.data_dir / "identity.sqlite")
        try:
            bring_up(database)
            found = compare(database)
        finally:
            database.end()
    except DatabaseError:
        return
    missing = [str(one) for one in found if not one.is_additional]
    additional = [str(one) for one in found if one.is_additional]
    if missing:
        yield wrong(f"the tables are not those of this version: {listed(missing)}", _OTHER_TABLES)
    if additional:
        yield warn(f"the tables have additions: {listed(additional)}", "remove it, unless it is yours")
    if not found:
        yield ok("as this version declares them")


def index(settings: Settings) -> Iterator[Diagnosis]:
    """Yield a warning when DIDs are withheld. Without an installation or a readable database, yield nothing, because other checks
    report that."""
    try:
        found = read_store(settings, lambda transaction: transaction.execute(_WITHHELD).fetchall())
    except DatabaseError:
        return
    if not found:
        yield ok("no DID is withheld")
        return
    yield wrong(f"{len(found)} DIDs are withheld: {listed([f'{did}: {reason}' for did, reason in found])}", _REMEDY)


def storage(settings: Settings) -> Iterator[Diagnosis]:
    """Check that the databases are complete and agree with each other. Raises ``StartError``. Nothing is written, whatever is
    there."""
    yield from list(_broken_files(settings.data_dir)) or [_compared(settings)]


def _broken_files(folder: Path) -> Iterator[Diagnosis]:
    for path in sorted(folder.glob("*.sqlite")):
        try:
            faults = faults_of(path)
        except DatabaseError as error:
            faults = [error.reason]
        except OSError as error:
            faults = [str(error)]
        if faults:
            says = f"{path.name} is damaged: {faults[0]} It is in: {path}"
            yield wrong(says, "put it and the other databases back from one backup; keep the broken ones")


def _compared(settings: Settings) -> Diagnosis:
    from identity_operations.examination.storage import compare_storage

    try:
        found = asyncio.run(compare_storage(settings))
    except IdentityError as error:
        return wrong(f"what is stored cannot be compared: {error}", BEFORE)
    if found.pending:
        says = f"of an older version: {'; '.join(found.pending)}"
        return warn(says, "make a backup, then `identity upgrade apply`; the next start does it as well")
    kept = "" if found.remembered is None else f"; the stored checkpoint has {found.remembered}"
    if found.entries is None:
        return unchecked(f"the ledger {settings.ledger.backend} is compared only by a start{kept}")
    if found.newest is not None and (ahead := found.newest.timestamp() - time.time()) > MOST_AHEAD_SECONDS:
        says = f"the newest ledger entry is of {printed(found.newest)}, which is {ahead:.0f} s ahead of the clock"
        return wrong(says, "set the clock; where it is right, see docs/how-to/upgrade.md")
    return ok(f"{found.entries} ledger entries agree with the store{kept}")


def checkpoint(settings: Settings) -> Iterator[Diagnosis]:
    """Check the checkpoint that is stored apart."""
    from identity_transparency.opening import checkpoint_file_of

    path = checkpoint_file_of(settings)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        says = f"the last checkpoint cannot be stored in {path.parent}: a rollback would not be detected"
        yield warn(says, "set ledger.checkpoint_path to a place apart from the databases and their backups")
    elif not path.exists():
        yield unchecked(f"no checkpoint in {path}, so no rollback can be seen: set ledger.checkpoint_path")
    else:
        yield ok(f"stored in {path}; keep it out of the backups of the databases")
