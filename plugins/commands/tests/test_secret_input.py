"""Secrets reach a command by a file, the environment, standard input or a prompt; never as an argument, which `ps` shows."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from identity_commands.local_server import LocalServer

from tests.unit.cli.conftest import Commands


@pytest.fixture
def bare(server: LocalServer) -> Commands:
    """Commands that know where the service is, and no key."""
    return Commands({"IDENTITY_URL": server.url})


@pytest.fixture
def key_file(server: LocalServer, here: Path) -> Path:
    path = here / "api.key"
    path.write_text(server.api_key + "\n")
    path.chmod(0o600)
    return path


def test_an_api_key_as_an_argument_is_refused_and_not_repeated(bare: Commands, server: LocalServer) -> None:
    lines = bare.refused("did", "create", "--show-secrets", "--api-key", server.api_key, status=2)
    assert "everyone on this machine can read arguments" in lines[0]
    assert "IDENTITY_API_KEY" in lines[2]
    assert server.api_key not in "".join(lines)


def test_a_token_as_an_argument_is_refused_and_not_repeated(bare: Commands, here: Path) -> None:
    (here / "ibct.json").write_text("{}")
    words = (
        "proof",
        "request",
        "--ibct",
        here / "ibct.json",
        "--credential",
        "c",
        "--token",
        "eyJhbGciOiJFZERTQSJ9.e30.AA",
    )
    lines = bare.refused(*words, status=2)
    assert "IDENTITY_TOKEN" in lines[2]
    assert "eyJ" not in "".join(lines)


def test_an_api_key_from_a_file(bare: Commands, key_file: Path) -> None:
    assert bare.json("did", "create", "--show-secrets", "--api-key", key_file)["did"].startswith("did:ids:")


def test_an_api_key_from_standard_input(bare: Commands, server: LocalServer) -> None:
    created = bare.json("did", "create", "--show-secrets", "--api-key", "-", input=server.api_key + "\n")
    assert created["did"].startswith("did:ids:")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o620])
def test_an_api_key_file_that_others_can_touch_is_refused(bare: Commands, key_file: Path, mode: int) -> None:
    key_file.chmod(mode)
    lines = bare.refused("did", "create", "--show-secrets", "--api-key", key_file)
    assert "others can read this API key" in lines[0]
    assert "chmod 600" in lines[2]


def test_an_api_key_that_is_cut_off_is_refused(bare: Commands, key_file: Path) -> None:
    for text in ("idk_…", "idk_a\nidk_b", ""):
        key_file.write_text(text)
        assert "printable ASCII" in bare("did", "create", "--show-secrets", "--api-key", key_file).stderr


def test_a_keys_file_that_others_can_read_is_refused(remote: Commands, wallet: Path) -> None:
    wallet.chmod(0o644)
    lines = remote.refused("auth", "sign", "--purpose", "read", "--keys", wallet)
    assert "others can read this keys file" in lines[0]
    wallet.chmod(0o600)
    assert remote.ok("auth", "sign", "--purpose", "read", "--keys", wallet)


def test_a_keys_file_from_the_environment(server: LocalServer, wallet: Path) -> None:
    assert Commands({"IDENTITY_URL": server.url, "IDENTITY_KEYS": str(wallet)}).ok("auth", "sign", "--purpose", "read")


def test_keys_file_from_standard_input_signs_and_is_not_written(remote: Commands, wallet: Path) -> None:
    keys = wallet.read_text()
    assert remote.ok("auth", "sign", "--purpose", "read", "--keys", "-", input=keys)
    lines = remote.refused("did", "rotate", "--keys", "-", input=keys, status=2)
    assert "no file to go to" in lines[0]
    assert json.loads(wallet.read_text()) == json.loads(keys)
    assert remote.json("did", "resolve", json.loads(keys)["did"])["didDocumentMetadata"]["versionId"] == 1


def test_a_prompt_shows_nothing_of_the_secret() -> None:
    """On a terminal of its own: what is typed does not come back."""
    ours, theirs = pty.openpty()
    code = "from identity_commands.secret_input import typed_or_piped; import sys; sys.exit(typed_or_piped('API key') != 'idk_typed')"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as child:
        os.close(theirs)
        shown = b""
        while b"API key" not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, b"idk_typed\n")
        try:
            while data := os.read(ours, 1024):
                shown += data
        except OSError:
            pass  # Linux ends a terminal without a process with EIO.
        assert child.wait(timeout=60) == 0
    os.close(ours)
    assert b"idk_typed" not in shown
