"""The secrets of holders on a token: what the token protects, and the effects of another token or of changes on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pkcs11
import pytest
from identity_custodian_pkcs11 import Pkcs11Settings, master, open_token
from identity_kit.conformance.custodian_holders import REQUEST
from pkcs11 import Attribute, KeyType, ObjectClass

from identity_bbs import blind
from identity_bbs.bls12381 import select
from identity_bbs.suite import ciphersuite
from identity_core.errors import PluginUnavailable
from identity_core.ports.custodian import HolderCustodian, KeepingCustodian, KeyNotHeld
from plugins.custodian_pkcs11.tests.test_commands import Clock, context, run, settings
from plugins.custodian_pkcs11.tests.test_custodian_pkcs11 import open_custodian
from tests.softhsm import PIN, SoftHsm

__all__ = ["Clock", "context", "settings"]


@pytest.fixture
def custodian(softhsm: SoftHsm, settings: Pkcs11Settings, tmp_path: Path) -> Iterator[Any]:
    made: Any = open_custodian(softhsm, tmp_path, str(settings.token))
    yield made
    asyncio.run(made.close())


@pytest.fixture
def on_token(settings: Pkcs11Settings, context: Any, custodian: Any) -> Iterator[Callable[[Callable[[Any], Any]], Any]]:
    """Return a function that runs a job on the token beside the custodian, as a user with the PIN can."""
    token = open_token(settings, context)
    yield lambda job: token.run(lambda connection: job(connection.session))
    token.close()


def point(custodian: Any, secret: str = "hana") -> bytes:
    data = asyncio.run(custodian.commit_holder(secret, "a", REQUEST))
    return blind.check_commitment(ciphersuite(select()), data, REQUEST).point_octets


def ours(session: pkcs11.Session) -> list[Any]:
    return list(session.get_objects({Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.LABEL: master.LABEL}))


def test_it_keeps_secrets_and_signs_no_credentials(custodian: Any) -> None:
    assert isinstance(custodian, KeepingCustodian)
    assert not isinstance(custodian, HolderCustodian)


def test_no_consent_makes_what_secrets_follow_from(custodian: Any, on_token: Any) -> None:
    """A token that is another one, or was made anew, says that it has nothing, and gives no consent that nothing verifies."""
    with pytest.raises(KeyNotHeld):
        asyncio.run(custodian.consent("hana", ("a",), b"message", None))
    assert on_token(ours) == []
    point(custodian)
    assert asyncio.run(custodian.consent("hana", ("a",), b"message", None)).rhos
    assert len(on_token(ours)) == 1


def test_master_key_of_secrets_stays_on_the_token(custodian: Any, on_token: Any) -> None:
    point(custodian)

    def look(session: pkcs11.Session) -> None:
        (key,) = ours(session)
        assert (key[Attribute.SENSITIVE], key[Attribute.EXTRACTABLE]) == (True, False)
        with pytest.raises(pkcs11.AttributeSensitive):
            key[Attribute.VALUE]
        for change in ({Attribute.SENSITIVE: False}, {Attribute.EXTRACTABLE: True}):
            for attribute, value in change.items():
                with pytest.raises(pkcs11.PKCS11Error):
                    key[attribute] = value

    on_token(look)


def test_a_key_that_somebody_knows_is_not_used(custodian: Any, on_token: Any, settings: Pkcs11Settings) -> None:
    """A user who may write to the token puts a key there: this user could give the consent of a holder of later credentials."""

    def create_secret(session: pkcs11.Session) -> None:
        session.create_object(
            {
                Attribute.CLASS: ObjectClass.SECRET_KEY,
                Attribute.KEY_TYPE: KeyType.GENERIC_SECRET,
                Attribute.LABEL: master.LABEL,
                Attribute.TOKEN: True,
                Attribute.PRIVATE: True,
                Attribute.SENSITIVE: True,
                Attribute.EXTRACTABLE: False,
                Attribute.SIGN: True,
                Attribute.VALUE: b"k" * 32,
            }
        )

    on_token(create_secret)
    for ask in (lambda: point(custodian), lambda: asyncio.run(custodian.consent("hana", ("a",), b"message", None))):
        with pytest.raises(PluginUnavailable):
            ask()
    assert len(on_token(ours)) == 1, "nothing was made beside it"
    listed = run(settings)
    assert listed.exit_code == 1
    assert "was not made on this token" in listed.stdout


def test_two_of_them_are_none(custodian: Any, on_token: Any, settings: Pkcs11Settings) -> None:
    """Two hosts made one each: the key of a credential is unknown, so that an operator has to decide."""
    point(custodian)

    def make(session: pkcs11.Session) -> None:
        master.make(session)

    on_token(make)
    with pytest.raises(PluginUnavailable):
        point(custodian)
    assert "two keys that holders' secrets would follow from" in run(settings).stdout

    def derive_remaining(session: pkcs11.Session) -> list[bytes]:
        ours(session)[-1].destroy()
        return [master.derive(one, b"probe") for one in ours(session)]

    assert len(on_token(derive_remaining)) == 1
    assert point(custodian), "with one of them left it works again"


def test_another_token_is_another_holder(custodian: Any, softhsm: SoftHsm, tmp_path: Path) -> None:
    other: Any = open_custodian(softhsm, tmp_path, softhsm.new_token())
    try:
        assert point(custodian) != point(other)
        assert point(custodian) != point(custodian, "hanb")
    finally:
        asyncio.run(other.close())


def test_the_command_says_that_it_is_there(custodian: Any, settings: Pkcs11Settings) -> None:
    assert run(settings).stdout == "no keys\n"
    point(custodian)
    shown = run(settings)
    assert shown.exit_code == 0
    assert shown.stdout == f"{master.LABEL}  what the secrets of holders follow from\n"
    assert PIN not in shown.output
