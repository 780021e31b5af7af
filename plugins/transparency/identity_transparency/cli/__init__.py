"""Commands on the log, on the feed of events, and on approvals of DIDs' logs."""

from importlib import resources


def document() -> bytes:
    """Return this extension's part of the document, without its types."""
    return resources.files("identity_transparency").joinpath("document.json").read_bytes()
