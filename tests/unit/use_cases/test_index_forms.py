"""Rows of the document index that an earlier version projected: rebuilt where they say the same, withheld where they do not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from identity_records.audit import audit_of

from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import AddService, NewService
from identity_core.domain.dids.did import Did
from identity_core.errors import DidQuarantined
from identity_core.ports.repositories import Suspicion
from identity_core.store.index_rows import NAMES, VERSIONS
from identity_core.store.row_mac import RowMac, version_octets
from identity_core.use_cases.dids.create import Created
from identity_core.use_cases.dids.index_audit import IndexAudit, RecordSuspicions
from identity_core.use_cases.record import Record
from tests.did_use_cases import Rooms, secret_of, update_of

# The members that the state had at commit 4d59b3b2, and those of each numbered form. A new member is a new form: raise ``FORM``.
FIRST = {"v", "created", "updated", "operation", "hash", "previous", "deactivated", "recovery", "updateKeys", "keyId"}
FIRST |= {"spent", "retired", "strict", "proven"}
FORMS = {1: FIRST | {"next", "evidence", "window", "witness"}}
FORMS[2] = FORMS[1] | {"form", "unbound"}
LATER = ("next", "evidence", "window", "witness", "form", "unbound")
OWNER = "did:x:owner"
Edit = Callable[[dict[str, Any]], Any]


def on_rooms(test: Callable[[Rooms], Awaitable[None]]) -> Callable[[Path], None]:
    def run(tmp_path: Path) -> None:
        async def story() -> None:
            rooms = Rooms(tmp_path)
            try:
                await test(rooms)
            finally:
                await rooms.close()

        asyncio.run(story())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def index_audit(rooms: Rooms) -> IndexAudit:
    record = Record(rooms.store.activity)
    return IndexAudit(rooms.check, rooms.ledger, rooms.store.index_rows, rooms.store.quarantine, record, rooms.clock)


def without_later(state: dict[str, Any]) -> None:
    for name in LATER:
        state.pop(name, None)


async def write_back(rooms: Rooms, did: str, edit: Edit, *, is_tagged: bool = True, owner: str | None = None) -> None:
    """Write the first row of ``did`` as another version would have, with its tag or with a forged one."""

    def write(transaction: Any) -> int:
        columns = ", ".join(NAMES)
        sql = f"SELECT {columns} FROM did_versions WHERE did = :did AND version_id = 1"
        found = transaction.execute(sql, {"did": did}).fetchone()
        row = dict(zip(NAMES, found, strict=True))
        state = json.loads(row["state"])
        edit(state)
        row |= {"state": json.dumps(state, separators=(",", ":")).encode(), "owner": owner}
        secret = rooms.store.index_rows._mac if is_tagged else RowMac(bytes(31) + b"x", VERSIONS)
        row["mac"] = secret.tag(version_octets([row[name] for name in NAMES]))
        sql = "UPDATE did_versions SET state = :state, owner = :owner, mac = :mac WHERE did = :did AND version_id = 1"
        return int(transaction.execute(sql, row).rowcount)

    assert await rooms.store.database.write(write) == 1


async def with_service(rooms: Rooms, created: Created) -> Any:
    did = created.version.state.did
    authorization = await rooms.signed(did, secret_of(created), "update")
    wish = update_of(AddService(NewService("LinkedDomains", "https://example.org/", "site")))
    return await rooms.update(did, wish, authorization, rooms.context(did, authorization), if_match=None)


async def states(rooms: Rooms, did: str) -> Sequence[tuple[set[str], str | None]]:
    sql = "SELECT state, owner FROM did_versions WHERE did = :did ORDER BY version_id"
    rows = await rooms.store.database.read(lambda transaction: transaction.execute(sql, {"did": did}).fetchall())
    return [(set(json.loads(state)), owner) for state, owner in rows]


@on_rooms
async def test_a_new_member_is_a_new_form(rooms: Rooms) -> None:
    created = await rooms.new_did()
    assert set(json.loads(history.state_to_json(created.version.state))) == FORMS[history.FORM]


@on_rooms
async def test_equal_row_of_earlier_form_is_rebuilt(rooms: Rooms) -> None:
    did = str((await rooms.new_did()).version.state.did)
    await write_back(rooms, did, without_later, owner=OWNER)
    audit = index_audit(rooms)
    assert not await audit.differences(did)
    assert await audit.seal() == 1
    assert await states(rooms, did) == [(FORMS[history.FORM], OWNER)]
    assert not await audit.differences(did)
    assert await rooms.store.quarantine.count() == 0
    # What is done once is not looked at again.
    assert await audit.seal() == 0


def deactivated(state: dict[str, Any]) -> None:
    without_later(state)
    state["deactivated"] = True


def without_evidence_alone(state: dict[str, Any]) -> None:
    del state["evidence"]


def without_a_first_member(state: dict[str, Any]) -> None:
    without_later(state)
    del state["retired"]


def with_a_foreign_member(state: dict[str, Any]) -> None:
    without_later(state)
    state["foreign"] = 1


@pytest.mark.parametrize("edit", [deactivated, without_evidence_alone, without_a_first_member, with_a_foreign_member])
def test_differing_tagged_row_stays_withheld(edit: Edit, tmp_path: Path) -> None:
    """A row of another ledger replaces the row: neither a start nor a repair takes it for an earlier form."""

    @on_rooms
    async def story(rooms: Rooms) -> None:
        did = str((await rooms.new_did()).version.state.did)
        await write_back(rooms, did, edit)
        audit = index_audit(rooms)
        assert await audit.differences(did) == ["version 1 differs in state"]
        await audit.seal()
        folded = await rooms.check.folded(Did.parse(did))
        assert await rooms.store.index_rows.rebuild(did, folded) == [
            "version 1 was written by this service and is not on the ledger"
        ]

    story(tmp_path)


@on_rooms
async def test_untagged_row_of_earlier_form_is_refused(rooms: Rooms) -> None:
    did = str((await rooms.new_did()).version.state.did)
    await write_back(rooms, did, without_later, is_tagged=False, owner=OWNER)
    audit = index_audit(rooms)
    assert await audit.differences(did) == ["version 1 differs in state"]
    await audit.seal()
    assert [suspicion.did for suspicion in await rooms.store.quarantine.unknown(rooms.clock.now())] == [did]
    assert await states(rooms, did) == [(FORMS[history.FORM] - set(LATER), OWNER)]


@on_rooms
async def test_restored_row_of_an_earlier_form_decides_nothing(rooms: Rooms) -> None:
    """The row has no ``evidence``, so an unbound signature would suffice. The ledger decides, and the row is rewritten at once."""
    did = (await rooms.new_did()).version.state.did
    audit = index_audit(rooms)
    await audit.seal()
    await write_back(rooms, str(did), without_later)
    rooms.store.documents._heads.clear()
    head = await rooms.check.head(did, decides=True)
    assert head is not None
    assert head.state == (await rooms.check.folded(did))[0].state
    assert await states(rooms, str(did)) == [(FORMS[history.FORM], None)]
    assert await rooms.store.quarantine.count() == 0


@on_rooms
async def test_row_of_an_earlier_replica_is_changed_at_once(rooms: Rooms) -> None:
    """In a rolling upgrade an earlier replica creates the DID, and this one records the next version."""
    created = await rooms.new_did()
    did = created.version.state.did
    await write_back(rooms, str(did), without_later, owner=OWNER)
    rooms.store.documents._heads.clear()
    assert (await with_service(rooms, created)).state.version_id == 2
    assert await states(rooms, str(did)) == [(FORMS[history.FORM], OWNER), (FORMS[history.FORM], None)]
    assert [one.state.version_id for one in (await rooms.history(did, after=None, limit=9, descending=True)).items] == [
        2,
        1,
    ]
    assert await rooms.store.quarantine.count() == 0


@on_rooms
async def test_repair_after_an_earlier_replica_marks_nothing(rooms: Rooms) -> None:
    """The entry of version 2 has no row yet when the row of version 1 is of an earlier form."""
    created = await rooms.new_did()
    did = str(created.version.state.did)
    await with_service(rooms, created)
    await write_back(rooms, did, without_later)
    await rooms.store.database.write(
        lambda transaction: transaction.execute("DELETE FROM did_versions WHERE version_id = 2").rowcount
    )
    rooms.store.documents._heads.clear()
    assert await rooms.catch_up() == 1
    assert [members for members, _ in await states(rooms, did)] == [FORMS[history.FORM]] * 2
    assert await rooms.store.quarantine.count() == 0


@on_rooms
async def test_earlier_row_that_differs_from_the_ledger_is_withheld(rooms: Rooms) -> None:
    did = (await rooms.new_did()).version.state.did
    await write_back(rooms, str(did), deactivated)
    rooms.store.documents._heads.clear()
    for _ in range(2):
        with pytest.raises(DidQuarantined):
            await rooms.check.head(did, decides=True)
    assert [one.did for one in await rooms.store.quarantine.unknown(rooms.clock.now())] == [str(did)]


@on_rooms
async def test_row_of_an_earlier_replica_is_no_finding(rooms: Rooms) -> None:
    did = str((await rooms.new_did()).version.state.did)
    await write_back(rooms, did, without_later)
    assert len(await rooms.store.documents.versions(did, after=0, limit=9, descending=False)) == 1
    recorded = RecordSuspicions(index_audit(rooms))
    before = len(await audit_of(rooms.store).chain(after=0, limit=99))
    await recorded.step()
    assert (recorded.withheld, len(await audit_of(rooms.store).chain(after=0, limit=99))) == (0, before)


@on_rooms
async def test_start_releases_marks_of_other_replicas(rooms: Rooms) -> None:
    """An earlier replica marked two DIDs during a rolling upgrade. One of them has a row that does differ."""
    sound, spoiled = [str((await rooms.new_did()).version.state.did) for _ in range(2)]
    await write_back(rooms, spoiled, deactivated)
    reason = "entry 3 of its log is not valid: The parameters of the entry are not those of its change"
    await rooms.store.quarantine.add([Suspicion(did, reason, rooms.clock.now()) for did in (sound, spoiled)])
    await index_audit(rooms).release()
    assert [one.did for one in await rooms.store.quarantine.list(after="", limit=9)] == [spoiled]
