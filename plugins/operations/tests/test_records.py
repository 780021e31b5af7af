"""``identity records``: everything about a DID comes out, goes, and the audit log says who wanted it."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from identity_records.store import TimelineEntry

from tests.events import insert_rows, open_store
from tests.unit.cli.conftest import Commands

HANA, AKI = "did:example:hana", "did:example:aki"
HANA_IDS = "did:ids:QmPdn589kkBJKooQMPRUHHsRXAUDJAqunTWzvoEFGy5t6P"
AT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@pytest.fixture
def folder(identity: Commands, tmp_path: Path) -> Path:
    """An installation in which 501 things have happened, so that a page is not enough."""
    path = tmp_path / "data"
    path.mkdir(mode=0o700)
    identity.ok("keys", "create", "--name", "ops", "--admin", "--data-dir", path)

    async def fill() -> None:
        store = open_store(path)
        row = TimelineEntry(AT, "proof.generated", "done", "key:x", None, HANA, AKI)

        def insert(writing: object) -> None:
            insert_rows(store, writing, [row] * 501)  # type: ignore[arg-type]

        await store.database.write(insert)
        await store.close()

    asyncio.run(fill())
    return path


def test_stored_record_is_exported_and_erased(identity: Commands, folder: Path) -> None:
    lines = [json.loads(line) for line in identity.ok("records", "export", HANA, "--data-dir", folder).splitlines()]
    assert len(lines) == 501
    assert {key: lines[0][key] for key in ("record", "kind", "holder", "agent", "at")} == {
        "record": "timeline",
        "kind": "proof.generated",
        "holder": HANA,
        "agent": AKI,
        "at": "2026-01-05T09:00:00Z",
    }
    told = identity.json("records", "erase", HANA, "--kind", "timeline", "--yes", "--data-dir", folder)
    assert told == {"did": HANA, "erased": {"timeline": 501}, "waiting": 0}
    assert identity.ok("records", "export", HANA, "--data-dir", folder) == ""
    audit = [json.loads(line) for line in identity.ok("audit", "export", "--data-dir", folder).splitlines()]
    line = json.loads(audit[-1]["line"])
    assert (line["operation"], line["target"], line["details"]) == ("eraseRecords", HANA, {"kinds": ["timeline"]})


def test_nothing_goes_without_a_yes(identity: Commands, folder: Path) -> None:
    assert identity("records", "erase", HANA, "--data-dir", folder, input="n\n").exit_code != 0
    assert len(identity.ok("records", "export", HANA, "--data-dir", folder).splitlines()) == 501


def test_malformed_did_and_missing_folder_are_reported(identity: Commands, folder: Path, tmp_path: Path) -> None:
    assert "name a DID" in identity.refused("records", "export", "hana", "--data-dir", folder, status=2)[2]
    refused = identity.refused("records", "erase", HANA, "--yes", "--data-dir", tmp_path / "no", status=2)
    assert "no such data directory" in refused[0]


def test_a_holder_erases_her_own_at_the_service(remote: Commands, wallet: Path) -> None:
    did = json.loads(wallet.read_text())["did"]
    alone = Commands({name: value for name, value in remote.environment.items() if name != "IDENTITY_API_KEY"})
    told = alone.json("records", "forget", "--keys", wallet, "--kind", "timeline", "--kind", "proofs", "--yes")
    assert told == {
        "holderDid": did,
        "erased": {"credentials": 0, "proofs": 0, "timeline": 0, "verifications": 0, "labels": 0, "requests": 0},
        "waiting": 0,
    }
    refused = alone("records", "forget", "--keys", wallet, "--json")
    assert (refused.exit_code, "give --yes" in json.loads(refused.stderr)["error"]["do"]) == (2, True)
    assert "no caller is named" in alone.refused("records", "forget", "--yes", status=2)[0]
    assert "FORBIDDEN" in alone.refused("records", "forget", "--keys", wallet, "--holder", HANA_IDS, "--yes")[0]
