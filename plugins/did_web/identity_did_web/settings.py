"""``[plugins.web]``."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from identity_core.plugin import setting


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Off by default: anyone who may resolve makes this service connect to hosts of his choice."""

    enabled: bool = setting(False, "Resolve did:web DIDs over the network.")
    allow_ranges: tuple[str, ...] = setting(
        (), "Networks that are allowed although they are not public.", example='["10.20.0.0/16"]'
    )
    ca_file: str | None = setting(None, "Certificates to trust instead of the system's.", example='"/etc/ssl/own.pem"')
    cache_seconds: float = setting(
        60.0, "How long an answer is kept, one that there is nothing included.", least=0, most=3600
    )
    cache_entries: int = setting(1000, "Answers that are kept.", least=1, most=100_000)
    fetches: int = setting(16, "Hosts that are asked at a time.", least=1, most=256)

    def __post_init__(self) -> None:
        for text in self.allow_ranges:
            try:
                ipaddress.ip_network(text)
            except ValueError as error:
                raise ValueError(f"allow_ranges: {error}") from error

    @property
    def ranges(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """``allow_ranges``, parsed."""
        return tuple(ipaddress.ip_network(text) for text in self.allow_ranges)
