"""bbs-2023 keeps every promise of a format that issues, derives and verifies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from identity_kit.conformance.loops import close
from identity_kit.conformance.securing import SecuringConformance
from identity_securing_bbs2023 import Bbs2023

from identity_core.plugin import in_threads
from identity_core.ports.securing import UnsecuredCredential

ISSUER = "did:web:issuer.example"
CLAIMS = {
    "@context": ["https://www.w3.org/ns/credentials/v2", "https://www.w3.org/ns/credentials/undefined-terms/v2"],
    "id": "urn:uuid:6b1d6f2c-6f4c-4a3c-9d0b-2f4e5a6b7c8d",
    "type": ["VerifiableCredential", "Membership"],
    "issuer": ISSUER,
    "validFrom": "2026-01-01T00:00:00Z",
    "validUntil": "2027-01-01T00:00:00Z",
    "credentialSubject": {
        "name": "Hana Nováková",
        "age": 41,
        "height": 1.72,
        "club": {"title": "Rowers", "since": 2019, "boats": [{"label": "Vltava"}, {"label": "Labe"}]},
    },
}
UNSECURED = UnsecuredCredential(CLAIMS, f"{ISSUER}#key-2", "", datetime(2026, 1, 1, tzinfo=UTC), ("/issuer",))


class TestBbs2023(SecuringConformance):
    @pytest.fixture
    def securing(self) -> Iterator[Any]:
        found = in_threads(Bbs2023(), workers=1)
        yield found
        asyncio.run(close(found))

    @pytest.fixture
    def unsecured(self) -> UnsecuredCredential:
        return UNSECURED

    @pytest.fixture
    def pointers(self) -> Sequence[str]:
        return ["/credentialSubject/age", "/credentialSubject/club/boats/0", "/validUntil"]

    @pytest.fixture
    def hidden(self) -> Sequence[str]:
        return ["Hana", "Rowers", "Labe", "2019", "1.72"]
