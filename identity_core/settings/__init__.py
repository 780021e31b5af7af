"""All settings: one frozen tree, and the only reader of TOML and of the environment.

``load`` merges four layers, of which later ones win: the defaults in ``tree``, a TOML file, the environment
(``IDENTITY_*``, ``*_FILE`` for secrets that are mounted as files, and ``API_KEY``), and the command line. Unknown
keys are errors. Each value has its origin. A wrong configuration is a ``SettingsError`` with the error, the place and
the remedy.

Settings are not reloaded, except those of the log (SIGHUP). Other settings change with a restart.
"""

from identity_core.settings.fields import Origin as Origin
from identity_core.settings.fields import SettingsError as SettingsError
from identity_core.settings.fields import StartError as StartError
from identity_core.settings.fields import as_toml as as_toml
from identity_core.settings.fields import places_of as places_of
from identity_core.settings.fields import setting as setting
from identity_core.settings.load import ShownSetting as ShownSetting
from identity_core.settings.load import buckets_of as buckets_of
from identity_core.settings.load import load as load
from identity_core.settings.load import require_extras as require_extras
from identity_core.settings.load import show as show
from identity_core.settings.server import ChallengesSettings as ChallengesSettings
from identity_core.settings.server import Quota as Quota
from identity_core.settings.server import Server as Server
from identity_core.settings.server import TokensSettings as TokensSettings
from identity_core.settings.sources import PluginTables as PluginTables
from identity_core.settings.sources import shown_hosts as shown_hosts
from identity_core.settings.tree import NAME_OF_LOG as NAME_OF_LOG
from identity_core.settings.tree import AnchoringSettings as AnchoringSettings
from identity_core.settings.tree import CustodianChoice as CustodianChoice
from identity_core.settings.tree import DidSettings as DidSettings
from identity_core.settings.tree import HistorySettings as HistorySettings
from identity_core.settings.tree import LedgerChoice as LedgerChoice
from identity_core.settings.tree import Log as Log
from identity_core.settings.tree import Plugins as Plugins
from identity_core.settings.tree import ProverChoice as ProverChoice
from identity_core.settings.tree import Settings as Settings
from identity_core.settings.tree import Throttle as Throttle
