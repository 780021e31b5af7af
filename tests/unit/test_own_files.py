"""Settings, data directories and key files that another user can write are refused (CWE-427, CWE-732).

The tests change owners, so they need root; as another user the modes alone are tested.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from identity_commands.secret_input import read_private
from identity_keys_file.store import FileKeys
from identity_mcp.agent import AgentKey, NotSetUp

from identity_core.bootstrap import open_installation
from identity_core.files import require_own
from identity_core.settings import SettingsError, StartError, load
from tests.unit.cli.conftest import Commands, here, identity

__all__ = ["here", "identity"]

OTHER = 65_533
IS_ROOT = os.geteuid() == 0
HOSTILE = '[custodian]\nbackend = "pkcs11"\n[plugins.pkcs11]\nmodule = "/tmp/evil.so"\n'

as_root = pytest.mark.skipif(not IS_ROOT, reason="only root can give files to another user")


def file_of_owner(path: Path, owner: int = OTHER) -> Path:
    os.chown(path, owner, owner)
    return path


def written(folder: Path, text: str = "") -> Path:
    path = folder / "identity.toml"
    path.write_text(text)
    path.chmod(0o644)
    return path


def refusal() -> str:
    with pytest.raises(SettingsError) as refused:
        load(environment={})
    assert "chown" in refused.value.fix
    return f"{refused.value.what} {refused.value.where}"


@as_root
@pytest.mark.parametrize("words", ["doctor", "plugins check", "config show", "fsck", "serve --port 0"])
def test_settings_of_another_user_choose_no_module(identity: Commands, here: Path, words: str) -> None:
    file_of_owner(written(here, HOSTILE))
    lines = identity.refused(*words.split(), status=2)
    assert "belongs to user 65533" in lines[0]
    assert str(here / "identity.toml") in lines[1].replace(" identity.toml", f" {here}/identity.toml")


@as_root
def test_a_file_of_root_in_a_folder_of_another_user_is_refused(here: Path) -> None:
    written(here)
    file_of_owner(here)
    assert f"belongs to user {OTHER}. {here}" in refusal()


@as_root
def test_a_link_to_a_file_of_another_user_is_refused(here: Path) -> None:
    (here / "below").mkdir()
    target = file_of_owner(written(here / "below"))
    (here / "identity.toml").symlink_to(target)
    assert "belongs to user" in refusal()


@pytest.mark.parametrize("mode", [0o646, 0o666, 0o777])
def test_a_file_that_others_can_write_is_refused(here: Path, mode: int) -> None:
    written(here).chmod(mode)
    assert "other users can write it" in refusal()


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o703])
def test_a_folder_that_others_can_write_is_refused(here: Path, mode: int) -> None:
    """A sticky folder such as /tmp as well: anyone can make an identity.toml in it."""
    written(here)
    here.chmod(mode)
    assert f"other users can write it (mode {mode:04o}). {here}" in refusal()
    here.chmod(0o700)


@as_root
def test_a_group_with_others_in_it_can_write(here: Path) -> None:
    path = written(here)
    os.chown(path, 0, OTHER)
    path.chmod(0o664)
    assert "other users can write it" in refusal()
    # The group of root has no other members.
    os.chown(path, 0, 0)
    load(environment={})


@as_root
def test_root_uses_what_it_was_told_to_use(here: Path) -> None:
    """root administers a service of another user: `--config`, `data_dir` and key files name its files."""
    path = file_of_owner(written(here, f'data_dir = "{here}/data"\n'))
    given_folder = here / "data"
    given_folder.mkdir(mode=0o700)
    file_of_owner(given_folder)
    assert load(file=path, environment={}).data_dir == given_folder
    path.chmod(0o666)
    with pytest.raises(SettingsError, match="other users can write it"):
        load(file=path, environment={})


@as_root
def test_data_directory_of_another_user_is_refused(identity: Commands, here: Path) -> None:
    (here / "identity-data").mkdir(mode=0o700)
    file_of_owner(here / "identity-data")
    for words in ("doctor", "serve --port 0", "fsck"):
        assert "data directory is not used: it belongs to user 65533" in identity.refused(*words.split(), status=2)[0]


@as_root
def test_a_link_of_another_user_is_no_data_directory(identity: Commands, here: Path) -> None:
    """It led to another installation of root, and could be turned at any time."""
    (here / "theirs").mkdir(mode=0o700)
    (here / "mine").mkdir(mode=0o700)
    (here / "theirs" / "identity-data").symlink_to(here / "mine")
    file_of_owner(here / "theirs")
    os.chdir(here / "theirs")
    said = identity.refused("doctor", status=2)[0]
    assert "data directory is not used: it belongs to user 65533" in said


@as_root
def test_a_data_directory_of_another_user_is_not_served(identity: Commands, here: Path) -> None:
    """The service started with a warning about the mode, and left files of root among those of its user."""
    folder = here / "theirs"
    folder.mkdir(mode=0o700)
    file_of_owner(folder)
    lines = identity.refused("serve", "--port", "0", "--data-dir", folder)
    assert "belongs to user 65533" in lines[0]
    assert "serve as the user" in lines[2]
    assert list(folder.iterdir()) == []


def test_a_data_directory_that_others_can_write_is_refused(identity: Commands, here: Path) -> None:
    folder = here / "data"
    folder.mkdir()
    folder.chmod(0o777)
    assert "other users can write it" in identity.refused("doctor", "--data-dir", folder, status=2)[0]


def test_files_on_a_read_only_mount_are_trusted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container mounts a file of its host's user read-only; in a ConfigMap of Kubernetes folders have the mode 0777."""
    path = written(here)
    path.chmod(0o666)
    with pytest.raises(PermissionError):
        require_own(path)

    class ReadOnly:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda _: ReadOnly)
    require_own(path, is_named=False)


@as_root
def test_root_reads_the_file_of_the_system_first(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = here / "etc"
    system.mkdir()
    written(system, "[server]\nport = 1234\n")
    written(here, "[server]\nport = 4321\n")
    monkeypatch.setattr(sys.modules["identity_core.settings.load"], "SYSTEM_FILE", system / "identity.toml")
    assert load(environment={}).server.port == 1234
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)
    monkeypatch.setattr(sys.modules["identity_core.settings.load"], "require_own", lambda *_, **__: None)
    assert load(environment={}).server.port == 4321


def test_the_file_that_is_used_is_printed(identity: Commands, here: Path) -> None:
    path = written(here)
    for words in (("config", "show", "--origin"), ("plugins", "list"), ("doctor",)):
        assert f"settings: {path}\n" in identity(*words).stderr
    assert "settings:" not in identity("config", "show", "--config", path).stderr


def read_api_keys(path: Path) -> object:
    return FileKeys(path, logger=logging.getLogger("test"))


def read_agent_key(path: Path) -> object:
    return AgentKey.read("did:ids:x", path)


def read_cli_key(path: Path) -> object:
    return read_private(path, "key")


def read_secret_setting(path: Path) -> object:
    return load(environment={"IDENTITY_DATABASE_URL_FILE": str(path)})


@as_root
@pytest.mark.parametrize("read", [read_api_keys, read_agent_key, read_cli_key, read_secret_setting])
def test_a_key_file_of_another_user_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], read: Callable[[Path], object]
) -> None:
    """API keys, the key of an agent, keys of the command line, and secrets that the environment names as files."""
    key = here / "key"
    key.write_text("")
    key.chmod(0o600)
    file_of_owner(key)
    monkeypatch.setattr(os, "geteuid", lambda: OTHER - 1)
    with pytest.raises((ValueError, NotSetUp, SettingsError, SystemExit)) as refused:
        read(key)
    errors = [refused.value, refused.value.__cause__, capsys.readouterr().err]
    assert any("belongs to user 65533" in str(error) for error in errors), errors


def test_a_master_key_that_others_can_write_is_refused(here: Path) -> None:
    async def start() -> None:
        async with open_installation(load(environment={}, overrides={"data_dir": here / "data"})):
            pass

    asyncio.run(start())
    (here / "data" / "custodian.key").chmod(0o622)
    with pytest.raises(StartError, match="other users can write it"):
        asyncio.run(start())
