"""The kit once more, with the tables on a PostgreSQL server and a passphrase over them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from identity_custodian_sealed import SealedCustodian, SealedSettings, build

from identity_core.conformance.custodian import CustodianConformance
from identity_core.plugin import BuildContext
from tests.postgres_server import postgres_server, postgres_url  # noqa: F401


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class TestSealedOnPostgresql(CustodianConformance):
    @pytest.fixture
    def reopen(self, tmp_path: Path, postgres_url: str) -> Callable[[], SealedCustodian]:  # noqa: F811
        settings = SealedSettings("correct horse", argon2_operations=1, argon2_memory_mib=8)
        context = BuildContext(Clock(), logging.getLogger("identity.sealed"), tmp_path, postgres_url)
        return lambda: build(settings, context)

    @pytest.fixture
    def custodian(self, reopen: Callable[[], SealedCustodian]) -> Iterator[SealedCustodian]:
        custodian = reopen()
        yield custodian
        asyncio.run(custodian.close())
