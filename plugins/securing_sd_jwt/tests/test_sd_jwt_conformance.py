from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from identity_kit.conformance.securing import SecuringConformance
from identity_securing_sd_jwt import SdJwtVc

from identity_core.ports.securing import UnsecuredCredential

ISSUER = "did:web:issuer.example"
CLAIMS = {
    "iss": ISSUER,
    "vct": "https://issuer.example/person/1",
    "iat": 1_700_000_000,
    "exp": 4_000_000_000,
    "given_name": "Hana",
    "income": "41250.00",
    "age_equal_or_over": {"18": True, "67": False},
}


class TestSdJwtVc(SecuringConformance):
    @pytest.fixture
    def securing(self) -> SdJwtVc:
        return SdJwtVc()

    @pytest.fixture
    def unsecured(self) -> UnsecuredCredential:
        created = datetime(2026, 1, 1, tzinfo=UTC)
        return UnsecuredCredential(CLAIMS, f"{ISSUER}#key", "", created, holder_key=None)

    @pytest.fixture
    def pointers(self) -> Sequence[str]:
        return ["/age_equal_or_over/18", "/vct"]

    @pytest.fixture
    def hidden(self) -> Sequence[str]:
        return ["Hana", "41250.00", '"67"']
