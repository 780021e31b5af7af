"""Handles and published lists in the store, on both databases."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.domain.status_gaps import LAST_END, StatusEpoch
from identity_bound_credentials.ports import GapList, Published
from identity_bound_credentials.store.status_gaps import TRIES, StoredStatusGaps

from identity_codec.values import replace
from identity_core.domain.credentials.credential import Credential, CredentialStatus
from identity_core.errors import Overloaded
from identity_core.ports.credentials import RegisteredSchema
from identity_core.store import Store
from tests.credentials import ISSUER, NOW, a_credential, a_schema

ACTIVE, SUSPENDED, REVOKED = CredentialStatus.ACTIVE, CredentialStatus.SUSPENDED, CredentialStatus.REVOKED
LIST = GapList("A" * 22, str(ISSUER), f"{ISSUER}#status", 86_400)
EPOCH = StatusEpoch(LIST.issuer, LIST.method, LIST.id, 20_780, 86_400)


def give(
    store: Store, credential_id: str, last_day: int = 30_000, *, random: Callable[[int], bytes] = os.urandom
) -> int:
    return asyncio.run(StoredStatusGaps(store.database).give(LIST, credential_id, last_day, random=random))


def listed(store: Store, last_day: int = 0) -> tuple[int, list[int]]:
    version, handles = asyncio.run(StoredStatusGaps(store.database).listed(LIST.id, last_day=last_day))
    return version, sorted(handles)


def credential(store: Store) -> Credential:
    asyncio.run(store.credential_schemas.add(RegisteredSchema(a_schema(), NOW, str(ISSUER))))
    made = asyncio.run(store.credentials.add(a_credential(id=f"urn:uuid:{uuid.uuid4()}"), b"box", random=os.urandom))
    assert made is not None
    return made


def set_status(store: Store, one: Credential, status: CredentialStatus) -> Credential:
    changed = asyncio.run(store.credentials.set_status(one, status, None, NOW))
    assert changed is not None
    return changed


def edition(number: int = 1, handles: tuple[int, ...] = (), epoch: StatusEpoch = EPOCH) -> tuple[Manifest, list[bytes]]:
    ends = status_gaps.chain(handles)
    return gap_shards.publish(epoch, number, ends, [bytes(80)] * (len(ends) - 1))


def publish(store: Store, what: tuple[Manifest, list[bytes]], version: int = 1) -> bool:
    return asyncio.run(StoredStatusGaps(store.database).publish(*what, version))


def test_a_credential_has_one_handle(store: Store) -> None:
    first, second = give(store, "urn:a"), give(store, "urn:b")
    assert first != second
    assert {give(store, "urn:a"), give(store, "urn:a")} == {first}
    assert asyncio.run(StoredStatusGaps(store.database).lists()) == [LIST]
    other = replace(LIST, id="B" * 22)
    with pytest.raises(ValueError, match="another list"):
        asyncio.run(StoredStatusGaps(store.database).give(other, "urn:a", 30_000, random=os.urandom))


def test_a_handle_that_the_issuer_chose_is_taken_once(store: Store) -> None:
    def take(credential_id: str, handle: int, of: GapList = LIST) -> bool:
        return asyncio.run(StoredStatusGaps(store.database).take(of, credential_id, handle, 30_000))

    given = give(store, "urn:given")
    assert not take("urn:a", given), "two credentials are revoked by one handle"
    assert not take("urn:given", given ^ 1 or 2), "a credential has two handles"
    chosen = given + 1 if given < LAST_END - 1 else given - 1
    assert take("urn:a", chosen)
    assert take("urn:a", chosen), "the same again is no other"
    other = replace(LIST, id="B" * 22)
    assert not take("urn:a", chosen, other)
    assert asyncio.run(StoredStatusGaps(store.database).lists()) == [LIST], "a refusal begins a list"
    assert take("urn:b", chosen, other), "each list has its own handles"
    newer = replace(LIST, method=f"{ISSUER}#next")
    assert take("urn:c", chosen - 2 if chosen > 2 else chosen + 3, newer)
    assert asyncio.run(StoredStatusGaps(store.database).lists())[0] == replace(newer, version=2)


def test_used_or_invalid_handle_is_skipped(store: Store) -> None:
    thrown = b"".join(n.to_bytes(4, "big") for n in (0, LAST_END, 7, 7, 9)) + bytes(4 * (TRIES - 5))
    assert give(store, "urn:a", random=lambda _: thrown) == 7
    assert give(store, "urn:b", random=lambda _: thrown) == 9
    with pytest.raises(Overloaded):
        give(store, "urn:c", random=lambda _: thrown)


def test_many_at_once_have_handles_of_their_own(store: Store) -> None:
    async def all_at_once() -> list[int]:
        # From few numbers, so that they meet.
        few = iter(range(100))
        return await asyncio.gather(
            *(
                StoredStatusGaps(store.database).give(
                    LIST,
                    f"urn:{number}",
                    1,
                    random=lambda data: (
                        bytes([0, 0, 0, 1 + next(few) % 40]) * (data // 8) + os.urandom(data - data // 8 * 4)
                    ),
                )
                for number in range(30)
            )
        )

    assert len(set(asyncio.run(all_at_once()))) == 30


def test_the_list_follows_the_status_of_the_credentials(store: Store) -> None:
    one, two = credential(store), credential(store)
    handles = [give(store, each.id) for each in (one, two)]
    assert listed(store) == (1, [])
    one = set_status(store, one, SUSPENDED)
    assert listed(store) == (2, [handles[0]])
    two = set_status(store, two, REVOKED)
    assert listed(store) == (3, sorted(handles))
    # Suspended or revoked, the handle is in the list all the same, and the list has not changed.
    one = set_status(store, one, REVOKED)
    assert listed(store)[0] == 3
    one = set_status(store, one, SUSPENDED)
    one = set_status(store, one, ACTIVE)
    assert listed(store) == (4, [handles[1]])


def test_status_that_another_has_changed_meanwhile_lists_nothing(store: Store) -> None:
    one = credential(store)
    give(store, one.id)
    set_status(store, one, SUSPENDED)
    assert asyncio.run(store.credentials.set_status(one, ACTIVE, None, NOW)) is None
    assert listed(store)[0] == 2
    assert len(listed(store)[1]) == 1


def test_a_credential_without_a_handle_touches_no_list(store: Store) -> None:
    give(store, "urn:other")
    set_status(store, credential(store), REVOKED)
    assert listed(store) == (1, [])


def test_handles_leave_by_their_last_day_and_are_not_given_again(store: Store) -> None:
    early, late = credential(store), credential(store)
    handles = [give(store, early.id, 100), give(store, late.id, 200)]
    for one in (early, late):
        set_status(store, one, REVOKED)
    assert listed(store, 100)[1] == sorted(handles)
    assert listed(store, 101)[1] == [handles[1]]
    again = handles[0].to_bytes(4, "big") + (5).to_bytes(4, "big") * (TRIES - 1)
    assert give(store, "urn:new", random=lambda _: again) == 5


def test_editions_follow_one_another(store: Store) -> None:
    first, second, third = edition(1), edition(2, (5,)), edition(3, (5, 9))
    assert not publish(store, second), "there is none before it"
    assert publish(store, first)
    assert not publish(store, first)
    assert not publish(store, third)
    assert publish(store, second, version=2)
    assert not publish(store, first)
    found = asyncio.run(StoredStatusGaps(store.database).published(LIST.id, 20_780))
    assert found == Published(2, second[0].encoded)
    # Those who still have the manifest of before find its shard.
    for manifest, shards in (first, second):
        assert asyncio.run(StoredStatusGaps(store.database).shard(LIST.id, manifest.digests[0])) == shards[0]
    assert asyncio.run(StoredStatusGaps(store.database).shard(LIST.id, third[0].digests[0])) is None


def test_one_of_two_concurrent_publishers_wins(store: Store) -> None:
    async def both() -> list[bool]:
        made = edition(1)
        return await asyncio.gather(*(StoredStatusGaps(store.database).publish(*made, 1) for _ in range(8)))

    assert sorted(asyncio.run(both())) == [False] * 7 + [True]


def test_old_epochs_are_forgotten(store: Store) -> None:
    made = [edition(1, (7,), replace(EPOCH, epoch=number)) for number in (20_777, 20_778, 20_779)]
    other = edition(1, (), replace(EPOCH, list_id="B" * 22, epoch=5))
    for one in (*made, other):
        assert publish(store, one)
    asyncio.run(StoredStatusGaps(store.database).forget(LIST.id, before=20_779))
    there = [
        asyncio.run(StoredStatusGaps(store.database).published(one[0].epoch.list_id, one[0].epoch.epoch)) is not None
        for one in (*made, other)
    ]
    assert there == [False, False, True, True]


def test_shards_go_with_their_epoch(store: Store) -> None:
    ends = status_gaps.chain([7])
    old = gap_shards.publish(replace(EPOCH, epoch=1), 1, ends, [b"o" * 80] * 2)
    new = gap_shards.publish(replace(EPOCH, epoch=2), 1, ends, [b"n" * 80] * 2)
    assert publish(store, old)
    assert publish(store, new)
    asyncio.run(StoredStatusGaps(store.database).forget(LIST.id, before=2))
    assert asyncio.run(StoredStatusGaps(store.database).shard(LIST.id, old[0].digests[0])) is None
    assert asyncio.run(StoredStatusGaps(store.database).shard(LIST.id, new[0].digests[0])) == new[1][0]


def test_missing_list_is_none(store: Store) -> None:
    for name in ("absent", "A" * 22, "absent\0"):
        assert asyncio.run(StoredStatusGaps(store.database).published(name, 1)) is None
        assert asyncio.run(StoredStatusGaps(store.database).shard(name, bytes(32))) is None
    assert asyncio.run(StoredStatusGaps(store.database).listed("absent", last_day=0)) == (0, [])
    assert asyncio.run(StoredStatusGaps(store.database).lists()) == []


def test_lists_are_there_after_a_restart(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    handle = give(store, "urn:a")
    assert publish(store, edition(1))
    asyncio.run(store.close())
    store = Store.open(tmp_path)
    assert give(store, "urn:a") == handle
    assert asyncio.run(StoredStatusGaps(store.database).published(LIST.id, 20_780)) is not None
    asyncio.run(store.close())
