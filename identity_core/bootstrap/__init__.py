"""The composition root, the one floor that knows every room: settings → plugins → store → use cases → app.

``installation`` opens one and says in which order; ``app`` builds what is served over it, with the
``handlers`` of every tag. ``ports`` and ``beside`` open a part for the command line, without a server. The edge
(``app``, ``handlers``) is imported where a server starts and not here: that takes longer than most commands that have
no use for it.
"""

from identity_core.bootstrap.beside import (
    AnchorAdministration,
    ApiKeyAdministration,
    IndexTools,
    TransparencyLog,
    anchor_administration,
    has_api_keys,
    index_tools,
    open_keys,
    transparency_log,
)
from identity_core.bootstrap.installation import (
    Application,
    Asgi,
    Installation,
    application,
    collect_seldom,
    open_installation,
)
from identity_core.bootstrap.ports import (
    ANSWERS_KEY,
    AuditTools,
    RecordTools,
    SystemClock,
    audit_log,
    open_ledger,
    record_tools,
)
from identity_core.bootstrap.rotation import (
    checkpoint_key_replacement,
    log_key_rotation,
    seal_rotation,
    token_key_replacement,
)
from identity_core.bootstrap.witnesses import approvals_to_publish

__all__ = [
    "ANSWERS_KEY",
    "AnchorAdministration",
    "ApiKeyAdministration",
    "Application",
    "Asgi",
    "AuditTools",
    "IndexTools",
    "Installation",
    "RecordTools",
    "SystemClock",
    "TransparencyLog",
    "anchor_administration",
    "application",
    "approvals_to_publish",
    "audit_log",
    "checkpoint_key_replacement",
    "collect_seldom",
    "has_api_keys",
    "index_tools",
    "log_key_rotation",
    "open_installation",
    "open_keys",
    "open_ledger",
    "record_tools",
    "seal_rotation",
    "token_key_replacement",
    "transparency_log",
]
