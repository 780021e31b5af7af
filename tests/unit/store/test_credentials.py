"""Credentials in the store: places in status lists, pages, states that two may change at once."""

from __future__ import annotations

import asyncio
import os
import uuid
from datetime import timedelta
from typing import Any

import orjson
import pytest

from identity_client.status_list import ENTRIES
from identity_codec.values import replace
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import Credential, CredentialStatus, StatusPurpose
from identity_core.domain.dids.did import Did
from identity_core.errors import Overloaded
from identity_core.ports.credentials import CredentialFilter, RegisteredSchema
from identity_core.ports.repositories import RowPosition
from identity_core.store import Store
from identity_core.store.credentials import TRIES
from tests.credentials import HOLDER, ISSUER, NOW, a_credential, a_schema

BOX = b"sealed"
REVOCATION, SUSPENSION = StatusPurpose


@pytest.fixture(autouse=True)
def schema(store: Store) -> RegisteredSchema:
    registered = RegisteredSchema(a_schema(), NOW, str(ISSUER))
    assert asyncio.run(store.credential_schemas.add(registered))
    return registered


def new(**changed: Any) -> Credential:
    return a_credential(**({"id": f"urn:uuid:{uuid.uuid4()}"} | changed))


def add(store: Store, credential: Credential) -> Credential:
    stored = asyncio.run(store.credentials.add(credential, BOX, random=os.urandom))
    assert stored is not None
    return stored


def test_a_schema_is_there_for_good(store: Store, schema: RegisteredSchema) -> None:
    assert asyncio.run(store.credential_schemas.get(schema.definition.schema.id)) == schema
    other = replace(schema, created_by="did:example:mallory")
    assert not asyncio.run(store.credential_schemas.add(other))
    assert asyncio.run(store.credential_schemas.get(schema.definition.schema.id)) == schema
    assert asyncio.run(store.credential_schemas.get("urn:absent\0")) is None


def test_titles_of_a_schema_count_for_the_size_of_a_page(store: Store) -> None:
    titles = {"": {"title": "Person"}, "age": {"titles": {"de": "Alter"}}}
    for name in ("urn:b", "urn:c"):
        asyncio.run(store.credential_schemas.add(RegisteredSchema(a_schema(name), NOW, "x", titles)))
    found = asyncio.run(store.credential_schemas.get("urn:b"))
    assert found is not None
    assert found.titles == titles
    two = 2 * len(orjson.dumps(schema_json.attributes_json(a_schema("urn:b"))))
    for size, listed in ((two, ["urn:b"]), (two + 2 * len(orjson.dumps(titles)), ["urn:b", "urn:c"])):
        page = asyncio.run(store.credential_schemas.list(after=None, limit=2, byte_count=size))
        assert [one.definition.schema.id for one in page.items] == listed


def test_schemas_are_listed_in_order(store: Store) -> None:
    for name in ("urn:b", "urn:a", "urn:Z"):
        asyncio.run(store.credential_schemas.add(RegisteredSchema(a_schema(name), NOW, "x")))

    def page(after: str | None, limit: int, byte_count: int = 100_000) -> tuple[list[str], bool]:
        found = asyncio.run(store.credential_schemas.list(after=after, limit=limit, byte_count=byte_count))
        return [one.definition.schema.id for one in found.items], found.is_last

    assert page(None, 10) == (["urn:Z", "urn:a", "urn:b", "urn:example:person:1"], True)
    assert page(None, 4) == (["urn:Z", "urn:a", "urn:b", "urn:example:person:1"], True)
    assert page("urn:a", 1) == (["urn:b"], False)
    assert page("urn:example:person:1", 1) == ([], True)
    # One at least, however large, so that a reader gets on.
    assert page(None, 10, byte_count=1) == (["urn:Z"], False)
    one = len(orjson.dumps(schema_json.attributes_json(a_schema("urn:a"))))
    assert page(None, 10, byte_count=2 * one) == (["urn:Z", "urn:a"], False)
    assert page("urn:a", 10, byte_count=2 * one - 1) == (["urn:b"], False)
    assert page("urn:a", 10, byte_count=2 * one) == (["urn:b", "urn:example:person:1"], True)


def test_stored_credential_is_read(store: Store) -> None:
    made = new(valid_until=NOW + timedelta(days=1), created_by="apiKey:0123456789ab")
    stored = add(store, made)
    assert replace(stored, status_index=0) == made
    assert asyncio.run(store.credentials.get(made.id)) == stored
    assert asyncio.run(store.credentials.sealed(made.id)) == BOX
    assert asyncio.run(store.credentials.get("urn:absent\0")) is None
    assert asyncio.run(store.credentials.sealed("urn:absent")) is None


def test_an_id_is_taken_once(store: Store) -> None:
    made = add(store, new())
    again = a_credential(id=made.id, holder=Did.parse("did:example:eve"))
    assert asyncio.run(store.credentials.add(again, b"other", random=os.urandom)) is None
    assert asyncio.run(store.credentials.get(made.id)) == made
    assert asyncio.run(store.credentials.sealed(made.id)) == BOX


def test_places_are_random_and_each_is_taken_once(store: Store) -> None:
    async def together() -> list[Credential | None]:
        return await asyncio.gather(
            *(store.credentials.add(new(), BOX, random=os.urandom) for _ in range(60)),
            *(store.credentials.add(new(issuer=HOLDER), BOX, random=os.urandom) for _ in range(5)),
        )

    made = [one for one in asyncio.run(together()) if one is not None]
    assert len(made) == 65
    places = [one.status_index for one in made if one.issuer == ISSUER]
    assert len(set(places)) == 60
    assert all(0 <= place < ENTRIES for place in places)
    # Sixty places in a row, or in ascending order, would tell who came after whom.
    assert places != sorted(places)
    assert max(places) - min(places) > 60


def dice_of(*numbers: int) -> Any:
    """Dice that throw these numbers first."""
    data = b"".join(number.to_bytes(4, "big") for number in numbers)
    return lambda count: (data + bytes(count))[:count]


def test_a_taken_place_is_passed_over(store: Store) -> None:
    first = asyncio.run(store.credentials.add(new(), BOX, random=dice_of(7)))
    second = asyncio.run(store.credentials.add(new(), BOX, random=dice_of(7, 7, 9)))
    elsewhere = asyncio.run(store.credentials.add(new(issuer=HOLDER), BOX, random=dice_of(7)))
    assert [one.status_index for one in (first, second, elsewhere) if one] == [7, 9, 7]


def test_dice_that_find_no_place_are_told_apart_from_a_taken_id(store: Store) -> None:
    asyncio.run(store.credentials.add(new(), BOX, random=dice_of(*[0] * TRIES)))
    with pytest.raises(Overloaded):
        asyncio.run(store.credentials.add(new(), BOX, random=dice_of(*[0] * TRIES)))


def test_a_full_list_is_followed_by_the_next(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_list, "FULL", 2)
    made = [add(store, new()) for _ in range(5)]
    assert [one.status_index // ENTRIES for one in made] == [0, 0, 1, 1, 2]
    versions = [
        asyncio.run(store.credentials.status_list_version(status_list.list_id(ISSUER, number))) for number in range(4)
    ]
    assert versions == [1, 1, 1, None]


def test_the_lists_say_what_the_rows_say(store: Store) -> None:
    made = [add(store, new()) for _ in range(4)]
    name = status_list.list_id(ISSUER, 0)
    later = NOW + timedelta(hours=1)
    revoked, suspended, both, _ = made

    async def change() -> None:
        for one, status in (
            (revoked, CredentialStatus.REVOKED),
            (suspended, CredentialStatus.SUSPENDED),
            (both, CredentialStatus.SUSPENDED),
        ):
            changed = await store.credentials.set_status(one, status, "because", later)
            assert changed is not None
            assert (changed.status, changed.status_reason, changed.version) == (status, "because", 2)
            if one is both:
                assert await store.credentials.set_status(changed, CredentialStatus.REVOKED, None, later)

    asyncio.run(change())
    revocations = asyncio.run(store.credentials.status_list(name, REVOCATION))
    suspensions = asyncio.run(store.credentials.status_list(name, SUSPENSION))
    assert revocations is not None
    assert suspensions is not None
    assert set(revocations.set_indexes) == {revoked.status_index, both.status_index}
    assert set(suspensions.set_indexes) == {suspended.status_index}
    assert revocations.version == asyncio.run(store.credentials.status_list_version(name)) == 5
    assert revocations.changed_at == later
    assert asyncio.run(store.credentials.status_list("A" * 22, REVOCATION)) is None


def test_the_status_at_a_place(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("identity_core.domain.credentials.status_list.FULL", 1)
    first, second = add(store, new()), add(store, new())
    assert [one.status_index // ENTRIES for one in (first, second)] == [0, 1]
    asyncio.run(store.credentials.set_status(second, CredentialStatus.SUSPENDED, None, NOW))

    def read_status(number: int, place: int) -> CredentialStatus | None:
        return asyncio.run(store.credentials.status_at(status_list.list_id(ISSUER, number), place))

    places = [one.status_index % ENTRIES for one in (first, second)]
    assert (read_status(0, places[0]), read_status(1, places[1])) == (
        CredentialStatus.ACTIVE,
        CredentialStatus.SUSPENDED,
    )
    assert read_status(0, (places[0] + 1) % ENTRIES) is None
    assert read_status(2, places[0]) is None
    assert asyncio.run(store.credentials.status_at("absent", places[0])) is None
    found = asyncio.run(store.credentials.status_list(status_list.list_id(ISSUER, 1), SUSPENSION))
    assert found is not None
    assert (found.issuer, found.set_indexes) == (str(ISSUER), [places[1]])


def test_one_of_two_concurrent_changes_wins(store: Store) -> None:
    made = add(store, new())

    async def together() -> list[Credential | None]:
        statuses = (CredentialStatus.REVOKED, CredentialStatus.SUSPENDED)
        return await asyncio.gather(*(store.credentials.set_status(made, one, None, NOW) for one in statuses))

    done = [one for one in asyncio.run(together()) if one is not None]
    assert len(done) == 1
    assert asyncio.run(store.credentials.get(made.id)) == done[0]


def test_pages_are_newest_first_and_do_not_overlap(store: Store) -> None:
    made = [add(store, new(created_at=NOW + timedelta(seconds=place // 2))) for place in range(6)]
    expected = sorted(made, key=lambda one: (one.created_at, one.id), reverse=True)
    seen: list[Credential] = []
    after = None
    while page := asyncio.run(store.credentials.list(CredentialFilter(), after=after, limit=2)):
        seen += page
        after = RowPosition(page[-1].created_at, page[-1].id)
    assert seen == expected


def test_filters(store: Store) -> None:
    eve = Did.parse("did:example:eve")
    ours, held, issued, foreign = (
        add(store, new(holder=holder, issuer=issuer))
        for holder, issuer in ((HOLDER, ISSUER), (ISSUER, eve), (eve, ISSUER), (eve, HOLDER))
    )

    def ids(**wanted: Any) -> set[str]:
        return {one.id for one in asyncio.run(store.credentials.list(CredentialFilter(**wanted), after=None, limit=9))}

    assert ids(party=str(ISSUER)) == {ours.id, held.id, issued.id}
    assert ids(holder=str(eve)) == {issued.id, foreign.id}
    assert ids(party=str(ISSUER), holder=str(eve)) == {issued.id}
    assert ids(issuer=str(HOLDER), status=CredentialStatus.ACTIVE) == {foreign.id}
    assert ids(status=CredentialStatus.REVOKED) == set()
