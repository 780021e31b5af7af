"""An installation of an earlier version, with 1,000 DIDs and every kind of record, opens, loses no row, and answers; doctor is content."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from identity_anchoring.outbox import StoredOutbox
from identity_ledger_sql import SqlLedger
from identity_records.audit import audit_of
from identity_records.queries import TimelineQuery, VerificationQuery
from identity_records.store import StoredTimeline, StoredVerifications
from identity_transparency.tree import TransparencyTree

from identity_codec.values import replace
from identity_core.bootstrap import SystemClock
from identity_core.database import migrate, open_sqlite
from identity_core.domain.dids.document import DidDocument
from identity_core.ports.credentials import CredentialFilter, DelegationFilter
from identity_core.ports.ledger import NewestEntry
from tests import servers
from tests.events import audit_rows, open_store
from tests.fault import service_process
from tests.store_contents import is_called_back, kept_proofs
from tests.unit.store.earlier.make import ARCHIVE, COUNTS, rows_of

ALL = 10_000
NOT_COUNTED = {"store_migrations"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir(mode=0o700)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(made, filter="data")
    return made


def test_every_row_is_there_after_it_was_opened(folder: Path) -> None:
    expected = {name: rows for name, rows in json.loads(COUNTS.read_text()).items() if name not in NOT_COUNTED}
    for _ in range(2):
        asyncio.run(open_store(folder).close())
        found = rows_of(folder)
        assert {name: found[name] for name in expected} == expected


def test_each_version_is_equal_and_keyed_by_place(folder: Path) -> None:
    def query(sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(folder / "identity.sqlite")) as database:
            return database.execute(sql).fetchall()

    before = query("SELECT * FROM did_versions ORDER BY sequence")
    asyncio.run(open_store(folder).close())
    assert query("SELECT * FROM did_versions ORDER BY sequence") == before
    assert query("SELECT name FROM pragma_table_info('did_versions') WHERE pk") == [("sequence",)]


def test_document_of_every_version_is_encoded_as_it_is_stored(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "identity.sqlite")) as database:
        stored = [data for (data,) in database.execute("SELECT document FROM did_versions")]
    assert len(stored) >= 1000
    assert [replace(DidDocument.load(data)).encoded for data in stored] == stored


def test_every_kind_of_record_is_read(folder: Path) -> None:
    async def read() -> dict[str, Any]:
        store = open_store(folder)
        delegations = await store.delegations.list(DelegationFilter(), after=None, limit=ALL)
        credentials = await store.credentials.list(CredentialFilter(), after=None, limit=ALL)
        proofs, outbox = await kept_proofs(store), StoredOutbox(store.database, os.urandom)
        found = {
            "delegations": len(delegations),
            "credentials": len([await store.credentials.sealed(one.id) for one in credentials]),
            "proofs": len(proofs),
            "receipts": [(await outbox.receipt(proof.id)) == proof.anchor for proof in proofs],
            "schemas": len((await store.credential_schemas.list(after=None, limit=ALL, byte_count=10**9)).items),
            "timeline": len(await StoredTimeline(store.database).list(TimelineQuery(None, limit=ALL))),
            "verifications": len(
                await StoredVerifications(store.database).list(VerificationQuery(None, None, limit=ALL))
            ),
            "audit": len(await audit_rows(audit_of(store), after=0, limit=ALL)),
            "dids": len(await store.index_rows.dids(after="", limit=ALL)),
            "keys": len(await store.api_key_tags.read_key_ids()),
        }
        (withheld,) = await store.quarantine.list(after="", limit=ALL)
        found["revoked"] = await is_called_back(store, withheld.did, "an-ibct", "another")
        found["tree"] = (await TransparencyTree(store.database).frontier()).size
        await store.close()
        return found

    rows = json.loads(COUNTS.read_text())
    assert asyncio.run(read()) == {
        "delegations": rows["delegations"],
        "credentials": rows["credentials"],
        "proofs": rows["proofs"],
        "receipts": [True] * rows["proofs"],
        "schemas": rows["credential_schemas"],
        "timeline": rows["timeline"],
        "verifications": rows["verifications"],
        "audit": rows["audit_lines"],
        "dids": 1000,
        "keys": rows["api_key_tags"],
        "revoked": True,
        "tree": rows["did_versions"],
    }


def test_the_ledger_goes_on(folder: Path) -> None:
    async def scenario() -> None:
        ledger = SqlLedger.open(folder, None, clock=SystemClock(), processes=1)
        lines = await ledger.entries_after(0, ALL)
        newest = {line.did: line for line in lines}
        wanted = [NewestEntry(line.version, line.receipt.transaction_hash) for line in newest.values()]
        assert [await ledger.newest(did) for did in newest] == wanted
        did, line = next(iter(newest.items()))
        receipt = await ledger.append(did, b"entry", expected_version=line.version)
        assert receipt.sequence == len(lines) + 1 == json.loads(COUNTS.read_text())["did_versions"] + 1
        await ledger.close()

    asyncio.run(scenario())


def test_the_timeline_is_read_by_kind(folder: Path) -> None:
    async def read() -> None:
        store = open_store(folder)
        whole = await StoredTimeline(store.database).list(TimelineQuery(None, limit=ALL))
        holders = [None, *{frozenset({row.entry.holder}) for row in whole if row.entry.holder is not None}]
        assert len({row.entry.kind for row in whole}) > 5
        for dids in holders:
            seen = await StoredTimeline(store.database).list(TimelineQuery(dids, limit=ALL))
            for kind in {row.entry.kind for row in whole}:
                for wanted in (kind, kind.partition(".")[0]):
                    found = await StoredTimeline(store.database).list(TimelineQuery(dids, wanted, limit=ALL))
                    assert found == [row for row in seen if f"{row.entry.kind}.".startswith(f"{wanted}.")]
        await store.close()

    asyncio.run(read())


def test_it_is_served_and_the_doctor_is_content(folder: Path) -> None:
    asyncio.run(open_store(folder).close())
    asyncio.run(SqlLedger.open(folder, None, clock=SystemClock(), processes=1).close())
    custodian = open_sqlite(folder / "custodian.sqlite")
    migrate(custodian, "identity_custodian_sealed.migrations", "custodian_")
    asyncio.run(custodian.close())
    findings = json.loads(servers.run("doctor", "--data-dir", folder, "--json").stdout)["findings"]
    of = {one["check"]: one for one in findings}
    assert of["storage"]["state"] == "ok", findings
    # One DID was withheld when the installation was made, and still is.
    assert {one["check"] for one in findings if one["state"] == "fail"} == {"index"}, findings
    assert "made so on purpose" in of["index"]["says"]
    running = service_process.start(folder)
    try:
        store = open_store(folder, read_only=True)
        dids = asyncio.run(store.index_rows.dids(after="", limit=ALL))
        answers = [running.wire.call("GET", f"/api/v1/dids/{quote(did, safe='')}").status for did in dids]
        # Some were deactivated in the story.
        assert set(answers) == {200, 410}
        assert answers.count(200) > 990
        made = running.stranger.create({"method": "ids", "keyType": "Ed25519"})
        assert made.status == 201
    finally:
        running.kill()
