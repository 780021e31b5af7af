"""kill -9 of a service that feeds a witness, of the witness, and of both, while clients write.

No client ever sees two roots for one size, the witness continues to cosign, and acknowledged entries are in what it cosigns.
``IDENTITY_ROUNDS`` sets the number of kills.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from identity_tlog.note import Checkpoint, Note
from tests.attack.stranger import PREFIX, Wire, rounds
from tests.fault.creators import Acknowledged, check_all_are_there, creating
from tests.fault.service_process import Running, eventually, kept_port, start
from tests.witnesses import witness

ROUNDS = rounds(3)
WRITERS, BEFORE_EACH = 2, 4
NAME = "w1.example"


@dataclass
class Seen:
    """The roots of each size that a client has received."""

    roots: dict[tuple[str, int], set[bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, data: bytes) -> Checkpoint:
        found = Checkpoint.parse(Note.parse(data).text)
        with self.lock:
            self.roots.setdefault((found.origin, found.size), set()).add(found.root)
        return found

    def ask(self, wire: Wire, path: str) -> Checkpoint | None:
        """Return the checkpoint at a place, or None if the process was killed and does not answer."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            answer = wire.call("GET", path)
            return self.note(answer.body) if answer.status == 200 else None
        return None


@contextlib.contextmanager
def looking(seen: Seen, *places: tuple[str, str]) -> Iterator[None]:
    """Request the checkpoint at each place (URL and path) repeatedly in a thread."""
    stop = threading.Event()

    def look(url: str, path: str) -> None:
        wire = Wire(url)
        while not stop.wait(0.01):
            seen.ask(wire, path)
        wire.close()

    threads = [threading.Thread(target=look, args=place) for place in places]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


class Site:
    """A service and its witness, each of which may be killed and comes back at its port."""

    def __init__(self, folder: Path, ports: tuple[int, int]) -> None:
        self.folder, self.ports, self.seen = folder, ports, Seen()
        self._stack = contextlib.ExitStack()
        self.told: dict[str, Any] = {}
        self.running: Running | None = None
        self.log = ""

    def serve(self, **environment: str) -> Running:
        words = ("--port", str(self.ports[0]))
        self.running = start(self.folder / "data", *words, environment=environment)
        return self.running

    def witness(self) -> None:
        more = ("--port", str(self.ports[1]))
        self.told = self._stack.enter_context(witness(self.folder / "w", self.log, name=NAME, more=more))

    @property
    def policy(self) -> dict[str, str]:
        path = self.folder / "policy.txt"
        url = f"http://127.0.0.1:{self.ports[1]}"
        path.write_text(f"log {self.log}\nwitness W {self.told['verifierKey']} {url}\nquorum W\n")
        return {"IDENTITY_LEDGER_WITNESSES": str(path)}

    @property
    def monitored(self) -> tuple[str, str]:
        origin = self.log.split("+")[0]
        return f"http://127.0.0.1:{self.ports[1]}", f"/{hashlib.sha256(origin.encode()).hexdigest()}/checkpoint"

    def kill_witness(self) -> None:
        os.kill(self.told["process"], signal.SIGKILL)
        self._stack.close()

    def kill_service(self) -> None:
        if self.running is not None:
            self.running.kill()
            self.running.wire.close()
            self.running = None

    def close(self) -> None:
        self.kill_service()
        self._stack.close()


def test_repeated_kills_show_no_two_roots_for_one_size(tmp_path: Path) -> None:
    acknowledged = Acknowledged()
    with contextlib.ExitStack() as stack:
        site = Site(tmp_path, (stack.enter_context(kept_port()), stack.enter_context(kept_port())))
        stack.callback(site.close)
        # The log has its key before it has a witness, who must be told it.
        first = site.serve()
        site.log = str(first.wire.call("GET", f"{PREFIX}/ledger/key").json["verifierKey"])
        site.kill_service()
        site.witness()
        running = site.serve(**site.policy)
        own = running.wire.url
        stack.enter_context(
            looking(
                site.seen,
                (own, f"{PREFIX}/ledger/checkpoint"),
                (own, f"{PREFIX}/ledger/checkpoint?quorum=any"),
                site.monitored,
            )
        )
        for turn in range(ROUNDS):
            before = len(acknowledged.hashes)
            with creating([running], acknowledged, each=WRITERS):
                eventually(lambda: len(acknowledged.hashes) >= before + BEFORE_EACH, "there is load")  # noqa: B023
                if turn % 3 != 1:
                    site.kill_service()
                if turn % 3 != 0:
                    site.kill_witness()
            if turn % 3 != 0:
                site.witness()
            if turn % 3 != 1:
                running = site.serve(**site.policy)
            check_all_are_there([running], acknowledged)
            newest = site.seen.ask(running.wire, f"{PREFIX}/ledger/checkpoint?quorum=any")
            assert newest is not None
            assert newest.size >= len(acknowledged.hashes)
            eventually(lambda: cosigned(site, newest.size), "the witness continues")  # noqa: B023
    assert {size: roots for size, roots in site.seen.roots.items() if len(roots) != 1} == {}
    assert len(site.seen.roots) > ROUNDS


def cosigned(site: Site, size: int) -> bool:
    url, path = site.monitored
    wire = Wire(url)
    found = site.seen.ask(wire, path)
    wire.close()
    return found is not None and found.size >= size
