"""The service without this extension: it answers everything but the metrics."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx

from identity_core.bootstrap import open_installation
from identity_core.settings import load
from tests.architecture.call_paths import LONG_DEADLINES


def test_service_answers_all_but_metrics_when_disabled(tmp_path: Path) -> None:
    settings = {"data_dir": tmp_path, "plugins.disabled": ("observability",), "ui.enabled": True}

    async def run() -> dict[str, httpx.Response]:
        async with open_installation(load(environment=LONG_DEADLINES, overrides=settings)) as installation:
            key = str(await installation.first_key())
            transport = httpx.ASGITransport(app=installation.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                sign_in = {"Origin": "http://localhost"}
                form = await client.post("/ui/operator/session", data={"key": key}, headers=sign_in)
                assert form.status_code == 303, form.text
                paths = ("/metrics", "/api/v1/metrics", "/health", "/ready", "/api/v1/dids/did:ids:a", "/ui/operator")
                headers = {"X-API-Key": key}
                ui = dict(client.cookies)
                assert ui
                return {
                    path: await client.get(path, headers={} if path.startswith("/ui") else headers) for path in paths
                }

    answers = asyncio.run(run())
    for path in ("/metrics", "/api/v1/metrics"):
        assert answers[path].status_code == 404
        assert answers[path].json()["error"]["code"] == answers["/metrics"].json()["error"]["code"]
    assert answers["/health"].json() == {"status": "ok"}
    assert answers["/ready"].status_code == 200
    assert answers["/ready"].json()["dependencies"]["plugins"] == "ok"
    assert answers["/api/v1/dids/did:ids:a"].status_code in (400, 404)
    overview = answers["/ui/operator"]
    assert overview.status_code == 200
    assert "ledger" in overview.text
    assert "queues" not in overview.text
