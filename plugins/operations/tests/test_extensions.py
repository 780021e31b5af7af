"""``identity extensions``: what is on and why, turned on and off in the settings file, and removed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.postgres_server import postgres_server, postgres_url
from tests.unit.cli.conftest import Commands

__all__ = ["postgres_server", "postgres_url"]

pytest.importorskip("identity_vcalm")


@pytest.fixture
def settings_file(tmp_path: Path) -> Path:
    path = tmp_path / "identity.toml"
    path.write_text(f'data_dir = "{tmp_path / "data"}"  # here\n')
    return path


@pytest.fixture
def here(settings_file: Path) -> Commands:
    return Commands({"IDENTITY_CONFIG": str(settings_file), "IDENTITY_EXTENSIONS_ENABLED": ""})


def state(here: Commands) -> str:
    return next(row["state"] for row in here.json("extensions", "list") if row["name"] == "vcalm")


def test_extension_is_turned_on_and_off(here: Commands, settings_file: Path) -> None:
    before = settings_file.read_text()
    assert state(here) == "off"
    assert "restart the service" in here.ok("extensions", "enable", "vcalm")
    assert state(here) == "on"
    assert here.json("extensions", "disable", "vcalm")["on"] is False
    assert state(here) == "off"
    assert settings_file.read_text().startswith(before)
    assert tomllib.loads(settings_file.read_text())["extensions"] == {"enabled": [], "disabled": ["vcalm"]}


def test_list_shows_the_place_of_the_setting(here: Commands, settings_file: Path) -> None:
    here.ok("extensions", "enable", "vcalm")
    assert f"vcalm: on (file {settings_file}:4)" in here.ok("extensions", "list")


def test_required_extension_is_not_turned_off(here: Commands, settings_file: Path) -> None:
    before = settings_file.read_text()
    what, _, remedy = here.refused("extensions", "disable", "transparency", status=2)
    assert "The extension anchoring requires the extension transparency." in what
    assert "Disable anchoring first." in remedy
    here.refused("extensions", "remove", "transparency", "--purge", "--yes", status=2)
    assert settings_file.read_text() == before


def test_dependent_extension_is_turned_on_last(here: Commands, settings_file: Path) -> None:
    settings_file.write_text('[extensions]\ndisabled = ["anchoring", "transparency"]\n')
    assert "Enable transparency first." in here.refused("extensions", "enable", "anchoring", status=2)[2]
    here.json("extensions", "enable", "transparency")
    assert here.json("extensions", "enable", "anchoring")["on"] is True


def test_extension_that_is_off_is_available_and_not_active(here: Commands) -> None:
    states = {row["name"]: row["state"] for row in here.json("plugins", "list") if row["hook"] == "identity_extend"}
    assert (states["vcalm"], states["records"]) == ("available", "active")


def test_unknown_name_is_refused(here: Commands) -> None:
    lines = here.refused("extensions", "enable", "vclam", status=2)
    assert lines[0] == "error: No extension vclam is installed."
    assert lines[2] == "  do: Did you mean vcalm?"


def test_environment_wins_over_the_file(settings_file: Path) -> None:
    here = Commands({"IDENTITY_CONFIG": str(settings_file), "IDENTITY_EXTENSIONS_ENABLED": "vcalm"})
    before = settings_file.read_text()
    assert "environment" in here.refused("extensions", "disable", "vcalm", status=2)[0]
    assert settings_file.read_text() == before


def test_lists_in_another_form_are_left_alone(here: Commands, settings_file: Path) -> None:
    settings_file.write_text(settings_file.read_text() + 'extensions = { disabled = ["vcalm"] }\n')
    before = settings_file.read_text()
    assert "yourself" in here.refused("extensions", "enable", "vcalm")[2]
    assert settings_file.read_text() == before
