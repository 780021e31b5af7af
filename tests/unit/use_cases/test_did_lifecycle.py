"""The DID use cases on a real ledger and a real store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from identity_commands.verify_log import verify
from msgspec import structs

from identity_codec.values import replace
from identity_core.domain.dids import keys
from identity_core.domain.dids.challenge import SignedHeader
from identity_core.domain.dids.changes import AddService, NewService, RemoveVerificationMethod
from identity_core.errors import (
    AuthFailed,
    DidDeactivated,
    DidNotFound,
    DidQuarantined,
    Forbidden,
    InvalidDocument,
    InvalidRequest,
    LedgerUnavailable,
    PluginUnavailable,
    RateLimited,
    VersionConflict,
)
from identity_core.ports.ledger import NewestEntry
from identity_core.use_cases.dids.change import UpdateDid
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index_audit import IndexAudit
from identity_core.use_cases.record import Record
from identity_core.wire import AdditionalKey, DeactivateDidRequest
from tests.did_use_cases import PAYER, Rooms, own_key, recovery_of, rotation_of, secret_of, update_of

BEFORE = datetime(2001, 1, 1, tzinfo=UTC)
FILES = AddService(NewService("LinkedDomains", "https://hana.example/", "files"))


def on_rooms(test: Callable[[Rooms], Awaitable[None]]) -> Callable[[Path], None]:
    """Runs an async test on fresh rooms."""

    def run(tmp_path: Path) -> None:
        async def story() -> None:
            rooms = Rooms(tmp_path)
            try:
                await test(rooms)
            finally:
                await rooms.close()

        asyncio.run(story())

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


async def add_service(rooms: Rooms, did: Any, secret: str, operation: Any = FILES, **more: Any) -> Any:
    signed = await rooms.signed(did, secret, "update")
    return await rooms.update(
        did, update_of(operation), signed, rooms.context(did, signed), **{"if_match": None} | more
    )


@on_rooms
async def test_a_created_did_resolves_to_its_document(rooms: Rooms) -> None:
    created = await rooms.new_did(
        additional_keys=(AdditionalKey(type="X25519KeyAgreementKey2020", purpose=("keyAgreement",)),)
    )
    did = created.version.state.did
    found = await rooms.resolve(did, version_id=None, version_time=None)
    assert found.version == created.version
    assert [key.purposes[0] for key in created.keys] == ["authentication", "keyAgreement", "recovery"]
    assert all(key.secret for key in created.keys)


@on_rooms
async def test_a_did_changes_so_often_in_an_hour(rooms: Rooms) -> None:
    """Three versions; the first of them leaves the hour at its end, to the microsecond."""
    rooms.update = UpdateDid(replace(rooms.writer, writes_per_hour=3), rooms.update.approvals)
    created = await rooms.new_did()
    did, secret = created.version.state.did, secret_of(created)
    for number in (1, 2):
        rooms.clock.move(minutes=10)
        service = AddService(NewService("A", "https://hana.example/", f"s{number}"))
        await add_service(rooms, did, secret, service)
    rooms.clock.move(minutes=40, microseconds=-10_000_000)
    for microseconds, seconds in ((0, 10), (1, 10), (8_999_999, 1), (999_999, 1)):
        rooms.clock.move(microseconds=microseconds)
        with pytest.raises(RateLimited) as refused:
            await add_service(rooms, did, secret)
        assert refused.value.details["retryAfter"] == seconds
    rooms.clock.move(microseconds=1)
    assert (await add_service(rooms, did, secret)).state.version_id == 4


@on_rooms
async def test_own_keys_come_back_without_private_parts(rooms: Rooms) -> None:
    pair = keys.generate("Ed25519", os.urandom)
    created = await rooms.new_did(recovery_key=False, public_keys=(own_key("Ed25519", "authentication", pair.public),))
    assert [(key.public, key.secret) for key in created.keys] == [(pair.public, None)]


@on_rooms
async def test_own_keys_need_no_word_on_private_parts(rooms: Rooms) -> None:
    pair, successor = keys.generate("Ed25519", os.urandom), keys.generate("Ed25519", os.urandom)
    own = own_key("Ed25519", "authentication", pair.public)
    created = await rooms.new_did(recovery_key=False, public_keys=(own,), return_secrets=False)
    did = created.version.state.did
    wish = rotation_of(
        f"#{created.keys[0].public}",
        purpose=("authentication",),
        new_public_key_multibase=successor.public,
        return_secrets=False,
    )
    signed = await rooms.signed(did, pair.secret, "rotate")
    rotated = await rooms.rotate(did, wish, signed, rooms.context(did, signed), if_match=None)
    assert rotated.new_key.secret is None


@on_rooms
async def test_a_key_type_without_a_name_is_no_key_type(rooms: Rooms) -> None:
    with pytest.raises(InvalidDocument):
        await rooms.new_did(key_type="")


@on_rooms
async def test_own_keys_and_made_keys_exclude_each_other(rooms: Rooms) -> None:
    pair = keys.generate("Ed25519", os.urandom)
    own = own_key("Ed25519", "authentication", pair.public)
    with pytest.raises(InvalidDocument):
        await rooms.new_did(
            public_keys=(own,), additional_keys=(AdditionalKey(type="Ed25519", purpose=("authentication",)),)
        )
    with pytest.raises(InvalidDocument):
        await rooms.new_did(public_keys=(own,), recovery_key=True)


@on_rooms
async def test_secrets_are_neither_stored_nor_returned_are_refused(rooms: Rooms) -> None:
    with pytest.raises(InvalidRequest):
        await rooms.new_did(return_secrets=False)
    created = await rooms.new_did(return_secrets=False, store_secrets=True)
    assert all(key.secret is None for key in created.keys)
    assert {name.partition("#")[2] for name in rooms.custodian.imported} == {key.public for key in created.keys}


@on_rooms
async def test_a_change_makes_a_version_and_the_old_one_stays(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did = created.version.state.did
    rooms.clock.move(seconds=10)
    version = await add_service(rooms, did, secret_of(created))
    assert version.state.version_id == 2
    old = await rooms.resolve(did, version_id=1, version_time=None)
    assert old.version.state.document.services == ()
    assert old.following is not None
    assert old.following.state.version_id == 2
    at = await rooms.resolve(did, version_id=None, version_time=rooms.clock.now() - timedelta(seconds=1))
    assert at.version.state.version_id == 1
    with pytest.raises(DidNotFound):
        await rooms.resolve(did, version_id=3, version_time=None)
    with pytest.raises(DidNotFound):
        await rooms.resolve(did, version_id=None, version_time=rooms.clock.now() - timedelta(days=1))


@on_rooms
async def test_if_match_names_the_version(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did = created.version.state.did
    with pytest.raises(VersionConflict):
        await add_service(rooms, did, secret_of(created), if_match={2, 3})
    await add_service(rooms, did, secret_of(created), if_match={1, 7})


@on_rooms
async def test_a_signature_serves_once(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did = created.version.state.did
    offer = await rooms.challenge(did, purpose=None, body_hash=None)
    from identity_codec import ed25519, multikey

    signature = ed25519.sign(multikey.decode_secret(secret_of(created))[1], offer.text.encode())
    signed = SignedHeader(did, signature)
    wanted = {"scheme": "DIDAuth", "purpose": "update", "body_hash": None, "target": f"/dids/{did}", "payer": PAYER}
    attempts = [rooms.authenticate(signed, **wanted) for _ in range(64)]
    results = await asyncio.gather(*attempts, return_exceptions=True)
    assert sum(not isinstance(result, Exception) for result in results) == 1
    assert all(isinstance(result, AuthFailed) for result in results if isinstance(result, Exception))


@on_rooms
async def test_the_last_authentication_key_cannot_be_removed(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did = created.version.state.did
    with pytest.raises(InvalidDocument):
        await add_service(rooms, did, secret_of(created), RemoveVerificationMethod(f"#{created.keys[0].public}"))


@on_rooms
async def test_key_in_grace_has_few_rights_and_expires(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did, old = created.version.state.did, secret_of(created)
    rooms.clock.move(seconds=5)
    end = rooms.clock.now() + timedelta(hours=1)
    signed = await rooms.signed(did, old, "rotate")
    rotated = await rooms.rotate(
        did,
        rotation_of(f"#{created.keys[0].public}", end),
        signed,
        rooms.context(did, signed),
        if_match=None,
    )
    assert rotated.grace_period_end == end
    await add_service(rooms, did, old)
    signed = await rooms.signed(did, old, "deactivate")
    with pytest.raises(Forbidden):
        await rooms.deactivate(
            did,
            DeactivateDidRequest(confirm=True),
            authorization=signed,
            context=rooms.context(did, signed),
            if_match=None,
        )
    rooms.clock.move(hours=2)
    with pytest.raises(AuthFailed):
        await rooms.signed(did, old, "update")
    before = await rooms.resolve(did, version_id=None, version_time=None)
    assert (before.version.state.version_id, before.version.receipt) == (4, None)
    page = await rooms.history(did, after=None, limit=50, descending=False)
    assert [item.state.operation for item in page.items] == ["create", "keyRotated", "update", "keyExpired"]
    # The next write writes the expiry first: what readers computed is what the log says.
    new = rotated.new_key.secret
    assert new is not None
    other = AddService(NewService("LinkedDomains", "https://other.example/", "other"))
    version = await add_service(rooms, did, new, other)
    assert version.state.version_id == 5
    after = await rooms.resolve(did, version_id=4, version_time=None)
    assert after.version.receipt is not None
    assert after.version.state.document == before.version.state.document
    assert after.version.state.updated_at == before.version.state.updated_at == end
    assert verify(await rooms.log(did)).versions == 5
    # What the drafts said, and the index keeps, is what anybody finds who reads the log.
    state = None
    for number, line in enumerate((await rooms.log(did)).splitlines(), 1):
        state = rooms.methods["ids"].apply(state, line)
        kept = await rooms.resolve(did, version_id=number, version_time=None)
        assert kept.version.state == state


@on_rooms
async def test_recovery_drops_every_key_and_spends_itself(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did = created.version.state.did
    fresh = keys.generate("Ed25519", os.urandom)
    wish = recovery_of(fresh.public, revoke_all=True)
    signed = await rooms.signed(did, secret_of(created, "recovery"), "recover", scheme="RecoveryKey")
    recovered = await rooms.recover(did, wish, signed, rooms.context(did, signed))
    assert [method.multibase for method in recovered.version.state.document.methods] == [fresh.public]
    with pytest.raises(AuthFailed):
        await rooms.signed(did, secret_of(created, "recovery"), "recover", scheme="RecoveryKey")
    with pytest.raises(AuthFailed):
        await rooms.signed(did, secret_of(created), "update")
    await add_service(rooms, did, fresh.secret)


@on_rooms
async def test_a_deactivated_did_is_gone_but_for_its_history(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did = created.version.state.did
    signed = await rooms.signed(did, secret_of(created), "deactivate")
    await rooms.deactivate(
        did, DeactivateDidRequest(confirm=True), authorization=signed, context=rooms.context(did, signed), if_match=None
    )
    assert (await rooms.resolve(did, version_id=None, version_time=None)).deactivated
    for never in ({"version_id": 3, "version_time": None}, {"version_id": None, "version_time": BEFORE}):
        with pytest.raises(DidDeactivated) as gone:
            await rooms.resolve(did, **never)
        assert gone.value.details["versionId"] == 2
    with pytest.raises(DidDeactivated):
        await rooms.challenge(did, purpose=None, body_hash=None)
    page = await rooms.history(did, after=None, limit=1, descending=True)
    assert [item.state.operation for item in page.items] == ["deactivated"]
    assert page.after is not None
    assert verify(await rooms.log(did)).deactivated


@on_rooms
async def test_the_index_is_rebuilt_from_the_ledger(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did = created.version.state.did
    index = rooms.writer.index

    class Forgetful:
        """An index whose process dies between append and record."""

        def __getattr__(self, name: str) -> Any:
            return getattr(index, name)

        async def record(self, *_: Any, **__: Any) -> None:
            raise asyncio.CancelledError

    structs.force_setattr(rooms.writer, "index", Forgetful())
    with pytest.raises(asyncio.CancelledError):
        await add_service(rooms, did, secret_of(created))
    structs.force_setattr(rooms.writer, "index", index)
    assert (await rooms.resolve(did, version_id=None, version_time=None)).version.state.version_id == 1
    # A writer that finds the ledger ahead brings the index up by itself.
    other = AddService(NewService("LinkedDomains", "https://other.example/", "other"))
    assert (await add_service(rooms, did, secret_of(created), other)).state.version_id == 3
    assert (await rooms.resolve(did, version_id=2, version_time=None)).version.state.operation == "update"


@on_rooms
async def test_missing_index_row_is_repaired_at_run_time(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did = created.version.state.did
    index = rooms.writer.index

    class Full:
        """An index on a disk that is full."""

        def __getattr__(self, name: str) -> Any:
            return getattr(index, name)

        async def record(self, *_: Any, **__: Any) -> None:
            raise PluginUnavailable

    assert await rooms.repair.look() == 0
    structs.force_setattr(rooms.writer, "index", Full())
    with pytest.raises(PluginUnavailable):
        await add_service(rooms, did, secret_of(created))
    # A row may be on its way at the first look; at the second it is missing.
    assert await rooms.repair.look() == 0
    assert (await rooms.resolve(did, version_id=None, version_time=None)).version.state.version_id == 1
    assert await rooms.repair.look() == 1
    assert (await rooms.resolve(did, version_id=None, version_time=None)).version.state.version_id == 2
    assert await rooms.repair.look() == 0


@on_rooms
async def test_late_append_is_found_in_background(rooms: Rooms) -> None:
    ledger = rooms.writer.ledger

    class Deaf:
        """A ledger whose answer gets lost."""

        def __getattr__(self, name: str) -> Any:
            return getattr(ledger, name)

        async def append(self, *arguments: Any, **named: Any) -> None:
            await ledger.append(*arguments, **named)
            raise LedgerUnavailable

    rooms.repair.begin()
    structs.force_setattr(rooms.writer, "ledger", Deaf())
    with pytest.raises(LedgerUnavailable):
        await rooms.new_did()
    (line,) = await ledger.entries_after(0, 10)
    for _ in range(600):
        if await rooms.store.documents.head(line.did) is not None:
            return
        await asyncio.sleep(0.05)
    pytest.fail("the index stayed behind the ledger")


class Growing:
    """A ledger to which another process appends between any two looks: each look at the newest entry finds one more."""

    def __init__(self, ledger: Any, seen: int) -> None:
        self._ledger, self._seen = ledger, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def newest(self, did: str) -> Any:
        self._seen += 1
        line = (await self.entries(did))[-1]
        return NewestEntry(line.version, line.receipt.transaction_hash)

    async def entries(self, did: str) -> Any:
        return (await self._ledger.entries(did))[: self._seen]


async def written_elsewhere(rooms: Rooms, folder: Path, count: int) -> Any:
    """A DID with ``count`` versions of which the index of ``rooms`` has none: another process with an index of its own wrote them."""
    other = Rooms(folder, ledger=rooms.ledger)
    created = await other.new_did()
    did = created.version.state.did
    for number in range(2, count + 1):
        operation = AddService(NewService("LinkedDomains", "https://a.example/", f"s{number}"))
        await add_service(other, did, secret_of(created), operation)
    await other.store.close()
    return did


@on_rooms
async def test_did_under_concurrent_writes_is_not_withheld(rooms: Rooms) -> None:
    with TemporaryDirectory() as folder:
        did = await written_elsewhere(rooms, Path(folder), 8)
    growing: Any = Growing(rooms.ledger, 1)
    check = HeadCheck(rooms.methods, growing, rooms.store.documents, rooms.store.quarantine)
    for decides, newest in ((True, 5), (False, 8)):
        head = await check.head(did, decides=decides)
        assert head is not None
        assert head.state.version_id == newest
    assert await rooms.store.quarantine.count() == 0


@on_rooms
async def test_an_index_that_keeps_nothing_is_withheld(rooms: Rooms) -> None:
    with TemporaryDirectory() as folder:
        did = await written_elsewhere(rooms, Path(folder), 3)
    index = rooms.check.index

    class Lossy:
        def __getattr__(self, name: str) -> Any:
            return getattr(index, name)

        async def record(self, *_: Any, **__: Any) -> None:
            return

    rooms.check.index = Lossy()  # type: ignore[assignment]
    with pytest.raises(DidQuarantined):
        await rooms.check.head(did, decides=True)
    assert await rooms.store.quarantine.count() == 1


@on_rooms
async def test_an_audit_beside_a_writer_finds_no_difference(rooms: Rooms) -> None:
    with TemporaryDirectory() as folder:
        did = await written_elsewhere(rooms, Path(folder), 3)
    await rooms.catch_up()

    def audit() -> IndexAudit:
        check = HeadCheck(rooms.methods, Late(rooms.ledger), rooms.store.documents, rooms.store.quarantine)  # type: ignore[arg-type]
        record = Record(rooms.store.activity)
        return IndexAudit(check, check.ledger, rooms.store.index_rows, rooms.store.quarantine, record, rooms.clock)

    assert await audit().sample(1, lambda _: 0) == 0
    assert not await audit().differences(str(did))
    assert await rooms.store.quarantine.count() == 0


class Late:
    """A ledger whose first answer about a DID is that of a moment before its newest entry."""

    def __init__(self, ledger: Any) -> None:
        self._ledger, self._is_late = ledger, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def entries(self, did: str) -> Any:
        found = await self._ledger.entries(did)
        self._is_late, late = False, self._is_late
        return found[:-1] if late else found


@on_rooms
async def test_mixed_writers_leave_a_gapless_chain_with_a_key(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did, secret = created.version.state.did, secret_of(created)
    authorizations = [await rooms.signed(did, secret, "update", body={"n": n}) for n in range(24)]
    writes = []
    for number, signed in enumerate(authorizations):
        if number % 3 == 0:
            operation: Any = RemoveVerificationMethod(f"#{created.keys[0].public}")
        else:
            operation = AddService(NewService("LinkedDomains", "https://a.example/", f"s{number}"))
        writes.append(rooms.update(did, update_of(operation), signed, rooms.context(did, signed), if_match=None))
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(result) for result in results if isinstance(result, Exception)} == {InvalidDocument}
    head = (await rooms.resolve(did, version_id=None, version_time=None)).version.state
    assert head.version_id == 1 + 16
    assert head.document.related("authentication")
    assert verify(await rooms.log(did)).versions == 17


@on_rooms
async def test_a_clock_that_goes_back_stops_no_change(rooms: Rooms) -> None:
    """The next entry is later than the last, and the challenge for it has to outlive that moment."""
    created = await rooms.new_did()
    rooms.clock.move(hours=-1)
    version = await add_service(rooms, created.version.state.did, secret_of(created))
    assert version.state.version_id == 2
