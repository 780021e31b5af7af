"""Generations of holders' secrets, on both databases: rotated, told, and forgotten, whole or not at all."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import NoReturn

import pytest
from identity_bound_credentials.ports import BoundCredential, SecretRotation
from identity_bound_credentials.store.holder_secrets import StoredHolderSecrets

from identity_codec.times import micros
from identity_core.domain.activity import EventRecord
from identity_core.errors import CredentialRevoked
from identity_core.ports.proofs import Consumption
from identity_core.store import Store
from tests.events import EVENT
from tests.unit.store.test_invocations import HOLDER, NOW, code, consume, execute, invocation, question, rows, run_story

MANY = 10
_COLUMNS = (
    "issuer, {holder}, schema_id, verification_method, issuer_public_key, valid_from, {until}, {status}, status_reason, {place}, version, "
    "{created}, created_by, sealed, bound_header, commitment, handle, {secret}, disclosures_reset_at, forgotten_at, secret_replaced"
)


async def bound(store: Store, id: str, secret: str, place: int, **change: object) -> None:
    """A credential like c-1 that is bound to that secret; the greater its place, the younger."""
    given = {"holder": "holder", "until": "valid_until", "status": "status", "created": f"created_at + {place}"}
    columns = _COLUMNS.format(**{**given, **change}, place=place + 100, secret=f"'{secret}'")
    await execute(store, f"INSERT INTO credentials SELECT '{id}', {columns} FROM credentials WHERE id = 'c-1'")


def quiet(_: SecretRotation) -> EventRecord:
    return EVENT


async def forgotten(store: Store) -> list[str]:
    return [id for (id,) in await rows(store, "SELECT id FROM credentials WHERE forgotten_at IS NOT NULL ORDER BY id")]


def test_a_rotation_tells_what_stays_bound_to_former_secrets(store: Store) -> None:
    async def story(store: Store) -> None:
        assert await StoredHolderSecrets(store.database, store.activity).generation(HOLDER) == 1
        await bound(store, "b-2", HOLDER, 2)
        await bound(store, "b-1", HOLDER, 1)
        await bound(store, "of-a-wallet", "", 3)
        await bound(store, "of-another", "did:ids:else", 4, holder="'did:ids:else'")
        await bound(store, "revoked", HOLDER, 5, status="'revoked'")
        await bound(store, "expired", HOLDER, 6, until=str(micros(NOW)))
        first = await StoredHolderSecrets(store.database, store.activity).rotate(HOLDER, 1, NOW, quiet, limit=MANY)
        (issuer,) = (await rows(store, "SELECT issuer FROM credentials WHERE id = 'c-1'"))[0]
        expected = [BoundCredential(id, issuer, HOLDER) for id in ("b-1", "b-2")]
        assert (first.generation, first.credentials, first.is_last) == (2, expected, True)
        await bound(store, "b-3", f"{HOLDER}#2", 7)
        second = await StoredHolderSecrets(store.database, store.activity).rotate(HOLDER, 1, NOW, quiet, limit=2)
        assert (second.generation, [one.id for one in second.credentials], second.is_last) == (3, ["b-1", "b-2"], False)
        assert await StoredHolderSecrets(store.database, store.activity).generation(HOLDER) == 3
        assert await StoredHolderSecrets(store.database, store.activity).generation("did:ids:else") == 1

    run_story(store, story)


def test_all_is_forgotten_that_is_not_of_the_present_generation(store: Store) -> None:
    async def story(store: Store) -> None:
        await bound(store, "b-1", HOLDER, 1)
        assert (
            await StoredHolderSecrets(store.database, store.activity).forget(HOLDER, 1, NOW, quiet, limit=MANY)
        ).credentials == []
        assert await forgotten(store) == []
        await StoredHolderSecrets(store.database, store.activity).rotate(HOLDER, 1, NOW, quiet, limit=MANY)
        await bound(store, "b-2", HOLDER, 2)
        await bound(store, "b-3", f"{HOLDER}#2", 3)
        await bound(store, "expired", HOLDER, 4, until=str(micros(NOW)))
        await bound(store, "of-another", "did:ids:else", 5, holder="'did:ids:else'")
        done = await StoredHolderSecrets(store.database, store.activity).forget(HOLDER, 1, NOW, quiet, limit=1)
        assert (done.generation, [one.id for one in done.credentials], done.is_last) == (2, ["b-1"], False)
        assert await forgotten(store) == ["b-1", "b-2", "expired"], "what is not named is forgotten too"
        again = await StoredHolderSecrets(store.database, store.activity).forget(
            HOLDER, 1, NOW + timedelta(1), quiet, limit=MANY
        )
        assert (again.credentials, again.is_last) == ([], True)
        assert {at for (at,) in await rows(store, "SELECT forgotten_at FROM credentials")} == {None, micros(NOW)}

    run_story(store, story)


def test_many_rotations_at_once_are_as_many_generations(store: Store) -> None:
    async def story(store: Store) -> None:
        secrets = StoredHolderSecrets(store.database, store.activity)
        done = await asyncio.gather(*(secrets.rotate(HOLDER, 1, NOW, quiet, limit=1) for _ in range(8)))
        assert sorted(one.generation for one in done) == [*range(2, 10)]

    run_story(store, story)


def test_interrupted_rotation_changes_nothing(store: Store) -> None:
    """The report fails, as after a kill of the process: neither the change nor a line of it stays."""

    class Killed(Exception):
        pass

    def killed(_: SecretRotation) -> NoReturn:
        raise Killed

    async def story(store: Store) -> None:
        await bound(store, "b-1", HOLDER, 1)
        with pytest.raises(Killed):
            await StoredHolderSecrets(store.database, store.activity).rotate(HOLDER, 1, NOW, killed, limit=MANY)
        assert await StoredHolderSecrets(store.database, store.activity).generation(HOLDER) == 1
        await StoredHolderSecrets(store.database, store.activity).rotate(HOLDER, 1, NOW, quiet, limit=MANY)
        with pytest.raises(Killed):
            await StoredHolderSecrets(store.database, store.activity).forget(HOLDER, 1, NOW, killed, limit=MANY)
        assert await forgotten(store) == []

    run_story(store, story)


def test_nothing_is_consumed_for_what_is_forgotten(store: Store) -> None:
    """Also where it was forgotten since the request looked."""

    async def story(store: Store) -> None:
        asked = Consumption(("d-1",), ("c-1",), (question(b"1", MANY, None),))
        both = Consumption(("d-1",), ("c-1", "b-1"), (question(b"1", MANY, None),))
        await bound(store, "b-1", f"{HOLDER}#2", 1)
        assert await code(consume(store, invocation(), asked, NOW)) == "Lease"
        await execute(store, f"UPDATE credentials SET holder_secret = '{HOLDER}' WHERE id = 'c-1'")
        await StoredHolderSecrets(store.database, store.activity).rotate(HOLDER, 1, NOW, quiet, limit=MANY)
        await StoredHolderSecrets(store.database, store.activity).forget(HOLDER, 1, NOW, quiet, limit=MANY)
        for wanted in (asked, both):
            assert await code(consume(store, invocation(), wanted, NOW)) == CredentialRevoked.code

    run_story(store, story)
