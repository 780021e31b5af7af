"""Traces: the content of spans, and startup with and without the setting."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import util
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest
from identity_observability import tracing
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from identity_core.bootstrap import open_installation
from identity_core.files import install_command
from identity_core.settings import SettingsError, load
from tests.architecture.call_paths import LONG_DEADLINES, MeasuredInstallation, Recorder, Statements, proof_requests

ALLOWED = {
    "http.request.method",
    "http.response.status_code",
    "identity.operation",
    "identity.plugin",
    "identity.member",
    "error.type",
}
CLIENTS_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
STRANGE = "no-operation-is-called-so"


def traced(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    story: Callable[[MeasuredInstallation], Awaitable[None]],
    **more: Any,
) -> list[ReadableSpan]:
    """The spans of a story, told at the application itself."""
    kept = InMemorySpanExporter()
    monkeypatch.setattr(tracing, "_over_http", lambda _: kept)
    overrides = {"data_dir": tmp_path, "tracing.endpoint": "http://127.0.0.1:4318/v1/traces", "tracing.share": 1.0}

    async def run() -> None:
        async with open_installation(load(environment=LONG_DEADLINES, overrides=overrides | more)) as installation:
            key = str(await installation.first_key())
            transport = httpx.ASGITransport(app=installation.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1") as client:
                await story(MeasuredInstallation(client, key, Recorder(), Statements()))

    asyncio.run(run())
    return list(kept.get_finished_spans())


def spans_named(spans: list[ReadableSpan], name: str) -> list[ReadableSpan]:
    return [one for one in spans if one.name == name]


def names_in_trace(spans: list[ReadableSpan], request: ReadableSpan) -> set[str]:
    """The names of what happened in the trace of a request."""
    return {one.name for one in spans if one.parent is not None and one.context.trace_id == request.context.trace_id}


async def everything(installation: MeasuredInstallation) -> None:
    """A DID, a proof, and refusals of each kind, by a client that tries to be found in the traces."""
    headers = {
        "X-API-Key": installation.key,
        "traceparent": f"00-{CLIENTS_TRACE}-00f067aa0ba902b7-01",
        "X-Request-Id": STRANGE,
    }
    await installation.post("/dids", {"method": "ids"}, headers)
    make = await proof_requests(installation)
    await installation.post(*make())
    path, body, _ = make()
    assert (
        await installation.client.post(path, json=body | {"holderDid": STRANGE}, headers=headers)
    ).status_code >= 400
    for path in (f"/dids/did:ids:{STRANGE}", f"/{STRANGE}?{STRANGE}", f"/credentials/{STRANGE}"):
        assert (await installation.client.get(path, headers=headers)).status_code >= 400
    await installation.client.request(STRANGE.upper(), "/health")


def test_trace_of_request_has_plugin_calls_and_names_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = traced(tmp_path, monkeypatch, everything)
    created = spans_named(spans, "createDid")
    assert all("ledger:sql append" in names_in_trace(spans, one) for one in created)
    proofs = spans_named(spans, "generateDelegatedProof")
    (proven,) = [one for one in proofs if dict(one.attributes or {})["http.response.status_code"] == 201]
    assert {name.partition(" ")[0] for name in names_in_trace(spans, proven)} >= {"prover:bbs"}
    assert any("error.type" in dict(one.attributes or {}) for one in spans if one.name == "resolveDid")
    for one in spans:
        assert set(one.attributes or {}) <= ALLOWED
        assert (one.events, one.links, one.status.description) == ((), (), None)
        assert set(one.resource.attributes) == {"service.name", "service.version"}
    text = json.dumps([json.loads(one.to_json()) for one in spans])
    for secret in (
        "did:ids:",
        "idk_",
        STRANGE,
        STRANGE.upper(),
        CLIENTS_TRACE,
        "urn:uuid",
        '"age"',
        "Traceback",
        "/v1",
    ):
        assert secret not in text, secret


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (1.0, 2)])
def test_the_share_is_kept_of_whole_traces(share: float, count: int) -> None:
    kept = InMemorySpanExporter()
    traces = tracing.open_tracing("", share, lambda _: kept)

    async def append() -> str:
        return "done"

    call = traces.call(append, "ledger:sql", "append")

    async def run() -> None:
        # Outside of a request there is no trace.
        assert await call() == "done"
        with traces.request("POST") as span:
            assert await call() == "done"
            span.answered("createDid", 201, "")

    asyncio.run(run())
    traces.provider.shutdown()
    assert len(kept.get_finished_spans()) == count


def test_a_collector_gets_the_spans_by_otlp_over_http() -> None:
    got: list[tuple[str, str | None, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.path, self.headers["Content-Type"], data))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        traces = tracing.open_tracing(f"http://127.0.0.1:{collector.server_port}/v1/traces", 1.0)
        with traces.request("POST") as span:
            span.answered("createDid", 201, "")
        traces.provider.shutdown()
        collector.shutdown()
    ((path, kind, data),) = got
    assert (path, kind) == ("/v1/traces", "application/x-protobuf")
    assert b"createDid" in data


def test_without_the_setting_nothing_of_it_is_there(tmp_path: Path) -> None:
    code = (
        "import asyncio, pathlib, sys; from identity_core.bootstrap import open_installation; from identity_core.settings import load\n"
        "async def look():\n"
        "    settings = load(environment={}, overrides={'data_dir': pathlib.Path(sys.argv[1])})\n"
        "    async with open_installation(settings) as installation:\n"
        "        print(type(installation.app).__name__, any(name.startswith('opentelemetry') for name in sys.modules))\n"
        "asyncio.run(look())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "data")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["Guard", "False"]


def test_endpoint_is_refused_when_a_library_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = util.find_spec

    def find(name: str, package: str | None = None) -> object:
        if name.startswith("opentelemetry"):
            raise ModuleNotFoundError(name)
        return find_spec(name, package)

    monkeypatch.setattr(util, "find_spec", find)
    with pytest.raises(SettingsError, match=re.escape(install_command("identity-observability[otel]"))):
        start(tmp_path)


def test_endpoint_is_refused_when_no_extension_traces(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no extension that is installed makes traces.*\n.*tracing.endpoint"):
        start(tmp_path, {"plugins.disabled": ("observability",)})


def start(folder: Path, more: Mapping[str, Any] = MappingProxyType({})) -> None:
    overrides = {"data_dir": folder, "tracing.endpoint": "http://127.0.0.1:4318/v1/traces"} | more

    async def run() -> None:
        async with open_installation(load(environment={}, overrides=overrides)):
            raise AssertionError("it started")

    asyncio.run(run())
