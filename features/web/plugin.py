"""did:web as it is, in a world where every name is a host on loopback: the stories' host has no name that a name server knows.

The rule that relaxes the guard against private addresses is the plugin's own setting ``allow_ranges``. The certificate to trust lies beside
the file that ``IDENTITY_TEST_FAULT`` names, from when the host is there.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from identity_did_web import DidWeb, WebSettings
from identity_did_web.addresses import Addresses
from identity_did_web.fetch import Fetch, trust

from identity_core.plugin import BuildContext, Provider, hookimpl

AUTHORITY = Path(os.environ["IDENTITY_TEST_FAULT"]).with_name("web.pem")


def to_loopback(name: str, port: int, *_: Any) -> Sequence[Any]:
    """A name server of one address."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


class Later:
    """The plugin's own fetching, made when the first document is asked for: the host came after the service."""

    def __init__(self, settings: WebSettings, context: BuildContext) -> None:
        self._settings = settings
        self._context = context
        self._fetch: Fetch | None = None

    async def __call__(self, did: Any, location: Any) -> Any:
        if self._fetch is None:
            addresses = Addresses(ThreadPoolExecutor(2), self._settings.ranges, to_loopback)
            self._fetch = Fetch(addresses, trust(str(AUTHORITY)), self._context.logger, self._settings.fetches)
        return await self._fetch(did, location)

    def close(self) -> None:
        if self._fetch is not None:
            self._fetch.close()


@hookimpl
def identity_provide_did_method() -> Provider[Any]:
    return Provider("web", lambda settings, context: DidWeb(Later(settings, context), context.clock), WebSettings)
