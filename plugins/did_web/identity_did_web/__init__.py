"""The DID method ``did:web`` (W3C CCG), read-only: resolves the DIDs of others. Off until ``[plugins.web] enabled = true``."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from identity_core.plugin import BuildContext, PluginError, Provider, hookimpl
from identity_core.ports.did_method import DidMethod
from identity_did_web.addresses import Addresses
from identity_did_web.fetch import Fetch, share_of, trust
from identity_did_web.method import DidWeb
from identity_did_web.settings import WebSettings

__all__ = ["DidWeb", "WebSettings", "build_fetch", "identity_provide_did_method"]


def build(settings: WebSettings, context: BuildContext) -> DidWeb:
    """Return the method. While it is off it opens nothing and finds nothing."""
    if not settings.enabled:
        return DidWeb(None, context.clock)
    return DidWeb(build_fetch(settings, context.logger), context.clock, settings.cache_seconds, settings.cache_entries)


def build_fetch(settings: WebSettings, logger: logging.Logger) -> Fetch:
    """Return what fetches documents by these settings. Raises ``PluginError``: when ``ca_file`` cannot be read."""
    try:
        trusted = trust(settings.ca_file)
    except OSError as error:
        raise PluginError(f"plugins.web.ca_file cannot be read: {error}") from error
    # Looking names up blocks a thread, and a slow name server must not take those of others.
    threads = ThreadPoolExecutor(max_workers=settings.fetches, thread_name_prefix="did-web")
    addresses = Addresses(threads, settings.ranges, share=share_of(settings.fetches))
    return Fetch(addresses, trusted, logger, settings.fetches)


@hookimpl
def identity_provide_did_method() -> Provider[DidMethod]:
    """Return the method."""
    return Provider("web", build, WebSettings, "resolves did:web DIDs of others, read-only")
