"""The extension ``server_processes``: rate limits that processes share. It has no operations.

Its libraries are imported when a server starts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from identity_core.extension.declaration import Contribution, Extension
from identity_core.plugin import hookimpl
from identity_core.settings import Settings

if TYPE_CHECKING:
    from identity_core.throttle.memory import TokenBucketStorage


async def open_buckets(settings: Settings, monotonic: Callable[[], float]) -> TokenBucketStorage:
    """Return the storage that the settings choose."""
    from identity_server_processes import stores

    return await stores.open_buckets(settings, monotonic)


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    # No further parts.
    none = contextlib.nullcontext(Contribution())
    return Extension(name="server_processes", kernel=">=1,<2", open=lambda _: none, buckets=open_buckets)
