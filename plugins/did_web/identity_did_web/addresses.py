"""Which address a host is asked at: its name is looked up once, and the connection goes to an address that was checked.

Anyone who names a DID chooses the host, so nothing that is not public is reachable: private, loopback and link-local networks, the
metadata services of clouds, and IPv6 addresses that hide an IPv4 one. One such address among several refuses the host.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Final

from msgspec import Struct, field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_REFUSED: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "168.63.129.16/32",  # Azure's metadata, a public address
            "192.0.0.0/24",  # protocol assignments, Oracle's metadata among them; older Pythons take most of it for public
            "192.88.99.0/24",  # 6to4 relays
            "::/96",  # IPv4-compatible
            "64:ff9b::/96",  # NAT64
            "64:ff9b:1::/48",
            "2001::/32",  # Teredo
            "2002::/16",  # 6to4
            "3fff::/20",  # documentation
            "5f00::/16",  # segment routing
        ),
    )
)


class NoSuchHost(Exception):
    """The name does not exist, or not for us: the text states which, for the log."""


def is_public(address: Address, allowed: Sequence[Network]) -> bool:
    """Return whether a connection to ``address`` may be made. ``allowed`` are networks that the operator opened."""
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if any(address in network for network in allowed):
        return True
    if isinstance(address, ipaddress.IPv6Address) and address.is_site_local:
        return False
    hidden = any(address in network for network in _REFUSED)
    return address.is_global and not address.is_multicast and not address.is_reserved and not hidden


def site_of(host: str) -> str:
    """Return the last two labels of a name, under which one owner makes as many names as it likes."""
    return ".".join(host.split(".")[-2:])


def network_of(address: str) -> str:
    """Return the address, or the 64 bits of an IPv6 address that name a network; text that is not an address stays as it is."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))


class Addresses(Struct, eq=False):
    """Looks names up on threads of its own. ``look_up`` has the form of ``socket.getaddrinfo``.

    A look-up cannot be ended, and a slow name server may hold its thread for longer than the caller waits. So one site may have
    at most ``share`` look-ups at a time.
    """

    threads: Executor
    allowed: Sequence[Network]
    look_up: Callable[..., Sequence[Any]] = socket.getaddrinfo
    share: int = 4
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: Counter[str] = field(default_factory=Counter)

    def _counted(self, site: str, *arguments: Any) -> Sequence[Any]:
        try:
            return self.look_up(*arguments)
        finally:
            with self._lock:
                self._running[site] -= 1
                self._running += Counter()

    async def resolve(self, host: str, port: int) -> str:
        """Return the address to connect to. Raises ``NoSuchHost``, and ``OSError`` when the name could not be looked up."""
        loop, site = asyncio.get_running_loop(), site_of(host)
        with self._lock:
            if self._running[site] >= self.share:
                raise OSError("the name servers of the site have not answered earlier look-ups")
            self._running[site] += 1
        try:
            # Shielded: one that is cancelled before its thread begins would never be counted off.
            found = await asyncio.shield(
                loop.run_in_executor(
                    self.threads, self._counted, site, host, port, socket.AF_UNSPEC, socket.SOCK_STREAM
                )
            )
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                raise
            raise NoSuchHost("the name does not exist") from error
        except UnicodeError as error:
            raise NoSuchHost("the name cannot be looked up") from error
        texts = [str(entry[4][0]) for entry in found]
        for text in texts:
            if not is_public(ipaddress.ip_address(text), self.allowed):
                raise NoSuchHost(f"{text} is not public")
        if not texts:
            raise NoSuchHost("the name has no address")
        return texts[0]

    def close(self) -> None:
        """End the threads; a look-up that hangs is left behind."""
        self.threads.shutdown(wait=False, cancel_futures=True)
