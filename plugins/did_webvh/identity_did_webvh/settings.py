"""``[plugins.webvh]``: where readers look for the logs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from identity_did_ids.entry import PLACEHOLDER
from identity_did_ids.evolution import Rules

from identity_codec.values import replace
from identity_core.errors import InvalidDid
from identity_core.plugin import setting
from identity_did_webvh import log as webvh

_HOST: Final = re.compile(r"[a-z0-9.-]{1,200}(?::[0-9]{1,5})?", re.ASCII)
_SEGMENT: Final = re.compile(rf"{re.escape(PLACEHOLDER)}|[A-Za-z0-9._-]{{1,64}}", re.ASCII)
_SOME_SCID: Final = "Qm" + "a" * 44


@dataclass(frozen=True, slots=True)
class WebvhSettings:
    """DIDs keep the host and path with which they were made: choose them before the first one."""

    host: str | None = setting(
        None,
        "Host, or host:port, that publishes the logs over HTTPS. Default: that of public_url, where it is https.",
        example='"id.example"',
    )
    path: str = setting(
        f"dids/{PLACEHOLDER}",
        f"Path above did.jsonl; {PLACEHOLDER} stands for the DID's own hash. Empty: one DID only.",
    )
    max_grace_days: int = setting(90, "The longest grace period of a rotated key.", least=0, most=90)

    def __post_init__(self) -> None:
        if self.path and not all(_SEGMENT.fullmatch(segment) for segment in self.path.split("/")):
            raise ValueError(f"path must be segments of letters, digits, '.', '_' and '-', or {PLACEHOLDER}")
        if self.path.partition("/")[0] == "api":
            raise ValueError("path must not begin with api: the service's own paths are there")
        if self.host is None:
            return
        port = self.host.partition(":")[2]
        if _HOST.fullmatch(self.host) is None or (port and not 0 < int(port) <= 65535):
            raise ValueError("host must be a domain name in lower case with or without a port, such as id.example:8443")
        try:
            webvh.parse_did(f"did:webvh:{_SOME_SCID}:{self.location.replace(PLACEHOLDER, _SOME_SCID)}")
        except InvalidDid as error:
            raise ValueError("host or path is not one that a did:webvh can have; a host is not an address") from error

    def published_by(self, origin: str | None) -> WebvhSettings:
        """Return these settings with the host and port of ``origin``. Raises ``ValueError``: for one that no reader of did:webvh
        would fetch from."""
        parts = urlsplit(origin or "")
        if parts.scheme != "https" or not parts.hostname:
            raise ValueError("public_url is not set, or is not https")
        port = "" if parts.port in (None, 443) else f":{parts.port}"
        return replace(self, host=f"{parts.hostname}{port}")

    @property
    def location(self) -> str:
        """Return the part of each DID behind the SCID: host and path in the form of an identifier."""
        host = (self.host or "").replace(":", "%3A")
        return ":".join([host, *(self.path.split("/") if self.path else ())])

    @property
    def rules(self) -> Rules:
        """Return the rules of a new DID. Entries cannot state that a key in a grace period may change keys, so it never may."""
        return Rules(max_grace=timedelta(days=self.max_grace_days), strict_grace=True)
