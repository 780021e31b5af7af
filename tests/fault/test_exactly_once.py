"""A request with an ``Idempotency-Key`` is done exactly once where a database refuses a part of it: a lock that another program holds, or
a full disk, for each kind of change on SQLite and PostgreSQL.

``IDENTITY_ROUNDS`` locks each table and file in turn; without it the index is locked.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from nacl.signing import SigningKey

from identity_codec.times import printed
from tests import servers
from tests.attack.stranger import (
    ACTS,
    LEAVE,
    PREFIX,
    Answer,
    Holder,
    body_hash,
    header,
    public,
    recovery_body,
    rotation,
    service,
    signing_key,
)
from tests.fault import service_process
from tests.fault.history_clients import in_parallel
from tests.fault.service_process import API_KEY, Running, eventually
from tests.fault.test_full_disk import fill
from tests.fault.test_storage_disk import cannot
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

ADMIN = {"X-API-Key": API_KEY}
SCHEMA = "https://schemas.example/once"
# Each lock costs the timeout of several writes; the first is always taken.
TABLES = ("did_versions", "ledger_entries", "idempotency_keys", "audit_lines", "credentials", "keys_api_keys", "usage")
FILES = ("identity", "ledger")


@dataclass
class Request:
    """A change: ``send`` makes one attempt, always with the same key and body; ``count`` returns how often the change was made."""

    send: Callable[[], Answer]
    count: Callable[[], int]
    answers: list[Answer] = field(default_factory=list)


def listed(running: Running, path: str, headers: dict[str, str] | None = None) -> list[Any]:
    answer = running.wire.call("GET", f"{PREFIX}/{path}", None, headers or ADMIN)
    assert answer.status == 200, answer.body
    return list(answer.json["items"])


def post_json(running: Running, path: str, body: Any) -> Any:
    answer = running.wire.call("POST", f"{PREFIX}/{path}", body, ADMIN)
    assert answer.status == 201, answer.body
    return answer.json


def signed(holder: Holder, act: str, body: Any, name: str, *keys: SigningKey) -> Answer:
    """Send a change of a DID, signed anew with the first key, and where that is not in force any more with the next."""
    scheme = "RecoveryKey" if act == "recover" else "DIDAuth"
    method = ACTS[act][0]
    named = {} if method == "DELETE" else {"Idempotency-Key": name}
    for key in keys:
        asked = holder.ask(act, body_hash(body))
        if asked.status != 200:
            return asked
        value = header(holder.did, key.sign(asked.json["challenge"].encode()).signature, scheme)
        answer = holder.wire.call(method, holder.path(act), body, named | {"Authorization": value})
        if answer.status != 401:
            break
    return answer


def requests(running: Running, name: str) -> dict[str, Request]:
    """Return a request of each kind, about things of their own; ``name`` is a part of their keys."""
    holders = {act: running.stranger.holder() for act in ACTS}
    bls = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
    issuer = post_json(running, "dids", {"method": "ids", "options": {"storeSecrets": True, "additionalKeys": [bls]}})[
        "did"
    ]
    running.wire.call(
        "POST",
        f"{PREFIX}/credential-schemas",
        {"id": SCHEMA, "attributes": [{"name": "age", "type": "integer"}]},
        ADMIN,
    )
    owner = post_json(running, "admin/api-keys", {"name": f"owner {name}", "admin": True})
    rotated = post_json(running, "admin/api-keys", {"name": f"rotated {name}", "admin": True})["record"]["id"]
    new_key, new_recovery = SigningKey.generate(), SigningKey.generate()
    until = printed(datetime.now(UTC) + timedelta(hours=12))
    recovery_key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": public(new_recovery)}
    bodies = {
        "update": service(name),
        "rotate": rotation(holders["rotate"].key_id) | {"revokeOldAfter": until},
        "recover": recovery_body(public(new_key), newRecoveryKey=recovery_key),
        "deactivate": LEAVE,
    }
    claims = {"issuerDid": issuer, "holderDid": holders["update"].did, "schemaId": SCHEMA}
    claims |= {"attributes": {"age": 37}, "suite": 1}

    def change(act: str) -> Request:
        holder = holders[act]
        keys = (holder.recovery, new_recovery) if act == "recover" else (holder.key,)
        return Request(
            lambda: signed(holder, act, bodies[act], f"{act}-of-the-test-{name}", *filter(None, keys)),
            lambda: len(holder.log().splitlines()) - 1,
        )

    def keyed(kind: str, path: str, body: Any, api_key: str = API_KEY) -> Callable[[], Answer]:
        headers = {"X-API-Key": api_key, "Idempotency-Key": f"{kind}-{name}"}
        return lambda: running.wire.call("POST", f"{PREFIX}/{path}", body, headers)

    key = owner["apiKey"]
    keys_before = len(listed(running, "admin/api-keys?limit=200"))
    create = {"method": "ids", "options": {"recoveryKey": True}}
    return {
        "create": Request(
            keyed("create", "dids", create, key), lambda: len(listed(running, "dids?limit=200", {"X-API-Key": key}))
        ),
        **{act: change(act) for act in ACTS},
        "issue": Request(
            keyed("issue", "credentials", claims),
            lambda: len(listed(running, f"credentials?limit=200&holderDid={holders['update'].did}")),
        ),
        "rotateKey": Request(
            keyed("rotateKey", f"admin/api-keys/{rotated}/rotate", {}),
            lambda: len(listed(running, "admin/api-keys?limit=200")) - keys_before,
        ),
    }


def send_all(wanted: dict[str, Request]) -> None:
    """One attempt of each, all at the same moment."""
    in_parallel([lambda one=one: one.answers.append(one.send()) for one in wanted.values()])  # type: ignore[misc]


def check_once(wanted: dict[str, Request]) -> None:
    """Each request failed or was done, is answered now, twice alike, and was done once."""
    for kind, one in wanted.items():
        assert one.answers[0].status in (200, 201, 503), (kind, one.answers)
        deadline = time.monotonic() + 30
        while (answer := one.send()).status in (409, 503) and time.monotonic() < deadline:
            time.sleep(0.1)
        again = one.send()
        where = (kind, one.answers[0].body, answer.status, answer.body, again.status, again.body)
        if kind == "deactivate":
            # DELETE takes no key: a second one finds that it is done.
            assert again.status == 410, where
            assert answer.status in (200, 410), where
        else:
            assert answer.status in (200, 201), where
            assert (again.status, again.json) == (answer.status, answer.json), where
            if one.answers[0].status != 503:
                assert one.answers[0].json == answer.json, where
        assert one.count() == 1, where
        if kind == "create":
            key = signing_key(answer.json["keys"]["authentication"]["privateKey"])
            assert public(key) in answer.body.decode(), where


@contextlib.contextmanager
def table_locked(url: str, table: str) -> Iterator[None]:
    """Others read the table and cannot write to it."""
    with psycopg.connect(url) as other:
        other.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        yield


@contextlib.contextmanager
def file_locked(path: Path) -> Iterator[None]:
    """Others read the file and cannot write to it."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def end_leases(execute: Callable[[str], object]) -> None:
    """Let the minute pass in which an attempt that could not give its key back holds it."""
    execute("UPDATE idempotency_keys SET begun_at = begun_at - 61000000 WHERE status IS NULL")


def some(of: Sequence[str]) -> Sequence[str]:
    return of if os.environ.get("IDENTITY_ROUNDS") else of[:1]


def test_locked_table_changes_nothing_twice(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """The entry may be on the ledger while the index cannot be written: the retry gets the answer of that change."""
    url = postgres_server.new_database()
    with service_process.service(tmp_path / "data", environment={"IDENTITY_DATABASE_URL": url}) as running:
        for table in some(TABLES):
            wanted = requests(running, table)
            with table_locked(url, table):
                send_all(wanted)
            with psycopg.connect(url, autocommit=True) as other:
                end_leases(other.execute)
            refused = {kind for kind, one in wanted.items() if one.answers[0].status == 503}
            if table in ("did_versions", "ledger_entries"):
                assert refused >= {"create", *ACTS}, table
            check_once(wanted)


def test_locked_file_changes_nothing_twice(tmp_path: Path) -> None:
    with service_process.service(tmp_path / "data") as running:
        for database in some(FILES):
            wanted = requests(running, database)
            with file_locked(tmp_path / "data" / f"{database}.sqlite"):
                send_all(wanted)
            with contextlib.closing(sqlite3.connect(tmp_path / "data" / "identity.sqlite", timeout=30)) as other, other:
                end_leases(other.execute)
            refused = {kind for kind, one in wanted.items() if one.answers[0].status == 503}
            assert refused >= {"create", "update"}, database
            check_once(wanted)


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        cannot(f"cannot mount a small file system here: {done.stderr.decode()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def ready(running: Running) -> bool:
    return running.wire.call("GET", "/ready").status == 200


def test_full_disk_changes_nothing_twice(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "16m") as disk, service_process.service(disk / "data") as running:
        for turn in range(2):
            wanted = requests(running, f"full{turn}")
            fill(disk / "filler")
            if turn:
                # Now the reservation of the key finds room, and what comes after it may not.
                os.truncate(disk / "filler", (disk / "filler").stat().st_size - 64 * 1024)
            send_all(wanted)
            if not turn:
                assert all(one.answers[0].status == 503 for one in wanted.values())
            (disk / "filler").unlink()
            eventually(lambda: ready(running), "the service is ready when there is room")
            with contextlib.closing(sqlite3.connect(disk / "data" / "identity.sqlite", timeout=30)) as other, other:
                end_leases(other.execute)
            check_once(wanted)


def test_full_tablespace_changes_nothing_twice(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """The tables of PostgreSQL have no room, its write-ahead log does."""
    # In a folder that the server's user may enter.
    with small_disk(postgres_server.folder / "small", "64m") as disk:
        place = disk / "space"
        place.mkdir()
        if postgres_server.user is not None:
            for each in (disk, place):
                shutil.chown(each, postgres_server.user)
        with psycopg.connect(postgres_server.url(), autocommit=True) as admin:
            admin.execute(f"CREATE TABLESPACE small LOCATION '{place}'")
            admin.execute("CREATE DATABASE small TABLESPACE small")
        try:
            environment = {"IDENTITY_DATABASE_URL": postgres_server.url("small")} | servers.CHEAP_PASSPHRASE
            with service_process.service(tmp_path / "data", environment=environment) as running:
                wanted = requests(running, "full")
                fill(disk / "filler")
                # Pages that have room take rows until they are full.
                refused = 0
                for _ in range(400):
                    refused += running.stranger.create({"method": "ids"}).status == 503
                    if refused >= 3:
                        break
                assert refused >= 3, "the disk was not full"
                send_all(wanted)
                assert any(one.answers[0].status == 503 for one in wanted.values())
                (disk / "filler").unlink()
                eventually(lambda: ready(running), "the service is ready when there is room")
                with psycopg.connect(postgres_server.url("small"), autocommit=True) as other:
                    end_leases(other.execute)
                check_once(wanted)
        finally:
            with psycopg.connect(postgres_server.url(), autocommit=True) as admin:
                admin.execute("DROP DATABASE small WITH (FORCE)")
                admin.execute("DROP TABLESPACE small")
