"""A command that is forked does what one does that is started: the tests that fork their servers rely on it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import servers
from tests.fault.service_process import STARTED, service


@pytest.mark.parametrize(
    "arguments", [("--version",), ("no-such-command",), ("serve", "--port", "0", "--data-dir", "file/below")]
)
def test_it_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(servers.ROOT)}
    command = [sys.executable, "-m", "identity_core", *arguments]
    started = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    forked = servers.run(*arguments, environment=environment)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_it_has_the_variables_that_it_was_given_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENTITY_LOG_LEVEL", "error")
    environment = {"PATH": os.environ["PATH"], "IDENTITY_SERVER_PORT": "4711"}
    shown = servers.run("config", "show", "--json", environment=environment).stdout
    assert "4711" in shown
    assert "IDENTITY_LOG_LEVEL" not in shown


def test_it_finds_modules_where_a_program_would(tmp_path: Path) -> None:
    (tmp_path / "of_a_test.py").write_text("raise RuntimeError('found')")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "IDENTITY_PLUGINS_MODULES": "of_a_test"}
    said = servers.run("plugins", "check", environment=environment)
    assert "found" in said.stdout + said.stderr


def test_it_is_waited_for_and_ended(tmp_path: Path) -> None:
    def begin(name: str) -> servers.Forked:
        command = [*servers.PROGRAM, "serve", "--port", "0", "--data-dir", str(tmp_path / name)]
        with (tmp_path / f"{name}.log").open("wb") as log:
            return servers.popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    first, second = begin("first"), begin("second")
    assert os.getsid(first.pid) == first.pid
    assert first.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    assert first.wait(60) == -signal.SIGKILL
    assert second.poll() is None
    second.kill()
    assert (second.wait(60), second.poll(), first.poll()) == (-9, -9, -9)
    # To no process, and not to the one that has the number now.
    second.terminate()


def test_the_factory_ends_with_whoever_made_it() -> None:
    program = (
        "import os; from tests import servers; servers.run('--version');"
        "print(servers.factory().process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    command = [sys.executable, "-c", program]
    begun = subprocess.run(command, cwd=servers.ROOT, stdout=subprocess.PIPE, text=True, timeout=60)
    assert begun.returncode == -signal.SIGKILL
    with contextlib.suppress(ProcessLookupError):
        looking = select.poll()
        looking.register(os.pidfd_open(int(begun.stdout)), select.POLLIN)
        assert looking.poll(60_000)


def prover_of(server: int) -> int:
    """The one that has an order: it leads a group of its own."""
    until = time.monotonic() + 60
    while True:
        tasks = "".join(path.read_text() for path in Path(f"/proc/{server}/task").glob("*/children"))
        leading = [pid for pid in map(int, tasks.split()) if os.getpgid(pid) == pid]
        if leading and int(Path(f"/proc/{leading[0]}/oom_score_adj").read_text()):
            return leading[0]
        assert time.monotonic() < until, tasks
        time.sleep(0.02)


def process_limits(process: int) -> tuple[object, ...]:
    """What a process may do, and what it holds."""
    folder = Path(f"/proc/{process}")
    streams = [os.readlink(folder / "fd" / str(number)) for number in (0, 1)]
    status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines())
    signals = [status[name] for name in ("SigBlk", "SigIgn", "SigCgt")]
    return streams, signals, len(list((folder / "fd").iterdir())), (folder / "limits").read_text()


def test_a_prover_has_what_one_has_that_is_started(tmp_path: Path) -> None:
    pytest.importorskip("identity_prover_bbs")
    found = []
    for name, before in (("forked", ()), ("started", STARTED)):
        environment = {"IDENTITY_PROVER_BACKEND": "bbs", "IDENTITY_PROVER_WORKERS": "1"}
        with service(tmp_path / name, environment=environment, before=before) as running:
            prover = prover_of(running.process.pid)
            command = Path(f"/proc/{prover}/cmdline").read_bytes()
            assert (b"identity-prover" in command) == (before == STARTED)
            found.append(process_limits(prover))
            os.killpg(running.process.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                looking = select.poll()
                looking.register(os.pidfd_open(prover), select.POLLIN)
                assert looking.poll(60_000), "it outlives the server"
    assert found[0] == found[1]
