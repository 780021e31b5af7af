"""API keys from the settings and the environment (openapi/DECISIONS.md §3.3).

The core's settings read the environment and fill ``EnvironmentKeysSettings``; this plugin reads neither.
"""

from __future__ import annotations

from identity_core.plugin import BuildContext, Provider, hookimpl
from identity_core.ports.key_store import KeyStore
from identity_keys_env.store import EnvironmentKeys, EnvironmentKeysSettings

__all__ = ["EnvironmentKeys", "EnvironmentKeysSettings", "identity_provide_key_store"]


def build(settings: EnvironmentKeysSettings, context: BuildContext) -> EnvironmentKeys:
    """Return the store."""
    return EnvironmentKeys(settings, created_at=context.clock.now(), logger=context.logger)


@hookimpl
def identity_provide_key_store() -> Provider[KeyStore]:
    """Return the store ``env``."""
    return Provider("env", build, EnvironmentKeysSettings, "API_KEY and IDENTITY_API_KEYS", looks=True)
