"""Provers in processes: whatever one does costs its own call, and the next one is served."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_isolation import pool as pool_module
from identity_isolation import worker as worker_module
from identity_isolation.provers import in_processes

from identity_core.bootstrap import SystemClock
from identity_core.domain.proofs.proof import WitnessInvalid, ZkProof
from identity_core.errors import (
    IdentityError,
    Overloaded,
    PluginTimeout,
    PluginUnavailable,
    PredicateNotSatisfied,
    PredicateUnsupported,
    ProofInvalid,
)
from identity_core.plugin.choose import ANONYMOUS_VERIFIER
from identity_core.plugin.load import PluginSource, module_source
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.sockets import PluginError
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import SettingsError, load
from plugins.isolation.tests.crew import MODULE, SECRET, STATEMENT, WITNESS, alive, context, crew, until
from tests.unit.plugin.parts import HandClock, log, manager

GOOD = ZkProof("cHJvb2Y", (), "gte", "p1")


def test_a_prover_answers_from_a_process_of_its_own() -> None:
    async def scenario() -> None:
        async with crew() as at:
            assert isinstance(at.port, ProofWorkers)
            assert (at.port.suite, at.port.predicate_types) == ("vicious-1", {"gte"})
            assert await at.pid() != os.getpid()
            await at.port.verify(STATEMENT, GOOD, context=context(), now=datetime.now(UTC))
            assert (at.row.state, at.worker_table.up, at.worker_table.restarts) == ("active", 1, 0)

    asyncio.run(scenario())


def test_worker_stands_back_and_goes_first_when_memory_runs_out() -> None:
    async def scenario() -> None:
        async with crew() as at:
            proof = await at.prove("nice")
            assert (proof.proof, proof.public_signals) == (str(min(os.nice(0) + 10, 19)), ("500",))

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("vice", "error", "details"),
    [
        ("unsupported", PredicateUnsupported, {"reason": "no", "n": [1, {"a": None}]}),
        ("not-satisfied", PredicateNotSatisfied, {}),
        ("witness", WitnessInvalid, {}),
        ("invalid", ProofInvalid, {"reason": "bad"}),
        ("overloaded", Overloaded, {"retryAfter": 3}),
    ],
)
def test_errors_of_the_contract_arrive_whole(vice: str, error: type[IdentityError], details: Any) -> None:
    async def scenario() -> None:
        async with crew() as at:
            for _ in range(7):
                with pytest.raises(IdentityError) as refusal:
                    await at.prove(vice)
                assert type(refusal.value) is error
                assert refusal.value.details == details
                assert refusal.value.__cause__ is None
            if vice == "unsupported":
                assert str(refusal.value) == "Not this one."
            assert (at.bulkhead.failures, at.worker_table.restarts, at.row.state) == (0, 0, "active")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "vice",
    [
        "raise",
        "system-exit",
        "recursion",
        "memory",
        "junk",
        "none",
        "class",
        "unpicklable",
        "list",
        "surrogate",
        "ruined-details",
    ],
)
def test_malformed_answer_fails_its_call_and_no_process(vice: str) -> None:
    async def scenario() -> None:
        async with crew() as at:
            before = await at.pid()
            with pytest.raises(PluginUnavailable) as refusal:
                await at.prove(vice)
            assert refusal.value.details == {"plugin": "prover:vicious"}
            assert refusal.value.__cause__ is None
            assert await at.pid() == before
            assert (at.bulkhead.failures, at.worker_table.restarts) == (1, 0)

    asyncio.run(scenario())


def test_a_subclass_comes_back_as_what_the_port_promises() -> None:
    async def scenario() -> None:
        async with crew() as at:
            assert type(await at.prove("own-class")) is ZkProof

    asyncio.run(scenario())


@pytest.mark.parametrize("text", ["text", "empty", "no-schema", "no-context", "predicates", "foreign-predicate"])
def test_a_ruined_presentation_is_refused(text: str) -> None:
    async def scenario() -> None:
        async with crew() as at:
            with pytest.raises(PluginUnavailable):
                await at.port.read(text)
            assert at.worker_table.restarts == 0

    asyncio.run(scenario())


def test_false_is_no_verdict_and_a_stranger_may_write_anything() -> None:
    async def scenario() -> None:
        async with crew() as at:
            now = datetime.now(UTC)
            with pytest.raises(PluginUnavailable):
                await at.port.verify(STATEMENT, GOOD, context=context("false"), now=now)
            odd = ZkProof("\udc80\x00é", ("\ud800",), "", "")
            await at.port.verify(STATEMENT, odd, context=context(), now=now)
            with pytest.raises(ProofInvalid, match="not valid"):
                await at.port.verify(STATEMENT, ZkProof("bad", (), "gte", "p"), context=context(), now=now)

    asyncio.run(scenario())


@pytest.mark.parametrize("vice", ["exit", "segv", "abort", "kill", "huge", "shut", "scribble"])
def test_a_death_costs_its_own_call_and_another_process_goes_on(vice: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with crew() as at:
            before = await at.pid()
            with pytest.raises(PluginUnavailable):
                await at.prove(vice)
            after = await at.pid()
            assert after != before
            assert not alive(before)
            assert (at.bulkhead.failures, at.worker_table.restarts, at.row.state) == (1, 1, "active")

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    said = {"segv": "was ended by SIGSEGV", "exit": "ended with status 0", "huge": "more than is taken"}
    assert said.get(vice, "lost its worker process") in caplog.text
    assert SECRET not in caplog.text


def test_other_calls_wait_for_the_next_process_and_lose_nothing() -> None:
    async def scenario() -> None:
        async with crew() as at:
            calls = [at.prove("exit"), *(at.prove("", f"p{n}") for n in range(20))]
            first, *others = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(first, PluginUnavailable)
            assert [proof.proof_id for proof in others] == [f"p{n}" for n in range(20)]  # type: ignore[union-attr]

    asyncio.run(scenario())


def test_a_process_that_dies_between_calls_is_replaced() -> None:
    async def scenario() -> None:
        async with crew() as at:
            before = int((await at.prove("die-later")).public_signals[0])
            await until(lambda: at.worker_table.restarts == 1 and at.worker_table.up == 1)
            assert await at.pid() != before
            assert at.bulkhead.failures == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("vice", ["spin", "hold", "stop"])
def test_a_hang_ends_at_the_deadline_with_its_process(vice: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with crew(plugins__vicious__scratch=str(tmp_path)) as at:
            before = await at.pid()
            began = time.monotonic()
            with at.deadline(0.3), pytest.raises(PluginTimeout):
                await at.prove(vice)
            assert 0.29 < time.monotonic() - began < 45
            assert at.bulkhead.timeouts == 1
            await until(lambda: at.worker_table.restarts == 1 and at.worker_table.up == 1)
            assert not alive(before)
            assert await at.pid() != before

    asyncio.run(scenario())


def test_a_hang_holds_up_neither_the_loop_nor_the_other_worker(tmp_path: Path) -> None:
    async def scenario() -> None:
        scratch = str(tmp_path)
        async with crew(workers=2, plugins__vicious__scratch=scratch) as at:
            await until(lambda: at.worker_table.up == 2)
            hung = asyncio.create_task(at.prove("hold"))
            await until((tmp_path / "hung").exists)
            for number in range(20):
                assert (await at.prove("", f"p{number}")).proof_id == f"p{number}"
            assert not hung.done()
            await at.manager.close()
            with pytest.raises(PluginUnavailable):
                await hung

    asyncio.run(scenario())


def test_a_fork_cannot_answer_and_dies_with_its_worker(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with crew(plugins__vicious__scratch=str(tmp_path)) as at:
            before = await at.pid()
            for _ in range(3):
                # Both processes return from the call; only one of them is heard.
                assert int((await at.prove("fork")).public_signals[0]) == before
            await at.prove("fork-many")
            forked = [int(pid) for pid in (tmp_path / "forked").read_text().split()]
            assert len(forked) == 30
            assert all(map(alive, forked))
            assert await at.pid() == before
            with pytest.raises(PluginUnavailable):
                await at.prove("exit")
            await until(lambda: not any(map(alive, forked)))
            assert await at.pid() != before

    asyncio.run(scenario())


def test_repeated_deaths_shut_the_method_off_and_nothing_else() -> None:
    async def scenario() -> None:
        async with crew(plugins__failures_to_open=3) as at:
            for _ in range(3):
                with pytest.raises(PluginUnavailable):
                    await at.prove("exit")
            with pytest.raises(PluginUnavailable) as refusal:
                await at.prove()
            assert refusal.value.details["retryAfter"] in range(1, 6)
            assert (at.row.state, at.bulkhead.refused) == ("shut off", 1)
            await at.port.verify(STATEMENT, GOOD, context=context(), now=datetime.now(UTC))

    asyncio.run(scenario())


def test_too_many_calls_push_back() -> None:
    async def scenario() -> None:
        async with crew(plugins__calls_in_flight=4) as at:
            answers = await asyncio.gather(*(at.prove("slow") for _ in range(9)), return_exceptions=True)
            assert [type(answer) for answer in answers].count(Overloaded) == 5
            assert at.bulkhead.refused == 5

    asyncio.run(scenario())


def test_caller_disconnect_cancels_call_or_lets_it_end() -> None:
    async def scenario() -> None:
        async with crew() as at:
            before = await at.pid()
            running = asyncio.create_task(at.prove("slow"))
            waiting = asyncio.create_task(at.prove("exit"))
            await until(lambda: at.bulkhead.in_flight == 2)
            for task in (running, waiting):
                task.cancel()
            outcomes = await asyncio.gather(running, waiting, return_exceptions=True)
            assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
            # The next answer is that of the next call, from the same process; the one that waited was never made.
            assert (await at.prove("", "next")).proof_id == "next"
            assert await at.pid() == before
            assert (at.bulkhead.failures, at.bulkhead.in_flight, at.worker_table.restarts) == (0, 0, 0)

    asyncio.run(scenario())


def test_an_abandoned_hang_still_ends() -> None:
    async def scenario() -> None:
        async with crew() as at:
            before = await at.pid()
            with at.deadline(3.0):
                hung = asyncio.create_task(at.prove("spin"))
                await until(lambda: at.bulkhead.in_flight == 1)
            hung.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hung
            await until(lambda: not alive(before))
            await until(lambda: at.worker_table.up == 1)
            assert await at.pid() != before

    asyncio.run(scenario())


def test_nothing_of_the_witness_is_seen_anywhere(capfd: pytest.CaptureFixture[str], caplog: Any) -> None:
    async def scenario() -> None:
        async with crew() as at:
            with pytest.raises(PluginUnavailable) as refusal:
                await at.prove("tell")
            assert SECRET not in f"{refusal.value!r} {refusal.value.details} {refusal.value.__context__!r}"
            assert "raised ValueError" in at.bulkhead.last_failure
            assert "vicious_prover.py" in at.bulkhead.last_failure
            assert SECRET not in at.bulkhead.last_failure
            with pytest.raises(PluginUnavailable):
                await at.prove("segv")

    with caplog.at_level(logging.DEBUG):
        asyncio.run(scenario())
    out, err = capfd.readouterr()
    assert SECRET not in out + err + caplog.text
    assert "a failure" in caplog.text, "a log line of the prover does arrive, without its traceback"
    assert "Segmentation fault" in err, "where it crashed is seen"


SECRETS = {
    "API_KEY": "secret-of-the-api",
    "IDENTITY_DATABASE_URL": "postgresql://identity:secret-of-the-database@db.example/identity",
    "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "secret-of-the-custodian",
    "AWS_SECRET_ACCESS_KEY": "secret-of-another-program",
}


def test_a_worker_inherits_nothing_but_what_every_program_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_OTHER", "2")

    async def scenario() -> None:
        async with crew(prover__environment=["OMP_NUM_THREADS", "NOT_THERE"]) as at:
            inherited = (await at.prove("environment")).public_signals
            assert "secret" not in "".join(inherited)
            assert {"TZ=Asia/Tokyo", "OMP_NUM_THREADS=1"} <= set(inherited)
            names = {one.partition("=")[0] for one in inherited if one}
            assert names <= {
                "PATH",
                "HOME",
                "TMPDIR",
                "LANG",
                "LANGUAGE",
                "LC_ALL",
                "LC_CTYPE",
                "TZ",
                "OMP_NUM_THREADS",
            } | {
                "LD_LIBRARY_PATH",
                "PYTHONHOME",
                "PYTHONUTF8",
                "PYTHONDONTWRITEBYTECODE",
                "PYTHONPYCACHEPREFIX",
            }

    asyncio.run(scenario())


def test_an_order_holds_the_provers_own_table_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[bytes] = []
    dumps = pickle.dumps

    def spy(order: object) -> bytes:
        orders.append(dumps(order))
        return orders[-1]

    monkeypatch.setattr(worker_module.pickle, "dumps", spy)
    own = str(tmp_path)
    settings = load(
        environment=SECRETS | {"IDENTITY_PLUGINS_VICIOUS_SCRATCH": own},
        overrides={"plugins.sealed.passphrase": "secret-of-the-command-line"},
    )

    async def scenario() -> None:
        sources = [
            module_source(MODULE),
            module_source("identity_custodian_sealed"),
            module_source("identity_keys_env"),
        ]
        plugins = PluginManager.load(settings, clock=SystemClock(), logger=log, sources=sources)
        plugins.isolation = in_processes
        assert plugins.proof_workers("vicious", workers=1, deadline_seconds=60.0) is not None
        await plugins.proof_workers_settled()
        verifier = plugins.proof_workers("vicious", use=ANONYMOUS_VERIFIER, deadline_seconds=60.0)
        assert verifier is not None
        await verifier.verify(STATEMENT, GOOD, context=context(), now=datetime.now(UTC))
        await plugins.close()

    asyncio.run(scenario())
    assert len(orders) == 2
    for order in orders:
        assert own.encode() in order, "the prover gets what is its own"
        assert b"secret" not in order


@pytest.mark.parametrize("name", ["API_KEY", "IDENTITY_DATABASE_URL", "IDENTITY_API_KEY", "A=B", "", "9"])
def test_variables_of_the_service_cannot_be_handed_on(name: str) -> None:
    with pytest.raises(SettingsError, match=r"prover\.environment"):
        load(environment={}, overrides={"prover.environment": [name]})


def test_anonymous_calls_have_own_process_and_circuit() -> None:
    async def scenario() -> None:
        async with crew(plugins__failures_to_open=2) as at:
            verifier = at.manager.proof_workers(None, use=ANONYMOUS_VERIFIER, deadline_seconds=60.0)
            assert verifier is not None
            name = "prover:vicious:anonymous"
            before = at.manager.in_use()[name]
            assert before.worker_table is not None
            assert (before.state, before.worker_table.wanted, before.worker_table.up) == ("active", 0, 0), (
                "no request has come yet"
            )
            for _ in range(2):
                with pytest.raises(PluginUnavailable):
                    await verifier.verify(STATEMENT, GOOD, context=context("false"), now=datetime.now(UTC))
            after = at.manager.in_use()[name]
            assert after.worker_table is not None
            assert (after.state, after.worker_table.wanted, after.worker_table.up) == ("shut off", 1, 1)
            await at.port.verify(STATEMENT, GOOD, context=context(), now=datetime.now(UTC))
            assert at.row.state == "active"
            nice = int((await verifier.prove(STATEMENT, WITNESS, context=context("nice"))).proof)
            assert nice == min(os.nice(0) + 15, 19), "below the proofs"

    asyncio.run(scenario())


def test_unused_verifier_starts_no_process_at_close() -> None:
    async def scenario() -> None:
        async with crew() as at:
            verifier = at.manager.proof_workers(None, use=ANONYMOUS_VERIFIER, deadline_seconds=60.0)
            assert verifier is not None
            await at.manager.proof_workers_settled()
            await at.manager.close()
            with pytest.raises(PluginUnavailable):
                await verifier.read("text")

    asyncio.run(scenario())


def test_the_secret_is_in_neither_command_line_nor_environment() -> None:
    async def scenario() -> None:
        async with crew(plugins__vicious__scratch="/nowhere/secret-4711") as at:
            pid = await at.pid()
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            assert b"identity-prover\0vicious" in command
            assert b"secret-4711" not in command

    # The folder does not exist, so the prover's close raises; the error is ignored.
    asyncio.run(scenario())


def test_close_lets_the_prover_close_and_may_come_twice(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with crew(workers=2, plugins__vicious__scratch=str(tmp_path)) as at:
            await until(lambda: at.worker_table.up == 2)
            pid = await at.pid()
            prover = next(one.thing for one in at.manager._built.values())
            await asyncio.gather(prover.close(), prover.close())
            await prover.close()
            assert not alive(pid)
            assert int((tmp_path / "closed").read_text())
            with pytest.raises(PluginUnavailable):
                await at.prove()

    asyncio.run(scenario())


@pytest.mark.parametrize("build", ["", "hang"])
def test_close_does_not_wait_for_a_start_or_a_call(build: str) -> None:
    async def scenario() -> None:
        async with crew(settled=False, plugins__vicious__build=build) as at:
            task = asyncio.create_task(at.prove("spin"))
            await until(lambda: at.bulkhead.in_flight == 1 and (build == "hang" or at.worker_table.up == 1))
            began = time.monotonic()
            await at.manager.close()
            assert time.monotonic() - began < 30, "a start and a call may take 60 s"
            with pytest.raises(PluginUnavailable):
                await task

    asyncio.run(scenario())


def test_a_first_call_waits_for_a_slow_start() -> None:
    async def scenario() -> None:
        async with crew(settled=False, plugins__vicious__build="slow") as at:
            assert at.row.state == "starting"
            with pytest.raises(PluginUnavailable):
                _ = at.port.suite
            assert at.bulkhead.failures == 0, "not to know yet is not a failure"
            assert (await at.prove()).proof_id == "p1"
            assert at.port.suite == "vicious-1"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        ("raise", "plugin tests.fault.vicious_prover (setting plugins.modules): the prover vicious could not be built"),
        ("refuse", "the proving key is of another curve"),
        ("unset", "set plugins.vicious.scratch"),
        ("misfit", "does not fit its port: object has no"),
        ("nameless", "of length >= 1 - at `$.suite`"),
        ("exit", "ended with status 5"),
    ],
)
def test_unavailable_chosen_prover_stops_startup(build: str, reason: str) -> None:
    async def scenario() -> None:
        async with crew(settled=False, prover__backend="vicious", plugins__vicious__build=build) as at:
            with pytest.raises(PluginError) as refusal:
                await at.manager.proof_workers_settled()
            assert reason in str(refusal.value)
            assert "\n" not in str(refusal.value)

    asyncio.run(scenario())


@pytest.mark.parametrize(("build", "state"), [("refuse", "failed"), ("unset", "available"), ("exit", "failed")])
def test_one_that_is_only_installed_fails_alone(build: str, state: str) -> None:
    async def scenario() -> None:
        async with crew(plugins__vicious__build=build) as at:
            assert at.row.state == state
            assert at.row.reason
            began = time.monotonic()
            with pytest.raises(PluginUnavailable):
                await at.prove()
            assert time.monotonic() - began < 30, "no call waits for a prover that cannot start"
            if build == "unset":
                assert at.worker_table.restarts == 0, "other settings would help, and trying again would not"
            else:
                await until(lambda: at.worker_table.restarts > 0)

    asyncio.run(scenario())


def test_a_start_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "START_SECONDS", 1.0)

    async def scenario() -> None:
        async with crew(settled=False, plugins__vicious__build="hang") as at:
            with pytest.raises(PluginUnavailable):
                await at.prove()
            assert "was not ready after 1 s" in at.row.reason

    asyncio.run(scenario())


def test_a_start_that_talks_too_much_is_cut_short(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with crew(plugins__vicious__build="log") as at:
            await at.prove()

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    lines = [record for record in caplog.records if record.message.startswith("line ")]
    assert len(lines) == 50
    assert lines[0].name == "identity.tests.vicious"


def test_in_process_plugin_cannot_be_built_elsewhere() -> None:
    import tests.fault.vicious_prover as vicious

    async def scenario() -> None:
        plugins = manager(PluginSource("here", "in this process", "", lambda: vicious))
        plugins.isolation = in_processes
        with pytest.raises(PluginError, match="lives in this process only"):
            plugins.proof_workers("vicious", workers=1, deadline_seconds=1.0)

    asyncio.run(scenario())


def test_two_provers_require_choice() -> None:
    async def scenario() -> None:
        assert manager().proof_workers(None, workers=1, deadline_seconds=1.0) is None
        with pytest.raises(SettingsError, match=r"prover\.backend names gone"):
            manager(module_source(MODULE)).proof_workers("gone", workers=1, deadline_seconds=1.0)

    asyncio.run(scenario())


def test_the_prover_in_this_process_is_another_one() -> None:
    """The command line verifies in its own process, beside workers or without."""
    settings = load(environment={}, overrides={"did.method": "toy"})
    plugins = PluginManager.load(settings, clock=HandClock(), logger=log, sources=[module_source(MODULE)])
    prover = plugins.prover(None)
    assert prover is not None
    assert prover.suite == "vicious-1"
