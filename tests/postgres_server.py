"""A private PostgreSQL server for tests: own data directory, free port, gone afterwards.

Needs the server's programs (Debian: ``postgresql``). Where they are absent the tests skip and say so; in CI they fail. The
server refuses to run as root, so that root starts it as the user ``postgres``, or else as ``nobody``.

Use: ``from tests.postgres_server import postgres_server, postgres_url`` in a conftest or test module; ``postgres_url`` is
a new, empty database for each test.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tests.ports import free_port


def programs() -> Path | None:
    """The folder of ``initdb`` and ``postgres``, the newest version first."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    if on_path is not None:
        folders.append(Path(os.path.realpath(on_path)).parent)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


# The server ends with the tests even when those are killed: then its standard input has no other end.
WATCHED = (
    'exec 3<&0; "$@" </dev/null & server=$!; { cat <&3 >/dev/null; kill -QUIT $server; } 2>/dev/null & wait $server'
)


@dataclass
class PostgresServer:
    """A server on loopback. ``stop`` and ``start`` may be called in turns; the data stays."""

    folder: Path
    bin: Path
    port: int
    user: str | None
    fsync: bool = False
    connections: int = 100
    process: subprocess.Popen[bytes] | None = None
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    stored: str | None = None
    """The database that ``tests/stored.py`` copies."""

    @classmethod
    def create(cls, folder: Path, *, fsync: bool = False, connections: int = 100) -> PostgresServer:
        """A running server with its data in ``folder``. Without ``fsync`` it is fast, and no test of a loss of power."""
        found = programs()
        if found is None:
            raise FileNotFoundError("PostgreSQL's programs are not installed (Debian: apt-get install postgresql)")
        user = unprivileged() if os.geteuid() == 0 else None
        server = cls(folder, found, free_port(), user, fsync, connections)
        if user is not None:
            os.chmod(folder, 0o755)
            shutil.chown(folder, user)
        server._run(
            "initdb", "-D", f"{folder}/data", "-U", "identity", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"
        )
        server.start()
        return server

    def standby(self, folder: Path) -> PostgresServer:
        """A second server that follows this one by streaming, and that this one may name as its synchronous standby ``standby``."""
        server = PostgresServer(folder, self.bin, free_port(), self.user, self.fsync)
        if self.user is not None:
            os.chmod(folder, 0o755)
            shutil.chown(folder, self.user)
        source = f"host=127.0.0.1 port={self.port} user=identity application_name=standby"
        server._run("pg_basebackup", "-d", source, "-D", f"{folder}/data", "-R", "-X", "stream", "-c", "fast")
        server.start()
        return server

    def promote(self) -> None:
        """Makes a standby the server that takes writes."""
        self._run("pg_ctl", "promote", "-D", f"{self.folder}/data", "-w")

    def kill(self) -> None:
        """SIGKILL to the server and all its processes, as if the machine had died."""
        if self.process is not None:
            postmaster = (self.folder / "data" / "postmaster.pid").read_text().split()[0]
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
            for process in (postmaster, *children):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            self.process.wait(60)
            self.process = None

    def _command(self, program: str, *arguments: str) -> list[str]:
        command = [str(self.bin / program), *arguments]
        if self.user is None:
            return command
        # setpriv becomes the program. runuser would wait for it and hold signals back.
        group = pwd.getpwnam(self.user).pw_gid
        return ["setpriv", f"--reuid={self.user}", f"--regid={group}", "--init-groups", "--", *command]

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(self._command(program, *arguments), check=True, capture_output=True, timeout=300, cwd="/")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://identity@127.0.0.1:{self.port}/{database}"

    def new_database(self, template: str = "template1") -> str:
        """Return the URL of a new database, a copy of ``template``."""
        import psycopg

        name = f"test_{next(self.numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            # Copies files, which takes half the time of writing each page to the log where writes are not synchronous.
            how = "STRATEGY file_copy" if connection.info.server_version >= 150_000 and not self.fsync else ""
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} {how}")  # type: ignore[call-overload]
        return self.url(name)

    def start(self) -> None:
        import psycopg

        settings = (
            f"port={self.port}",
            "listen_addresses=127.0.0.1",
            f"unix_socket_directories={self.folder}",
            f"max_connections={self.connections}",
            "shared_buffers=32MB",
            # Autovacuum would start a process in each of hundreds of databases, time and again.
            # What is said here no ALTER SYSTEM changes.
            *(() if self.fsync else ("fsync=off", "full_page_writes=off", "autovacuum=off")),
        )
        options = [part for setting in settings for part in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            command = self._command("postgres", "-D", f"{self.folder}/data", *options)
            self.process = subprocess.Popen(
                ["sh", "-c", WATCHED, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=10).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()}") from None
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is a fast shutdown (clients are cut off), SIGQUIT an immediate one (as if the power failed)."""
        if self.process is None:
            return
        pid_file = self.folder / "data" / "postmaster.pid"
        if pid_file.exists():
            os.kill(int(pid_file.read_text().split()[0]), how)
        self.process.wait(60)
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process = None


def cut_connections(url: str) -> None:
    """Ends every other connection to a database, and returns when they have ended: to terminate one is only to ask for it."""
    import psycopg

    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as killer:
        killer.execute(f"SELECT pg_terminate_backend(pid) {others}")  # type: ignore[call-overload]
        deadline = time.monotonic() + 60
        while killer.execute(f"SELECT 1 {others}").fetchone() is not None:  # type: ignore[call-overload]
            if time.monotonic() > deadline:
                raise RuntimeError("a connection does not end")
            time.sleep(0.01)


def unprivileged() -> str:
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise LookupError("no unprivileged user to run PostgreSQL as")


SHARED = pytest.StashKey[PostgresServer]()


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> PostgresServer:
    """One server for the session, however many modules import this: to pytest the fixture of each is another."""
    if SHARED not in request.config.stash:
        folder = Path(tempfile.mkdtemp(prefix="pg"))
        try:
            server = PostgresServer.create(folder)
        except FileNotFoundError as error:
            shutil.rmtree(folder)
            if os.environ.get("CI"):
                pytest.fail(str(error))
            pytest.skip(str(error))
        request.config.stash[SHARED] = server
        request.config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        request.config.add_cleanup(lambda: server.stop(signal.SIGQUIT))
    return request.config.stash[SHARED]


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """The URL of a new, empty database."""
    return postgres_server.new_database()
