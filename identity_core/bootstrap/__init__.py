"""The composition root, the only package that imports every other one: settings → plugins → store → use cases → app.

``installation`` opens an installation and defines the order. ``app`` builds the application, with the ``handlers`` of
every tag. ``ports`` opens a part for the command line, without a server. The HTTP modules (``app``,
``handlers``) are imported where a server starts and not here: the import takes longer than most commands.
"""

from identity_core.bootstrap.installation import Application as Application
from identity_core.bootstrap.installation import Asgi as Asgi
from identity_core.bootstrap.installation import Installation as Installation
from identity_core.bootstrap.installation import collect_seldom as collect_seldom
from identity_core.bootstrap.installation import open_installation as open_installation
from identity_core.bootstrap.ports import ANSWERS_KEY as ANSWERS_KEY
from identity_core.bootstrap.ports import SystemClock as SystemClock
from identity_core.bootstrap.ports import open_ledger as open_ledger
