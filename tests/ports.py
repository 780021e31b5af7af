"""Ports for servers that must be told theirs before they start, and that keep it when they start again.

Taken from below those that the kernel hands out by itself: between the probe and the server's own bind, and while a server
is stopped, neither a listener on port 0 nor an outgoing connection can be given one of them. Nor is another process of the tests: each
port has a name (an abstract socket, unix(7)) that the process which was given it holds until it ends.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Final

_LOWEST: Final = 10_240
_DICE: Final = random.SystemRandom()
_held: Final[list[socket.socket]] = []


def free_port() -> int:
    """Return a port of the loopback interface on which no process listens."""
    handed_out = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(handed_out.read_text().split()[0]) if handed_out.exists() else 32_768
    while True:
        # Where the kernel hands out everything, there is nothing better than to ask it.
        port = _DICE.randrange(_LOWEST, first) if first > 2 * _LOWEST else 0
        with socket.socket() as probe:
            name = socket.socket(socket.AF_UNIX)
            try:
                probe.bind(("127.0.0.1", port))
                found: int = probe.getsockname()[1]
                name.bind(f"\0identity-test-port-{found}")
            except OSError:
                name.close()
                continue
            _held.append(name)
            return found
