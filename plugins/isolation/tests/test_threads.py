"""A prover on threads, as in an installation without this extension: the limits at the caller are the same."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from identity_core.bootstrap import open_installation
from identity_core.domain.proofs.proof import ZkProof
from identity_core.errors import PluginTimeout, PluginUnavailable, PredicateNotSatisfied, ProofInvalid
from identity_core.plugin.choose import ANONYMOUS_VERIFIER
from identity_core.plugin.load import module_source
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.sockets import PluginError
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import load
from plugins.isolation.tests.crew import MODULE, STATEMENT, WITNESS, context
from tests.architecture.call_paths import LONG_DEADLINES
from tests.unit.plugin.parts import HandClock, manager

WARNING = "proofs are not isolated: no extension that is open runs the prover in processes"


def vicious(**overrides: Any) -> PluginManager:
    settings = load(environment={}, overrides={name.replace("__", "."): one for name, one in overrides.items()})
    return manager(module_source(MODULE), settings=settings)


def on_threads(plugins: PluginManager, seconds: float, **use: str) -> ProofWorkers:
    port = plugins.proof_workers("vicious", workers=2, deadline_seconds=seconds, **use)
    assert isinstance(port, ProofWorkers)
    return port


def test_prover_answers_from_a_thread() -> None:
    async def scenario() -> None:
        plugins = vicious()
        port = on_threads(plugins, 60.0)
        assert (port.suite, port.predicate_types, port.extensions) == ("vicious-1", {"gte"}, frozenset())
        proof = await port.prove(STATEMENT, WITNESS, context=context())
        assert proof.public_signals == (str(os.getpid()),)
        assert [one.name for one in threading.enumerate() if one.name.startswith("plugin-")] != []
        await plugins.proof_workers_settled()
        (row,) = [one for one in plugins.installed() if one.name == "vicious"]
        assert (row.state, plugins.in_use()["prover:vicious"].worker_table) == ("active", None)
        await plugins.close()
        with pytest.raises(PluginUnavailable):
            await port.prove(STATEMENT, WITNESS, context=context())

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("vice", "error"),
    [("not-satisfied", PredicateNotSatisfied), ("raise", PluginUnavailable), ("junk", PluginUnavailable)],
)
def test_failure_on_a_thread_has_its_own_error(vice: str, error: type[Exception]) -> None:
    async def scenario() -> None:
        plugins = vicious()
        port = on_threads(plugins, 60.0)
        with pytest.raises(error):
            await port.prove(STATEMENT, WITNESS, context=context(vice))
        assert (await port.prove(STATEMENT, WITNESS, context=context())).proof_id == "p1"
        await plugins.close()

    asyncio.run(scenario())


def test_late_call_on_a_thread_ends_for_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread stays occupied; another one serves the next call, and unauthenticated clients have their own."""
    released = threading.Event()

    async def scenario() -> None:
        plugins = vicious()
        port = on_threads(plugins, 0.5)
        verifier = on_threads(plugins, 60.0, use=ANONYMOUS_VERIFIER)
        thing = plugins._built["identity_provide_prover", "vicious"].thing
        quick = type(thing).prove
        monkeypatch.setattr(type(thing), "prove", lambda *_, **__: released.wait(60))
        began = time.monotonic()
        with pytest.raises(PluginTimeout):
            await port.prove(STATEMENT, WITNESS, context=context())
        assert time.monotonic() - began < 30
        monkeypatch.setattr(type(thing), "prove", quick)
        assert (await port.prove(STATEMENT, WITNESS, context=context())).proof_id == "p1"
        with pytest.raises(ProofInvalid):
            await verifier.verify(STATEMENT, bad(), context=context(), now=HandClock().now())
        assert plugins.in_use()["prover:vicious"].bulkhead.timeouts == 1
        assert plugins.in_use()["prover:vicious:anonymous"].bulkhead.timeouts == 0
        released.set()
        await plugins.close()

    asyncio.run(scenario())


def bad() -> Any:
    return ZkProof("bad", (), "gte", "p1")


@pytest.mark.parametrize("build", ["raise", "unset"])
def test_prover_that_cannot_be_built_fails_alone(build: str, caplog: pytest.LogCaptureFixture) -> None:
    plugins = vicious(plugins__vicious__build=build)
    assert plugins.proof_workers(None, workers=1, deadline_seconds=1.0) is None
    assert bool(caplog.records) is (build == "raise")
    with pytest.raises(PluginError):
        plugins.proof_workers("vicious", workers=1, deadline_seconds=1.0)


@pytest.mark.parametrize("disabled", [(), ("isolation",)])
def test_start_without_processes_is_logged(
    disabled: tuple[str, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    overrides = {"data_dir": tmp_path / "data", "plugins.disabled": disabled}

    async def run() -> None:
        async with open_installation(load(environment=LONG_DEADLINES, overrides=overrides)):
            pass

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert (WARNING in caplog.messages) is bool(disabled)


def test_extension_is_not_loaded_by_its_declaration() -> None:
    """Commands import the declaration only; the pool comes with the start of a server."""
    code = "import sys, identity_isolation.extension; print('identity_isolation.pool' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
