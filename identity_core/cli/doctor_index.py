"""What ``identity doctor`` says of the document index: which DIDs are withheld. It only reads, and makes no table that is not there."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from identity_core.cli.findings import Finding
from identity_core.settings import Settings

CHECK: Final = "index"
SHOWN: Final = 5
_WITHHELD: Final = "SELECT did, reason FROM quarantined_dids ORDER BY did"
_REMEDY: Final = (
    "`identity ledger audit` says what differs, `identity ledger repair --all` writes them anew from the ledger"
)


def index(settings: Settings) -> Iterator[Finding]:
    """A warning when DIDs are withheld; nothing where there is no installation yet, or its database cannot be asked: others tell."""
    path = settings.data_dir / "identity.sqlite"
    if settings.database_url is None and not path.is_file():
        return
    found = _of_file(path) if settings.database_url is None else _of_server(settings.database_url)
    if found is None:
        return
    if not found:
        yield Finding(CHECK, "ok", "no DID is withheld")
        return
    named = "; ".join(f"{did}: {reason}" for did, reason in found[:SHOWN])
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    yield Finding(CHECK, "fail", f"{len(found)} DIDs are withheld: {named}{more}", _REMEDY)


def _of_file(path: Path) -> list[tuple[str, str]] | None:
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)) as reader:
            return reader.execute(_WITHHELD).fetchall()
    except sqlite3.Error:
        return None


def _of_server(url: str) -> list[tuple[str, str]] | None:
    try:
        import psycopg
    except ImportError:
        return None
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            connection.read_only = True
            return [(str(did), str(reason)) for did, reason in connection.execute(_WITHHELD).fetchall()]
    except psycopg.Error:
        return None
