"""Which secret a credential is bound to: after the holder's rotation, and after the custodian's own key was replaced."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from identity_bound_credentials.store.holder_secrets import StoredHolderSecrets
from identity_bound_credentials.use_cases.holder_secrets import RotateHolderSecret
from identity_bound_credentials.wire import RotateHolderSecretRequest

from identity_bbs.holders import generation_of, name_of, root_of
from identity_core.domain.callers import Caller
from identity_core.errors import Conflict, CredentialRevoked, Forbidden
from tests.unit.use_cases.credentials.conftest import Keys, Office, context, key_caller


class RenewingKeys(Keys):
    """One whose own key, which secrets follow from, may be replaced."""

    root = 1

    async def holders_root(self) -> int:
        return self.root


@pytest.fixture
def keys(office: Office) -> RenewingKeys:
    custodian: Any = office.rooms.custodian
    custodian.__class__ = RenewingKeys
    renewing: RenewingKeys = custodian
    return renewing


def test_names_say_of_what_they_are() -> None:
    named = {("did:ids:h", 1, 1): "did:ids:h", ("did:ids:h", 2, 1): "did:ids:h#2", ("did:ids:h", 1, 3): "did:ids:h@3"}
    named["did:ids:h", 12, 3] = "did:ids:h#12@3"
    for (holder, generation, root), name in named.items():
        assert name_of(holder, generation, root) == name
        assert (generation_of(name), root_of(name)) == (generation, root)


def test_the_next_credential_is_bound_to_the_present_secret(office: Office, keys: RenewingKeys) -> None:
    """A key of the custodian's that was stolen is not a holder's doing: she is told and forgets without a rotation."""
    rotate = RotateHolderSecret(
        StoredHolderSecrets(office.rooms.store.database, office.rooms.store.activity), keys, office.rooms.clock
    )
    hana = context(Caller(did=office.hana, authorization="DIDAuth x"), "rotateHolderSecret")

    async def scenario() -> None:
        first = (await office.bound()).credential
        _, done = await rotate(RotateHolderSecretRequest(forget_former=False), hana)
        assert [one.id for one in done.credentials] == [first.id]
        with pytest.raises(Conflict) as refused:
            await office.bound()
        assert "newHolderSecret" in str(refused.value.details["remedy"])
        second = (await office.bound(new_holder_secret=True)).credential
        keys.root = 2
        third = (await office.bound(new_holder_secret=True)).credential
        replaced = [one.binding.secret_replaced for one in (first, second, third)]
        assert replaced == [False, True, True]
        names = [one.binding.secret for one in (first, second, third)]
        assert names == [str(office.hana), f"{office.hana}#2", f"{office.hana}#2@2"]
        _, forgotten = await rotate(RotateHolderSecretRequest(forget_former=True), hana)
        assert ({one.id for one in forgotten.credentials}, forgotten.generation) == ({first.id, second.id}, 2)
        now = office.rooms.clock.now()
        for credential in (first, second):
            kept = await office.credentials.get(credential.id)
            assert kept is not None
            with pytest.raises(CredentialRevoked) as refused:
                kept.check_usable(now)
            assert "anew" in str(refused.value.details["remedy"])
        kept = await office.credentials.get(third.id)
        assert kept is not None
        kept.check_usable(now)

    asyncio.run(scenario())


def test_nobody_rotates_in_the_holders_place(office: Office, keys: RenewingKeys) -> None:
    rotate = RotateHolderSecret(
        StoredHolderSecrets(office.rooms.store.database, office.rooms.store.activity), keys, office.rooms.clock
    )
    for caller in (key_caller(), Caller(subject=office.hana)):
        with pytest.raises(Forbidden):
            asyncio.run(rotate(RotateHolderSecretRequest(forget_former=True), context(caller)))
