"""Each kind of damage, planted by raw SQL in the files, is found and named with a remedy; and a look changes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from identity_ledger_sql import SqlLedger
from identity_operations.examination import examiner
from identity_operations.examination.fsck import examine

from identity_core.bootstrap import Installation, SystemClock, open_installation
from identity_core.domain.activity import SERVICE, RequestContext
from identity_core.domain.callers import ApiKey, digest_of
from identity_core.settings import Settings, load
from plugins.operations.tests.test_doctor_storage import scribbled, sums
from tests.postgres_server import postgres_server, postgres_url
from tests.unit.cli.conftest import Commands
from tools.bench.seeding import fill_here

__all__ = ["postgres_server", "postgres_url"]

# More than one tile of 256.
DIDS = 262


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installation in ``data`` and what is remembered of it beside."""
    folder = tmp_path_factory.mktemp("seeded")
    asyncio.run(make_installation(folder / "data"))
    return folder


async def make_key(house: Installation, name: str) -> None:
    key = ApiKey(f"key_{name}", name, digest_of(name), None, None, None, None, SystemClock().now())
    await house.keys.create(key)
    await house.record(RequestContext("createApiKey", SERVICE), key)


async def make_installation(data: Path) -> None:
    data.mkdir(mode=0o700)
    await fill_here(data, DIDS, 1)
    ledger = SqlLedger.open(data, None, clock=SystemClock(), processes=1)
    for _ in range(3):
        await ledger.submit_anchor(os.urandom(32), 4)
    await ledger.close()
    async with open_installation(settings_of(data)) as house:
        for number in range(4):
            await make_key(house, f"key {number}")


@pytest.fixture
def data(seeded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # No service runs, and nothing will settle.
    monkeypatch.setattr(examiner, "SETTLED_SECONDS", 0.0)
    shutil.copytree(seeded, tmp_path, dirs_exist_ok=True)
    return tmp_path / "data"


def settings_of(data: Path) -> Settings:
    return load(environment={}, overrides={"data_dir": data})


def examine_files(data: Path, *, deep: bool = True) -> list[tuple[str, str, str]]:
    """Kind, place and words of each finding. Each has a remedy, and looking changes nothing."""
    before = sums(data.parent)
    examined = asyncio.run(examine(settings_of(data), deep=deep))
    assert sums(data.parent) == before
    assert all(one.remedy for one in examined.findings)
    return [(one.kind, one.where, one.says) for one in examined.findings]


def sql(data: Path, name: str, statement: str) -> None:
    with closing(sqlite3.connect(data / name)) as connection, connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        assert connection.execute(statement).rowcount, "nothing was changed"


def test_intact_data_is_reported(data: Path) -> None:
    assert examine_files(data) == []
    assert examine_files(data, deep=False) == []


FLIPPED = "zeroblob(32)"
LEDGER = {
    "entry": "UPDATE ledger_entries SET entry = CAST(replace(CAST(entry AS TEXT), 'hana', 'hack') AS BLOB) WHERE sequence = 7",
    "did": "UPDATE ledger_entries SET did = did || 'x' WHERE sequence = 7",
    "version": "UPDATE ledger_entries SET version = 2 WHERE sequence = 7",
    "hash": f"UPDATE ledger_entries SET transaction_hash = {FLIPPED} WHERE sequence = 7",
    "block": "UPDATE ledger_entries SET block_number = block_number + 1 WHERE sequence = 7",
    "time": "UPDATE ledger_entries SET recorded_at = recorded_at - 1000000000 WHERE sequence = 7",
    "link": f"UPDATE ledger_entries SET link = {FLIPPED} WHERE sequence = 7",
    "first_gone": "DELETE FROM ledger_entries WHERE sequence = 1",
    "one_gone": "DELETE FROM ledger_entries WHERE sequence = 7",
    "last_link": f"UPDATE ledger_entries SET link = {FLIPPED} WHERE sequence = {DIDS}",
    "anchor_gone": "DELETE FROM ledger_anchors WHERE position = 2",
    "anchor_digest": f"UPDATE ledger_anchors SET digest = {FLIPPED} WHERE position = 2",
    "anchor_link": f"UPDATE ledger_anchors SET link = {FLIPPED} WHERE position = 2",
    "anchor_time": "UPDATE ledger_anchors SET recorded_at = 7 WHERE position = 3",
    "anchor_size": "UPDATE ledger_anchors SET size = 5 WHERE position = 1",
}


@pytest.mark.parametrize("damage", LEDGER)
def test_damage_of_the_ledger(data: Path, damage: str) -> None:
    sql(data, "ledger.sqlite", LEDGER[damage])
    told = [one for one in examine_files(data) if one[0] == "ledger"]
    place = {"anchor": "ledger_anchors", "last": "ledger_entries"}.get(damage.partition("_")[0], "ledger_entries")
    assert any(where == place for _, where, _ in told), told


def test_an_end_that_is_gone(data: Path) -> None:
    sql(data, "ledger.sqlite", f"DELETE FROM ledger_entries WHERE sequence = {DIDS}")
    told = examine_files(data)
    assert (
        "storage",
        "the databases",
        f"The ledger ends at entry {DIDS - 1}, and entry {DIDS} was known: it is older, or empty.",
    ) in told
    assert {kind for kind, _, _ in told} == {"storage", "ledger", "index", "tile"}


OF_INDEX = {
    "gone": ("DELETE FROM did_versions WHERE sequence = 7", "version 1 is missing"),
    "document": ("UPDATE did_versions SET document = CAST('{}' AS BLOB) WHERE sequence = 7", "a tag that is not ours"),
    "state": ("UPDATE did_versions SET state = CAST('{}' AS BLOB) WHERE sequence = 7", "a tag that is not ours"),
    "owner": ("UPDATE did_versions SET owner = 'key:thief' WHERE sequence = 7", "a tag that is not ours"),
    "second": ("UPDATE did_versions SET printed_second = 7 WHERE sequence = 7", "a tag that is not ours"),
    "untagged": ("UPDATE did_versions SET mac = NULL WHERE sequence = 7", "has no tag"),
    "block": ("UPDATE did_versions SET block_number = 9999 WHERE sequence = 7", "not the entry that the ledger has"),
    "hash": (
        f"UPDATE did_versions SET transaction_hash = {FLIPPED} WHERE sequence = 7",
        "not the entry that the ledger has",
    ),
    "withheld": (
        "INSERT INTO quarantined_dids SELECT did, 'why', 1 FROM did_versions WHERE sequence = 7",
        "is withheld: why",
    ),
}


@pytest.mark.parametrize("damage", OF_INDEX)
def test_damage_of_the_index_is_found_and_put_right(data: Path, damage: str) -> None:
    statement, says = OF_INDEX[damage]
    with closing(sqlite3.connect(data / "identity.sqlite")) as connection:
        ((did,),) = connection.execute("SELECT did FROM did_versions WHERE sequence = 7").fetchall()
    sql(data, "identity.sqlite", statement)
    told = examine_files(data)
    assert [one[:2] for one in told] == [("index", did)]
    assert says in told[0][2]
    body = Commands({}).json("fsck", "--deep", "--repair-index", "--data-dir", data)
    assert (body["sound"], body["repaired"]) == (True, {"dids": [did], "failed": [], "tree": False})
    assert examine_files(data) == []


def test_remains_of_a_crash_are_no_damage(data: Path) -> None:
    sql(data, "identity.sqlite", f"DELETE FROM did_versions WHERE sequence > {DIDS - 3}")
    assert examine_files(data) == []
    sql(data, "identity.sqlite", "DELETE FROM did_versions")
    assert len([kind for kind, _, _ in examine_files(data) if kind == "index"]) == DIDS


def test_a_row_of_the_index_that_the_ledger_does_not_have(data: Path) -> None:
    columns = "version_id, printed_second, block_number, recorded_at, transaction_hash, state, document, changes, key_id, owner, mac"
    sql(
        data,
        "identity.sqlite",
        f"INSERT INTO did_versions (did, sequence, {columns}) SELECT 'did:ids:evil', 99999, {columns} FROM did_versions "
        "WHERE sequence = 7",
    )
    assert ("index", "did:ids:evil", "version 1 is not on the ledger") in examine_files(data)


OF_TREE = {
    "leaf": (
        "UPDATE transparency_tiles SET hashes = zeroblob(length(hashes)) WHERE level = 0 AND number = 0",
        "entry 1",
    ),
    "upper": ("UPDATE transparency_tiles SET hashes = zeroblob(32) WHERE level = 1", "tile 1/000.p/1"),
    "short": (
        "UPDATE transparency_tiles SET hashes = substr(hashes, 1, 64) WHERE level = 0 AND number = 0",
        "tile 0 of level 0",
    ),
    "gone": ("DELETE FROM transparency_tiles WHERE level = 1", "tile 1/000.p/1"),
    "peaks": ("UPDATE transparency_head SET peaks = zeroblob(length(peaks))", "transparency_head"),
    "cut_peaks": ("UPDATE transparency_head SET peaks = substr(peaks, 2)", "transparency_head"),
    "place_gone": ("DELETE FROM transparency_places WHERE sequence = 7", "transparency_places"),
    "place_moved": ("UPDATE transparency_places SET sequence = 100007 WHERE sequence = 7", "transparency_places"),
}


@pytest.mark.parametrize("damage", OF_TREE)
def test_damage_of_the_tree_is_found_and_put_right(data: Path, damage: str) -> None:
    statement, where = OF_TREE[damage]
    sql(data, "identity.sqlite", statement)
    told = examine_files(data)
    assert "tile" in {kind for kind, _, _ in told}
    assert where in {place for kind, place, _ in told if kind == "tile"}, told
    if {kind for kind, _, _ in told} == {"tile"}:
        body = Commands({}).json("fsck", "--deep", "--repair-index", "--data-dir", data)
        assert (body["sound"], body["repaired"]["tree"]) == (True, True)
        assert examine_files(data) == []


OF_AUDIT = {
    "edited": (
        "UPDATE audit_lines SET line = CAST(replace(CAST(line AS TEXT), 'key 1', 'key 9') AS BLOB)",
        "audit_lines",
    ),
    "gone": ("DELETE FROM audit_lines WHERE sequence = 2", "audit_lines"),
    "cut": ("DELETE FROM audit_lines WHERE sequence = (SELECT max(sequence) FROM audit_lines)", "audit_lines"),
    "more": ("INSERT INTO audit_lines SELECT max(sequence) + 1, line, link FROM audit_lines", "audit_lines"),
    "link": (f"UPDATE audit_lines SET link = {FLIPPED} WHERE sequence = 3", "audit_lines"),
    "head": ("UPDATE audit_head SET sequence = 2", "audit_head"),
}


@pytest.mark.parametrize("damage", OF_AUDIT)
def test_damage_of_the_audit_log(data: Path, damage: str) -> None:
    statement, where = OF_AUDIT[damage]
    sql(data, "identity.sqlite", statement)
    assert ("audit", where) in {one[:2] for one in examine_files(data)}


LEAF = "INSERT INTO anchor_leaves (proof_id, commitment, queued_at, state, batch_id) VALUES ('p1', zeroblob(32), 1, {})"
CREDENTIAL = (
    "INSERT INTO credentials (id, issuer, holder, schema_id, verification_method, issuer_public_key, valid_from, status, status_index, "
    "version, created_at, created_by, sealed, bound_header, commitment, handle, holder_secret) VALUES ('c1', 'i', 'h', 's', 'i#1', x'', 0, "
    "'{status}', 0, 1, 1, 'h', x'', x'', x'', 7, 'h')"
)
OTHERS = {
    "no_proof": ("outbox", LEAF.format("'queued', NULL"), "p1"),
    "leaf_state": ("outbox", LEAF.format("'nonsense', NULL"), "p1"),
    "no_batch": ("outbox", LEAF.format("'batched', 7"), "p1"),
    "queued_batch": ("outbox", LEAF.format("'queued', 7"), "p1"),
    "batch_state": (
        "outbox",
        "INSERT INTO anchor_batches (ledger, root, size, state, attempts, reason, sealed_at) "
        "VALUES ('sql', zeroblob(32), 0, 'odd', 0, '', 1)",
        "batch 1",
    ),
    "batch_size": (
        "outbox",
        "INSERT INTO anchor_batches (ledger, root, size, state, attempts, reason, sealed_at) "
        "VALUES ('sql', zeroblob(32), 3, 'sealed', 0, '', 1)",
        "batch 1",
    ),
    "thresholds": ("orphan", "INSERT INTO delegation_thresholds VALUES ('d1', zeroblob(32))", "d1"),
    "disclosures": ("orphan", "INSERT INTO disclosures VALUES ('c1', 'age', zeroblob(32), 1)", "c1"),
    "parent": (
        "orphan",
        "INSERT INTO delegations (id, holder, agent, grantor, parent_id, record, not_before, expires_at, uses, refusals, version, "
        "created_at, created_by) VALUES ('d2', 'h', 'a', 'h', 'gone', x'', 0, 1, 0, 0, 1, 1, 'h')",
        "d2",
    ),
    "no handle": ("status", CREDENTIAL.format(status="active"), "c1"),
    "no list": ("status", "INSERT INTO gap_handles VALUES ('L', 7, 'c0', 60000, 0)", "L"),
}


@pytest.mark.parametrize(("status", "listed"), [("revoked", 0), ("suspended", 0), ("active", 1)])
def test_a_handle_is_listed_as_the_status_of_its_credential_says(data: Path, status: str, listed: int) -> None:
    sql(data, "identity.sqlite", CREDENTIAL.format(status=status))
    sql(data, "identity.sqlite", "INSERT INTO gap_lists VALUES ('L', 'i', 'i#1', 86400, 1)")
    sql(data, "identity.sqlite", f"INSERT INTO gap_handles VALUES ('L', 7, 'c1', 60000, {1 - listed})")
    assert examine_files(data) == []
    sql(data, "identity.sqlite", f"UPDATE gap_handles SET listed = {listed}")
    assert [one[:2] for one in examine_files(data)] == [("status", "c1")]


@pytest.mark.parametrize("damage", OTHERS)
def test_damage_of_outbox_and_other_rows(data: Path, damage: str) -> None:
    kind, statement, where = OTHERS[damage]
    sql(data, "identity.sqlite", statement)
    assert (kind, where) in {one[:2] for one in examine_files(data)}


def test_broken_files_are_told_first(data: Path) -> None:
    scribbled(data, "ledger.sqlite")
    (told,) = {one[:2] for one in examine_files(data)}
    assert told == ("file", "ledger.sqlite")


def test_remains_of_a_killed_command_are_reported(data: Path) -> None:
    (data / ".backup-x").mkdir()
    (data.parent / ".data.restore-y").mkdir()
    assert [kind for kind, _, _ in examine_files(data)] == ["left", "left"]


def test_rewritten_log_is_detected_by_stored_head(data: Path) -> None:
    """An attacker with the database and without the custodian's keys makes all that follows from the entries anew: hashes, links, index,
    tree. He cannot sign the checkpoint that is remembered."""
    memory = data.parent / "data.checkpoint"
    note = json.loads(memory.read_text())
    lines = note["checkpoint"].split("\n")
    lines[2] = "A" * 43 + "="
    note["checkpoint"] = "\n".join(lines)
    memory.write_text(json.dumps(note))
    assert "storage" in {kind for kind, _, _ in examine_files(data)}


def test_exit_codes(data: Path, tmp_path: Path) -> None:
    commands = Commands({})
    assert "sound" in commands.ok("fsck", "--data-dir", data)
    sql(data, "identity.sqlite", OF_INDEX["owner"][0])
    result = commands("fsck", "--data-dir", data)
    assert result.exit_code == 1
    assert "do: `identity fsck --repair-index`" in result.stdout
    body = json.loads(commands("fsck", "--json", "--deep", "--data-dir", data).stdout)
    assert (body["sound"], body["entries"], body["unvouched"]) == (False, DIDS, 0)
    assert commands("fsck", "--data-dir", tmp_path / "absent").exit_code == 2
    (tmp_path / "empty").mkdir()
    assert commands("fsck", "--data-dir", tmp_path / "empty").exit_code == 2
    sql(data, "ledger.sqlite", "INSERT INTO ledger_migrations VALUES (99, '0099_x.sql', 'x')")
    assert commands.refused("fsck", "--data-dir", data, status=2)


def test_ledger_fault_is_not_repaired(data: Path) -> None:
    sql(data, "ledger.sqlite", LEDGER["entry"])
    before = (data / "ledger.sqlite").read_bytes()
    result = Commands({})("fsck", "--deep", "--repair-index", "--json", "--data-dir", data)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["repaired"]["tree"] is False
    assert (data / "ledger.sqlite").read_bytes() == before


async def made_on_a_server(data: Path, url: str) -> Settings:
    data.mkdir(mode=0o700)
    await fill_here(data, 3, 2, url=url)
    settings = load(environment={}, overrides={"data_dir": data, "database_url": url})
    async with open_installation(settings) as house:
        await make_key(house, "key")
    return settings


def test_a_server_is_looked_at_as_well(postgres_url: str, tmp_path: Path) -> None:
    settings = asyncio.run(made_on_a_server(tmp_path / "data", postgres_url))
    examined = asyncio.run(examine(settings, deep=True))
    assert (examined.entries, examined.findings) == (6, [])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("UPDATE did_versions SET owner = 'key:thief' WHERE sequence = 2")
        connection.execute("INSERT INTO delegation_thresholds VALUES ('d1', '\\x00')")
        connection.execute("DELETE FROM transparency_places WHERE sequence = 3")
        connection.execute("ALTER TABLE ledger_entries DISABLE TRIGGER ALL")
        connection.execute("UPDATE ledger_entries SET link = '\\x00' WHERE sequence = 4")
    kinds = {one.kind for one in asyncio.run(examine(settings, deep=True)).findings}
    assert kinds == {"index", "orphan", "tile", "ledger"}
