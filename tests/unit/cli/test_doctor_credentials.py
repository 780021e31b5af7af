"""The doctor counts the credentials in force that are still of suite 1, and says how they get to suite 2."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from identity_core.cli import doctor_credentials
from identity_core.cli.doctor_database import Diagnosis
from identity_core.domain.credentials.credential import Binding, CredentialStatus
from identity_core.domain.dids.did import Did
from identity_core.ports.credentials import RegisteredSchema
from identity_core.ports.retention import ERASED_HOLDER
from identity_core.settings import Settings, load
from identity_core.store import Store
from tests.credentials import a_credential, a_schema

DAY = timedelta(days=1)


def holding(folder: Path, *changes: dict[str, Any]) -> Settings:
    """An installation with a credential for each of the changes."""

    async def add() -> None:
        store = Store.open(folder)
        await store.credential_schemas.add(RegisteredSchema(a_schema(), datetime.now(UTC), "k"))
        for number, changed in enumerate(changes):
            stored = await store.credentials.add(
                a_credential(id=f"urn:c:{number}", **changed), b"box", random=os.urandom
            )
            assert stored is not None
        await store.close()

    asyncio.run(add())
    return load(environment={}, overrides={"data_dir": folder})


def told(settings: Settings) -> Diagnosis:
    (found,) = doctor_credentials.credentials(settings)
    return found


def test_credentials_of_suite_1_in_force_are_told_with_the_way_to_suite_2(tmp_path: Path) -> None:
    other = {"issuer": Did.parse("did:example:other")}
    found = told(holding(tmp_path, {}, {"valid_until": datetime.now(UTC) + DAY}, other))
    assert (found.state, found.says.partition(":")[0]) == ("warn", "3 in force, of 2 issuers, are of suite 1")
    assert "anew" in found.remedy


def test_what_is_bound_over_revoked_or_erased_is_not(tmp_path: Path) -> None:
    settings = holding(
        tmp_path,
        {"binding": Binding(b"h", b"k", 1, "s")},
        {"valid_until": datetime.now(UTC) - DAY},
        {"status": CredentialStatus.REVOKED},
        {"holder": Did.parse(ERASED_HOLDER)},
    )
    assert told(settings).state == "ok"


def test_nothing_is_said_of_a_database_that_is_not_there(tmp_path: Path) -> None:
    settings = load(environment={}, overrides={"data_dir": tmp_path / "none"})
    assert list(doctor_credentials.credentials(settings)) == []
