"""A PostgreSQL cluster under Patroni on loopback: etcd and some servers, all with ``plugins/ledger_sql/patroni/patroni.yml``.

Patroni, etcd and PostgreSQL come from PATH (PostgreSQL also from where Debian puts it). PostgreSQL refuses to run as root, so
that root runs the servers as an unprivileged user, who may read everything: the programs of root's own Python stay reachable.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.fault.service_process import ROOT, eventually
from tests.ports import free_port
from tests.postgres_server import programs, unprivileged

SECONDS = 120.0
FOLDER = ROOT / "plugins" / "ledger_sql" / "patroni"
PASSWORD = "of-the-test"
# Servers end with the tests even when those are killed: then their standard input has no other end. Patroni's
# PostgreSQL is a process group of its own and outlives it.
WATCHED = (
    'exec 3<&0; "$@" </dev/null & server=$!; '
    '{ cat <&3 >/dev/null; kill -KILL $server; kill -QUIT "$(head -n 1 postgresql/postmaster.pid)"; } 2>/dev/null & '
    "wait $server"
)


def missing() -> str | None:
    """What has to be installed before a cluster can run, or None."""
    lacking = []
    if programs() is None:
        lacking.append("PostgreSQL (Debian: apt-get install postgresql)")
    if shutil.which("etcd") is None:
        lacking.append("etcd (Debian: apt-get install etcd-server)")
    if shutil.which("patroni") is None:
        lacking.append("Patroni (pip install 'patroni[etcd3,psycopg3]>=4.1')")
    return f"not installed: {', '.join(lacking)}" if lacking else None


@dataclass
class Watched:
    """A program that works in ``folder`` and can be killed and started again."""

    name: str
    folder: Path
    command: Sequence[str]
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                ["sh", "-c", WATCHED, "sh", *self.command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
            )

    def kill(self) -> None:
        """SIGKILL to everything of it, as if the machine had died."""
        self.kill_alone()
        for process in self._postgresql():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def kill_alone(self) -> None:
        """SIGKILL to the program; the PostgreSQL that a Patroni has started lives on."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process = None

    def _postgresql(self) -> list[int]:
        """The server that Patroni has started, and its children; none where there is none."""
        data = self.folder / "postgresql"
        try:
            postmaster = Path("/proc") / (data / "postmaster.pid").read_text().split()[0]
            # The file outlives a killed server, and its number may belong to another process by now.
            if (postmaster / "cwd").readlink() != data.resolve():
                return []
            children = (postmaster / "task" / postmaster.name / "children").read_text().split()
        except (FileNotFoundError, IndexError):
            return []
        return [int(postmaster.name), *map(int, children)]


@dataclass(frozen=True)
class Server:
    """PostgreSQL with its Patroni."""

    program: Watched
    port: int
    rest_port: int

    @property
    def name(self) -> str:
        return self.program.name


@dataclass(frozen=True)
class Cluster:
    """``servers`` share one configuration and one etcd."""

    etcd: Watched
    servers: Sequence[Server]
    http: httpx.Client

    @property
    def url(self) -> str:
        """The database, at whichever server takes writes."""
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in self.servers)
        return f"postgresql://identity:{PASSWORD}@{hosts}/identity?target_session_attrs=read-write"

    def roles(self) -> dict[str, str]:
        """The role of every server that runs as it should, by name: ``leader``, ``sync_standby`` or ``replica``."""
        for server in self.servers:
            if server.program.process is not None:
                with contextlib.suppress(httpx.HTTPError):
                    members = self.http.get(f"http://127.0.0.1:{server.rest_port}/cluster").json()["members"]
                    return {one["name"]: one["role"] for one in members if one["state"] in ("running", "streaming")}
        return {}

    def server(self, role: str) -> Server:
        """The first server with ``role``."""
        name = next(name for name, its in self.roles().items() if its == role)
        return next(server for server in self.servers if server.name == name)

    def led_by_another_than(self, server: Server) -> bool:
        """Whether Patroni has made another server the leader."""
        return any(role == "leader" and name != server.name for name, role in self.roles().items())

    def complete(self) -> bool:
        """Whether every server runs, one leads, and one of the others is its synchronous standby."""
        replicas = ["replica"] * (len(self.servers) - 2)
        return sorted(self.roles().values()) == ["leader", *replicas, "sync_standby"]


def _etcd(folder: Path, port: int) -> Watched:
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}"
    options = {
        "--name": "etcd",
        "--data-dir": str(folder / "data"),
        "--listen-client-urls": client,
        "--advertise-client-urls": client,
        "--listen-peer-urls": peer,
        "--initial-advertise-peer-urls": peer,
        "--initial-cluster": f"etcd={peer}",
    }
    return Watched("etcd", folder, ["etcd", *(word for option in options.items() for word in option)], dict(os.environ))


def _server(name: str, folder: Path, etcd_port: int) -> Server:
    command: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam(unprivileged())
        shutil.chown(folder, user.pw_uid, user.pw_gid)
        command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]
        command += ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    port, rest_port = free_port(), free_port()
    environment = {
        "PATH": os.pathsep.join((str(programs()), str(FOLDER), os.environ["PATH"])),
        "HOME": str(folder),
        "PATRONI_NAME": name,
        "PATRONI_ETCD3_HOSTS": f"127.0.0.1:{etcd_port}",
        "PATRONI_RESTAPI_LISTEN": f"127.0.0.1:{rest_port}",
        "PATRONI_RESTAPI_CONNECT_ADDRESS": f"127.0.0.1:{rest_port}",
        "PATRONI_POSTGRESQL_LISTEN": f"127.0.0.1:{port}",
        "PATRONI_POSTGRESQL_CONNECT_ADDRESS": f"127.0.0.1:{port}",
        "PATRONI_POSTGRESQL_DATA_DIR": str(folder / "postgresql"),
        "PATRONI_SUPERUSER_PASSWORD": PASSWORD,
        "PATRONI_REPLICATION_PASSWORD": PASSWORD,
        "PATRONI_REWIND_PASSWORD": PASSWORD,
        "IDENTITY_DATABASE_PASSWORD": PASSWORD,
    }
    return Server(
        Watched(name, folder, [*command, "patroni", str(FOLDER / "patroni.yml")], environment), port, rest_port
    )


@contextlib.contextmanager
def cluster(folder: Path, servers: int) -> Iterator[Cluster]:
    """A cluster that is complete; killed at the end."""
    etcd_port = free_port()
    names = ["etcd", *(f"db{number}" for number in range(1, servers + 1))]
    for name in names:
        (folder / name).mkdir()
    etcd = _etcd(folder / "etcd", etcd_port)
    with contextlib.ExitStack() as stack:
        http = stack.enter_context(httpx.Client(trust_env=False, timeout=5))
        made = Cluster(etcd, [_server(name, folder / name, etcd_port) for name in names[1:]], http)
        for program in (etcd, *(server.program for server in made.servers)):
            stack.callback(program.kill)
            program.start()
        eventually(made.complete, "a leader with its standbys", SECONDS)
        yield made
