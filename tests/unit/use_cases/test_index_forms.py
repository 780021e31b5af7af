"""Rows of the document index that an earlier version projected: rebuilt where they say the same, withheld where they do not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.errors import DidQuarantined
from identity_core.store.index_rows import NAMES, VERSIONS
from identity_core.store.row_mac import RowMac, version_octets
from identity_core.use_cases.dids.index_audit import IndexAudit, RecordSuspicions
from identity_core.use_cases.record import Record
from tests.rooms import Rooms

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


def audit_of(rooms: Rooms) -> IndexAudit:
    record = Record(rooms.store.activity)
    return IndexAudit(rooms.check, rooms.ledger, rooms.store.index_rows, rooms.store.quarantine, record, rooms.clock)


def without_later(state: dict[str, Any]) -> None:
    for name in LATER:
        state.pop(name, None)


async def write_back(rooms: Rooms, did: str, edit: Edit, *, is_tagged: bool = True, owner: str | None = None) -> None:
    """Write the first row of ``did`` as another version would have, with its tag or with one that somebody made up."""

    def write(transaction: Any) -> int:
        columns = ", ".join(NAMES)
        found = transaction.execute(f"SELECT {columns} FROM did_versions WHERE did = :did", {"did": did}).fetchone()
        row = dict(zip(NAMES, found, strict=True))
        state = json.loads(row["state"])
        edit(state)
        row |= {"state": json.dumps(state, separators=(",", ":")).encode(), "owner": owner}
        secret = rooms.store.index_rows._mac if is_tagged else RowMac(bytes(31) + b"x", VERSIONS)
        row["mac"] = secret.tag(version_octets([row[name] for name in NAMES]))
        sql = "UPDATE did_versions SET state = :state, owner = :owner, mac = :mac WHERE did = :did"
        return int(transaction.execute(sql, row).rowcount)

    assert await rooms.store.database.write(write) == 1


async def states(rooms: Rooms, did: str) -> Sequence[tuple[set[str], str | None]]:
    sql = "SELECT state, owner FROM did_versions WHERE did = :did ORDER BY version_id"
    rows = await rooms.store.database.read(lambda transaction: transaction.execute(sql, {"did": did}).fetchall())
    return [(set(json.loads(state)), owner) for state, owner in rows]


@on_rooms
async def test_a_new_member_is_a_new_form(rooms: Rooms) -> None:
    created = await rooms.new_did()
    assert set(json.loads(history.state_to_json(created.version.state))) == FORMS[history.FORM]


@on_rooms
async def test_a_row_of_an_earlier_form_that_says_the_same_is_rebuilt_with_its_owner(rooms: Rooms) -> None:
    did = str((await rooms.new_did()).version.state.did)
    await write_back(rooms, did, without_later, owner=OWNER)
    audit = audit_of(rooms)
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
def test_a_row_with_a_tag_of_ours_that_says_something_else_stays_withheld(edit: Edit, tmp_path: Path) -> None:
    """Such as one of another ledger, put in the place of the row: neither a start nor a repair takes it for an earlier form."""

    @on_rooms
    async def story(rooms: Rooms) -> None:
        did = str((await rooms.new_did()).version.state.did)
        await write_back(rooms, did, edit)
        audit = audit_of(rooms)
        assert await audit.differences(did) == ["version 1 differs in state"]
        await audit.seal()
        folded = await rooms.check.folded(Did.parse(did))
        assert await rooms.store.index_rows.rebuild(did, folded) == [
            "version 1 was written by this service and is not on the ledger"
        ]

    story(tmp_path)


@on_rooms
async def test_a_row_of_an_earlier_form_without_a_tag_of_ours_is_tampered_with(rooms: Rooms) -> None:
    did = str((await rooms.new_did()).version.state.did)
    await write_back(rooms, did, without_later, is_tagged=False, owner=OWNER)
    audit = audit_of(rooms)
    assert await audit.differences(did) == ["version 1 differs in state"]
    await audit.seal()
    assert [suspicion.did for suspicion in await rooms.store.quarantine.unknown(rooms.clock.now())] == [did]
    assert await states(rooms, did) == [(FORMS[history.FORM] - set(LATER), OWNER)]


@on_rooms
async def test_restored_row_of_an_earlier_form_decides_nothing(rooms: Rooms) -> None:
    """The row has no ``evidence``, so an unbound signature would suffice. The DID is withheld until the row is rewritten."""
    did = (await rooms.new_did()).version.state.did
    audit = audit_of(rooms)
    await audit.seal()
    await write_back(rooms, str(did), without_later)
    rooms.store.documents._heads.clear()
    with pytest.raises(DidQuarantined):
        await rooms.check.head(did, decides=True)
    await RecordSuspicions(audit).step()
    head = await rooms.check.head(did, decides=True)
    assert head is not None
    assert head.state == (await rooms.check.folded(did))[0].state
    assert await rooms.store.quarantine.count() == 0
