"""Resolution from a real TLS host, and everything that such a host may try."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpcore
import identity_did_web
import pytest
import trustme
from identity_did_web import DidWeb, WebSettings, fetch, identity_provide_did_method
from identity_kit.conformance.controller import BIRTH, Controller, WalletSigner
from web_host import CA, NAME, Clock, Host, document, hosting, http, method

from identity_codec.times import printed
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import (
    DidNotFound,
    InvalidDid,
    InvalidDocument,
    NotAcceptable,
    PluginTimeout,
    PluginUnavailable,
)
from identity_core.plugin import BuildContext, PluginError
from identity_core.plugin.border import Bulkhead
from identity_core.plugin.border import guard as bordered
from identity_core.plugin.limits import Limits
from identity_core.plugin.sockets import DID_METHOD
from identity_core.ports.did_method import DidMethod, ResolvingDidMethod
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.dids.read import ResolveDid
from identity_core.wire import ResolveDidQuery
from tests.foreign_documents import ALLOWED, REFUSED, document_of


def run(test: Callable[[Host], Awaitable[Any]], **hosted: Any) -> Any:
    async def play() -> Any:
        async with hosting(**hosted) as host:
            return await test(host)

    return asyncio.run(play())


def resolved(tmp_path: Path, did: str, **how: Any) -> Callable[[Host], Awaitable[Any]]:
    async def resolve(host: Host) -> Any:
        return await method(tmp_path, **how).resolve(Did.parse(did.replace("PORT", str(host.port))))

    return resolve


@pytest.mark.parametrize("path", [(), ("users", "hana"), ("x%20y",)])
def test_a_document_is_shown_as_it_was_published(tmp_path: Path, path: tuple[str, ...]) -> None:
    async def test(host: Host) -> None:
        did = host.publish(*path)
        state = await method(tmp_path).resolve(Did.parse(did))
        assert state is not None
        assert state.document.to_json() == document(did)
        assert (str(state.did), state.document.did, state.version_id) == (did, did, 1)
        assert state.created_at == state.updated_at == Clock().time
        # The key of a foreign document is not used to sign in.
        assert state.document.methods == ()
        (head,) = host.requests
        assert f"Host: {NAME}:{host.port}\r\n" in head
        assert "Cookie" not in head
        assert "Accept-Encoding: identity\r\n" in head

    run(test)


ABSENT = {
    "another DID": http(json.dumps(document("did:web:other.example")).encode()),
    "no id": http(b"{}"),
    "a list": http(b"[]"),
    "no JSON": http(b"<html>"),
    "two ids": http(b'{"id": "x", "id": "y"}'),
    "NaN": http(b'{"id": NaN}'),
    "too deep": http(b"[" * 40 + b"]" * 40),
    "not there": http(b"{}", status="404 Not Found"),
    "gone": http(b"{}", status="410 Gone"),
    "forbidden": http(b"{}", status="403 Forbidden"),
    "a redirect": http(b"", status="302 Found", more="Location: https://127.0.0.1/\r\n"),
    "a permanent redirect": http(b"", status="308 Permanent Redirect", more="Location: /elsewhere/did.json\r\n"),
    "partial content": http(b"{}", status="206 Partial Content"),
    "HTML": http(b"{}", media="text/html"),
    "plain text": http(b"{}", media="text/plain; charset=utf-8"),
    "a media type that is none": http(b"{}", media="\xff"),
    "compressed": http(b"{}", more="Content-Encoding: gzip\r\n"),
}
"""Answers that mean: there is no document of this DID."""

BROKEN = {
    "server error": http(b"{}", status="500 Oops"),
    "overloaded": http(b"{}", status="503 Later"),
    "too many requests": http(b"{}", status="429 Later"),
    "no HTTP": b"SSH-2.0-x\r\n\r\n",
    "nothing": b"",
    "half an answer": http(b'{"id": "x"}')[:-3],
    "an endless head": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
}
"""Answers that mean: it could not be learnt."""


@pytest.mark.parametrize("name", ABSENT)
def test_answers_that_are_no_document(tmp_path: Path, name: str) -> None:
    async def test(host: Host) -> None:
        host.answers["/.well-known/did.json"] = ABSENT[name]
        host.answers["/elsewhere/did.json"] = http(json.dumps(document(host.did())).encode())
        assert await method(tmp_path).resolve(Did.parse(host.did())) is None
        assert len(host.requests) == 1

    run(test)


@pytest.mark.parametrize("name", BROKEN)
def test_answers_that_are_none(tmp_path: Path, name: str) -> None:
    async def test(host: Host) -> None:
        host.answers["/.well-known/did.json"] = BROKEN[name]
        with pytest.raises(PluginUnavailable):
            await method(tmp_path).resolve(Did.parse(host.did()))

    run(test)


@pytest.mark.parametrize("chunked", [False, True])
def test_64_kib_is_the_most(tmp_path: Path, chunked: bool) -> None:
    def sized(host: Host, size: int) -> bytes:
        body = json.dumps(document(host.did()) | {"pad": ""}).encode()
        body = body[:-2] + b"x" * (size - len(body)) + body[-2:]
        if not chunked:
            return http(body)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"

    async def test(host: Host) -> None:
        did = Did.parse(host.did())
        host.answers["/.well-known/did.json"] = sized(host, 65_536)
        assert await method(tmp_path).resolve(did) is not None
        host.answers["/.well-known/did.json"] = sized(host, 65_537)
        assert await method(tmp_path).resolve(did) is None

    run(test)


@pytest.mark.parametrize("name", ALLOWED)
def test_a_document_of_any_allowed_form_is_shown_as_it_is(tmp_path: Path, name: str) -> None:
    async def test(host: Host) -> None:
        members = document_of(host.did(), ALLOWED[name])
        host.answers["/.well-known/did.json"] = http(json.dumps(members).encode())
        state = await method(tmp_path).resolve(Did.parse(host.did()))
        assert state is not None
        assert state.document.to_json() == members
        # A key of a foreign document signs in nowhere.
        assert state.document.methods == ()

    run(test)


@pytest.mark.parametrize("name", REFUSED)
def test_a_document_of_no_allowed_form_is_refused(tmp_path: Path, name: str) -> None:
    async def test(host: Host) -> None:
        did = Did.parse(host.did())
        host.answers["/.well-known/did.json"] = http(json.dumps(document_of(host.did(), REFUSED[name])).encode())
        web = method(tmp_path)
        for _ in range(2):
            with pytest.raises(InvalidDocument) as refused:
                await web.resolve(did)
            assert refused.value.details == {"member": next(iter(REFUSED[name])), "reason": "form"}
        assert len(host.requests) == 1

    run(test)


def test_private_addresses_are_not_connected_to(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        did = Did.parse(host.publish())
        assert await method(tmp_path, allowed=()).resolve(did) is None
        assert host.requests == []

    run(test)


def test_the_connection_goes_to_the_address_that_was_checked(tmp_path: Path) -> None:
    """A name server that changes its mind is asked once."""
    answers = [["1.1.1.1"], ["127.0.0.1"]]
    connected: list[str] = []

    async def connect(self: Any, host: str, *_: Any) -> Any:
        connected.append(host)
        raise httpcore.ConnectError

    async def test() -> None:
        def look_up(name: str, port: int, *_: Any) -> Any:
            return [(2, 1, 6, "", (address, port)) for address in answers.pop(0)]

        with pytest.raises(PluginUnavailable):
            await method(tmp_path, look_up=look_up, allowed=()).resolve(Did.parse(f"did:web:{NAME}"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect)
        asyncio.run(test())
    assert connected == ["1.1.1.1"]
    assert len(answers) == 1


def test_a_certificate_of_another_name_or_authority_is_refused(tmp_path: Path) -> None:
    for certificate in (trustme.CA().issue_cert(NAME), CA.issue_cert("other.example")):
        with pytest.raises(PluginUnavailable):
            run(resolved(tmp_path, f"did:web:{NAME}%3APORT"), certificate=certificate)


def test_a_host_that_does_not_speak_tls_or_is_not_there(tmp_path: Path) -> None:
    async def test() -> None:
        async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(http(b"{}"))
            writer.close()

        server = await asyncio.start_server(plain, "127.0.0.1", 0)
        did = Did.parse(f"did:web:{NAME}%3A{server.sockets[0].getsockname()[1]}")
        with pytest.raises(PluginUnavailable):
            await method(tmp_path).resolve(did)
        server.close()
        await server.wait_closed()
        with pytest.raises(PluginUnavailable):
            await method(tmp_path).resolve(did)

    asyncio.run(test())


def test_a_host_that_hangs_costs_its_time_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_SECONDS", 0.05)

    async def test(host: Host) -> None:
        host.hang = True
        with pytest.raises(PluginUnavailable):
            await method(tmp_path).resolve(Did.parse(host.publish()))

    run(test)


def test_answer_and_absence_are_cached(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        clock = Clock()
        web = method(tmp_path, clock=clock)
        there, absent = Did.parse(host.publish("a")), Did.parse(host.did("b"))
        for _ in range(3):
            assert await web.resolve(there) is not None
            assert await web.resolve(absent) is None
        assert len(host.requests) == 2
        clock.seconds += 61
        host.publish("a", alsoKnownAs=["https://a.example/"])
        state = await web.resolve(there)
        assert state is not None
        assert state.document.to_json()["alsoKnownAs"] == ["https://a.example/"]
        assert len(host.requests) == 3

    run(test)


def test_a_failure_is_kept_for_five_seconds(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        clock = Clock()
        web = method(tmp_path, clock=clock)
        did = Did.parse(host.did())
        host.answers["/.well-known/did.json"] = BROKEN["overloaded"]
        for _ in range(2):
            with pytest.raises(PluginUnavailable):
                await web.resolve(did)
        assert len(host.requests) == 1
        host.publish()
        clock.seconds += 6
        assert await web.resolve(did) is not None

    run(test)


def test_the_cache_is_bounded(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        web = method(tmp_path, settings=WebSettings(enabled=True, cache_entries=2))
        for name in ("a", "b", "c"):
            await web.resolve(Did.parse(host.did(name)))
        assert [host.did(name) in web._kept for name in ("a", "b", "c")] == [False, True, True]

    run(test)


def test_off_it_answers_nothing_and_opens_nothing(tmp_path: Path) -> None:
    provider = identity_provide_did_method()
    web = provider.build(provider.settings(), BuildContext(Clock(), logging.getLogger(), tmp_path, None))
    assert isinstance(web, DidWeb)
    assert asyncio.run(web.resolve(Did.parse("did:web:example.com"))) is None
    web.close()


def test_on_it_builds_and_says_what_is_wrong(tmp_path: Path) -> None:
    context = BuildContext(Clock(), logging.getLogger(), tmp_path, None)
    on = identity_did_web.build(WebSettings(enabled=True), context)
    assert isinstance(on, ResolvingDidMethod)
    on.close()
    with pytest.raises(PluginError, match="ca_file"):
        identity_did_web.build(WebSettings(enabled=True, ca_file=str(tmp_path / "none.pem")), context)
    with pytest.raises(ValueError, match="allow_ranges"):
        WebSettings(allow_ranges=("10.0.0.1/8",))


def test_nothing_is_made_or_changed_here(tmp_path: Path) -> None:
    web = DidWeb(None, Clock())
    signer = WalletSigner("x")
    assert not web.mutable
    with pytest.raises(InvalidDocument):
        web.draft(None, Controller("x").creation(signer), BIRTH, signer=signer.multikey)
    with pytest.raises(LogInvalid):
        web.apply(None, b"{}")
    assert web.expand(Did.parse("did:web:example.com")) is None
    for bad in ("did:web:localhost", "did:key:z6Mk"):
        with pytest.raises(InvalidDid):
            web.check(Did.parse(bad))


class NoIndex:
    """An index without any DID."""

    async def head(self, did: str) -> None:
        return None

    def find_cached_head(self, did: str, turn: object | None = None) -> None:
        return None


class NoLedger:
    """A ledger without any entry."""

    async def entries(self, did: str) -> tuple[()]:
        return ()


def behind_the_border(web: DidMethod, *, deadline: float = 60.0) -> tuple[ResolveDid, Bulkhead]:
    limits = Limits(deadline, 8, 5, 5.0)
    bulkhead = Bulkhead("DID method:web", limits, DID_METHOD.contract, Clock(), logging.getLogger("test"))
    port = bordered(web, ResolvingDidMethod, bulkhead)
    methods, index = {"web": port}, NoIndex()
    check = HeadCheck(methods, NoLedger(), index, None)  # type: ignore[arg-type]
    return ResolveDid(DidReader(methods, index, Clock(), check)), bulkhead  # type: ignore[arg-type]


def test_the_service_resolves_what_is_not_recorded(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        resolve, _ = behind_the_border(method(tmp_path))
        did = Did.parse(host.publish())
        resolution = await resolve(did, ResolveDidQuery())
        assert resolution.version.state.document.to_json() == document(str(did))
        assert resolution.version.receipt is None
        assert (resolution.deactivated, resolution.following, resolution.stale_at) == (False, None, None)
        for selection in (ResolveDidQuery(version_id=1), ResolveDidQuery(version_time=printed(Clock().time))):
            with pytest.raises(DidNotFound):
                await resolve(did, selection)
        with pytest.raises(DidNotFound):
            await resolve(Did.parse(host.did("absent")), ResolveDidQuery())
        with pytest.raises(DidNotFound):
            await resolve.reader.active(did)
        with pytest.raises(NotAcceptable):
            await resolve(Did.parse(host.publish("b", **REFUSED["a private key"])), ResolveDidQuery())

    run(test)


class Hanging(DidWeb):
    async def resolve(self, did: Did) -> None:
        await asyncio.sleep(60)


class Junk(DidWeb):
    async def resolve(self, did: Did) -> Any:
        return {"id": str(did)}


class Raising(DidWeb):
    async def resolve(self, did: Did) -> Any:
        raise RuntimeError("boom")


@pytest.mark.parametrize("kind", [Hanging, Junk, Raising])
def test_a_resolver_that_misbehaves_is_503(kind: type[DidWeb]) -> None:
    async def test() -> None:
        resolve, bulkhead = behind_the_border(kind(None, Clock()), deadline=0.05)
        with pytest.raises(PluginUnavailable) as refusal:
            await resolve(Did.parse("did:web:example.com"), ResolveDidQuery())
        assert refusal.value.details["plugin"] == bulkhead.name
        assert (bulkhead.failures, bulkhead.in_flight) == (1, 0)

    asyncio.run(test())


def test_a_late_answer_is_a_timeout_at_the_port() -> None:
    async def test() -> None:
        resolve, _ = behind_the_border(Hanging(None, Clock()), deadline=0.05)
        with pytest.raises(PluginTimeout):
            await resolve.reader.methods["web"].resolve(Did.parse("did:web:example.com"))  # type: ignore[attr-defined]

    asyncio.run(test())
