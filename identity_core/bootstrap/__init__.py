"""The composition root, the one floor that knows every room: settings → plugins → store → use cases → app.

``installation`` opens one and says in which order; ``app`` builds what is served over it, one module of ``handlers`` a noun.
``plugins``, ``keys``, ``ledger``, ``index``, ``anchoring`` and ``store`` open a part for the command line, without a server. The edge
(``app``, ``handlers``) is imported where a server starts and not here: that takes longer than most commands that have
no use for it.
"""

from identity_core.bootstrap.anchoring import AnchorAdministration, anchor_administration
from identity_core.bootstrap.asgi import Application, application
from identity_core.bootstrap.clock import SystemClock
from identity_core.bootstrap.index import IndexTools, index_tools
from identity_core.bootstrap.installation import Asgi, Installation, open_installation
from identity_core.bootstrap.keys import ApiKeyAdministration, has_api_keys, open_keys
from identity_core.bootstrap.ledger import TransparencyLog, transparency_log
from identity_core.bootstrap.own_keys import ANSWERS_KEY, LOG_KEY
from identity_core.bootstrap.plugins import open_ledger
from identity_core.bootstrap.store import AuditTools, audit_log

__all__ = [
    "ANSWERS_KEY",
    "LOG_KEY",
    "AnchorAdministration",
    "ApiKeyAdministration",
    "Application",
    "Asgi",
    "AuditTools",
    "IndexTools",
    "Installation",
    "SystemClock",
    "TransparencyLog",
    "anchor_administration",
    "application",
    "audit_log",
    "has_api_keys",
    "index_tools",
    "open_installation",
    "open_keys",
    "open_ledger",
    "transparency_log",
]
