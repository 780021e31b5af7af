"""Extensions: their declaration, the order in which they are opened, and what they get."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import orjson
import pytest

from identity_core.api.request import Request
from identity_core.errors import Overloaded
from identity_core.extension.choice import in_order
from identity_core.extension.declaration import Contribution, Extension, Gauge, Kernel
from identity_core.extension.opening import OpenKernel, joined, open_extensions
from identity_core.plugin.load import PluginSource, installed_sources
from identity_core.plugin.sockets import PluginError
from identity_core.ports.credentials import CopyStatus, UnknownCopyStatus
from identity_core.settings import StartError

PART = orjson.dumps({"paths": {"/a": {"get": {"operationId": "getSomething"}}}})


@contextlib.asynccontextmanager
async def open_extension(kernel: Kernel) -> AsyncIterator[Contribution]:
    yield Contribution(handlers=(kernel,))


@contextlib.asynccontextmanager
async def broken(kernel: Kernel) -> AsyncIterator[Contribution]:
    raise RuntimeError("no such table")
    yield Contribution()


def source(name: str) -> PluginSource:
    return PluginSource(name, f"identity-{name}", "1.0.0", lambda: None)


def toy(name: str, **change: Any) -> tuple[PluginSource, object]:
    declared = {"name": name, "kernel": ">=1,<2", "open": open_extension, "document": PART} | change
    return source(name), Extension(**declared)


def test_extensions_are_opened_behind_those_that_they_require() -> None:
    found = [toy("a", requires=("c",)), toy("b"), toy("c", requires=("d",)), toy("d")]
    assert [one.declared.name for one in in_order(found)] == ["b", "d", "c", "a"]


def test_extension_is_opened_after_an_optional_one() -> None:
    found = [toy("a", after=("c", "z")), toy("b"), toy("c")]
    assert [one.declared.name for one in in_order(found)] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([toy("a", requires=("b",)), toy("b", requires=("a",))], "plugin a .*: requires the extension b"),
        ([toy("a", after=("b",)), toy("b", requires=("a",))], "plugin a .*: requires the extension b"),
        ([toy("a"), (source("b"), toy("a")[1])], "plugin b .*: is a second extension a, beside that of plugin a"),
        ([toy("a", kernel=">=9")], "plugin a .*: needs version >=9 of the service, and this is"),
        ([toy("a", kernel="newest")], "plugin a .*: 'newest' is not a range of versions"),
        ([toy("A-1")], "its name is not of the form"),
        ([(source("a"), object())], "plugin a .*: identity_extend returned a object, not an Extension"),
    ],
)
def test_misfitting_extension_stops_the_startup(found: Any, reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        in_order(found)


def opening(*found: tuple[PluginSource, object], services: dict[type, Any] | None = None) -> list[Contribution]:
    async def run() -> list[Contribution]:
        async with AsyncExitStack() as stack:
            return await open_extensions(in_order(found), partial(kernel, services=services or {}), stack)

    return asyncio.run(run())


def test_extension_that_cannot_be_opened_answers_503(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        failed, _ = opening(toy("a", open=broken), toy("b"))
    assert "plugin a (identity-a 1.0.0) could not be opened" in caplog.text
    assert "no such table" in caplog.text
    handlers: Any = failed.handlers[0]
    with pytest.raises(Overloaded) as refused:
        asyncio.run(handlers.get_something(Request()))
    assert refused.value.details["extension"] == "a"


def test_vital_extension_that_cannot_be_opened_stops_the_startup() -> None:
    with pytest.raises(PluginError, match=r"plugin a .*: could not be opened: RuntimeError: no such table"):
        opening(toy("a", open=broken, vital=True))


def kernel(name: str, services: dict[type, Any] | None = None) -> OpenKernel:
    unused: Any = None
    return OpenKernel(unused, "", unused, unused, unused, unused, bytes(range(32)), unused, services or {}, {}, name)


def test_secret_differs_by_extension_and_label() -> None:
    root = bytes(range(32))
    secrets = {kernel(name).secret(label) for name in ("a", "b") for label in ("x", "y")} | {root}
    assert len(secrets) == 5
    assert all(len(secret) == 32 for secret in secrets)


@pytest.mark.parametrize(
    ("name", "label", "secret"),
    [
        ("vcalm", "challenges", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
        ("wallets", "grants", "729f4d6e776530c75e75bf93ca94e2dc9eeace821b30086d2030aa26f37a1113"),
        ("wallets", "presentations", "d4b685c224975b3badb4f4570cb2f84d4a671f9934caac7a008c8b6d3e42084a"),
    ],
)
def test_secret_older_than_extensions_keeps_its_bytes(name: str, label: str, secret: str) -> None:
    """Else challenges, offers and requests of before an upgrade would be refused after it."""
    assert kernel(name).secret(label).hex() == secret


def test_service_that_is_missing_stops_the_startup() -> None:
    with pytest.raises(StartError, match="The extension a needs Request, which nothing that is installed provides"):
        kernel("a").need(Request)


@pytest.mark.parametrize("name", [one.name for one in installed_sources()])
def test_declaration_does_no_io(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets, files and threads are refused while the hook runs."""
    (found,) = [one for one in installed_sources() if one.name == name]
    hook = getattr(found.load(), "identity_extend", None)
    if hook is None:
        return

    def refused(what: str, *_: Any, **__: Any) -> Any:
        raise AssertionError(what)

    for owner, attribute in ((socket, "socket"), (threading.Thread, "start"), (__import__("io"), "open")):
        monkeypatch.setattr(owner, attribute, partial(refused, attribute))
    monkeypatch.setattr("builtins.open", partial(refused, "open"))
    assert isinstance(hook(), Extension)


GAUGE = Gauge("waiting", "livemax", "Requests that wait.", lambda: 1)


def providing(**members: Any) -> Any:
    """An ``open`` that adds ``members``."""

    @contextlib.asynccontextmanager
    async def open_it(kernel: Kernel) -> AsyncIterator[Contribution]:
        yield Contribution(**members)

    return open_it


def shared_by(*found: tuple[PluginSource, object]) -> OpenKernel:
    """The kernel object of a part that is opened after ``found``."""
    unused: Any = None
    around = ("", unused, unused, unused, unused, bytes(32), unused)
    shared = partial(OpenKernel, unused, *around, {Request: Request()}, {}, gauges=[])

    async def run() -> None:
        async with AsyncExitStack() as stack:
            await open_extensions(in_order(found), shared, stack)

    asyncio.run(run())
    return shared("z")


def test_services_and_gauges_of_one_part_are_known_to_all() -> None:
    later = shared_by(toy("a", open=providing(services={str: "a service"}, gauges=(GAUGE,))), toy("b"))
    assert (later.find(str), later.need(str), later.find(int)) == ("a service", "a service", None)
    assert later.gauges == [GAUGE]


@pytest.mark.parametrize("members", [{"gauges": (GAUGE,)}, {"services": {str: "another"}}])
def test_gauge_or_service_of_two_parts_stops_the_startup(members: Any) -> None:
    first = toy("a", open=providing(gauges=(GAUGE,), services={str: "first"}))
    with pytest.raises(StartError, match=r"Two parts of the service have the (gauges|services) \[.*(waiting|str)"):
        shared_by(first, toy("b", open=providing(**members), vital=True))


def test_two_parts_with_one_path_stop_the_startup() -> None:
    one, other = Contribution(pages={"/a": 1}), Contribution(pages={"/b": 2}, people={"/a": 3})
    assert joined([one, other], "pages") == {"/a": 1, "/b": 2}
    with pytest.raises(StartError, match="Two parts of the service have the pages"):
        joined([one, one], "pages")


def test_fault_of_the_settings_keeps_its_message() -> None:
    @contextlib.asynccontextmanager
    async def misconfigured(kernel: Kernel) -> AsyncIterator[Contribution]:
        raise StartError("mcp.enabled is set.", "the settings", "Set it to false.")
        yield Contribution()

    with pytest.raises(StartError, match=r"^mcp\.enabled is set"):
        opening(toy("a", open=misconfigured, vital=True))


@contextlib.asynccontextmanager
async def serving(kernel: Kernel) -> AsyncIterator[Contribution]:
    yield Contribution(services={CopyStatus: "of an extension"})


def test_service_of_an_extension_replaces_the_null_one() -> None:
    """Only those that are opened later see it."""
    seen: dict[str, object] = {}

    def asking(name: str) -> Any:
        @contextlib.asynccontextmanager
        async def ask(kernel: Kernel) -> AsyncIterator[Contribution]:
            seen[name] = kernel.need(CopyStatus)
            yield Contribution()

        return ask

    null = UnknownCopyStatus()
    found = [toy("a", open=asking("a")), toy("b", open=serving), toy("c", open=asking("c"))]
    opening(*found, services={CopyStatus: null})
    assert seen == {"a": null, "c": "of an extension"}


def test_two_extensions_with_one_service_stop_the_startup() -> None:
    with pytest.raises(StartError, match="Two parts of the service have the services"):
        opening(toy("a", open=serving), toy("b", open=serving))
