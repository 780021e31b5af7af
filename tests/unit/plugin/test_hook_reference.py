"""plugins/README.md is the hook reference; it must not fall behind the hookspecs, the Protocols and the settings."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from identity_core.plugin import sockets
from identity_core.settings import Settings
from identity_core.settings.fields import keys_of

PLUGINS = Path(__file__).parents[3] / "plugins"
PAGE = (PLUGINS / "README.md").read_text(encoding="utf-8")
HOOKS = [name for name in vars(sockets) if name.startswith("identity_")]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hook_reference", PLUGINS / "hook_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_part_is_fresh(generator: ModuleType) -> None:
    assert generator.written(PAGE) == PAGE, "run python plugins/hook_reference.py"


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_stands_there_with_its_arguments(hook: str) -> None:
    arguments = ", ".join(inspect.signature(getattr(sockets, hook)).parameters)
    assert f"### `{hook}({arguments})`" in PAGE


def test_every_folder_with_a_plugin_stands_in_the_table() -> None:
    folders = {path.parent.name for path in PLUGINS.glob("*/pyproject.toml")}
    assert {folder for folder in folders if f"| `{folder}` |" not in PAGE} == set()


def test_every_setting_of_plugins_that_the_page_names_exists() -> None:
    import re

    keys = set(keys_of(Settings, ""))
    named = set(re.findall(r"`((?:plugins|ledger|prover|custodian|did)\.[a-z_]+)`", PAGE))
    assert named <= keys
    assert {key for key in keys if key.startswith("plugins.")} - named <= {
        "plugins.modules",
        "plugins.deadline_seconds",
    }
