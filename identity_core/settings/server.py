"""The tables about HTTP and its callers: ``[server]``, ``[challenge]``, ``[token]``, ``[mcp]``, ``[a2a]``,
``[retention]`` and ``[quota]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from identity_core.settings.fields import setting

UNIX: Final = "unix"
"""An entry of ``trusted_proxies``: the peer on the other side of a Unix socket."""


def _origin(text: str) -> None:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query or parts.fragment:
        raise ValueError("it is not an origin such as https://id.example.org (no path, no slash at the end)")


def _readers(text: str) -> None:
    if text != "*":
        _origin(text)


def _network(text: str) -> None:
    from ipaddress import ip_network

    if text != UNIX:
        ip_network(text)


def _mode(text: str) -> None:
    if re.fullmatch("0?[0-7]{3}", text) is None:
        raise ValueError('it is not a mode in octal such as "0660"')


@dataclass(frozen=True, slots=True)
class Server:
    """Settings of the HTTP server."""

    host: str = setting("127.0.0.1", "The address to listen on.")
    port: int = setting(8080, "The port to listen on; 0 takes a free one.", least=0, most=65535)
    unix_socket: Path | None = setting(
        None, "A Unix socket to listen on instead of a port.", example='"/run/identity/identity.sock"'
    )
    unix_socket_mode: str = setting("0660", "Its mode in octal: who may connect.", check=_mode)
    admin_host: str = setting("127.0.0.1", "The address of the listener for metrics and administration.")
    admin_port: int | None = setting(
        None,
        "Its port; 0 takes a free one. Metrics, API keys and audit log are then served there, and nowhere else. Default: with the rest.",
        least=0,
        most=65535,
        example="9090",
    )
    workers: int = setting(1, "Server processes.", least=1, most=256)
    public_url: str | None = setting(
        None,
        "The origin that callers see: challenges, iss and aud are made of it. Default: where it listens.",
        check=_origin,
        example='"https://id.example.org"',
    )
    trusted_proxies: tuple[str, ...] = setting(
        (),
        "Networks whose X-Forwarded-For is trusted; unix: any process that may connect to the Unix socket.",
        check=_network,
        example='["10.0.0.0/8"]',
    )
    cors_origins: tuple[str, ...] = setting(
        ("*",),
        "Origins whose pages may read in a browser what is public here, without credentials; * for all.",
        check=_readers,
        example='["https://wallet.example.org"]',
    )
    test_identifiers: tuple[str, ...] = setting(
        (), "DIDs that /1.0/testIdentifiers names for clients to try.", example='["did:web:id.example.org"]'
    )
    public_metrics: bool = setting(
        False, "Whether /metrics and the states in /ready are for everybody, or for API keys with service:read."
    )
    max_body_bytes: int = setting(262_144, "The largest request body.", least=1_024, most=16_777_216)
    first_byte_timeout_seconds: float = setting(10.0, "How long a new connection may say nothing.", least=0.1, most=600)
    header_timeout_seconds: float = setting(10.0, "How long a client may take to send a header.", least=0.1, most=600)
    keep_alive_timeout_seconds: float = setting(
        75.0, "How long it may be silent between requests.", least=0.1, most=3_600
    )
    body_timeout_seconds: float = setting(10.0, "How long a client may take to send a body.", least=0.1, most=600)
    write_timeout_seconds: float = setting(30.0, "How long a client may take to read on.", least=0.1, most=3_600)
    max_connections: int = setting(2_048, "Connections at once in a process; more are 503.", least=1, most=100_000)
    max_connections_per_address: int = setting(
        128, "Of these, of one address or /64 that is not a trusted proxy; more are 429.", least=1, most=100_000
    )
    max_requests_in_flight: int = setting(1_024, "Requests at once in a process; more are 503.", least=1, most=100_000)
    shutdown_seconds: float = setting(10.0, "How long requests may go on after SIGTERM.", least=0, most=600)


@dataclass(frozen=True, slots=True)
class ChallengesSettings:
    """DIDAuth and RecoveryKey challenges."""

    lifetime_seconds: int = setting(300, "How long a challenge is valid.", least=10, most=3_600)
    cap: int = setting(
        64,
        "Open challenges of one DID and client address with which a signature is tried that does not name its challenge; at most 64 "
        "divided by the number of the DID's authentication keys.",
        least=1,
        most=64,
    )


@dataclass(frozen=True, slots=True)
class TokensSettings:
    """The bearer tokens of the service."""

    lifetime_seconds: int = setting(600, "How long a token is good for.", least=10, most=86_400)
    key_number: int = setting(
        1,
        "The signing key in use, unless `identity keys rotate token` has gone on to a later one; those before and after it verify too.",
        least=1,
        most=1e6,
    )


@dataclass(frozen=True, slots=True)
class Mcp:
    """Settings of the Model Context Protocol endpoint (extra `mcp`)."""

    enabled: bool = setting(False, "Whether agents with an access token find tools at /mcp.")


@dataclass(frozen=True, slots=True)
class A2a:
    """Settings of the Agent2Agent endpoint."""

    enabled: bool = setting(
        False,
        "Whether agents with an access token give tasks at /a2a, which the card at /.well-known/agent-card.json tells of.",
    )


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention of records about people; without a value they are kept for good. `docs/how-to/retention.md` lists
    the deleted parts of each."""

    timeline_days: float | None = setting(
        None, "Events of the timeline, from when they happened.", least=0.01, most=36_500
    )
    verifications_days: float | None = setting(None, "The verification history.", least=0.01, most=36_500)
    proofs_days: float | None = setting(None, "Proofs, from when they expired.", least=0.01, most=36_500)
    credentials_days: float | None = setting(None, "Credentials, from when they expired.", least=0.01, most=36_500)
    audit_days: float | None = setting(
        None,
        "Lines of the audit log, in whole days (UTC); the hash of the last one that went stays.",
        least=1,
        most=36_500,
    )
    idempotency_hours: float = setting(24.0, "Answers that an Idempotency-Key gets again.", least=1, most=720)


@dataclass(frozen=True, slots=True)
class Quota:
    """The quotas of a DID that authenticates itself; API keys have none. A record counts its body and 1,024 bytes,
    twice if its answer is stored for an Idempotency-Key. A day ends at midnight UTC."""

    did_records: int = setting(
        100_000, "Delegations, credentials, schemas and changes of one DID in all; 0: no limit.", least=0
    )
    did_octets: int = setting(268_435_456, "Their bytes; 0: no limit.", least=0)
    day_records: int = setting(
        100_000, "Writing requests of one DID, and of one address, in a day; 0: no limit.", least=0
    )
    day_octets: int = setting(268_435_456, "Their bytes; 0: no limit.", least=0)
