"""The socket that is listened on: a TCP port, a Unix socket, or what systemd hands over (sd_listen_fds(3))."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from identity_codec.values import value_class
from identity_core.cli.output import fail
from identity_core.files import locked_folder
from identity_core.settings.server import Server

FIRST_HANDED_OVER: Final = 3
HANDED_OVER: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
# Connections that wait before the server takes its own number.
FEW: Final = 16
ASKED_SECONDS: Final = 5.0
# ``sun_path`` has 108 (unix(7)), and in the same folder the name of nine octets that it is bound by first must fit.
MOST_OCTETS: Final = 95


@value_class
class Listening:
    """A bound socket. ``host`` and ``port`` are those of TCP; ``place`` is where it listens, in words."""

    socket: socket.socket
    place: str
    host: str | None = None
    port: int = 0


def listen(host: str, port: int, remedy: str = "choose another --port or --host") -> socket.socket:
    """The bound socket: bound here, so that a taken port is one clear line and port 0 is known before anything starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        fail(f"cannot listen: {error.strerror}", f"{host}:{port}", remedy)
    return listening


@contextlib.contextmanager
def listening_at(server: Server) -> Iterator[Listening]:
    """The socket that ``server`` is served on. One that was handed over comes before all that the settings say."""
    handed = _handed_over()
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
    """The socket of the listener for metrics and administration, where there is to be one."""
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


def _handed_over() -> socket.socket | None:
    """The one socket of systemd's, where it has handed over any to this process. No child gets it, nor what says of it."""
    environment = {name: os.environ.pop(name, "") for name in HANDED_OVER}
    if environment["LISTEN_PID"] != str(os.getpid()):
        return None
    if environment["LISTEN_FDS"] != "1":
        says = f"systemd hands over {environment['LISTEN_FDS'] or 'no'} sockets"
        fail(says, "LISTEN_FDS", "name one ListenStream in the .socket unit")
    try:
        handed = socket.socket(fileno=FIRST_HANDED_OVER)
        is_good = handed.type == socket.SOCK_STREAM and handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError:
        is_good = 0
    if not is_good:
        fail("what systemd hands over is no socket that listens", "LISTEN_FDS", "take ListenStream, and Accept=no")
    handed.set_inheritable(False)
    return handed


@contextlib.contextmanager
def _unix(path: Path, mode: int) -> Iterator[socket.socket]:
    """A Unix socket that listens at ``path``, gone at the end. What a killed process left there is replaced; whatever is in use, or is no
    socket, is left alone."""
    if len(os.fsencode(path)) > MOST_OCTETS:
        fail(f"cannot listen: the path has more than {MOST_OCTETS} octets", str(path), "choose a shorter one for --uds")
    draft = path.with_name(f".{secrets.token_hex(4)}")
    with contextlib.ExitStack() as stack:
        bound = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            # Whoever is looked for and whoever is put there are one step for every process that does so.
            with locked_folder(path.parent) as is_ours:
                if not is_ours:
                    fail("another program is at work there", str(path.parent), "choose a folder of its own for --uds")
                if _is_taken(path):
                    fail("somebody listens there already", str(path), "stop it, or choose another --uds")
                # Nobody connects before it has its mode: it gets its name after that.
                bound.bind(os.fspath(draft))
                stack.callback(draft.unlink, missing_ok=True)
                draft.chmod(mode)
                bound.listen(FEW)
                ours = draft.stat().st_ino
                draft.rename(path)
        except OSError as error:
            remedy = "choose a folder in which this user may write"
            fail(f"cannot listen: {error.strerror or error}", str(path), remedy)
        stack.callback(_remove, path, ours)
        yield bound


def _is_taken(path: Path) -> bool:
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return False
    if not is_socket:
        fail("there is a file that is no socket", str(path), "choose another --uds, or move it away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(ASKED_SECONDS)
        try:
            asking.connect(os.fspath(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            # It has no time for us, or does not let us in: somebody is there.
            return True
    return True


def _remove(path: Path, ours: int) -> None:
    """Takes the name away, unless another service has taken it since."""
    with contextlib.suppress(FileNotFoundError):
        if path.lstat().st_ino == ours:
            path.unlink()
