"""API keys from a TOML file that holds digests only (openapi/DECISIONS.md §3.3: the source ``file``)."""

from __future__ import annotations

from identity_core.plugin import BuildContext, Provider, hookimpl
from identity_core.ports.key_store import KeyStore
from identity_keys_file.store import FileKeys, FileKeysSettings

__all__ = ["FileKeys", "FileKeysSettings", "identity_provide_key_store"]


def build(settings: FileKeysSettings, context: BuildContext) -> FileKeys:
    """Return the store. Raises ``ValueError`` for a file that is there and cannot be understood."""
    return FileKeys(settings.path or context.data_dir / "keys.toml", logger=context.logger)


@hookimpl
def identity_provide_key_store() -> Provider[KeyStore]:
    """Return the store ``file``."""
    return Provider("file", build, FileKeysSettings, "a TOML file of digests, read again when it changes", looks=True)
