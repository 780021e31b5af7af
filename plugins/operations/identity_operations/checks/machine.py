"""Checks of the machine around an installation: libraries, the clock, the program at its address, and the age of its newest backup.
They only read."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from identity_core.database import DatabaseError
from identity_core.extension.declaration import Diagnosis, ok, unchecked, warn, wrong
from identity_core.settings import Settings, require_extras
from identity_operations.examination.looking import read_database

# Challenges, tokens and delegations allow less than this.
APART_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 3.0
MOST_OCTETS: Final = 4_096
SET_IT: Final = "set the clock and keep it set (`timedatectl status`): challenges, tokens and expiries follow it"


def extras(settings: Settings) -> Iterator[Diagnosis]:
    """Check the libraries that the settings need. Raises ``StartError`` for the first that is missing."""
    require_extras(settings)
    yield ok("every library that the settings need is installed")


def clocks(settings: Settings) -> Iterator[Diagnosis]:
    """Check that the clock has not gone back since the last write, and agrees with that of the database server."""
    folder, now = settings.data_dir, time.time()
    written = [path.stat().st_mtime for path in folder.glob("*.sqlite*")] if folder.is_dir() else []
    behind = max(written, default=now) - now
    apart = 0.0 if settings.database_url is None else _apart(settings.database_url)
    if behind > APART_SECONDS:
        yield warn(f"the clock is {behind:.0f} s behind what was written in {folder}", SET_IT)
    elif abs(apart) > APART_SECONDS:
        yield warn(f"the clock of the database server is {apart:+.0f} s from ours", SET_IT)
    else:
        yield ok("the clock agrees with what is stored")


def _apart(url: str) -> float:
    """Return the seconds by which the server's clock is ahead. If the server is unreachable, return 0, because the check of the
    database reports that."""
    asked = "SELECT extract(epoch FROM clock_timestamp())"
    try:
        return float(read_database(url, Path(), lambda reading: reading.execute(asked).fetchone())[0]) - time.time()
    except DatabaseError:
        return 0.0


def listener(settings: Settings) -> Iterator[Diagnosis]:
    """Check what listens at the address of the service: nothing, the service, or a program because of which it cannot start."""
    server = settings.server
    place = f"{server.host}:{server.port}" if server.unix_socket is None else str(server.unix_socket)
    try:
        answer = _health(settings)
    except (ConnectionRefusedError, FileNotFoundError):
        yield unchecked(f"no process listens at {place}, the address in the settings; `serve --port` can name another")
        return
    except OSError as error:
        answer = str(error).encode()
    if answer.startswith(b"HTTP/1.1 200") and answer.endswith(b'{"status":"ok"}'):
        yield ok(f"a service answers at {place}")
    else:
        yield warn(f"something else listens at {place}", "stop it, or set server.port (server.unix_socket) to another")


def _health(settings: Settings) -> bytes:
    server = settings.server
    family = (
        socket.AF_UNIX if server.unix_socket is not None else socket.AF_INET6 if ":" in server.host else socket.AF_INET
    )
    address = os.fspath(server.unix_socket) if server.unix_socket is not None else (server.host, server.port)
    until, answer = time.monotonic() + ANSWER_SECONDS, b""
    with socket.socket(family, socket.SOCK_STREAM) as asking:
        asking.settimeout(ANSWER_SECONDS)
        asking.connect(address)
        asking.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        while len(answer) < MOST_OCTETS and time.monotonic() < until and (part := asking.recv(MOST_OCTETS)):
            answer += part
    return answer


def backups(settings: Settings) -> Iterator[Diagnosis]:
    """Check the newest sealed file in ``backup.directory``. A missing or old backup is a fault: the exit code of the command is 1."""
    from identity_operations.backup.seal import MAGIC

    folder, most = settings.backup.directory, settings.backup.max_age_hours
    if folder is None:
        yield unchecked("backup.directory names no folder")
        return
    try:
        found = [path.stat().st_mtime for path in folder.iterdir() if path.is_file() and _begins(path, MAGIC)]
    except OSError as error:
        remedy = "set backup.directory to the folder of the backups, which this user may read"
        yield wrong(f"backups cannot be looked at: {error.strerror}: {folder}", remedy)
        return
    hours = (time.time() - max(found, default=0.0)) / 3600
    if not found:
        yield wrong(f"there is no backup in {folder}", "`identity backup create`, every night, by cron or a timer")
    elif hours > most:
        yield wrong(
            f"the newest backup in {folder} is {hours:.0f} hours old",
            "look at what makes them; `identity backup create`",
        )
    else:
        yield ok(f"{len(found)} in {folder}, the newest {max(hours, 0):.0f} hours old")


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic
