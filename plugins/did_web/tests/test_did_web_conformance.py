"""did:web keeps the promises of a method that looks elsewhere, against a real TLS host."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from identity_kit.conformance.resolving import Opened, Outside, ResolvingDidMethodConformance
from web_host import document, hosting, http, method

from identity_core.domain.dids.did import Did


class TestDidWeb(ResolvingDidMethodConformance):
    @pytest.fixture
    def outside(self, tmp_path: Path) -> Opened:
        @contextlib.asynccontextmanager
        async def open_outside() -> AsyncIterator[Outside]:
            async with hosting() as host:
                did = host.publish("hana")
                borrowed = host.publish("other", id="did:web:example.com")
                unfit = [
                    host.publish("form", **{"@context": None}),
                    host.publish("keys", verificationMethod="none"),
                ]
                away = host.did("away")
                host.answers["/away/did.json"] = http(b"{}", status="503 Service Unavailable")
                web = method(tmp_path)
                try:
                    yield Outside(
                        web,
                        Did.parse(did),
                        document(did),
                        Did.parse(host.did("absent")),
                        Did.parse(away),
                        Did.parse(borrowed),
                        [Did.parse(one) for one in unfit],
                    )
                finally:
                    web.close()

        return open_outside
