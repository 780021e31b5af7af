"""Verifying what others signed: outside of the event loop, with capacity for known callers, and without the queue as a failure."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from identity_isolation.provers import in_processes

from identity_core.bootstrap import SystemClock
from identity_core.errors import InvalidCredential, Overloaded, PluginTimeout, ProofInvalid
from identity_core.plugin import in_threads
from identity_core.plugin.border import Bulkhead, guard
from identity_core.plugin.limits import Limits
from identity_core.plugin.load import installed_sources
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.sockets import SECURING
from identity_core.ports.securing import Disclosed, KeyBinding, Secured, SecuredHead, SecuringFormat
from identity_core.settings import load
from plugins.isolation.tests.crew import crew
from tests import securing
from tests.unit.plugin.parts import NOW, log


@pytest.fixture
def manager() -> PluginManager:
    sources = [one for one in installed_sources() if one.name.startswith("securing_")]
    found = PluginManager.load(load(environment={}), clock=SystemClock(), logger=log, sources=sources)
    found.isolation = in_processes
    return found


def show_credential() -> tuple[dict[str, Any], str]:
    """A disclosed credential, and its issuer's multikey."""
    key = securing.new_key()
    claims = {
        "@context": ["https://www.w3.org/ns/credentials/v2", "https://www.w3.org/ns/credentials/undefined-terms/v2"],
        "type": ["VerifiableCredential"],
        "issuer": key["keyId"].partition("#")[0],
        "validUntil": "2027-01-01T00:00:00Z",
        "credentialSubject": {"age": 24},
    }
    pointers = ["/credentialSubject"]
    return securing.disclosed(claims, key, mandatory=["/issuer"], pointers=pointers), key["publicKey"]


@pytest.mark.parametrize("anonymous", [False, True])
def test_format_verifies_in_a_process_with_the_same_result(manager: PluginManager, anonymous: bool) -> None:
    credential, key = show_credential()
    binding = KeyBinding("https://verifier.example", "n", NOW, holder="z6Mk")

    async def scenario() -> None:
        port = manager.securing_workers(anonymous=anonymous)["bbs-2023"]
        local = manager.securing_formats()["bbs-2023"]
        assert await port.read(credential) == await local.read(credential)
        found = await port.verify(credential, key, binding=binding)
        assert found == await local.verify(credential, key)
        assert found.head.valid_until is not None
        with pytest.raises(ProofInvalid):
            await port.verify(credential, key, binding=KeyBinding("https://verifier.example", "n", NOW))
        with pytest.raises(InvalidCredential) as refused:
            await port.read("no JSON object")
        assert refused.value.details["reason"]
        name = "verifier:bbs2023" + (":anonymous" if anonymous else "")
        table = manager.in_use()[name].worker_table
        assert table is not None
        assert table.up == 1
        await manager.close()

    asyncio.run(scenario())


def test_known_callers_share_no_process_with_others(manager: PluginManager) -> None:
    async def scenario() -> None:
        for name, port in manager.securing_workers(anonymous=True).items():
            assert port is not manager.securing_workers(anonymous=False)[name]
        in_use = manager.in_use()
        for name in ("bbs2023", "sd-jwt"):
            known, strange = in_use[f"verifier:{name}"].bulkhead, in_use[f"verifier:{name}:anonymous"].bulkhead
            assert known is not strange
            assert strange.limits.calls_in_flight == manager.settings.prover.anonymous_waiting
        await manager.close()

    asyncio.run(scenario())


class SlowFormat:
    """A synchronous format; ``read`` waits for ``release``, ``verify`` for ``end``."""

    name = "slow"

    def __init__(self) -> None:
        self.release, self.end = threading.Event(), threading.Event()

    def read(self, secured: Secured) -> SecuredHead:
        self.release.wait(60)
        return SecuredHead("did:web:a.example", "did:web:a.example#k")

    def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        self.end.wait(60)
        return Disclosed(self.read(secured), {})


@pytest.mark.parametrize(("progress", "expected"), [(True, Overloaded), (False, PluginTimeout)])
def test_queue_time_is_no_failure_unless_the_plugin_hangs(progress: bool, expected: type[Exception]) -> None:
    """One thread: a call that hangs, and one behind it. The circuit of the second counts only if nothing was done meanwhile."""
    slow = SlowFormat()
    bulkhead = Bulkhead("slow", Limits(0.5, 10, 1, 60.0), SECURING.contract, SystemClock(), log)
    wrapped: Any = in_threads(slow, workers=1)
    port: SecuringFormat = guard(wrapped, SecuringFormat, bulkhead)

    async def scenario() -> None:
        done = asyncio.create_task(port.read("")) if progress else None
        await asyncio.sleep(0.05)
        hung = asyncio.create_task(port.verify("", ""))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(port.read(""))
        await asyncio.sleep(0)
        if done is not None:
            slow.release.set()
            await done
        with pytest.raises(expected):
            await waiting
        assert bulkhead.circuit("read").failures == (0 if progress else 1)
        with pytest.raises(PluginTimeout):
            await hung
        slow.end.set()

    asyncio.run(scenario())


def test_call_that_waited_for_worker_is_overload_and_no_failure() -> None:
    async def scenario() -> None:
        async with crew(deadline_seconds=1.0, plugins__failures_to_open=2) as at:
            await at.pid()
            with at.deadline(60.0):
                hung = asyncio.create_task(at.prove("spin"))
                await asyncio.sleep(0.05)
                waiting = [asyncio.create_task(at.port.read("text")) for _ in range(5)]
                for one in waiting:
                    with pytest.raises(Overloaded):
                        await one
                with pytest.raises(PluginTimeout):
                    await hung
            assert at.bulkhead.timeouts == 1
            assert at.bulkhead.circuit("read").failures == 0

    asyncio.run(scenario())
