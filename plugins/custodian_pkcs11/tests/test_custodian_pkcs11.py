"""The custodian on a PKCS#11 token: the kit on SoftHSM."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_custodian_pkcs11 import Pkcs11Settings, build
from identity_kit.conformance.custodian import CustodianConformance

from identity_core.plugin import BuildContext
from identity_core.ports.custodian import Custodian
from tests.softhsm import PIN, SoftHsm

log = logging.getLogger("identity.pkcs11")


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def open_custodian(softhsm: SoftHsm, folder: Path, token: str, **settings: Any) -> Custodian:
    context = BuildContext(clock=Clock(), logger=log, data_dir=folder, database_url=None)
    return build(Pkcs11Settings(**{"module": softhsm.module, "token": token, "pin": PIN, **settings}), context)


class TestPkcs11(CustodianConformance):
    """On a new token for each test."""

    curve = "name"

    @pytest.fixture
    def token(self, softhsm: SoftHsm) -> str:
        return softhsm.new_token()

    @pytest.fixture
    def custodian(self, softhsm: SoftHsm, token: str, tmp_path: Path) -> Iterator[Custodian]:
        custodian: Any = open_custodian(softhsm, tmp_path, token, curve=self.curve)
        yield custodian
        asyncio.run(custodian.close())

    @pytest.fixture
    def reopen(self, softhsm: SoftHsm, token: str, tmp_path: Path) -> Callable[[], Custodian]:
        return lambda: open_custodian(softhsm, tmp_path, token, curve=self.curve)


class TestPkcs11WithTheCurveByItsIdentifier(TestPkcs11):
    """The same with ``curve = "oid"``."""

    curve = "oid"
