"""What the socket alone costs an answer of ours: the least that any server written in Python could spend on it."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace

from tools.bench.rounds import Target, drive, middle
from tools.bench.servers import Reply, running


def socket_floor_us(target: Target, ours: Reply, options: Namespace) -> float:
    """CPU of an answer with the same bytes from a bare socket; the median of ``options.rounds`` rounds."""
    head = "".join(f"{name}: {value}\r\n" for name, value in ours.headers.items())
    with tempfile.NamedTemporaryFile() as canned:
        canned.write(f"HTTP/1.1 {ours.status} X\r\n{head}\r\n".encode() + ours.body)
        canned.flush()
        # The port is given by the environment of a shell, because it is known only when the command is filled in.
        command = ["env", "BASELINE_PORT={port}", sys.executable, "-m", "tools.bench.baseline_socket"]
        with running(command, {"BASELINE": canned.name}, "/", status=ours.status, pin=True) as server:
            drive(server, target, 1, options.connections, pin=True)
            rounds = [
                drive(server, target, options.seconds, options.connections, pin=True) for _ in range(options.rounds)
            ]
    return middle(rounds).cpu_us
