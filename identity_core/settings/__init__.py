"""Everything that an operator can set: one frozen tree, and the only reader of TOML and of the environment.

``load`` merges four layers, later ones winning: the defaults in ``tree``, a TOML file, the environment (``IDENTITY_*``,
``*_FILE`` for secrets that are mounted as files, and ``API_KEY``), and the command line. Unknown keys are errors. Each
value remembers its origin. A wrong configuration is a ``SettingsError``: what is wrong, where it stands, what to do.

Left out on purpose: reloading, but for what is logged (SIGHUP). A setting changes with a restart.
"""

from identity_core.settings.fields import Origin, SettingsError, StartError, as_toml, places_of, setting
from identity_core.settings.load import load
from identity_core.settings.server import ChallengesSettings, Quota, Server, TokensSettings
from identity_core.settings.show import ShownSetting, buckets_of, require_extras, show, shown_hosts
from identity_core.settings.sources import PluginTables
from identity_core.settings.tree import (
    NAME_OF_LOG,
    AnchoringSettings,
    CustodianChoice,
    DidSettings,
    HistorySettings,
    LedgerChoice,
    Log,
    Plugins,
    ProverChoice,
    Settings,
    Throttle,
)

__all__ = [
    "NAME_OF_LOG",
    "AnchoringSettings",
    "ChallengesSettings",
    "CustodianChoice",
    "DidSettings",
    "HistorySettings",
    "LedgerChoice",
    "Log",
    "Origin",
    "PluginTables",
    "Plugins",
    "ProverChoice",
    "Quota",
    "Server",
    "Settings",
    "SettingsError",
    "ShownSetting",
    "StartError",
    "Throttle",
    "TokensSettings",
    "as_toml",
    "buckets_of",
    "load",
    "places_of",
    "require_extras",
    "setting",
    "show",
    "shown_hosts",
]
