"""Callers who go on whatever happens, and remember what they were told."""

from __future__ import annotations

import collections
import http.client
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tests import servers
from tests.attack.stranger import PREFIX, Answer, Holder, Stranger, did_path, service, signing_key
from tests.fault.service_process import API_KEY

# Operations that read without being told what.
READS = (
    *(
        f"{PREFIX}/{noun}"
        for noun in ("dids", "events", "admin/api-keys", "delegations", "credential-schemas", "audit")
    ),
    # A key names the holder of the credentials: here one without credentials.
    f"{PREFIX}/credentials?holderDid=did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
    *(f"{PREFIX}/{noun}" for noun in ("ledger/key", "ledger/checkpoint", "verifications/stats")),
    *("/health", "/version", "/metrics", "/.well-known/jwks.json", "/1.0/methods"),
)
CHANGES_OF_ONE = 15


@dataclass
class Told:
    """What the callers were told. ``failures`` are answers of 5xx, reads that were refused and connections that broke, each with its
    moment; ``changed`` are the newest versions that were acknowledged."""

    created: dict[str, str] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    answers: collections.Counter[tuple[str, int]] = field(default_factory=collections.Counter)
    failures: list[tuple[float, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, status: int, why: str = "no answer") -> None:
        with self.lock:
            self.answers[what, status] += 1
            # A read that is refused is not a load: what is asked does not exist any more.
            if status >= (400 if what == "read" else 500) or status == 0:
                self.failures.append((time.monotonic(), f"{what} {status or why}"))

    def lost(self, stranger: Stranger) -> list[str]:
        """What was acknowledged and is not there."""
        gone = []
        for did, transaction in self.created.items():
            page = stranger.wire.call("GET", f"{did_path(did)}/history")
            found = page.json["items"] if page.status == 200 else []
            if transaction not in [item["transactionHash"] for item in found] or len(found) < self.changed.get(did, 1):
                gone.append(did)
        return gone


class Callers:
    """``clients`` of each kind; ``end`` waits for them."""

    def __init__(self, stranger: Stranger, told: Told, clients: int, folder: Path) -> None:
        self._stranger, self._told, self._stop = stranger, told, threading.Event()
        self._key = folder / "probe.key"
        self._key.write_text(API_KEY)
        self._key.chmod(0o600)
        kinds: list[Callable[[random.Random], None]] = [self._write, self._read] * clients + [self._probe]
        self._threads = [threading.Thread(target=self._go_on, args=(kind, place)) for place, kind in enumerate(kinds)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(300)
            if thread.is_alive():
                raise RuntimeError("a caller never got an answer")

    def _go_on(self, kind: Callable[[random.Random], None], place: int) -> None:
        dice = random.Random(place)
        while not self._stop.is_set():
            kind(dice)
        self._stranger.wire.close()

    def _call(self, what: str, call: Callable[[], Answer]) -> Answer | None:
        try:
            answer = call()
        except (OSError, http.client.HTTPException):
            self._told.note(what, 0)
            self._stop.wait(0.05)
            return None
        self._told.note(what, answer.status)
        if answer.status >= 500:
            self._stop.wait(0.05)
        return answer

    def _write(self, dice: random.Random) -> None:
        """A new DID, and changes of it."""
        made = self._call("createDid", lambda: self._stranger.create({"method": "ids", "keyType": "Ed25519"}))
        if made is None or made.status != 201:
            return
        secret = signing_key(made.json["keys"]["authentication"]["privateKey"])
        hana = Holder(self._stranger.wire, made.json["did"], secret, None, made.json)
        with self._told.lock:
            self._told.created[hana.did] = hana.created["transactionHash"]
        for turn in range(dice.randrange(CHANGES_OF_ONE)):
            if self._stop.is_set():
                return
            body = service(f"s{turn}")
            asked = self._call("getDidAuthChallenge", lambda: hana.ask("update"))
            if asked is None or asked.status != 200:
                continue
            try:
                authorization = hana.signed("update", body)
            except (OSError, http.client.HTTPException, RuntimeError):
                continue
            changed = self._call("updateDid", lambda: hana.send("update", body, authorization))  # noqa: B023
            if changed is not None and changed.status == 200:
                with self._told.lock:
                    self._told.changed[hana.did] = int(changed.json["versionId"])
            self._stop.wait(0.02)

    def _read(self, dice: random.Random) -> None:
        with self._told.lock:
            known = list(self._told.created)[-500:]
        key = {"X-API-Key": API_KEY}
        path, what = dice.choice(READS), "read"
        if known and dice.random() < 0.7:
            did = dice.choice(known)
            tail = dice.choice(["", "/history", "/log"])
            path, what = (
                (did_path(did) + tail, "resolve")
                if dice.random() < 0.8
                else (f"/1.0/identifiers/{quote(did)}", "resolve")
            )
        self._call(what, lambda: self._stranger.wire.call("GET", path, headers=key))
        self._stop.wait(0.01)

    def _probe(self, dice: random.Random) -> None:
        """Credential, delegation, proof, verification and the end of two DIDs."""
        done = servers.run("probe", self._stranger.wire.url, "--api-key", self._key, timeout=300)
        self._told.note("probe", 200 if done.returncode == 0 else 0, done.stderr.partition("\n")[0])
        self._stop.wait(1 + dice.random())
