"""Listening sockets: a Unix socket with its mode, which replaces only a stale one; sockets passed by systemd."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import ip_network
from pathlib import Path

import pytest

from identity_core.cli.serve import listening_at
from identity_core.settings.server import Server
from identity_core.throttle.policy import client_address, is_trusted, parse_proxies
from tests.fault.service_process import kept_port
from tests.unit.cli.conftest import Commands


@pytest.fixture
def path() -> Iterator[Path]:
    """A short one: a Unix socket has 108 bytes for its name."""
    with tempfile.TemporaryDirectory(prefix="uds-") as folder:
        yield Path(folder) / "identity.sock"


def connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asking:
        return asking.connect_ex(str(path)) == 0


@pytest.mark.parametrize("mode", ["0660", "600", "0666"])
def test_a_unix_socket_has_its_mode_and_is_gone_at_the_end(path: Path, mode: str) -> None:
    before = os.umask(0o077)
    try:
        with listening_at(Server(unix_socket=path, unix_socket_mode=mode)) as listening:
            assert stat.S_IMODE(path.stat().st_mode) == int(mode, 8)
            assert (listening.host, listening.place) == (None, f"unix:{path}")
            assert connects(path)
            assert [each.name for each in path.parent.iterdir()] == [path.name]
    finally:
        os.umask(before)
    assert list(path.parent.iterdir()) == []


def test_socket_of_a_killed_service_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
        left.listen()
    assert not connects(path)
    with listening_at(Server(unix_socket=path)):
        assert connects(path)


def test_one_that_is_in_use_is_left_alone(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listening_at(Server(unix_socket=path)):
        with pytest.raises(SystemExit), listening_at(Server(unix_socket=path)):
            pytest.fail("it took the place of another")
        assert connects(path)
        assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert "another process listens there already" in capsys.readouterr().err


@pytest.mark.parametrize("lies", ["file", "link", "folder"])
def test_file_that_is_no_socket_is_left_alone(path: Path, lies: str, capsys: pytest.CaptureFixture[str]) -> None:
    victim = path.with_name("victim")
    victim.write_text("precious")
    if lies == "folder":
        path.mkdir()
    elif lies == "link":
        path.symlink_to(victim)
    else:
        path.write_text("precious")
    with pytest.raises(SystemExit), listening_at(Server(unix_socket=path)):
        pytest.fail("it took the place of another")
    assert "not a socket" in capsys.readouterr().err
    assert victim.read_text() == "precious"
    assert path.lstat()


def test_the_name_of_the_next_service_stays(path: Path) -> None:
    """One that was removed by hand, and taken by another since, is not removed by the first."""
    with ExitStack() as second:
        with listening_at(Server(unix_socket=path)):
            path.unlink()
            second.enter_context(listening_at(Server(unix_socket=path)))
        assert connects(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["absent/identity.sock", "x" * 120])
def test_unusable_socket_place_is_named(path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), listening_at(Server(unix_socket=path.parent / name)):
        pytest.fail("there is no such place")
    assert "cannot listen" in (said := capsys.readouterr().err)
    assert name in said
    assert list(path.parent.iterdir()) == []


HANDED = """
import os, socket, sys
from identity_core.cli.serve import listening_at
from identity_core.settings.server import Server
descriptor, count, is_ours = map(int, sys.argv[1:])
os.dup2(descriptor, 3)
os.environ |= {"LISTEN_PID": str(os.getpid() if is_ours else 1), "LISTEN_FDS": str(count), "LISTEN_FDNAMES": "x"}
with listening_at(Server(port=0)) as listening:
    assert not [name for name in os.environ if name.startswith("LISTEN_")]
    print(listening.place, os.get_inheritable(listening.socket.fileno()), flush=True)
    if listening.host is None:
        connection, _ = listening.socket.accept()
        connection.sendall(b"here")
"""


def handed(descriptor: int, count: int = 1, *, is_ours: bool = True) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", HANDED, str(descriptor), str(count), str(int(is_ours))]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[descriptor],
        stdin=subprocess.DEVNULL,
    )


def test_a_socket_of_systemd_is_taken(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        bound.listen()
        with socket.socket(socket.AF_UNIX) as waiting:
            # It waits in the socket before the service is there.
            waiting.connect(str(path))
            process = handed(bound.fileno())
            told, errors = process.communicate(timeout=60)
            assert told == f"unix:{path} False\n", errors
            assert waiting.recv(16) == b"here"
    assert path.exists(), "it is systemd's"


def test_foreign_socket_is_not_used() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        told, errors = handed(bound.fileno(), is_ours=False).communicate(timeout=60)
        assert told.startswith("127.0.0.1:"), errors
        assert str(bound.getsockname()[1]) not in told


@pytest.mark.parametrize(("count", "says"), [(2, "hands over 2 sockets"), (1, "not a socket that listens")])
def test_anything_else_is_refused(count: int, says: str) -> None:
    with socket.socket() as idle:
        process = handed(idle.fileno(), count)
        told, errors = process.communicate(timeout=60)
    assert (process.returncode, told) == (1, "")
    assert says in errors


def test_the_addresses_that_a_proxy_on_a_unix_socket_tells() -> None:
    unix, network = parse_proxies(["unix"]), parse_proxies(["10.0.0.0/8"])
    assert network == (ip_network("10.0.0.0/8"),)
    assert client_address("", "192.0.2.7", unix) == "192.0.2.7"
    assert client_address("", "192.0.2.1, 192.0.2.7", unix) == "192.0.2.7", "what stands left of it a client wrote"
    # Only named proxies are trusted, and a peer with an address is not on a Unix socket.
    assert client_address("", "192.0.2.7", network) == ""
    assert client_address("198.51.100.1", "192.0.2.7", unix) == "198.51.100.1"
    for spoofed in ("unix", "", "192.0.2.7, unix", "192.0.2.7, "):
        assert client_address("", spoofed, unix) == ""
    assert not is_trusted("unix", unix)


def test_a_unix_socket_needs_the_origin_that_callers_see(identity: Commands, path: Path) -> None:
    lines = identity.refused("serve", "--uds", path, status=2)
    assert "server.public_url" in lines[2]
    assert list(path.parent.iterdir()) == []


def test_both_listeners_have_ports_of_their_own(identity: Commands) -> None:
    """Two addresses may have one port; then nothing would tell whom a request came to."""
    with kept_port() as port:
        identity.environment |= {"IDENTITY_SERVER_ADMIN_HOST": "127.0.0.2", "IDENTITY_SERVER_ADMIN_PORT": str(port)}
        lines = identity.refused("serve", "--port", str(port), status=2)
    assert "server.admin_port" in lines[2]


def test_a_mode_is_octal(identity: Commands, path: Path) -> None:
    identity.environment |= {"IDENTITY_SERVER_UNIX_SOCKET_MODE": "rw-rw----"}
    lines = identity.refused("serve", "--uds", path, status=2)
    assert "octal" in " ".join(lines)
