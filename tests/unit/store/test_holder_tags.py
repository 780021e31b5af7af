"""The tags by which an issuer recognises its holders: one for a holder, one holder for each (PROTOCOL-2.md §3.3)."""

from __future__ import annotations

import asyncio
import os
import uuid
from typing import Any

import pytest

from identity_core.domain.credentials.credential import Binding, Credential
from identity_core.domain.dids.did import Did
from identity_core.errors import Conflict
from identity_core.ports.credentials import RegisteredSchema
from identity_core.store import Store
from tests.credentials import HOLDER, ISSUER, NOW, a_credential, a_schema

FIRST, SECOND = b"1" * 48, b"2" * 48
UMA = Did.parse("did:ids:uma")


@pytest.fixture(autouse=True)
def schema(store: Store) -> None:
    assert asyncio.run(store.credential_schemas.add(RegisteredSchema(a_schema(), NOW, "x")))


async def added(
    store: Store, tag: bytes | None, *, name: str = "s", accepts: bool = False, **changed: Any
) -> Credential | None:
    binding = Binding(b"header", b"k" * 48, 1, name, accepts)
    new = a_credential(id=f"urn:uuid:{uuid.uuid4()}", binding=binding, **changed)
    return await store.credentials.add(new, b"box", tag, random=os.urandom)


def add(store: Store, tag: bytes | None, **changed: Any) -> bool:
    """Whether the stored credential states that its secret is another one than before."""
    stored = asyncio.run(added(store, tag, **changed))
    assert stored is not None
    assert stored.binding is not None
    return stored.binding.secret_replaced


def test_another_tag_of_a_holder_is_refused(store: Store) -> None:
    assert not add(store, FIRST)
    assert not add(store, FIRST, name="another name of the same secret")
    with pytest.raises(Conflict) as refused:
        add(store, SECOND)
    assert "newHolderSecret" in str(refused.value.details["remedy"])
    with pytest.raises(Conflict):
        add(store, None)
    assert not add(store, SECOND, issuer=UMA), "each issuer has its own record"


def test_another_tag_that_is_accepted_is_recorded(store: Store) -> None:
    assert not add(store, FIRST, accepts=True), "it is not another one, whatever is accepted"
    assert add(store, SECOND, accepts=True)
    assert not add(store, SECOND)
    with pytest.raises(Conflict):
        add(store, FIRST)
    assert [add(store, tag, accepts=True) for tag in (FIRST, FIRST, SECOND, FIRST)] == [True, False, True, True]


def test_a_tag_of_another_holder_is_refused(store: Store) -> None:
    """Also a former one, and whatever the issuer accepts."""
    add(store, FIRST)
    add(store, SECOND, accepts=True)
    for tag in (FIRST, SECOND):
        for accepts in (False, True):
            with pytest.raises(Conflict, match="Another holder"):
                add(store, tag, holder=UMA, accepts=accepts)
    assert not add(store, b"3" * 48, holder=UMA)


def test_without_tags_the_name_of_the_secret_decides(store: Store) -> None:
    """Credentials from before tags were recorded."""
    assert not add(store, None, name="did:ids:hana")
    assert not add(store, FIRST, name="did:ids:hana")
    for name in ("did:ids:hana", ""):
        assert not add(store, None, name=name, holder=UMA, issuer=HOLDER if name else ISSUER)
    with pytest.raises(Conflict):
        add(store, FIRST, name="did:ids:uma@2", holder=UMA, issuer=HOLDER)
    with pytest.raises(Conflict):
        add(store, b"3" * 48, name="", holder=UMA)
    assert add(store, b"3" * 48, name="", holder=UMA, accepts=True)


def test_one_of_many_concurrent_tags_is_recorded(store: Store) -> None:
    async def race() -> list[Any]:
        tags = [bytes([number % 4]) * 48 for number in range(40)]
        return await asyncio.gather(*(added(store, tag) for tag in tags), return_exceptions=True)

    found = asyncio.run(race())
    stored = [one for one in found if isinstance(one, Credential)]
    assert len(stored) == 10
    assert all(isinstance(one, Conflict) for one in found if not isinstance(one, Credential)), found
    (tags,) = asyncio.run(
        store.database.read(lambda reading: reading.execute("SELECT count(*) FROM holder_tags").fetchall())
    )
    assert tags[0] == 1
