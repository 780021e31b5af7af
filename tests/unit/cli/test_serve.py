"""identity serve as a process of its own: what it prints, which keys it makes, how it refuses and how it stops."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from identity_commands.local_server import local_server

from identity_core.domain import callers as key_text
from tests import servers
from tests.unit.cli.conftest import Commands

WAIT_SECONDS = 60.0


class Serving:
    """A running ``identity serve``: what it said at its start, and its stderr so far."""

    def __init__(self, process: subprocess.Popen[bytes] | servers.Forked, said: str, log: Path) -> None:
        self.process = process
        self.said = said
        self.log = log
        self.url = re.findall(r"http://[^\s\"]+?:\d+", said)[0]

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(WAIT_SECONDS)


@contextmanager
def serving(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None, popen: Any = subprocess.Popen
) -> Iterator[Serving]:
    """A service on ``folder`` that is ready; it is killed at the end unless the test has stopped it. With ``servers.popen`` it is forked,
    where neither what Python does at a start nor how workers are replaced is the question."""
    command = [sys.executable, "-m", "identity_core", "serve", "--port", "0", "--data-dir", str(folder), *arguments]
    output, log = folder.with_suffix(".out"), folder.with_suffix(".log")
    with output.open("w") as printed, log.open("w") as errors:
        process = popen(command, env=bare() | dict(environment or {}), stdout=printed, stderr=errors)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while not is_ready(output.read_text()):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.02)
        yield Serving(process, output.read_text(), log)
    finally:
        process.kill()
        process.wait()


def bare() -> dict[str, str]:
    """The environment without settings of the person who runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("IDENTITY_", "API_KEY"))}


def is_ready(said: str) -> bool:
    """Whether the service has said all of what it says, and answers that it is ready."""
    urls = re.findall(r"http://[^\s\"]+?:\d+", said)
    if not urls or not said.endswith("\n"):
        return False
    try:
        return httpx.get(f"{urls[0]}/ready", timeout=WAIT_SECONDS, verify=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_the_first_start_makes_a_key_and_no_other_start_does(folder: Path) -> None:
    with serving(folder, popen=servers.popen) as first:
        key = re.search(r"^First API key, shown once: (\S+)$", first.said, re.MULTILINE)
        assert key is not None
        assert f"Listening at {first.url}\nDocumentation at {first.url}/docs\nPages at {first.url}/ui\n" in first.said
        assert f"\nData in {folder}\n" in first.said
        assert first.said.endswith(f"\nNext: identity login --url {first.url}\n")
        answer = httpx.get(
            f"{first.url}/api/v1/dids", headers={"Authorization": f"ApiKey {key[1]}"}, timeout=WAIT_SECONDS
        )
        assert answer.status_code == 200
        assert httpx.get(f"{first.url}/docs", timeout=WAIT_SECONDS).status_code == 200
        assert first.stop() == 0
        assert key[1] not in first.log.read_text()
    assert oct(folder.stat().st_mode & 0o777) == "0o700"
    with serving(folder, "--json", popen=servers.popen) as second:
        assert json.loads(second.said)["firstApiKey"] is None


@pytest.mark.parametrize("source", ["IDENTITY_API_KEYS", "file", "sql"])
def test_a_key_that_is_configured_is_enough(folder: Path, source: str, identity: Commands) -> None:
    environment = {}
    folder.mkdir(mode=0o700)
    if source == "file":
        digest = key_text.digest_of("k" * 40)
        path = folder / "keys.toml"
        path.write_text(f'[keys.ops]\nsha256 = "{digest}"\nadmin = true\n')
        path.chmod(0o600)
    elif source == "sql":
        identity.ok("keys", "create", "--name", "ops", "--admin", "--data-dir", folder)
    else:
        environment[source] = "ops:" + "k" * 40
    with serving(folder, environment=environment, popen=servers.popen) as running:
        assert "First API key" not in running.said


def test_stderr_holds_our_lines_and_nothing_else(folder: Path) -> None:
    with serving(folder, environment={"IDENTITY_LOG_FORMAT": "json", "API_KEY": "k" * 40}) as running:
        assert "First API key" not in running.said
        assert running.stop() == 0
        lines = [json.loads(line) for line in running.log.read_text().splitlines()]
    lines = [line for line in lines if line["logger"] != "identity.request"]
    # Before the two lines of a run, plugins may have said something; the server under it has nothing to say.
    assert {line["logger"].partition(".")[0] for line in lines} == {"identity"}
    assert "serves at" in lines[-2]["message"]
    assert lines[-1]["message"] == "stopped"


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_a_request_in_flight_is_finished(folder: Path, workers: str, with_signal: int) -> None:
    environment = {"API_KEY": "k" * 40}
    with serving(folder, "--workers", workers, "--json", environment=environment, popen=servers.popen) as running:
        host, port = running.url.removeprefix("http://").split(":")
        body = b'{"method": "ids", "keyType": "Ed25519"}'
        with socket.create_connection((host, int(port)), WAIT_SECONDS) as connection:
            begin(connection, len(body))
            connection.sendall(body[:10])
            running.process.send_signal(with_signal)
            assert refuses(host, int(port))
            connection.sendall(body[10:])
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert b'"did:ids:' in answer
        assert running.process.wait(WAIT_SECONDS) == 0


def begin(connection: socket.socket, length: int) -> None:
    """Sends the head of a creation, and waits until the service says that it wants the body."""
    connection.sendall(
        b"POST /api/v1/dids HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % (b"k" * 40, length)
    )
    assert connection.recv(1024).startswith(b"HTTP/1.1 100 ")


def refuses(host: str, port: int) -> bool:
    """Wait until connections to the address are refused."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        try:
            socket.create_connection((host, port), 1).close()
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_request_that_never_ends_does_not_hold_the_server(folder: Path) -> None:
    environment = {"API_KEY": "k" * 40, "IDENTITY_SERVER_SHUTDOWN_SECONDS": "1"}
    with serving(folder, environment=environment, popen=servers.popen) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), WAIT_SECONDS) as connection:
            begin(connection, 100)
            assert running.stop() == 0


def children(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        # It may be gone between the two looks.
        with suppress(FileNotFoundError, ProcessLookupError):
            found += map(int, (task / "children").read_text().split())
    return found


def both(process: int, without: int | None = None) -> set[int]:
    """The two worker processes, which are forked from a process of their own, as soon as both are there. Ready is a service when one of
    them is."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        workers = [{*children(one)} - {without} for one in children(process)]
        found = next((each for each in workers if len(each) == 2), None)
        if found is not None:
            return found
        assert time.monotonic() < until, workers
        time.sleep(0.05)


def is_gone(process: int) -> bool:
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].startswith("Z"):
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_share_the_socket_and_are_replaced(folder: Path) -> None:
    with serving(folder, "--workers", "2", environment={"API_KEY": "k" * 40}) as running:
        before = both(running.process.pid)
        lost = min(before)
        os.kill(lost, signal.SIGKILL)
        now = both(running.process.pid, without=lost)
        for _ in range(20):
            assert httpx.get(f"{running.url}/ready", timeout=WAIT_SECONDS).status_code == 200
        metrics = httpx.get(f"{running.url}/metrics", headers={"X-API-Key": "k" * 40}, timeout=WAIT_SECONDS)
        assert "identity_request_duration_seconds_count" in metrics.text
        assert list((folder / "metrics").glob("*.db"))
        assert running.stop() == 0
        assert all(is_gone(worker) for worker in before | now)
        assert f"Child process [{lost}] died" in running.log.read_text()


def has_logged(running: Serving, words: str) -> bool:
    until = time.monotonic() + WAIT_SECONDS
    while words not in running.log.read_text():
        assert running.process.poll() is None, "it has ended"
        if time.monotonic() >= until:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_hangup_reads_the_settings_of_the_log_again(folder: Path, tmp_path: Path, workers: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[log]\nlevel = "warning"\n')
    arguments = ("--config", str(file), "--workers", workers)
    with serving(folder, *arguments, environment={"API_KEY": "k" * 40}, popen=servers.popen) as running:
        assert "identity.request" not in running.log.read_text()
        file.write_text('[log]\nlevel = "loud"\n')
        running.process.send_signal(signal.SIGHUP)
        assert has_logged(running, "the settings are not read again: log.level must be one of")
        file.write_text('[log]\nformat = "json"\n')
        running.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + WAIT_SECONDS
        while '"logger":"identity.request"' not in running.log.read_text():
            assert time.monotonic() < until, running.log.read_text()
            # Several workers are replaced: who has just connected to one that ends gets no answer.
            with contextlib.suppress(*(() if workers == "1" else (httpx.TransportError,))):
                assert httpx.get(f"{running.url}/health", timeout=WAIT_SECONDS).status_code == 200
        assert running.stop() == 0


def test_a_service_that_listens_everywhere_says_so(folder: Path) -> None:
    arguments = ("--host", "0.0.0.0", "--json")
    with serving(folder, *arguments, environment={"API_KEY": "k" * 40}, popen=servers.popen) as running:
        said = json.loads(running.said)
        port = said["url"].rpartition(":")[2]
        assert (said["url"], said["listensOn"]) == (f"http://127.0.0.1:{port}", f"0.0.0.0:{port}")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_leave_with_a_parent_that_was_killed(folder: Path) -> None:
    with serving(folder, "--workers", "2", environment={"API_KEY": "k" * 40}, popen=servers.popen) as running:
        workers = both(running.process.pid)
        others = children(running.process.pid)
        running.stop(signal.SIGKILL)
        assert all(is_gone(process) for process in (*workers, *others))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_whose_fork_server_is_lost_are_replaced_with_it(folder: Path) -> None:
    with serving(folder, "--workers", "2", environment={"API_KEY": "k" * 40}) as running:
        before = both(running.process.pid)
        (lost,) = (one for one in children(running.process.pid) if before <= {*children(one)})
        os.kill(lost, signal.SIGKILL)
        assert all(is_gone(process) for process in (lost, *before))
        # The new fork server is a child only when both workers are there, so they are awaited first.
        after = both(running.process.pid)
        (fork_server,) = (one for one in children(running.process.pid) if after <= {*children(one)})
        assert b"API_KEY" not in Path(f"/proc/{fork_server}/environ").read_bytes()
        assert httpx.get(f"{running.url}/ready", timeout=WAIT_SECONDS).status_code == 200
        assert running.stop() == 0


def test_a_port_that_is_taken(identity: Commands) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        lines = refused(identity, "--port", str(port))
    assert "cannot listen" in lines[0]
    assert f"127.0.0.1:{port}" in lines[1]


def refused(identity: Commands, *arguments: str | Path, environment: Mapping[str, str] | None = None) -> list[str]:
    """The three lines of a start that fails, in a process of its own: it sets up logging."""
    done = servers.run("serve", *arguments, environment=bare() | dict(environment or {}), timeout=WAIT_SECONDS)
    assert done.returncode in (1, 2), done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    # What a plugin logged before the failure stands above the three lines.
    assert all(any(f" {level} " in line for level in ("INFO", "WARNING", "ERROR")) for line in lines[:-3])
    assert [line[:6] for line in lines[-3:]] == ["error:", "  at: ", "  do: "], done.stderr
    return lines[-3:]


def test_a_folder_that_cannot_be_used(identity: Commands, here: Path) -> None:
    (here / "file").write_text("")
    for place in ("file", "file/below"):
        lines = refused(identity, "--port", "0", "--data-dir", place)
        assert "data directory" in lines[0]
        assert "--data-dir" in lines[2]


@pytest.mark.parametrize(
    ("workers", "environment", "says"),
    [
        ("1", {"IDENTITY_SERVER_PROT": "1"}, "is not a setting"),
        ("many", {}, "server.workers must be"),
        ("1", {"IDENTITY_DID_METHOD": "nope"}, "did.method"),
        # What is found out when the house opens: with several workers it is their parent that opens it first.
        *(
            (workers, environment, says)
            for workers in ("1", "2")
            for environment, says in (
                ({"IDENTITY_LEDGER_BACKEND": "nope"}, "ledger.backend names nope"),
                (
                    {"IDENTITY_DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/x"},
                    "server at 127.0.0.1:1 cannot be used",
                ),
                ({"IDENTITY_KEY_STORES": "env"}, "no key store can be written"),
            )
        ),
    ],
    ids=lambda value: "".join(value) if isinstance(value, dict) else value if value in ("1", "2", "many") else "",
)
def test_a_start_that_fails(identity: Commands, workers: str, environment: dict[str, str], says: str) -> None:
    lines = refused(identity, "--port", "0", environment={"IDENTITY_SERVER_WORKERS": workers} | environment)
    assert says in lines[0]
    assert "secret" not in "".join(lines)


def test_a_wrong_passphrase(identity: Commands, folder: Path) -> None:
    right = servers.CHEAP_PASSPHRASE | {"IDENTITY_PLUGINS_SEALED_PASSPHRASE": "right"}
    with serving(folder, environment=right, popen=servers.popen):
        pass
    wrong = servers.CHEAP_PASSPHRASE | {"IDENTITY_PLUGINS_SEALED_PASSPHRASE": "wrong"}
    lines = refused(identity, "--port", "0", "--data-dir", folder, environment=wrong)
    assert "the passphrase is wrong" in lines[0]


def test_a_server_of_ones_own_that_does_not_start(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), local_server(environment={"IDENTITY_LEDGER_BACKEND": "nope"}):
        pass
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert said[0].startswith("error: the server did not become ready: ledger.backend names nope")
    assert said[1] == "  at: environment IDENTITY_LEDGER_BACKEND (ledger.backend)"
    assert said[2].startswith("  do: Choose one that is installed: ")


def test_a_database_server_that_is_not_there(identity: Commands) -> None:
    url = "postgresql://anyone:hush@127.0.0.1:1/identity"
    lines = refused(identity, "--port", "0", environment={"IDENTITY_DATABASE_URL": url})
    assert "The PostgreSQL server at 127.0.0.1:1 cannot be used" in lines[0]
    assert "environment IDENTITY_DATABASE_URL (database_url)" in lines[1]
    assert "Start it" in lines[2]
    assert "hush" not in "".join(lines)


def test_missing_limit_store_is_reported(folder: Path) -> None:
    environment = {"API_KEY": "k" * 40, "IDENTITY_THROTTLE_REDIS_URL": "redis://:hush@127.0.0.1:1/0"}
    with serving(folder, environment=environment, popen=servers.popen) as running:
        said = [
            line.partition("identity: ")[2]
            for line in running.log.read_text().splitlines()
            if "WARNING identity:" in line
        ]
        assert said[0] == "the shared store of rate limits, Redis at 127.0.0.1:1, does not answer"
        assert "environment IDENTITY_THROTTLE_REDIS_URL (throttle.redis_url)" in said[1]
        assert said[2].startswith("  do: start it")
        assert "hush" not in running.log.read_text()
