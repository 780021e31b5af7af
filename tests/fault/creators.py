"""Clients that create DIDs whatever happens, and remember what they were told."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.attack.stranger import PREFIX, SECONDS
from tests.fault.service_process import Running

REPAIR_SECONDS = 30.0
# Between two requests of a continuing client: some are always in progress, and the processors are not fully loaded.
PAUSE_SECONDS = 0.02
REFUSALS = {"BLOCKCHAIN_ERROR", "OVERLOADED", "PLUGIN_UNAVAILABLE", "PLUGIN_TIMEOUT"}


@dataclass
class Acknowledged:
    """The transaction hashes of the DIDs whose creation was answered with 201, and how often it was answered otherwise.
    ``strange`` holds answers that the document does not give for a ledger that is away."""

    hashes: dict[str, str] = field(default_factory=dict)
    refused: dict[int, int] = field(default_factory=dict)
    strange: list[bytes] = field(default_factory=list)
    lost_answers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def more(self, count: int, seconds: float) -> float:
        """Waits until so many more were acknowledged; returns the seconds that it took, or ``seconds``."""
        began, wanted = time.monotonic(), len(self.hashes) + count
        while len(self.hashes) < wanted and time.monotonic() < began + seconds:
            time.sleep(0.02)
        return time.monotonic() - began


def create_until(stop: threading.Event, running: Running, acknowledged: Acknowledged) -> None:
    """Create DIDs until ``stop`` is set, whatever the answers are."""
    while not stop.wait(PAUSE_SECONDS):
        try:
            answer = running.stranger.create({"method": "ids"})
        except (OSError, http.client.HTTPException):
            with acknowledged.lock:
                acknowledged.lost_answers += 1
            continue
        with acknowledged.lock:
            if answer.status == 201:
                acknowledged.hashes[answer.json["did"]] = answer.json["transactionHash"]
                continue
            acknowledged.refused[answer.status] = acknowledged.refused.get(answer.status, 0) + 1
            if answer.code not in REFUSALS:
                acknowledged.strange.append(answer.body)
        time.sleep(0.05)
    running.wire.close()


@contextlib.contextmanager
def creating(replicas: Sequence[Running], acknowledged: Acknowledged, *, each: int) -> Iterator[None]:
    """``each`` clients for every replica, for as long as the context lasts."""
    stop = threading.Event()
    threads = [
        threading.Thread(target=create_until, args=(stop, replica, acknowledged))
        for replica in replicas
        for _ in range(each)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            # Longer than a request may take: what it is told counts, too.
            thread.join(3 * SECONDS)
        assert not any(thread.is_alive() for thread in threads), "a client never got an answer"


def takes_writes(replica: Running) -> bool:
    """Whether it has found its database again: each has to by itself."""
    return replica.wire.call("GET", "/ready").status == 200 and replica.stranger.create({"method": "ids"}).status == 201


def check_all_are_there(replicas: Sequence[Running], acknowledged: Acknowledged) -> None:
    """Every acknowledged creation, with its transaction hash, at every replica; and a feed without gaps."""
    assert acknowledged.strange == []
    for replica in replicas:
        for did, transaction_hash in acknowledged.hashes.items():
            page = replica.wire.call("GET", f"{PREFIX}/dids/{did}/history")
            assert page.status == 200, (did, page.body)
            assert [item["transactionHash"] for item in page.json["items"]] == [transaction_hash]
        whole_feed(replica)


def whole_feed(running: Running) -> None:
    """The feed has every entry of the ledger and no gap. What was recorded without an answer comes into it within seconds."""
    checkpoint = running.wire.call("GET", f"{PREFIX}/ledger/checkpoint")
    assert checkpoint.status == 200, checkpoint.body
    size = int(checkpoint.body.splitlines()[1])
    until = time.monotonic() + REPAIR_SECONDS
    while (found := len(all_events(running))) < size and time.monotonic() < until:
        time.sleep(0.2)
    assert found >= size
    sequences = [item["sequence"] for item in all_events(running)]
    assert sequences == list(range(1, len(sequences) + 1))


def all_events(running: Running) -> list[dict[str, int]]:
    """The public feed, whole."""
    events: list[dict[str, int]] = []
    while True:
        page = running.wire.call("GET", f"{PREFIX}/events?after={len(events)}&limit=200").json["items"]
        if not page:
            return events
        events += page
