"""The composition root, the one floor that knows every room: settings → plugins → store → use cases → app.

``installation`` opens one and says in which order; ``app`` builds what is served over it, with the
``handlers`` of every tag. ``ports`` and ``beside`` open a part for the command line, without a server. The edge
(``app``, ``handlers``) is imported where a server starts and not here: that takes longer than most commands that have
no use for it.
"""

from identity_core.bootstrap.beside import ApiKeyAdministration as ApiKeyAdministration
from identity_core.bootstrap.beside import has_api_keys as has_api_keys
from identity_core.bootstrap.beside import open_keys as open_keys
from identity_core.bootstrap.installation import Application as Application
from identity_core.bootstrap.installation import Asgi as Asgi
from identity_core.bootstrap.installation import Installation as Installation
from identity_core.bootstrap.installation import collect_seldom as collect_seldom
from identity_core.bootstrap.installation import open_installation as open_installation
from identity_core.bootstrap.ports import ANSWERS_KEY as ANSWERS_KEY
from identity_core.bootstrap.ports import SystemClock as SystemClock
from identity_core.bootstrap.ports import open_ledger as open_ledger
