"""Extensions are on or off by default, by the settings, and by an upgrade; the settings file is edited in place."""

from __future__ import annotations

import asyncio
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from identity_operations.commands.extensions import edit_settings, require_from_file, write_settings

from identity_codec.values import replace
from identity_core.extension.choice import (
    BY_UPGRADE,
    choose_extensions,
    in_order,
    kept_extensions,
    read_store,
)
from identity_core.plugin.sockets import PluginError
from identity_core.settings import Settings, SettingsError, load
from identity_core.settings.sources import ExtensionSettings
from identity_core.store import Store
from tests.unit.extension.test_extensions import toy

INSTALLED = in_order([toy("a"), toy("b", default=False), toy("c", default=False, requires=("b",))])


def chosen(*, enabled: tuple[str, ...] = (), disabled: tuple[str, ...] = (), kept: tuple[str, ...] = ()) -> Any:
    settings = replace(Settings(), extensions=ExtensionSettings(enabled, disabled))
    return choose_extensions(INSTALLED, settings, kept)


@pytest.mark.parametrize(
    ("settings", "on"),
    [
        ({}, ["a"]),
        ({"enabled": ("b",)}, ["a", "b"]),
        ({"enabled": ("b", "c")}, ["a", "b", "c"]),
        ({"disabled": ("a",)}, []),
        ({"kept": ("b", "z")}, ["a", "b"]),
        ({"kept": ("b",), "disabled": ("b",)}, ["a"]),
    ],
)
def test_extensions_are_on_by_default_setting_and_upgrade(settings: Any, on: list[str]) -> None:
    found = chosen(**settings)
    assert [one.declared.name for one in found.on] == on
    assert {one.declared.name for one in found.off} == {"a", "b", "c"} - set(on)
    assert [row["name"] for row in found.rows() if row["state"] == "on"] == on


def test_row_states_why_an_extension_is_on() -> None:
    assert {row["name"]: row["because"] for row in chosen(kept=("b",)).rows()} == {
        "a": "default",
        "b": BY_UPGRADE,
        "c": "default",
    }


@pytest.mark.parametrize("key", ["enabled", "disabled"])
def test_unknown_name_stops_the_startup_with_a_remedy(key: str) -> None:
    with pytest.raises(SettingsError) as refused:
        choose_extensions(
            in_order([toy("vcalm")]),
            replace(Settings(), extensions=ExtensionSettings(**{key: ("vclam",)})),  # type: ignore[arg-type]
            (),
        )
    assert refused.value.what == "No extension vclam is installed."
    assert refused.value.fix == "Did you mean vcalm?"
    assert f"extensions.{key}" in refused.value.where


def test_extension_without_its_requirement_stops_the_startup() -> None:
    with pytest.raises(SettingsError, match="The extension c requires the extension b, which is off"):
        chosen(enabled=("c",))


@pytest.mark.parametrize("default", [True, False])
def test_missing_requirement_stops_only_an_extension_that_is_on(default: bool) -> None:
    installed = in_order([toy("a", requires=("z",), default=default)])
    if not default:
        assert [one.declared.name for one in choose_extensions(installed, Settings(), ()).off] == ["a"]
        return
    with pytest.raises(
        SettingsError, match="The extension a requires the extension z, which is not installed"
    ) as refused:
        choose_extensions(installed, Settings(), ())
    assert refused.value.fix == "Install and enable it: identity extensions enable z; or disable a."


def test_name_cannot_be_enabled_and_disabled() -> None:
    with pytest.raises(SettingsError, match="vcalm is both enabled and disabled"):
        load(environment={"IDENTITY_EXTENSIONS_ENABLED": "vcalm", "IDENTITY_EXTENSIONS_DISABLED": "vcalm"})


def test_name_of_tables_of_the_service_is_refused() -> None:
    with pytest.raises(PluginError, match="its name audit is what tables of the service begin with"):
        in_order([toy("audit")])


FILE = """# mine
data_dir = "x"  # here

[server]
port = 1
"""


@pytest.mark.parametrize(
    ("before", "enable", "after"),
    [
        ("", True, '[extensions]\nenabled = ["b"]\n'),
        ("port = 1", True, 'port = 1\n\n[extensions]\nenabled = ["b"]\n'),
        (FILE, True, FILE + '\n[extensions]\nenabled = ["b"]\n'),
        (FILE, False, FILE + '\n[extensions]\ndisabled = ["b"]\n'),
        (
            '[extensions]\nenabled = ["x"]  # why\n[server]\nport = 1\n',
            True,
            '[extensions]\nenabled = ["x", "b"]  # why\n[server]\nport = 1\n',
        ),
        (
            '[extensions]  # all\nenabled = [\n  "x",\n  "b",\n]\n# end\n',
            False,
            '[extensions]  # all\ndisabled = ["b"]\nenabled = ["x"]\n# end\n',
        ),
        (
            'extensions.disabled = ["b"]\nextensions.enabled = []\n',
            True,
            'extensions.disabled = []\nextensions.enabled = ["b"]\n',
        ),
    ],
)
def test_settings_file_is_edited_in_place(before: str, enable: bool, after: str) -> None:
    assert edit_settings(before, "b", enable=enable, default=False) == after
    assert edit_settings(after, "b", enable=enable, default=False) == after


def test_default_extension_is_not_listed_as_enabled() -> None:
    off = edit_settings(FILE, "a", enable=False, default=True)
    assert tomllib.loads(off)["extensions"] == {"disabled": ["a"]}
    assert tomllib.loads(edit_settings(off, "a", enable=True, default=True))["extensions"] == {"disabled": []}


@pytest.mark.parametrize(
    "before", ['extensions = { enabled = ["x"] }\n', 'extensions.enabled = ["x"]\n[server]\nport = 1\n', "not TOML"]
)
def test_file_that_cannot_be_edited_is_left_alone(before: str, tmp_path: Path) -> None:
    path = tmp_path / "identity.toml"
    path.write_text(before)
    with pytest.raises(ValueError):
        write_settings(path, INSTALLED[1].declared, enable=False)
    assert path.read_text() == before
    assert [one.name for one in tmp_path.iterdir()] == ["identity.toml"]


def test_settings_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "identity.toml"
    path.write_text(FILE)
    path.chmod(0o640)
    write_settings(path, INSTALLED[1].declared, enable=True)
    assert path.stat().st_mode & 0o7777 == 0o640


def test_environment_that_sets_a_list_is_not_edited_around() -> None:
    settings = load(environment={"IDENTITY_EXTENSIONS_ENABLED": "vcalm"})
    with pytest.raises(SettingsError, match=r"extensions\.enabled is set by the environment"):
        require_from_file(settings, "vcalm")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(Settings(), data_dir=tmp_path)


def open_and_close_store(settings: Settings) -> None:
    asyncio.run(Store.open(settings.data_dir).close())


@pytest.mark.parametrize(("lines", "kept"), [(0, set()), (1, {"agents", "vcalm", "wallets"})])
def test_store_of_before_keeps_extensions_on(settings: Settings, lines: int, kept: set[str]) -> None:
    """The store is looked at before the step is made, and after."""
    open_and_close_store(settings)
    with closing(sqlite3.connect(settings.data_dir / "identity.sqlite")) as file:
        file.execute("DROP TABLE kept_extensions")
        file.execute("ALTER TABLE credential_schemas DROP COLUMN titles")
        file.execute("DELETE FROM store_migrations WHERE number >= 34")
        file.executemany("INSERT INTO audit_lines VALUES (?, ?, ?)", [(n + 1, b"{}", b"") for n in range(lines)])
        file.commit()
    assert read_store(settings, kept_extensions) == kept
    open_and_close_store(settings)
    assert read_store(settings, kept_extensions) == kept
