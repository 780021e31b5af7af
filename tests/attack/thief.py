"""A thief with the files (or the database server) of an installation, and none of its keys: she edits rows with plain SQL."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import servers
from tests.attack.stranger import Answer, Holder, Stranger, Wire, body_hash, header
from tests.fault.service_process import API_KEY, Running


@dataclass
class Database:
    """The tables of one installation; ``url`` is that of a server, else they lie in files of ``folder``."""

    folder: Path
    url: str | None

    @property
    def environment(self) -> dict[str, str]:
        return {} if self.url is None else {"IDENTITY_DATABASE_URL": self.url}

    def sql(self, statement: str, *values: Any, file: str = "identity.sqlite") -> list[tuple[Any, ...]]:
        """Runs one statement; values stand for ``?``."""
        if self.url is None:
            connection = sqlite3.connect(self.folder / file, timeout=30)
            try:
                with connection:
                    return connection.execute(statement, values).fetchall()
            finally:
                connection.close()
        import psycopg

        with psycopg.connect(self.url) as server:
            cursor = server.execute(statement.replace("?", "%s"), values)
            return [] if cursor.description is None else cursor.fetchall()

    def row(self, did: str, version: int) -> dict[str, Any]:
        names = ("state", "document", "changes", "key_id", "transaction_hash", "mac", "owner")
        found = self.sql(f"SELECT {', '.join(names)} FROM did_versions WHERE did = ? AND version_id = ?", did, version)
        read = [bytes(value) if isinstance(value, memoryview) else value for value in found[0]]
        return dict(zip(names, read, strict=True))

    def overwrite(self, did: str, version: int, **columns: Any) -> None:
        """Overwrites columns of a row."""
        names = ", ".join(f"{name} = ?" for name in columns)
        self.sql(f"UPDATE did_versions SET {names} WHERE did = ? AND version_id = ?", *columns.values(), did, version)


def identity(database: Database, *words: str) -> subprocess.CompletedProcess[str]:
    """The command of an operator on the installation."""
    where = () if database.url is None else ("--database-url", database.url)
    return servers.run(*words, "--data-dir", database.folder, *where)


def moved(holder: Holder, running: Running) -> Holder:
    """The same controller at a service that was started again."""
    return Holder(running.wire, holder.did, holder.key, holder.recovery, holder.created)


def token(wire: Wire, holder: Holder, key: Any) -> Answer:
    """What the service says to a signature of ``key`` for a bearer token of the DID."""
    grant = {"grant_type": "client_credentials"}
    offered = holder.ask("token", body_hash(grant))
    if offered.status != 200:
        return offered
    signature = key.sign(offered.json["challenge"].encode()).signature
    return wire.call("POST", "/api/v1/auth/token", grant, {"Authorization": header(holder.did, signature)})


def edited(data: bytes, **members: Any) -> bytes:
    """A JSON object with other members."""
    return json.dumps(json.loads(data) | members, separators=(",", ":")).encode()


def operator(running: Running) -> Stranger:
    return Stranger(running.wire, API_KEY)
