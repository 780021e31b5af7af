from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from identity_api_keys.manage import (
    ApiKeyAdministration,
    scopes_from_request,
)
from identity_api_keys.stored_changes import ChangeStored
from identity_api_keys.wire import CreateApiKeyRequest, ListApiKeysQuery, RotateApiKeyRequest, UpdateApiKeyRequest
from msgspec import structs

from identity_codec.structs import UNSET
from identity_codec.times import printed
from identity_codec.values import replace
from identity_core.domain.activity import OPERATOR, RequestContext
from identity_core.domain.callers import Caller, digest_of
from identity_core.errors import (
    ApiKeyNotFound,
    AuthFailed,
    InvalidRequest,
    Overloaded,
    PluginUnavailable,
    VersionConflict,
)
from identity_core.use_cases.auth.authenticate import ApiKeyCache, AuthenticateApiKey
from identity_core.use_cases.auth.tagged import RecordKeyChange
from identity_core.use_cases.record import Record
from tests.events import Rows
from tests.listed_keys import is_minted
from tests.unit.use_cases.auth.memory_keys import Dice, MemoryKeys, MovingClock

WANTED = CreateApiKeyRequest(
    name="ci", scopes=("dids:create",), allowed_targets=("did:ids:a",), requests_per_second=5.0, burst=9
)
BY_OPERATOR = RequestContext("anyOperation", OPERATOR)


class Desk:
    """The use cases on one store, as the composition root wires them."""

    def __init__(self, store: MemoryKeys | None = None) -> None:
        self.store, self.clock, dice = store or MemoryKeys(), MovingClock(), Dice()
        known = ApiKeyCache(self.clock)
        self.audit = Rows()
        change, record = ChangeStored(self.store, known), RecordKeyChange(Record(self.audit), str.upper, self.clock)
        self.keys = ApiKeyAdministration(change, record, self.clock, dice)
        self._authenticate = AuthenticateApiKey([self.store], known, self.clock, str)

    def create(self, wanted: CreateApiKeyRequest = WANTED):
        return asyncio.run(self.keys.create(wanted, BY_OPERATOR))

    def rotate(self, key_id: str, grace_seconds: int = 0):
        return asyncio.run(self.keys.rotate(key_id, RotateApiKeyRequest(grace_seconds=grace_seconds), BY_OPERATOR))

    def update(self, key_id: str, **changes):
        return asyncio.run(self.keys.update(key_id, UpdateApiKeyRequest(**changes), BY_OPERATOR))

    def revoke(self, key_id: str):
        return asyncio.run(self.keys.revoke(key_id, BY_OPERATOR))

    def works(self, text: str) -> bool:
        try:
            asyncio.run(self._authenticate(text))
        except AuthFailed:
            return False
        return True


def test_a_new_key_works_and_only_its_digest_is_stored():
    desk = Desk()
    minted = desk.create()
    assert is_minted(minted.text)
    assert minted.key.digest == digest_of(minted.text)
    assert minted.key.id.startswith("key_")
    assert minted.text not in repr(vars(desk.store))
    assert minted.text not in repr(minted)
    assert desk.works(minted.text)
    assert replace(minted.key, id="", digest="").__eq__(replace(desk.store.by_id[minted.key.id], id="", digest=""))
    assert (minted.key.scopes, minted.key.burst, minted.key.source) == ({"dids:create"}, 9, "sql")


def test_two_keys_are_never_alike():
    desk = Desk()
    one, two = desk.create(), desk.create()
    assert one.text != two.text
    assert one.key.id != two.key.id


def test_an_expiry_in_the_past_is_refused():
    desk = Desk()
    with pytest.raises(InvalidRequest):
        desk.create(structs.replace(WANTED, expires_at=printed(desk.clock.now())))
    assert desk.store.by_id == {}


@pytest.mark.parametrize(("admin", "scopes"), [(UNSET, UNSET), (False, UNSET), (True, ()), (True, ("dids:create",))])
def test_creation_must_say_one_of_admin_and_scopes(admin, scopes):
    with pytest.raises(InvalidRequest):
        scopes_from_request(CreateApiKeyRequest(name="ci", admin=admin, scopes=scopes))


def test_admin_and_scopes_have_their_meaning():
    assert scopes_from_request(UpdateApiKeyRequest(admin=True)) is None
    assert scopes_from_request(UpdateApiKeyRequest(scopes=())) == frozenset()
    twice = UpdateApiKeyRequest(admin=False, scopes=("dids:list", "zkp:prove", "dids:list"))
    assert scopes_from_request(twice) == {"dids:list", "zkp:prove"}


def test_get_and_list():
    desk = Desk()
    made = sorted((desk.create().key for _ in range(3)), key=lambda key: key.id)
    assert asyncio.run(desk.keys.get(made[0].id)) == made[0]
    assert list(asyncio.run(desk.keys.list(ListApiKeysQuery(limit=1), after=made[0].id))) == made[1:]
    with pytest.raises(ApiKeyNotFound):
        asyncio.run(desk.keys.get("key_nobody"))


def test_update_changes_what_is_named_and_keeps_the_rest():
    desk = Desk()
    key = desk.create().key
    assert desk.update(key.id, name="new") == replace(key, name="new")
    cleared = desk.update(key.id, admin=True, allowed_targets=None, requests_per_second=None, burst=None)
    assert cleared == replace(key, name="new", scopes=None, allowed_targets=None, requests_per_second=None, burst=None)
    assert desk.store.by_id[key.id] == cleared
    assert desk.update(key.id) == cleared


def test_update_refuses_an_expiry_in_the_past_and_an_unknown_key():
    desk = Desk()
    key = desk.create().key
    with pytest.raises(InvalidRequest):
        desk.update(key.id, expires_at=printed(desk.clock.now()))
    with pytest.raises(ApiKeyNotFound):
        desk.update("key_nobody", name="x")


def test_a_change_counts_at_once():
    desk = Desk()
    minted = desk.create()
    assert desk.works(minted.text)
    desk.revoke(minted.key.id)
    assert not desk.works(minted.text)


def test_revocation_is_final_and_keeps_its_time():
    desk = Desk()
    key = desk.create().key
    revoked = desk.revoke(key.id)
    assert revoked.revoked_at == desk.clock.now()
    desk.clock.sleep(10)
    assert desk.revoke(key.id) == revoked
    assert desk.update(key.id, name="new").revoked_at == revoked.revoked_at
    with pytest.raises(InvalidRequest):
        desk.rotate(key.id)
    with pytest.raises(ApiKeyNotFound):
        desk.revoke("key_nobody")


def test_rotation_without_grace():
    desk = Desk()
    old = desk.create()
    rotated = desk.rotate(old.key.id)
    assert not desk.works(old.text)
    assert desk.works(rotated.successor.text)
    assert rotated.predecessor.revoked_at == desk.clock.now()


def test_rotation_with_grace():
    desk = Desk()
    old = desk.create()
    rotated = desk.rotate(old.key.id, 3_600)
    assert desk.works(old.text)
    assert desk.works(rotated.successor.text)
    desk.clock.sleep(3_599)
    assert desk.works(old.text)
    desk.clock.sleep(1)
    assert not desk.works(old.text)
    assert desk.works(rotated.successor.text)


def test_the_successor_is_the_same_caller_with_the_same_rights():
    desk = Desk()
    first = desk.create().key
    second = desk.rotate(first.id).successor.key
    third = desk.rotate(second.id).successor.key
    unlike = {"id": "", "digest": "", "lineage": None, "created_at": first.created_at}
    assert replace(third, **unlike) == replace(first, **unlike)
    assert len({Caller(api_key=key).identity for key in (first, second, third)}) == 1


def test_the_end_of_a_key_never_moves_away():
    desk = Desk()
    old = desk.create()
    first = desk.rotate(old.key.id, 3_600)
    with pytest.raises(InvalidRequest, match="rotated"):
        desk.rotate(old.key.id, 30 * 86_400)
    assert desk.store.by_id[old.key.id].revoked_at == desk.clock.now() + timedelta(hours=1)
    assert [key.id for key in desk.store.by_id.values() if key.usable(desk.clock.now())] == [
        old.key.id,
        first.successor.key.id,
    ]
    assert desk.revoke(old.key.id).revoked_at == desk.clock.now()


@pytest.mark.parametrize("grace", [-1, 90 * 86_400 + 1])
def test_a_grace_period_has_its_limits(grace):
    desk = Desk()
    key = desk.create().key
    with pytest.raises(InvalidRequest):
        desk.rotate(key.id, grace)
    assert list(desk.store.by_id) == [key.id]


def test_an_unknown_or_expired_key_is_not_rotated():
    desk = Desk()
    with pytest.raises(ApiKeyNotFound):
        desk.rotate("key_nobody")
    key = desk.create(structs.replace(WANTED, expires_at=printed(desk.clock.now() + timedelta(seconds=1)))).key
    desk.clock.sleep(1)
    with pytest.raises(InvalidRequest):
        desk.rotate(key.id)
    assert len(desk.store.by_id) == 1


class Contended(MemoryKeys):
    """A store that another process writes before each of our writes, ``times`` times."""

    def __init__(self, times: int, change) -> None:
        super().__init__()
        self.times = times
        self.change = change

    async def replace(self, key, *, expected):
        if self.times:
            self.times -= 1
            self.by_id[key.id] = self.change(self.by_id[key.id])
        await super().replace(key, expected=expected)


def test_update_that_loses_race_is_done_on_what_winner_left():
    desk = Desk(Contended(3, lambda key: replace(key, burst=(key.burst or 0) + 1)))
    key = desk.create().key
    assert desk.update(key.id, name="new") == replace(key, name="new", burst=12)


def test_an_update_never_undoes_a_revocation():
    desk = Desk()
    at = desk.clock.now()
    desk = Desk(Contended(1, lambda key: replace(key, revoked_at=at)))
    key = desk.create().key
    assert desk.update(key.id, name="new").revoked_at == at


def test_key_is_revoked_while_it_is_rotated_leaves_no_successor():
    at = MovingClock().now()
    desk = Desk(Contended(1, lambda key: replace(key, revoked_at=at)))
    old = desk.create()
    with pytest.raises(InvalidRequest):
        desk.rotate(old.key.id, 3_600)
    assert all(not key.usable(desk.clock.now()) for key in desk.store.by_id.values())
    assert len(desk.store.by_id) == 2


def test_after_sixteen_lost_races_it_gives_up():
    desk = Desk(Contended(99, lambda key: replace(key, burst=(key.burst or 0) + 1)))
    key = desk.create().key
    with pytest.raises(Overloaded):
        desk.update(key.id, name="new")


def test_a_digest_that_is_taken_is_refused():
    desk = Desk()
    key = desk.create().key
    with pytest.raises(VersionConflict):
        asyncio.run(desk.store.create(replace(key, id="key_other")))


def test_each_change_is_recorded_by_its_use_case():
    desk = Desk()
    key = desk.create().key
    desk.update(key.id, name="new")
    successor = desk.rotate(key.id).successor.key
    desk.revoke(successor.id)
    with pytest.raises(InvalidRequest):
        desk.rotate(key.id)
    with pytest.raises(InvalidRequest):
        desk.create(structs.replace(WANTED, expires_at=printed(desk.clock.now())))
    with pytest.raises(ApiKeyNotFound):
        desk.revoke("key_nobody")
    told = [(row.target, row.details["name"], row.details["fingerprint"]) for row in desk.audit.rows]
    assert told == [
        (key.id, "ci", key.digest.upper()),
        (key.id, "new", key.digest.upper()),
        (key.id, "new", key.digest.upper()),
        (successor.id, "new", successor.digest.upper()),
    ]
    assert desk.audit.rows[2].details["successor"] == successor.id
    assert {(row.operation, row.request_id, row.caller) for row in desk.audit.rows} == {("anyOperation", "-", None)}


@pytest.mark.parametrize("is_retired", [True, False])
def test_unknown_outcome_of_rotation_leaves_a_usable_key(is_retired):
    """The store fails when the old key is retired, and may have retired it: the successor must not be revoked then."""

    class Failing(MemoryKeys):
        async def replace(self, key, *, expected):
            if is_retired:
                await super().replace(key, expected=expected)
            raise PluginUnavailable

    desk = Desk(Failing())
    old = desk.create()
    with pytest.raises(PluginUnavailable):
        desk.rotate(old.key.id)
    assert desk.works(old.text) is not is_retired
    successors = [key for key in desk.store.by_id.values() if key.id != old.key.id]
    assert [key.revoked_at for key in successors] == [None]
