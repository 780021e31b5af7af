"""The factory of ``tests/servers.py``: a process that has imported the service, and forks when one is asked for.

Run by path, with the number of a socket. Its children are nobody else's, so it waits for them when it is asked to.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ORDER_OCTETS = 128 * 1024


def _work(channel: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Takes orders. Returns in a child, with what it shall become, and None in the factory when nobody is left to order."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, ORDER_OCTETS, 3)
        if not message:
            return None
        order = json.loads(message)
        if "ended" in order:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["ended"], 0)[1])
        else:
            answer = os.fork()
            if answer == 0:
                return order, descriptors
            for one in descriptors:
                os.close(one)
        channel.send(str(answer).encode())


def _become(order: Mapping[str, Any], descriptors: Sequence[int], paths: Sequence[str]) -> None:
    """What ``python -m identity_core`` finds when it begins."""
    if order["session"]:
        os.setsid()
    for number, one in enumerate(descriptors):
        os.dup2(one, number)
        os.close(one)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    named = order["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [order["folder"], *filter(None, named), *paths]
    sys.argv = ["identity", *order["arguments"]]
    # What workers of the server import first.
    sys.modules["__main__"] = sys.modules["identity_core.__main__"]


def _import_the_service() -> None:
    for name in (
        "identity_core.__main__",
        "identity_core.cli.serve",
        "identity_core.cli.serving",
        "identity_core.bootstrap.app",
    ):
        importlib.import_module(name)
    for plugin in importlib.metadata.entry_points(group="identity.plugins"):
        plugin.load()


def main() -> None:
    """The factory, and then what it forks."""
    paths = [*sys.path]
    sys.path.insert(0, str(ROOT))
    _import_the_service()
    # Collected and left alone: a child would write into what it shares.
    gc.collect()
    gc.freeze()
    channel = socket.socket(fileno=int(sys.argv[1]))
    ordered = _work(channel)
    channel.close()
    if ordered is not None:
        _become(*ordered, paths)
        sys.modules["identity_core.cli"].main(prog_name="identity")


if __name__ == "__main__":
    main()
