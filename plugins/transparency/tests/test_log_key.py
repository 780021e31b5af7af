"""``identity keys rotate log``, ``token`` and ``seal``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from identity_transparency import rotation
from identity_transparency.use_cases.replace_key import ReplaceServiceKey
from identity_transparency.use_cases.rotate_log_key import RotateServiceKey

from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_core.domain.dids.logs import key_hash
from tests import servers
from tests.unit.cli.conftest import Commands

HASH = key_hash("z6Mk")


@pytest.fixture
def installed(identity: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """An installation with an API key, and rotations that wait for no other process, as there is none."""
    identity.ok("keys", "create", "--name", "ops", "--admin")

    async def at_once(_: float) -> None:
        return None

    def impatient(*parts: object) -> RotateServiceKey:
        return replace(RotateServiceKey(*parts), sleep=at_once)  # type: ignore[arg-type]

    def impatient_too(*parts: object) -> ReplaceServiceKey:
        return replace(ReplaceServiceKey(*parts), sleep=at_once)  # type: ignore[arg-type]

    monkeypatch.setattr(rotation, "RotateServiceKey", impatient)
    monkeypatch.setattr(rotation, "ReplaceServiceKey", impatient_too)
    return identity


def test_the_log_goes_on_from_key_to_key(installed: Commands, here: Path) -> None:
    first = installed.json("keys", "rotate", "log")
    assert (first["generation"], first["waiting"], len(first["retired"]), first["tree_size"]) == (2, 0, 1, 2)
    secret = os.urandom(32)
    public = multikey.encode_public(multikey.ED25519, ed25519.generate(secret).public)
    second = installed.json("keys", "rotate", "log", "--compromised", "--next-hash", key_hash(public))
    assert (second["generation"], second["retired"]) == (3, [first["multikey"]])
    assert second["service_did"] == first["service_did"]
    lines = installed.refused("keys", "rotate", "log")
    assert "Only the hash of the next key is known here" in lines[0]
    (here / "paper").write_text(multikey.encode_secret(multikey.ED25519, secret) + "\n")
    said = installed.ok("keys", "rotate", "log", "--key-file", "paper")
    assert f"the log continues under key 4, {public}" in said
    assert f"retired at a log size of 6 entries: {second['multikey']}" in said


def test_everything_is_sealed_anew(installed: Commands, here: Path) -> None:
    [folder] = here.rglob("custodian.sqlite")
    key = folder.with_name("custodian.key")
    before = key.read_bytes()
    first = installed.json("keys", "rotate", "seal")
    assert (first["key"], first["generation"], first["has_new_master_key"], first["left_to_do"]) == (
        "seal",
        2,
        False,
        "",
    )
    assert first["keys"] >= 2
    assert key.read_bytes() == before
    said = installed.ok("keys", "rotate", "seal", "--compromised")
    assert "are sealed under data key 3, which is sealed under a new master key" in said
    assert "earlier backups open with the old master key" in said
    assert key.read_bytes() != before
    lines = [json.loads(one["line"]) for one in installed.json("audit", "export")]
    said = [one["details"] for one in lines if one["operation"] == "rotateSeal"]
    assert [(one["generation"], one["compromised"], one["newMasterKey"]) for one in said] == [
        (2, False, False),
        (3, True, True),
    ]
    assert [one["name"] for one in installed.json("keys", "list")] == ["ops"]


def test_refusal_without_a_code_is_not_an_internal_error(
    installed: Commands, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (servers.CHEAP_PASSPHRASE | {"IDENTITY_PLUGINS_SEALED_PASSPHRASE": "correct horse"}).items():
        monkeypatch.setenv(name, value)
    [folder] = here.rglob("custodian.sqlite")
    assert installed.json("keys", "rotate", "seal")["generation"] == 2
    folder.with_name("custodian.key").unlink()
    first = installed.refused("keys", "rotate", "seal", "--compromised")[0]
    assert first.startswith("error: Another person may have the passphrase: ")


def test_key_without_own_seal_is_reported(installed: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from identity_custodian_sealed import SealedCustodian

    monkeypatch.delattr(SealedCustodian, "reseal_now")
    assert "seals nothing under a key that can be rotated" in installed.refused("keys", "rotate", "seal")[0]


def test_the_key_of_tokens_is_replaced(installed: Commands) -> None:
    first = installed.json("keys", "rotate", "token")
    assert (first["key"], first["number"], first["destroyed"]) == ("token", 2, [])
    assert installed.json("keys", "rotate", "log")["service_did"] == first["service_did"]
    said = installed.ok("keys", "rotate", "token", "--compromised")
    assert "access tokens are signed by key 3, z6Mk" in said
    assert "old signatures are refused" in said
    assert first["service_did"] in said
    assert "are valid until they expire" in installed.ok("keys", "rotate", "token")


def test_a_key_that_nothing_committed_to_is_refused(installed: Commands, here: Path) -> None:
    (here / "other").write_text(multikey.encode_secret(multikey.ED25519, os.urandom(32)))
    lines = installed.refused("keys", "rotate", "log", "--key-file", "other")
    assert "INVALID_REQUEST" in lines[0]
    assert installed.json("keys", "rotate", "log")["generation"] == 2


def test_nothing_is_finished_that_was_not_begun(installed: Commands) -> None:
    assert "never rotated" in installed.refused("keys", "rotate", "log", "--finish")[0]


@pytest.mark.parametrize(
    "words",
    [
        ("k_1", "--compromised"),
        ("k_1", "--finish"),
        ("k_1", "--next-hash", HASH),
        ("token", "--finish"),
        ("token", "--next-hash", HASH),
        ("log", "--finish", "--next-hash", HASH),
        ("log", "--next-hash", "Qm"),
        ("log", "--next-hash", HASH + "a"),
        ("log", "--key-file", "text"),
        ("seal", "--finish"),
    ],
)
def test_options_that_do_not_go_together(installed: Commands, here: Path, words: tuple[str, ...]) -> None:
    (here / "text").write_text("no key")
    installed.refused("keys", "rotate", *words, status=2)


def test_missing_installation_is_not_created(identity: Commands, here: Path) -> None:
    for key in ("log", "token"):
        identity.refused("keys", "rotate", key, "--data-dir", "elsewhere", status=2)
    assert not (here / "elsewhere").exists()
