"""The service without this extension: it answers everything but the metrics."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx

from identity_core.bootstrap import open_installation
from identity_core.settings import load
from tests.architecture.call_paths import LONG_DEADLINES

PATHS = ("/metrics", "/api/v1/metrics", "/health", "/ready", "/api/v1/nothing", "/ui/operator")


def answers_without_extension(folder: Path) -> dict[str, httpx.Response]:
    """The answers to an operator who is signed in and has an API key."""
    settings = {"data_dir": folder, "plugins.disabled": ("observability",)}

    async def run() -> dict[str, httpx.Response]:
        async with open_installation(load(environment=LONG_DEADLINES, overrides=settings)) as installation:
            key = str(await installation.first_key())
            transport = httpx.ASGITransport(app=installation.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                own_page = {"Sec-Fetch-Site": "same-origin"}
                form = await client.post("/ui/operator/session", data={"key": key}, headers=own_page)
                assert form.status_code == 303, form.text
                return {path: await client.get(path, headers={"X-API-Key": key}) for path in PATHS}

    return asyncio.run(run())


def test_service_answers_all_but_metrics_when_disabled(tmp_path: Path) -> None:
    answers = answers_without_extension(tmp_path)
    unknown = answers["/api/v1/nothing"].json()["error"]
    for path in ("/metrics", "/api/v1/metrics"):
        assert answers[path].status_code == 404
        error = answers[path].json()["error"]
        assert (error["code"], error["message"]) == (unknown["code"], unknown["message"])
    assert answers["/health"].json() == {"status": "ok"}
    assert answers["/ready"].status_code == 200
    assert answers["/ready"].json()["status"] == "ready"
    overview = answers["/ui/operator"]
    assert overview.status_code == 200
    assert re.search(r">\s*Key storage\s*<", overview.text)
    assert 'id="queues"' not in overview.text
