"""The DID method ``did:webvh`` 1.0: this installation publishes its logs in the form that every reader of the standard accepts."""

from __future__ import annotations

from identity_core.plugin import BuildContext, NotConfigured, Provider, hookimpl
from identity_core.ports.did_method import DidMethod
from identity_did_webvh.method import DidWebvh
from identity_did_webvh.settings import WebvhSettings

__all__ = ["DidWebvh", "WebvhSettings", "identity_provide_did_method"]


def build(settings: WebvhSettings, context: BuildContext) -> DidWebvh:
    """Build the method. Raises ``NotConfigured`` where neither its host nor the service's own origin states the publisher of the logs:
    it becomes a part of every DID, so it must be set.
    """
    if settings.host is not None:
        return DidWebvh(settings.location, settings.rules, context.clock)
    try:
        own = settings.published_by(context.public_url)
    except ValueError as error:
        raise NotConfigured(
            'plugins.webvh.host is not set; name the host that publishes the logs, such as "id.example", or set server.public_url to an '
            f"https origin of a domain name: {error}"
        ) from error
    return DidWebvh(own.location, own.rules, context.clock)


@hookimpl
def identity_provide_did_method() -> Provider[DidMethod]:
    """Return the method."""
    return Provider("webvh", build, WebvhSettings, "DIDs whose logs every did:webvh reader accepts")
