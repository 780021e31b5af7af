"""What ``identity doctor`` says of the database: whether an acknowledged write is as safe as it is said to be."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from identity_core.cli.findings import Finding
from identity_core.cli.options import shown_database
from identity_core.settings import Settings

CHECK: Final = "database"
# Two connections that write or checkpoint in the same instant may lose the start of a log that is being reset.
WAL_RESET_BUG: Final = ((3, 7, 0), (3, 51, 2))
# Their locks are missing, advisory or late; SQLite in WAL mode needs shared memory besides.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "fuse.sshfs"}
)
ASKED: Final = ("fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names")
STANDBYS: Final = "connected synchronous standbys"
# Whoever is no member of pg_monitor sees that a standby is connected, and not which kind it is.
QUESTION: Final = """
SELECT name, setting FROM pg_settings WHERE name = ANY(%s)
UNION ALL
SELECT %s, count(*)::text FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')
"""


def database(settings: Settings) -> Iterator[Finding]:
    """The findings about the database that the settings name."""
    if settings.database_url is None:
        yield from _sqlite(settings.data_dir)
    else:
        yield from _postgresql(settings, settings.database_url)


def _sqlite(folder: Path) -> Iterator[Finding]:
    first, last = WAL_RESET_BUG
    version = sqlite3.sqlite_version
    kind = file_system(folder, Path("/proc/self/mounts"))
    if kind in NETWORK_FILE_SYSTEMS:
        remedy = "use a local disk, or a PostgreSQL server: --database-url"
        yield Finding(CHECK, "fail", f"{folder} is on a network file system ({kind}), which SQLite must not be", remedy)
    elif first <= sqlite3.sqlite_version_info <= last:
        says = f"SQLite {version} can lose commits when two programs write at once (WAL reset, mended in 3.51.3)"
        remedy = "let nothing but this service open the files: its processes take turns; or update SQLite"
        yield Finding(CHECK, "warn", says, remedy)
    else:
        yield Finding(CHECK, "ok", f"SQLite {version} in {folder}")


def file_system(folder: Path, mounts: Path) -> str | None:
    """The type of the file system that ``folder`` is on, or would be; None where nobody says."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return None
    place = os.path.realpath(folder)
    found: tuple[str, str | None] = ("", None)
    for line in lines:
        _, point, kind, *_ = line.split(" ")
        point = point.replace("\\040", " ").rstrip("/") + "/"
        if f"{place}/".startswith(point) and len(point) >= len(found[0]):
            found = (point, kind)
    return found[1]


def _postgresql(settings: Settings, url: str) -> Iterator[Finding]:
    where = shown_database(settings)
    try:
        said = ask(url)
    except ImportError:
        yield Finding(CHECK, "fail", "psycopg is not installed", "pip install 'identity-service[postgresql]'")
        return
    except OSError as error:
        yield Finding(CHECK, "fail", f"{where} does not answer: {error}", "start it, or correct database_url")
        return
    findings = list(judge(said))
    yield from findings
    if not findings:
        yield Finding(CHECK, "ok", f"{where}, with a synchronous standby ({said['synchronous_standby_names']})")


def judge(said: Mapping[str, str]) -> Iterator[Finding]:
    """What is wrong with a server whose settings are ``said``."""
    for name in ("fsync", "full_page_writes"):
        if said[name] != "on":
            says = f"PostgreSQL runs with {name} = {said[name]}: a loss of power loses acknowledged entries"
            yield Finding(CHECK, "fail", says, f"set {name} = on")
    if said["synchronous_commit"] in ("off", "local"):
        says = f"synchronous_commit is {said['synchronous_commit']}: a failure loses acknowledged entries"
        yield Finding(CHECK, "fail", says, "set synchronous_commit = on")
    if not said["synchronous_standby_names"].strip():
        says = "PostgreSQL has no synchronous standby: a failover loses acknowledged entries"
        yield Finding(CHECK, "warn", says, "see plugins/ledger_sql/patroni, or keep one server and its backups")
    elif said[STANDBYS] == "0":
        says = "no synchronous standby is connected to PostgreSQL: whatever is written waits for one, and is refused"
        yield Finding(CHECK, "warn", says, "start the standby, or look into its log")


def ask(url: str) -> dict[str, str]:
    """The settings ``ASKED`` of the server that takes writes, and the number of its ``STANDBYS``. Raises ``OSError`` when it
    cannot be asked."""
    import psycopg

    try:
        with psycopg.connect(url, connect_timeout=5, target_session_attrs="read-write") as connection:
            return dict(connection.execute(QUESTION, (list(ASKED), STANDBYS)).fetchall())
    except psycopg.Error as error:
        raise OSError(str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__) from error
