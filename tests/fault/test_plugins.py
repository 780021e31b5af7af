"""Seven faults × each plugin socket: the service starts, or reports in one line why not, and no other plugin is affected.


F11 and F12 of the fault list: raise, hang, return an invalid value, return the wrong type of object, import slowly, misspell a
hook, declare an argument that the hook does not have.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from identity_core.domain.dids.changes import Deactivate
from identity_core.errors import IdentityError, LedgerUnavailable, PluginTimeout, PluginUnavailable
from identity_core.plugin import Provider, hookimpl, in_threads
from identity_core.plugin.load import PluginSource
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.sockets import PluginError
from identity_core.settings import SettingsError, load
from tests import fake_time_loop
from tests.unit.plugin.parts import (
    DID,
    KEY,
    NOW,
    GoodCustodian,
    GoodKeys,
    GoodLedger,
    GoodMethod,
    GoodProver,
    manager,
    source,
)

# What does not hang must be done within them, on a machine with other work, too.
DEADLINE_SECONDS = 0.5
IMPORT_SECONDS = 1.0


@dataclass(frozen=True)
class Port:
    """A socket as the vices see it: its hook, a good tenant, how to get the port and one call of every method."""

    hook: str
    good: Callable[[], Any]
    chosen: Callable[[PluginManager], Any]
    calls: dict[str, Callable[[Any], Any]]
    foreign: type[IdentityError] = PluginUnavailable
    waits: bool = True


PORTS = {
    "did_method": Port(
        "identity_provide_did_method",
        GoodMethod,
        lambda plugins: plugins.did_methods()["toy"],
        {
            "draft": lambda method: method.draft(None, Deactivate(None), NOW, signer="z6Mk"),  # type: ignore[arg-type]
            "apply": lambda method: method.apply(None, b""),
            "expand": lambda method: method.expand(DID),
        },
        waits=False,
    ),
    "ledger": Port(
        "identity_provide_ledger_backend",
        GoodLedger,
        lambda plugins: plugins.ledger("toy"),
        {
            "append": lambda ledger: ledger.append("did:toy:a", b"", expected_version=0),
            "entries": lambda ledger: ledger.entries("did:toy:a"),
            "entries_after": lambda ledger: ledger.entries_after(0, 10),
            "head": lambda ledger: ledger.head(),
        },
        foreign=LedgerUnavailable,
    ),
    "key_store": Port(
        "identity_provide_key_store",
        GoodKeys,
        lambda plugins: plugins.key_stores(["toy"])[0],
        {"find": lambda keys: keys.find(KEY.digest)},
    ),
    "custodian": Port(
        "identity_provide_custodian",
        GoodCustodian,
        lambda plugins: plugins.custodian("toy"),
        {
            "generate": lambda custodian: custodian.generate("n", "t", did="d", purpose="p"),
            "import_key": lambda custodian: custodian.import_key("n", "t", bytes(32), did="d", purpose="p"),
            "sign": lambda custodian: custodian.sign("n", b""),
            "sign_bbs": lambda custodian: custodian.sign_bbs("n", b"", []),
        },
    ),
    "prover": Port(
        "identity_provide_prover",
        GoodProver,
        lambda plugins: plugins.prover("toy"),
        {"prove": lambda prover: prover.prove(None, None, context=None)},
        waits=False,
    ),
}

CALLS = [(port, call) for port in PORTS for call in PORTS[port].calls]
WAITING = [(port, call) for port, call in CALLS if PORTS[port].waits]


def start(port: Port, thing: Any, *, retry_seconds: float = 5.0) -> tuple[PluginManager, Any]:
    """A manager with a plugin that provides ``thing`` for the port, and good plugins for all others."""
    sources = [plugin_of(one, one.good() if one is not port else thing) for one in PORTS.values()]
    overrides = {
        "did.method": "toy",
        "plugins.deadline_seconds": DEADLINE_SECONDS,
        "plugins.retry_seconds": retry_seconds,
        "ledger.deadline_seconds": DEADLINE_SECONDS,
        "custodian.deadline_seconds": DEADLINE_SECONDS,
    }
    plugins = manager(*sources, settings=load(environment={}, overrides=overrides))
    return plugins, port.chosen(plugins)


def plugin_of(port: Port, thing: Any, *, hook: str | None = None) -> PluginSource:
    def provide() -> Provider[Any]:
        return Provider("toy", lambda settings, context: thing)

    provide.__name__ = hook or port.hook
    return source(f"p{list(PORTS.values()).index(port)}", SimpleNamespace(**{provide.__name__: hookimpl(provide)}))


def with_vice(port: Port, call: str, act: Callable[[], Any]) -> Any:
    """A good tenant, but ``call`` does what ``act`` does."""
    good = port.good()
    if port.waits:

        async def vicious(*args: Any, **kwargs: Any) -> Any:
            result = act()
            return await result if asyncio.iscoroutine(result) else result
    else:

        def vicious(*args: Any, **kwargs: Any) -> Any:
            return act()

    return type(f"Vicious{type(good).__name__}", (type(good),), {call: staticmethod(vicious)})()


async def perform(port: Port, call: str, thing: Any) -> Any:
    result = port.calls[call](thing)
    return await result if asyncio.iscoroutine(result) else result


async def the_others_work(plugins: PluginManager, broken: Port) -> None:
    """One call of every method of every other port."""
    for port in PORTS.values():
        if port is not broken:
            thing = port.chosen(plugins)
            for call in port.calls:
                await perform(port, call, thing)


def raising() -> Any:
    raise RuntimeError("boom")


def junk() -> Any:
    return {"this": "is not it"}


def hanging() -> Any:
    return asyncio.sleep(600)


@pytest.mark.parametrize(("name", "call"), CALLS)
@pytest.mark.parametrize("vice", [raising, junk])
def test_raising_and_junk_cost_their_own_call(name: str, call: str, vice: Callable[[], Any]) -> None:
    port = PORTS[name]

    async def scenario() -> None:
        plugins, thing = start(port, with_vice(port, call, vice))
        with pytest.raises(port.foreign) as refusal:
            await perform(port, call, thing)
        assert "boom" not in str(refusal.value)
        assert type(refusal.value) is port.foreign
        for other in port.calls:
            if other != call:
                await perform(port, other, thing)
        await the_others_work(plugins, port)

    asyncio.run(scenario())


@pytest.mark.parametrize(("name", "call"), WAITING)
def test_a_hang_ends_at_the_deadline_then_is_shut_off_and_shown(name: str, call: str) -> None:
    port = PORTS[name]

    async def scenario() -> None:
        plugins, thing = start(port, with_vice(port, call, hanging), retry_seconds=60)
        hung = [asyncio.create_task(perform(port, call, thing)) for _ in range(45)]
        await asyncio.sleep(0)
        await the_others_work(plugins, port)
        assert not any(task.done() for task in hung), "the others did not wait for the hung ones"
        outcomes = await asyncio.gather(*hung, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {PluginTimeout}
        with pytest.raises(PluginUnavailable) as refusal:
            await perform(port, call, thing)
        assert 30 < refusal.value.details["retryAfter"] <= 60  # type: ignore[operator]
        (row,) = [row for row in plugins.installed() if row.hook == port.hook]
        assert (row.state, row.reason) == ("shut off", f"{call}: gave no answer within {DEADLINE_SECONDS} s")

    fake_time_loop.run(scenario())


@pytest.mark.parametrize("name", ["ledger", "key_store", "custodian"])
def test_hung_synchronous_code_keeps_its_own_threads_and_no_more(name: str) -> None:
    port = PORTS[name]
    release = threading.Event()

    def synchronous(*args: Any, **kwargs: Any) -> None:
        release.wait(30)

    members = {call: staticmethod(_with_parameters_of(port.good(), call, synchronous)) for call in _methods(port)}
    thing = type("Hung", (), members | {"capabilities": frozenset()})()

    async def scenario() -> None:
        before = threading.active_count()
        plugins, behind = start(port, in_threads(thing, workers=2))
        call = next(iter(port.calls))
        hung = [asyncio.create_task(perform(port, call, behind)) for _ in range(45)]
        outcomes = await asyncio.gather(*hung, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {PluginTimeout}
        assert threading.active_count() <= before + 2
        await the_others_work(plugins, port)
        release.set()

    asyncio.run(scenario())


def _methods(port: Port) -> list[str]:
    good = port.good()
    return [name for name in dir(good) if asyncio.iscoroutinefunction(getattr(good, name))]


def _with_parameters_of(good: Any, call: str, function: Callable[..., Any]) -> Callable[..., Any]:
    import inspect

    def copy(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    copy.__signature__ = inspect.signature(getattr(good, call))  # type: ignore[attr-defined]
    return copy


@pytest.mark.parametrize("name", PORTS)
@pytest.mark.parametrize("thing", [None, "a text", object(), dict, 7])
def test_the_wrong_type_of_object_stops_the_start_in_one_line(name: str, thing: object) -> None:
    with pytest.raises(PluginError) as refusal:
        start(PORTS[name], thing)
    text = str(refusal.value)
    assert "\n" not in text
    assert "does not fit its port" in text
    assert "2.1)" in text


@pytest.mark.parametrize("name", PORTS)
def test_failing_import_of_unused_plugin_is_harmless(name: str) -> None:
    def slow() -> object:
        time.sleep(30)
        return None

    def failing() -> object:
        raise ImportError("libvault.so.3: cannot open shared object file")

    good = [plugin_of(port, port.good()) for port in PORTS.values()]
    settings = load(environment={}, overrides={"did.method": "toy", "plugins.import_seconds": IMPORT_SECONDS})
    plugins = manager(*good, source("slow", slow), source("failing", failing), settings=settings)

    async def scenario() -> None:
        port = PORTS[name]
        for call in port.calls:
            await perform(port, call, port.chosen(plugins))

    asyncio.run(scenario())
    failed = {row.name: row.reason for row in plugins.installed() if row.state == "failed"}
    assert failed == {
        "slow": "import took longer than 1 s",
        "failing": "import failed: ImportError: libvault.so.3: cannot open shared object file",
    }


@pytest.mark.parametrize("name", PORTS)
def test_import_failure_of_chosen_plugin_stops_startup(name: str) -> None:
    port = PORTS[name]

    def failing() -> object:
        raise ImportError("no libvault")

    plugins = manager(source("vault", failing))
    with pytest.raises(SettingsError) as refusal:
        port.chosen(plugins)
    assert "\n" not in refusal.value.what
    assert "plugin vault (identity-vault 2.1): import failed: ImportError: no libvault" in refusal.value.what


@pytest.mark.parametrize("name", PORTS)
def test_a_misspelt_hook_stops_the_start_in_one_line(name: str) -> None:
    port = PORTS[name]
    with pytest.raises(PluginError) as refusal:
        manager(plugin_of(port, port.good(), hook=port.hook + "s"))
    text = str(refusal.value)
    assert "\n" not in text
    assert f"there is no hook {port.hook}s. Did you mean {port.hook}?" in text


@pytest.mark.parametrize("name", PORTS)
def test_unknown_hook_argument_stops_startup(name: str) -> None:
    port = PORTS[name]

    def provide(application: object) -> None: ...

    provide.__name__ = port.hook
    with pytest.raises(PluginError) as refusal:
        manager(source("greedy", SimpleNamespace(**{port.hook: hookimpl(provide)})))
    text = str(refusal.value)
    assert "\n" not in text
    assert (
        text
        == f"plugin greedy (identity-greedy 2.1): its {port.hook} takes 'application', which the hook does not have"
    )


def test_a_verification_that_breaks_is_not_a_verdict() -> None:
    """A prover whose ``verify`` raises something else has not said that the proof is bad."""
    for vice in (raising, junk, lambda: False, lambda: True):
        _, prover = start(PORTS["prover"], with_vice(PORTS["prover"], "verify", vice))
        with pytest.raises(PluginUnavailable):
            prover.verify(None, None, context=None, now=NOW)
