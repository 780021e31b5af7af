"""Clients that create DIDs through the proxy while replicas behind it stop or fail, and a check of each creation.

python load.py [--failover] URL KEY_FILE BEGUN REPLICA...

Each creation has an Idempotency-Key, and is sent again until it is acknowledged. The file BEGUN is made at the first one. After
SIGTERM no other is begun. Then each acknowledged one must be at each replica with its transaction hash, and the API key must have
created exactly these DIDs: none lost, none twice. In a failover of the database the outcome of a commit may be unknown, and a creation
that is sent again is then done again: ``--failover`` allows creations without acknowledgement. No code of the service is used here.
"""

from __future__ import annotations

import argparse
import http.client
import json
import signal
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

CLIENTS = 4
PAUSE_SECONDS = 0.1
LONGEST_SECONDS = 120.0
# What says that it was not done, or not yet: the client sends it again.
LATER = {409, 429, 500, 502, 503, 504}
DIDS = "/api/v1/dids"


@dataclass
class Client:
    """One connection, made anew when it breaks."""

    url: str
    key: str
    connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        parts = urlsplit(self.url)
        if self.connection is None:
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            self.connection = kind(str(parts.hostname), parts.port, timeout=60)
        try:
            self.connection.request(method, path, body, {"X-API-Key": self.key, **headers})
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise
        return answer.status, json.loads(text) if answer.getheader("Content-Type", "").startswith(
            "application/json"
        ) else None


@dataclass
class Told:
    """The transaction hashes of acknowledged creations, what else was answered, and which creations ended otherwise."""

    hashes: dict[str, str] = field(default_factory=dict)
    other: Counter[str] = field(default_factory=Counter)
    given_up: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)


def create(client: Client, told: Told) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
    end, last = time.monotonic() + LONGEST_SECONDS, ""
    while time.monotonic() < end:
        try:
            status, answer = client.ask("POST", DIDS, b'{"method":"ids"}', **headers)
            if status == 201:
                with told.lock:
                    if answer["did"] in told.hashes:
                        told.given_up.append(f"two creations are one: {answer['did']}")
                    told.hashes[answer["did"]] = answer["transactionHash"]
                return
            last = f"{status} {answer['error']['code'] if answer else 'of the proxy'}"
        except (OSError, http.client.HTTPException) as error:
            status, last = 503, type(error).__name__
        with told.lock:
            told.other[last] += 1
        if status not in LATER:
            break
        time.sleep(0.1)
    with told.lock:
        told.given_up.append(last)


def create_until(client: Client, told: Told, begun: Path) -> None:
    while not told.stop.wait(PAUSE_SECONDS):
        create(client, told)
        begun.touch()


def listed(client: Client) -> Iterator[str]:
    """The DIDs that the API key has created."""
    query = "?limit=200"
    while True:
        status, page = client.ask("GET", DIDS + query)
        if status != 200:
            sys.exit(f"{client.url} does not list: {status} {page}")
        yield from (item["did"] for item in page["items"])
        if page["nextCursor"] is None:
            return
        query = f"?limit=200&cursor={quote(page['nextCursor'], safe='')}"


def check(client: Client, told: Told, *, is_exact: bool) -> None:
    there = set(listed(client))
    if lost := told.hashes.keys() - there:
        sys.exit(f"{client.url} has lost {len(lost)} of {len(told.hashes)} acknowledged: {sorted(lost)[:3]}")
    if is_exact and (more := there - told.hashes.keys()):
        sys.exit(f"{client.url} has {len(more)} without acknowledgement: {sorted(more)[:3]}")
    for did, expected in told.hashes.items():
        status, page = client.ask("GET", f"{DIDS}/{quote(did, safe='')}/history")
        if status != 200 or [item["transactionHash"] for item in page["items"]] != [expected]:
            sys.exit(f"{client.url} has another history of {did}: {status} {page}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--failover", action="store_true")
    parser.add_argument("url")
    parser.add_argument("key", type=lambda name: Path(name).read_text().strip())
    parser.add_argument("begun", type=Path)
    parser.add_argument("replicas", nargs="+")
    asked = parser.parse_args()
    told = Told()
    signal.signal(signal.SIGTERM, lambda *_: told.stop.set())
    threads = [
        threading.Thread(target=create_until, args=(Client(asked.url, asked.key), told, asked.begun), daemon=True)
        for _ in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        # With an end, because a signal is not heard while the main thread waits for another without one.
        while thread.is_alive():
            thread.join(0.2)
    for replica in asked.replicas:
        check(Client(replica, asked.key), told, is_exact=not asked.failover)
    said = ", ".join(f"{count} times {what}" for what, count in sorted(told.other.items())) or "nothing"
    print(
        f"load: {len(told.hashes)} acknowledged, all at {len(asked.replicas)} replicas; answered otherwise before: {said}"
    )
    if told.given_up or not told.hashes:
        sys.exit(f"load: {len(told.given_up)} creations did not end as they must: {told.given_up[:3]}")


if __name__ == "__main__":
    main()
