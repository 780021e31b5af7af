"""Six ports × seven vices: what is promised for each, as ``plugins/README.md`` says, and that it holds.

F11 of the fault list. ``PROMISES`` is that table; a test compares the two. What a border contains is tried in this process, what ends a
server process or copies it in a running service with two of them. ``test_plugins`` goes through every method of every port.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from identity_commands.verify_log import verify

from identity_core.errors import IdentityError, PluginTimeout, PluginUnavailable
from identity_core.plugin import Provider, hookimpl
from identity_core.plugin.load import PluginSource
from identity_core.plugin.sockets import PluginError
from identity_core.settings import load
from plugins.isolation.tests.crew import STATEMENT, context, crew, until
from tests import fake_time_loop
from tests.attack.stranger import PREFIX, Answer, Holder
from tests.fault import service_process
from tests.fault.service_process import Running, eventually
from tests.fault.test_plugins import IMPORT_SECONDS, hanging, junk, perform, raising, start, the_others_work, with_vice
from tests.fault.test_plugins import PORTS as PLAIN_PORTS
from tests.unit.plugin.parts import NOW, log, manager, source

README = Path(__file__).parents[2] / "plugins" / "README.md"
PORTS = ("did_method", "ledger", "prover", "key_store", "custodian", "verify_bearer")
VICES = ("raises", "hangs", "returns junk", "is the wrong type", "is slow to import", "forks", "calls `os._exit`")
INSIDE = ("did_method", "ledger", "key_store", "custodian", "verify_bearer")
PROMISES = {
    "raises": ("503", "500", "503", "503", "503", "503"),
    "hangs": ("holds its server process", "504", "504, new process", "504", "504", "holds its server process"),
    "returns junk": ("503", "500", "503", "503", "503", "503"),
    "is the wrong type": ("no start",) * 6,
    "is slow to import": ("failed alone",) * 6,
    "forks": ("the copy ends",) * 6,
    "calls `os._exit`": ("new server process",) * 2 + ("503, new process",) + ("new server process",) * 3,
}
CALL = {"did_method": "draft", "ledger": "append", "key_store": "find", "custodian": "sign"}
CELLS = list(product(VICES, PORTS))


def promised(vice: str, port: str) -> str:
    return PROMISES[vice][PORTS.index(port)]


def test_the_table_of_the_readme_is_this_one() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in README.read_text().splitlines()
        if line.startswith("|") and line.count("|") == len(PORTS) + 2
    ]
    assert rows[0][1:] == ["DID method", "ledger", "prover", "key store", "custodian", "bearer verifier"]
    assert {row[0]: tuple(row[1:]) for row in rows[2:]} == PROMISES


def test_every_cell_has_a_test() -> None:
    tried = {
        *product(("raises", "returns junk", "is the wrong type", "is slow to import"), PORTS),
        *(("hangs", port) for port in PORTS),
        *product(("forks", "calls `os._exit`"), (*INSIDE, "prover")),
    }
    assert tried == set(CELLS)
    assert len(CELLS) == 42


# In one process.


def bearer(verify: Any) -> PluginSource:
    return source("bearer", SimpleNamespace(identity_verify_bearer=verify))


async def falls(vice: str, port: str) -> IdentityError:
    """The error of one call of a port whose plugin has the vice, once the others were seen to go on."""
    act = raising if vice == "raises" else junk
    if port == "prover":
        async with crew() as at:
            with pytest.raises(IdentityError) as refusal:
                await at.prove("raise" if vice == "raises" else "junk")
            assert (await at.prove()).proof_id == "p1"
            return refusal.value
    if port == "verify_bearer":

        @hookimpl
        def identity_verify_bearer(token: str, now: datetime) -> Any:
            return act()

        with pytest.raises(IdentityError) as refusal:
            manager(bearer(identity_verify_bearer)).verify_bearer("token", NOW)
        return refusal.value
    plain = PLAIN_PORTS[port]
    plugins, thing = start(plain, with_vice(plain, CALL[port], act))
    with pytest.raises(IdentityError) as refusal:
        await perform(plain, CALL[port], thing)
    await the_others_work(plugins, plain)
    return refusal.value


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("vice", ["raises", "returns junk"])
def test_raising_and_junk(vice: str, port: str) -> None:
    error = asyncio.run(falls(vice, port))
    assert promised(vice, port) == {"PLUGIN_UNAVAILABLE": "503", "BLOCKCHAIN_ERROR": "500"}[error.code]


@pytest.mark.parametrize("port", ["ledger", "key_store", "custodian"])
def test_a_hang_ends_at_the_deadline(port: str) -> None:
    async def scenario() -> None:
        plain = PLAIN_PORTS[port]
        plugins, thing = start(plain, with_vice(plain, CALL[port], hanging))
        with pytest.raises(PluginTimeout):
            await perform(plain, CALL[port], thing)
        await the_others_work(plugins, plain)

    assert promised("hangs", port) == "504"
    fake_time_loop.run(scenario())


def test_a_prover_that_hangs_is_replaced() -> None:
    async def scenario() -> None:
        async with crew() as at:
            before = await at.pid()
            with at.deadline(0.3), pytest.raises(PluginTimeout):
                await at.prove("spin")
            await until(lambda: at.worker_table.up == 1 and at.worker_table.restarts == 1)
            assert await at.pid() != before

    assert promised("hangs", "prover") == "504, new process"
    asyncio.run(scenario())


@pytest.mark.parametrize("port", PORTS)
def test_the_wrong_type_stops_the_start(port: str) -> None:
    assert promised("is the wrong type", port) == "no start"
    if port == "verify_bearer":
        with pytest.raises(PluginError, match="implements no hook"):
            manager(bearer("not a function"))
    elif port == "prover":

        async def scenario() -> None:
            async with crew(settled=False, prover__backend="vicious", plugins__vicious__build="misfit") as at:
                with pytest.raises(PluginError, match="does not fit its port"):
                    await at.manager.proof_workers_settled()

        asyncio.run(scenario())
    else:
        with pytest.raises(PluginError, match="does not fit its port"):
            start(PLAIN_PORTS[port], object())


@pytest.mark.parametrize("port", PORTS)
def test_a_slow_import_fails_alone(port: str) -> None:
    """An unselected plugin of this kind times out; the start continues with the others."""

    def slow() -> object:
        time.sleep(30)
        return None

    good = [
        source(name, SimpleNamespace(**{one.hook: hookimpl(_providing(one))}))
        for name, one in PLAIN_PORTS.items()
        if name != "prover"
    ]
    settings = load(environment={}, overrides={"did.method": "toy", "plugins.import_seconds": IMPORT_SECONDS})
    plugins = manager(*good, source(f"slow-{port}", slow), settings=settings)
    assert plugins.did_methods()["toy"].name == "toy"
    assert promised("is slow to import", port) == "failed alone"
    (row,) = [row for row in plugins.installed() if row.state == "failed"]
    assert (row.name, row.reason) == (f"slow-{port}", "import took longer than 1 s")


def _providing(port: Any) -> Any:
    def provide() -> Provider[Any]:
        return Provider("toy", lambda settings, context: port.good())

    provide.__name__ = port.hook
    return provide


@pytest.mark.parametrize("vice", ["forks", "calls `os._exit`"])
def test_a_prover_does_that_in_a_process_of_its_own(vice: str) -> None:
    async def scenario() -> None:
        async with crew() as at:
            before = await at.pid()
            if vice == "forks":
                assert int((await at.prove("fork")).public_signals[0]) == before
                assert await at.pid() == before
                return
            with pytest.raises(PluginUnavailable):
                await at.prove("exit")
            began = time.monotonic()
            await until(lambda: at.worker_table.up == 1 and at.worker_table.restarts == 1)
            log.info("a new prover process after %.2f s", time.monotonic() - began)
            assert await at.pid() != before

    assert promised(vice, "prover") == ("the copy ends" if vice == "forks" else "503, new process")
    asyncio.run(scenario())


# In a running service with two processes.

ENVIRONMENT = {
    "IDENTITY_PLUGINS_MODULES": "tests.fault.vicious_plugin",
    "IDENTITY_PLUGINS_DISABLED": "did_ids,prover_bbs",
    "IDENTITY_LEDGER_BACKEND": "vicious",
    "IDENTITY_CUSTODIAN_BACKEND": "vicious",
    "IDENTITY_KEY_STORES": "vicious,sql,env",
}


@dataclass
class Stage:
    """A service whose plugins fall once when they are told to, and everything that it has acknowledged."""

    running: Running
    fault: Path
    acknowledged: list[Holder]

    def tempt(self, kind: str, vice: str) -> Answer | None:
        """A request in which the plugin falls; None when the connection broke before an answer."""
        # Renamed into its place, so that no process reads half a word.
        told = self.fault.with_name("told")
        told.write_text(f"{kind}:{vice}")
        told.rename(self.fault)
        try:
            return self.ask(kind)
        except (OSError, http.client.HTTPException):
            return None

    def ask(self, kind: str) -> Answer:
        """What needs a plugin of this kind."""
        wire = self.running.wire
        # A key store is asked about a key that no test has shown before: what it said of others is remembered.
        key = os.urandom(16).hex() if kind == "key_store" else self.running.stranger.api_key
        credential = {"Authorization": "Bearer not.of.ours"} if kind == "verify_bearer" else {"X-API-Key": key}
        return wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, credential, fresh=True)

    def recovers(self) -> None:
        """Within a short time everything is as it was: both processes, and all that was acknowledged."""
        self.fault.unlink(missing_ok=True)
        end = time.monotonic() + 60
        while True:
            try:
                self.acknowledged.append(self.running.stranger.holder())
                break
            except (OSError, http.client.HTTPException, RuntimeError):
                assert time.monotonic() < end, self.running.log.read_text()[-3000:]
                self.running.wire.close()
                time.sleep(0.1)
        eventually(lambda: len(self.processes) == 2, "both processes are there")
        for holder in self.acknowledged:
            assert verify(holder.log()).versions == 1
            assert holder.resolve().json["didDocument"]["id"] == holder.did

    @property
    def processes(self) -> set[int]:
        """The server's own, without the one that forks them and the tracker that Python starts beside it."""
        return {worker for child in children(self.running.process.pid) for worker in children(child)}


def children(parent: int) -> set[int]:
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[1]) == parent and fields[0] != "Z" and b"resource_tracker" not in command:
                found.add(int(folder.name))
    return found


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("vices")
    fault = folder / "fault"
    environment = ENVIRONMENT | {"IDENTITY_TEST_FAULT": str(fault)}
    with service_process.service(folder / "data", "--workers", "2", environment=environment) as running:
        stage = Stage(running, fault, [])
        stage.recovers()
        yield stage


@pytest.mark.parametrize("kind", INSIDE)
def test_process_exit_loses_no_acknowledged_write(stage: Stage, kind: str) -> None:
    before = stage.processes
    assert len(before) == 2
    assert stage.tempt(kind, "exit") is None, "the process is gone, and with it the connection"
    stage.recovers()
    assert len(stage.processes - before) == 1
    assert promised("calls `os._exit`", kind) == "new server process"


@pytest.mark.parametrize("kind", INSIDE)
def test_the_copy_of_a_fork_ends_before_it_serves(stage: Stage, kind: str) -> None:
    before = stage.processes
    assert len(before) == 2
    answer = stage.tempt(kind, "fork")
    assert not stage.fault.exists(), "the plugin did fork"
    assert answer is not None
    assert answer.status == (401 if kind in ("key_store", "verify_bearer") else 201)
    stage.recovers()
    assert stage.processes == before
    # A copy would be a child of a server process; it needs the processor for a moment in order to end.
    eventually(lambda: not any(children(server) for server in before), "the copy has ended")
    assert re.search("a plugin forks the server process", stage.running.log.read_text())
    assert promised("forks", kind) == "the copy ends"


@pytest.mark.parametrize("kind", ["did_method", "verify_bearer"])
def test_hanging_code_blocks_its_process_only(tmp_path: Path, kind: str) -> None:
    """Nothing in a process can stop plain code that hangs. The other process takes every new connection, and the stop ends both."""
    fault = tmp_path / "fault"
    environment = ENVIRONMENT | {"IDENTITY_TEST_FAULT": str(fault), "IDENTITY_SERVER_SHUTDOWN_SECONDS": "1"}
    # Forked workers begin in one moment, and then write in the same ones: who hangs there holds up the writes of the other too.
    with service_process.service(
        tmp_path / "data", "--workers", "2", environment=environment, before=service_process.STARTED
    ) as running:
        held = Stage(running, fault, [running.stranger.holder()])
        parts = running.wire.address
        hung = http.client.HTTPConnection(*parts, timeout=60)
        fault.write_text(f"{kind}:block")
        credential = {"Authorization": "Bearer not.of.ours"} if kind == "verify_bearer" else {}
        headers = {"Content-Type": "application/json", "X-API-Key": running.stranger.api_key} | credential
        if credential:
            del headers["X-API-Key"]
        hung.request("POST", f"{PREFIX}/dids", b'{"method":"ids"}', headers)
        eventually(lambda: not fault.exists(), "the plugin hangs")
        for _ in range(20):
            running.wire.close()
            assert running.stranger.create({"method": "ids"}).status == 201
            assert held.acknowledged[0].resolve().status == 200
        hung.close()
        running.process.terminate()
        assert running.process.wait(120) == 0
    assert promised("hangs", kind) == "holds its server process"


def test_the_statement_of_these_tests_is_a_good_one() -> None:
    """So that a prover which refuses does it for its vice."""
    assert STATEMENT.predicates[0].json == {"attributeName": "age", "type": "gte", "value": 18}
    assert context("x").audience == "vice:x"
