"""``identity custodian pkcs11``, as an operator types it."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import pkcs11
import pytest
from click.testing import CliRunner, Result
from identity_custodian_pkcs11 import Pkcs11Settings, keys, open_custodian, open_token
from pkcs11 import Attribute, ObjectClass

from identity_codec import multikey
from identity_codec.values import replace
from identity_core.cli import main
from identity_core.plugin import BuildContext
from tests.softhsm import PIN, SoftHsm


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def settings(softhsm: SoftHsm) -> Pkcs11Settings:
    """Return the settings of a new token."""
    return Pkcs11Settings(softhsm.module, softhsm.new_token(), PIN)


@pytest.fixture
def context(tmp_path: Path) -> BuildContext:
    return BuildContext(Clock(), logging.getLogger("identity"), tmp_path, None)


def run(settings: Pkcs11Settings, *words: str) -> Result:
    environment = {
        "IDENTITY_PLUGINS_PKCS11_MODULE": str(settings.module),
        "IDENTITY_PLUGINS_PKCS11_TOKEN": str(settings.token),
        "IDENTITY_PLUGINS_PKCS11_PIN": str(settings.pin),
    }
    return CliRunner().invoke(main, ["custodian", "pkcs11", "keys", *words], env=environment, prog_name="identity")


def test_keys_are_listed_and_tried(settings: Pkcs11Settings, context: BuildContext) -> None:
    assert run(settings).output == "no keys\n"
    custodian = open_custodian(settings, context)
    made = {name: custodian.generate(name, multikey.ED25519, did="did:ids:x", purpose="log") for name in ("b", "a")}
    custodian.close()
    listed = run(settings, "--json")
    assert listed.exit_code == 0, listed.output
    expected = [{"name": name, "publicKey": made[name], "fault": None} for name in ("a", "b")]
    assert json.loads(listed.stdout) == {
        "token": settings.token,
        "keys": expected,
        "holders": {"present": False, "fault": None},
    }
    assert run(settings).stdout == f"a  {made['a']}\nb  {made['b']}\n"


def test_a_key_that_cannot_be_used_is_told_and_left(settings: Pkcs11Settings, context: BuildContext) -> None:
    custodian = open_custodian(settings, context)
    for name in ("half", "whole"):
        custodian.generate(name, multikey.ED25519, did="did:ids:x", purpose="log")
    custodian.close()
    token = open_token(settings, context)

    def halve(connection: object) -> int:
        session: pkcs11.Session = connection.session  # type: ignore[attr-defined]
        wanted = {Attribute.CLASS: ObjectClass.PRIVATE_KEY, Attribute.LABEL: "half"}
        for one in list(session.get_objects(wanted)):
            one.destroy()
        return len(keys.names(session))

    assert token.run(halve) == 2
    token.close()
    for _ in range(2):
        listed = run(settings, "--json")
        assert listed.exit_code == 1, listed.output
        faults = {one["name"]: one["fault"] for one in json.loads(listed.stdout)["keys"]}
        assert faults == {"half": "there is no private key to this public key", "whole": None}
    assert "half  cannot be used: there is no private key" in run(settings).stdout


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pin": "wrong-pin"}, "the PIN is wrong"),
        ({"token": "none"}, "no token has the label"),
        ({"pin": ""}, "not set"),
    ],
)
def test_errors_have_three_lines(settings: Pkcs11Settings, change: dict[str, str], says: str) -> None:
    result = run(replace(settings, **change))
    assert result.exit_code in (1, 2)
    lines = result.stderr.splitlines()
    assert [line[:6] for line in lines] == ["error:", "  at: ", "  do: "], result.stderr
    assert says in lines[0]
    assert "wrong-pin" not in result.output
