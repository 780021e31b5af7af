"""Which paths outside of the document are served: by the setting of each, and by the extension."""

from __future__ import annotations

import pytest

from identity_codec.values import replace
from identity_core.bootstrap.runtime import require_resources, served_resources, unserved_resources
from identity_core.extension.choice import choose_extensions, in_order
from identity_core.files import install_command
from identity_core.settings import Settings, SettingsError, load
from identity_core.settings.sources import ExtensionSettings
from tests.unit.extension.test_extensions import toy

SERVING = in_order([toy("r", default=False, resources={"/r": "ui.enabled", "/s": "mcp.enabled"}), toy("s")])


@pytest.mark.parametrize(
    ("served", "disabled", "resources", "unserved"),
    [
        (True, (), ("/r",), {"/s": ("r", "mcp.enabled")}),
        (True, ("r",), (), {"/r": ("r", ""), "/s": ("r", "mcp.enabled")}),
        (False, (), (), {"/r": ("r", "ui.enabled"), "/s": ("r", "mcp.enabled")}),
    ],
)
def test_setting_of_a_resource_turns_its_extension_on(
    served: bool, disabled: tuple[str, ...], resources: tuple[str, ...], unserved: dict[str, tuple[str, str]]
) -> None:
    default = Settings()
    settings = replace(default, ui=replace(default.ui, enabled=served), extensions=ExtensionSettings((), disabled))
    found = choose_extensions(SERVING, settings, ())
    assert ("r" in [one.declared.name for one in found.on]) is bool(resources)
    assert served_resources(found, settings) == resources
    assert unserved_resources(found, settings) == unserved


@pytest.mark.parametrize("key", ["mcp.enabled", "a2a.enabled"])
def test_startup_without_an_extension_names_the_setting(key: str) -> None:
    settings = load(environment={f"IDENTITY_{key.upper().replace('.', '_')}": "true"})
    with pytest.raises(SettingsError, match=rf"{key} is true, and no extension that is installed serves it") as refused:
        require_resources([], settings)
    assert refused.value.fix == f"{install_command('identity-service[mcp]')}, or set it to false."
