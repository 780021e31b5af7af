"""The public interface for plugin authors.

A plugin is a distribution with an entry point in the group ``identity.plugins``. The entry point names a module (or
object) with hook implementations. A hook returns one frozen ``Provider``. After startup the core calls the typed
object that ``Provider.build`` returned, without pluggy::

    from identity_core.plugin import Provider, hookimpl

    @hookimpl
    def identity_provide_key_store():
        return Provider("vault", build=lambda settings, context: VaultKeys(settings.url), settings=VaultSettings)
"""

from identity_core.plugin.sockets import BuildContext, NoSettings, NotConfigured, PluginError, Provider, hookimpl
from identity_core.plugin.threads import in_threads
from identity_core.settings import setting

__all__ = [
    "BuildContext",
    "NoSettings",
    "NotConfigured",
    "PluginError",
    "Provider",
    "hookimpl",
    "in_threads",
    "setting",
]
