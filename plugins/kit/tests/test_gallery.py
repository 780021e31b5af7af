"""The gallery of plugins/README.md is that of gallery.toml, and what it says of our own plugins is true."""

from __future__ import annotations

import importlib.util
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from identity_kit.commands import KINDS

from identity_core.plugin.sockets import EXTEND_HOOK, PROVIDE_HOOKS

HOOKS = PROVIDE_HOOKS | {EXTEND_HOOK: "extension"}
PLUGINS = Path(__file__).parents[2]
PAGE = (PLUGINS / "README.md").read_text(encoding="utf-8")
TOML = (PLUGINS / "gallery.toml").read_text(encoding="utf-8")

ENTRY = """
[[plugin]]
distribution = "identity-keys-vault"
kind = "key-store"
name = "vault"
summary = "API keys from a vault"
url = "https://vault.example/plugin"
"""


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", PLUGINS / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_part_is_fresh(generator: ModuleType) -> None:
    assert generator.written(PAGE, TOML) == PAGE, "run python plugins/gallery.py"


def test_every_folder_has_its_entry(generator: ModuleType) -> None:
    projects = {
        path.parent.name: tomllib.loads(path.read_text())["project"] for path in PLUGINS.glob("*/pyproject.toml")
    }
    # What runs beside a service is not a plugin of it.
    folders = {folder for folder, project in projects.items() if "identity.plugins" in project.get("entry-points", {})}
    assert {entry["folder"] for entry in generator.entries(TOML) if "folder" in entry} == folders


def test_gallery_lists_hooks_of_own_plugins(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for entry in generator.entries(TOML):
        if "folder" not in entry:
            continue
        project = tomllib.loads((PLUGINS / entry["folder"] / "pyproject.toml").read_text())["project"]
        assert project["name"] == entry["distribution"]
        monkeypatch.syspath_prepend(PLUGINS / entry["folder"])
        (target,) = project["entry-points"]["identity.plugins"].values()
        plugin = import_module(target)
        hooks = [hook for hook, kind in HOOKS.items() if kind == generator.KINDS[entry["kind"]]]
        assert [getattr(plugin, hook)().name for hook in hooks] == [entry["name"]]


def test_the_template_and_the_gallery_know_the_same_kinds(generator: ModuleType) -> None:
    assert {*KINDS, "bearer"} == {*generator.KINDS}


def test_a_stranger_is_shown_with_a_link(generator: ModuleType) -> None:
    row = "| [identity-keys-vault](https://vault.example/plugin) | key store: API keys from a vault | `vault` |"
    assert row in generator.gallery(generator.entries(ENTRY))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('kind = "key-store"', 'kind = "keys"', "kind is one of"),
        ('url = "https://vault.example/plugin"', 'url = "javascript:alert(1)"', "url begins with"),
        ('url = "https://vault.example/plugin"', 'url = "https://x.example/) | x"', "without markup"),
        ('url = "https://vault.example/plugin"', "", "one of folder and url"),
        ('url = "https', 'folder = "x"\nurl = "https', "one of folder and url"),
        ('summary = "API keys', 'summary = "<b>API keys', "without markup"),
        ('from a vault"', 'from a vault."', "full stop"),
        ('name = "vault"', "name = 1", "short text"),
        ('name = "vault"', 'name = "vault"\nrating = "5"', "one of folder and url"),
        ("[[plugin]]", "[plugins]\nx = 1\n[[plugin]]", "nothing else"),
    ],
)
def test_an_entry_that_does_not_fit_is_refused(generator: ModuleType, old: str, new: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        generator.entries(ENTRY.replace(old, new))


def test_entries_are_in_order_and_each_once(generator: ModuleType) -> None:
    with pytest.raises(ValueError, match="two entries have one distribution"):
        generator.entries(ENTRY + ENTRY)
    earlier = ENTRY.replace("vault", "abc")
    with pytest.raises(ValueError, match="in order"):
        generator.entries(ENTRY + earlier)
