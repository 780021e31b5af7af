"""Ports for servers that must be told theirs before they start, and that keep it when they start again.

Taken from below those that the kernel hands out by itself: between the probe and the server's own bind, and while a server
is stopped, neither a listener on port 0 nor an outgoing connection can be given one of them.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Final

_LOWEST: Final = 10_240
_DICE: Final = random.SystemRandom()


def free_port() -> int:
    """A port of the loopback interface on which no one listens."""
    handed_out = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(handed_out.read_text().split()[0]) if handed_out.exists() else 32_768
    while True:
        # Where the kernel hands out everything, there is nothing better than to ask it.
        port = _DICE.randrange(_LOWEST, first) if first > 2 * _LOWEST else 0
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
