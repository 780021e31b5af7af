"""``identity serve``: the API on this machine."""

from __future__ import annotations

import contextlib
import errno
import logging
import logging.config
import os
import secrets
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from identity_codec.values import replace
from identity_core.cli.options import (
    FILE,
    Whole,
    config_option,
    configured,
    data_dir_option,
    database_url_option,
    shown_database,
)
from identity_core.cli.output import Command, fail, show
from identity_core.database.files import FOLDER, FileLock
from identity_core.settings import Settings, require_extras
from identity_core.settings.server import Server

LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Addresses that listen on all interfaces, with the address for clients on this machine.
EVERY_ADDRESS: dict[str | None, str] = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104

# Entry points of functions that prepare several server processes and return their ``serve``.
SEVERAL: Final = "identity.server_processes"

log = logging.getLogger("identity")


@click.command(name="serve", cls=Command)
@config_option
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=Whole(0, 65535), help="TCP port to listen on; 0 selects a free one.  [default: 8080]")
@click.option("--uds", "unix_socket", type=FILE, help="Unix socket to listen on; requires server.public_url.")
@data_dir_option
@database_url_option
@click.option("--workers", type=Whole(1), help="Number of server processes.  [default: 1]")
def command(config: Path | None, data_dir: Path | None, database_url: str | None, **server: object) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    The default stores everything in files and needs no other server. The first start creates and prints an API key,
    unless one is configured.
    """
    named = {f"server.{name}": value for name, value in server.items()}
    settings = configured(config, {"data_dir": data_dir, "database_url": database_url, **named})
    require_extras(settings)
    from identity_core.cli.log_lines import logging_config

    logging.config.dictConfig(logging_config(settings.log))
    with listening_at(settings.server) as listening, admin_listening(settings.server) as admin:
        if admin is not None and admin.port == listening.port:
            what = "both listeners have one port, by which requests are told apart"
            fail(what, admin.place, "choose another server.admin_port", status=2)
        settings = _settled(settings, listening, admin)
        _open_folder(settings.data_dir)
        start = _server_of(settings)
        sockets = [one.socket for one in (listening, admin) if one is not None]
        status = start(settings, sockets, lambda first_key: _announce(settings, listening, first_key))
    raise SystemExit(status)


def _server_of(settings: Settings) -> Callable[..., int]:
    """Return the function that serves with as many processes as the settings require, once all checks that fail at
    once are done."""
    if settings.server.workers > 1:
        from importlib.metadata import entry_points

        for found in entry_points(group=SEVERAL):
            start: Callable[..., int] = found.load()()
            return start
        what = "several server processes are set, and nothing that is installed serves with them"
        where = f"{settings.origin('server.workers')} (server.workers)"
        fail(what, where, "install a distribution that does (plugins/README.md lists them), or set server.workers to 1")
    from identity_core.cli.serving import serve

    return serve


def _settled(settings: Settings, listening: Listening, admin: Listening | None) -> Settings:
    """Return the settings with the bound ports, the public origin, and an absolute data directory for every process."""
    server, host = settings.server, listening.host
    if host is None and server.public_url is None:
        what = "a Unix socket says nothing of the origin that callers see"
        fail(what, listening.place, "set server.public_url, such as https://id.example.org", status=2)
    shown = f"[{host}]" if host is not None and ":" in host else host
    origin = server.public_url or f"http://{EVERY_ADDRESS.get(host, shown)}:{listening.port}"
    if server.public_url is None and host not in LOOPBACK:
        log.warning("server.public_url is not set: challenges and tokens name %s", origin)
    admin_port = None if admin is None else admin.port
    server = replace(server, port=listening.port or server.port, admin_port=admin_port, public_url=origin)
    return replace(settings, data_dir=settings.data_dir.resolve(), server=server)


def _open_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(None, "Permission denied")
        if (owner := folder.stat().st_uid) not in (0, os.geteuid()):
            raise PermissionError(None, f"it belongs to user {owner}")
    except OSError as error:
        remedy = "serve as the user to whom it belongs, name another with --data-dir, or give it to this user: chown -R"
        fail(f"the data directory cannot be used: {error.strerror}", str(folder), remedy)
    if stat.S_IMODE(folder.stat().st_mode) & 0o007:
        log.warning("others may look into %s; set its mode to 0700", folder)


def _announce(settings: Settings, listening: Listening, first_key: str | None) -> None:
    from importlib.metadata import entry_points

    origin = settings.server.public_url
    on = listening.place if listening.host is None else f"every address of this machine, port {listening.port}"
    everywhere = f"\nOn {on}" if listening.host in (None, *EVERY_ADDRESS) else ""
    admin = None if settings.server.admin_port is None else f"{settings.server.admin_host}:{settings.server.admin_port}"
    everywhere += "" if admin is None else f"\nMetrics and administration on {admin}"
    has_pages = settings.ui.enabled and "ui" in entry_points(group="identity.plugins").names
    pages = f"{origin}/ui" if has_pages and "ui" not in settings.extensions.disabled else None
    body = {
        "url": origin,
        "listensOn": listening.place,
        "document": f"{origin}/docs",
        "pages": pages,
        "dataDir": str(settings.data_dir),
        "settingsFile": None if settings.file is None else str(settings.file.absolute()),
        "database": "sqlite" if settings.database_url is None else "postgresql",
        "administrationOn": admin,
        "workers": settings.server.workers,
        "process": os.getpid(),
        "firstApiKey": first_key,
    }
    database = "" if settings.database_url is None else f"{shown_database(settings)}; files in "
    key = "" if first_key is None else f"\nFirst API key, shown once: {first_key}"
    following = f"identity {'status' if first_key is None else 'login'} --url {origin}"
    places = f"Documentation at {origin}/docs" + ("" if pages is None else f"\nPages at {pages}")
    text = f"Listening at {origin}{everywhere}\n{places}\nData in {database}{settings.data_dir}{key}\nNext: {following}"
    show(body, text=lambda _: text)
    processes = "1 process" if settings.server.workers == 1 else f"{settings.server.workers} processes"
    used = body["settingsFile"] or "no settings file"
    log.info("serves at %s on %s with %s, %s; %s", origin, body["listensOn"], processes, shown_database(settings), used)


FIRST_HANDED_OVER: Final = 3
HANDED_OVER: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
# Connections that wait before the server sets its own backlog.
FEW: Final = 16
ASKED_SECONDS: Final = 5.0
# ``sun_path`` has 108 bytes (unix(7)). The temporary name in the same folder, of nine bytes, must fit, too.
MOST_OCTETS: Final = 95


class Listening(Struct, frozen=True):
    """A bound socket. ``host`` and ``port``: those of TCP. ``place``: the address in words."""

    socket: socket.socket
    place: str
    host: str | None = None
    port: int = 0


def listen(host: str, port: int, remedy: str = "choose another --port or --host") -> socket.socket:
    """Return a bound socket. It is bound here, so that a used port is one clear line and port 0 is resolved before
    anything starts."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        fail(f"cannot listen: {error.strerror}", f"{host}:{port}", remedy)
    return listening


@contextlib.contextmanager
def listening_at(server: Server) -> Iterator[Listening]:
    """Yield the socket on which ``server`` is served. A socket from systemd takes precedence over the settings."""
    handed = _take_socket()
    if handed is not None:
        with handed:
            yield _described(handed)
    elif server.unix_socket is not None:
        with _unix(server.unix_socket.absolute(), int(server.unix_socket_mode, 8)) as bound:
            yield Listening(bound, f"unix:{server.unix_socket}")
    else:
        with listen(server.host, server.port) as bound:
            yield _described(bound)


@contextlib.contextmanager
def admin_listening(server: Server) -> Iterator[Listening | None]:
    """Yield the socket of the listener for metrics and administration; None without one."""
    if server.admin_port is None:
        yield None
        return
    with listen(server.admin_host, server.admin_port, remedy="choose another server.admin_port") as bound:
        yield _described(bound)


def _described(bound: socket.socket) -> Listening:
    name = bound.getsockname()
    if bound.family == socket.AF_UNIX:
        return Listening(bound, f"unix:{os.fsdecode(name)}")
    host, port = name[:2]
    return Listening(bound, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", host, port)


def _take_socket() -> socket.socket | None:
    """Return the one socket from systemd, if it passed any to this process. Child processes inherit neither the
    socket nor its variables."""
    environment = {name: os.environ.pop(name, "") for name in HANDED_OVER}
    if environment["LISTEN_PID"] != str(os.getpid()):
        return None
    if environment["LISTEN_FDS"] != "1":
        fail(f"systemd hands over {environment['LISTEN_FDS'] or 'no'} sockets", "LISTEN_FDS", "name one ListenStream")
    try:
        handed = socket.socket(fileno=FIRST_HANDED_OVER)
        is_good = handed.type == socket.SOCK_STREAM and handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError:
        is_good = 0
    if not is_good:
        fail("what systemd hands over is not a socket that listens", "LISTEN_FDS", "take ListenStream, and Accept=no")
    handed.set_inheritable(False)
    return handed


@contextlib.contextmanager
def _unix(path: Path, mode: int) -> Iterator[socket.socket]:
    """Yield a Unix socket that listens at ``path``, and remove it at the end. The socket of a killed process is
    replaced. A used socket and any other file are left alone."""
    if len(os.fsencode(path)) > MOST_OCTETS:
        fail(f"cannot listen: the path has more than {MOST_OCTETS} bytes", str(path), "choose a shorter one for --uds")
    draft = path.with_name(f".{secrets.token_hex(4)}")
    with contextlib.ExitStack() as stack:
        bound = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            # The check of the socket and its replacement are one step for every process that uses this lock.
            with contextlib.closing(FileLock(path.parent, FOLDER)) as lock:
                if not lock.try_acquire():
                    fail("another program is at work there", str(path.parent), "choose a folder of its own for --uds")
                if _is_taken(path):
                    fail("another process listens there already", str(path), "stop it, or choose another --uds")
                # No client can connect before the socket has its mode: it gets its name after that.
                bound.bind(os.fspath(draft))
                stack.callback(draft.unlink, missing_ok=True)
                draft.chmod(mode)
                bound.listen(FEW)
                ours = draft.stat().st_ino
                draft.rename(path)
        except OSError as error:
            fail(f"cannot listen: {error.strerror or error}", str(path), "choose a folder that this user may change")
        stack.callback(_remove, path, ours)
        yield bound


def _is_taken(path: Path) -> bool:
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return False
    if not is_socket:
        fail("there is a file that is not a socket", str(path), "choose another --uds, or move it away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(ASKED_SECONDS)
        # A timeout or a refused access means that a process listens there.
        return asking.connect_ex(os.fspath(path)) != errno.ECONNREFUSED


def _remove(path: Path, ours: int) -> None:
    """Remove the name, unless another service has replaced it since."""
    with contextlib.suppress(FileNotFoundError):
        if path.lstat().st_ino == ours:
            path.unlink()
