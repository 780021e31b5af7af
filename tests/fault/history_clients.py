"""Clients that change and resolve DIDs at several replicas during faults, and record requests and answers.

Each change has an ``Idempotency-Key`` and is sent again, to any replica, until it is answered. Where an earlier attempt holds the
key (409) it is put aside, and its DID with it; ``settle`` sends it again when all faults are over.
"""

from __future__ import annotations

import http.client
import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

from nacl.signing import SigningKey

from tests.attack.stranger import (
    ACTS,
    LEAVE,
    PREFIX,
    Answer,
    Holder,
    Wire,
    body_hash,
    did_path,
    header,
    public,
    rotation,
    service,
    signing_key,
)
from tests.fault.histories import Change, Outcome, Read

# A DID has at most 20 services and 20 keys.
MOST_CHANGES = 12
MOST_ROTATIONS = 3
ATTEMPTS = 40
PAUSE_SECONDS = 0.02
LOST = (OSError, http.client.HTTPException)
WAYS = ("create", "update", "shared", "rotate", "deactivate", "resolve", "twice", "checkpoint")
WEIGHTS = (6, 24, 8, 6, 3, 40, 8, 5)


@dataclass
class Owned:
    """A DID of one client."""

    holder: Holder
    changes: int = 0
    rotations: int = 0
    is_active: bool = True


@dataclass
class Sent:
    """A change under way, the same in each attempt."""

    client: int
    act: str
    body: Any
    marker: str
    holder: Holder | None
    new_key: SigningKey | None = None
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    began: float = field(default_factory=time.monotonic)


@dataclass
class History:
    """The observations of all clients. ``strange`` holds inexplicable answers."""

    changes: list[Change] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    checkpoints: set[tuple[int, str]] = field(default_factory=set)
    created: dict[str, Holder] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)
    aside: list[Sent] = field(default_factory=list)
    unknown: int = 0
    repeated: int = 0

    def settle(self, sent: Sent, answer: Answer) -> None:
        """Note the answer that ended a change."""
        now, act = time.monotonic(), sent.act
        if act == "create":
            found = answer.json
            sent.holder = Holder(
                Wire(""), found["did"], signing_key(found["keys"]["authentication"]["privateKey"]), None, found
            )
            self.created[found["did"]] = sent.holder
        assert sent.holder is not None
        self.changes.append(
            Change(
                sent.client,
                sent.holder.did,
                sent.marker,
                sent.began,
                now,
                "done",
                1 if act == "create" else version_of(answer),
            )
        )

    def refuse(self, sent: Sent, *, is_known: bool) -> None:
        """Note a change that is not sent again."""
        assert sent.holder is not None
        outcome: Outcome = "refused" if is_known else "unknown"
        self.changes.append(Change(sent.client, sent.holder.did, sent.marker, sent.began, outcome=outcome))


def version_of(answer: Answer) -> int | None:
    """Return the version that an answer is about, or None where it does not have it."""
    found = answer.json
    if answer.status == 410:
        found = found["error"]["details"]
    version = found.get("versionId", found.get("didDocumentMetadata", {}).get("versionId"))
    return None if version is None else int(version)


def markers_of(document: dict[str, Any]) -> frozenset[str]:
    """Return the ids of services and the keys of a document, without those of its creation."""
    services = [one["id"].rpartition("#")[2] for one in document.get("service", ())]
    return frozenset(services) | {one["publicKeyMultibase"] for one in document["verificationMethod"]}


class Client:
    """A client in a thread, which executes ``run``."""

    def __init__(
        self, number: int, urls: Sequence[str], api_key: str, history: History, shared: Sequence[Holder]
    ) -> None:
        self.number, self.api_key, self.history, self.shared = number, api_key, history, [*shared]
        self.wires = [Wire(url) for url in urls]
        self.owned: list[Owned] = []
        self.dice = random.Random(number)

    def run(self, stop: threading.Event) -> None:
        """Act until ``stop`` is set."""
        while not stop.wait(PAUSE_SECONDS * self.dice.random()):
            way: str = self.dice.choices(WAYS, WEIGHTS)[0]
            own = [one for one in self.owned if one.is_active and one.changes < MOST_CHANGES]
            if way == "create" or (way in ("update", "rotate", "deactivate", "twice") and not own):
                self.create(stop)
            elif way == "resolve":
                self.resolve(self.dice.choice([*self.history.created]) if self.history.created else "did:ids:none")
            elif way == "checkpoint":
                self.checkpoint()
            elif way == "shared" and self.shared:
                self.change(Sent(self.number, "update", *self._service(), self.dice.choice(self.shared)), stop)
            elif way == "twice" and own:
                self.use_twice(self.dice.choice(own))
            elif own:
                self.change_own(way, self.dice.choice(own), stop)
        for wire in self.wires:
            wire.close()

    def _service(self) -> tuple[Any, str]:
        name = f"s{uuid.uuid4().hex[:12]}"
        return service(name), name

    def create(self, stop: threading.Event) -> None:
        sent = Sent(self.number, "create", {"method": "ids"}, "created", None)
        if self.change(sent, stop):
            assert sent.holder is not None
            self.owned.append(Owned(sent.holder))

    def change_own(self, act: str, own: Owned, stop: threading.Event) -> None:
        own.changes += 1
        if act == "rotate" and own.rotations < MOST_ROTATIONS:
            key = SigningKey.generate()
            # A retry may be signed with the key that was rotated.
            until = (datetime.now(UTC) + timedelta(hours=12)).strftime("%Y-%m-%dT%H:%M:%SZ")
            body = rotation(own.holder.key_id, public(key), revokeOldAfter=until)
            own.rotations += 1
            own.is_active = self.change(Sent(self.number, act, body, public(key), own.holder, key), stop)
            if own.is_active:
                own.holder.key = key
        elif act == "deactivate":
            own.is_active = False
            self.change(Sent(self.number, act, LEAVE, "deactivated", own.holder), stop)
        else:
            own.is_active = self.change(Sent(self.number, "update", *self._service(), own.holder), stop)

    def change(self, sent: Sent, stop: threading.Event | None) -> bool:
        """Send a change until it is answered; whether it was."""
        for attempt in range(ATTEMPTS):
            answer = self.attempt(sent, self.dice.choice(self.wires))
            if answer is not None and answer.status in (200, 201):
                self.history.settle(sent, answer)
                if sent.act != "deactivate" and self.dice.random() < 0.2:
                    self._repeat(sent, answer)
                return True
            if answer is not None and answer.status == 410 and sent.act == "deactivate":
                self.history.settle(sent, answer)
                return True
            if answer is not None and answer.status == 409:
                if stop is not None:
                    break
            elif answer is not None and answer.status == 422 and b"too many entries" in answer.body:
                # All clients together have filled a shared DID. What an earlier attempt did is not known.
                self.shared = [one for one in self.shared if one is not sent.holder]
                self.history.refuse(sent, is_known=attempt == 0)
                return False
            elif answer is not None and answer.status < 500:
                self.history.strange.append(f"{sent.act} {sent.marker}: {answer.status} {answer.body!r}")
                return False
            else:
                self.history.unknown += 1
            time.sleep(0.1)
        self.history.aside.append(sent)
        return False

    def _repeat(self, sent: Sent, first: Answer) -> None:
        """Send an answered change once more: the answer is the same."""
        self.history.repeated += 1
        again = self.attempt(sent, self.dice.choice(self.wires))
        if again is not None and again.status < 500 and (again.status, again.json) != (first.status, first.json):
            self.history.strange.append(f"another answer to {sent.act} {sent.marker}: {again.status} {again.body!r}")

    def attempt(self, sent: Sent, wire: Wire) -> Answer | None:
        """Return the answer of one attempt, or None where none came. Each is signed anew, after a rotation with the new key."""
        named = {"Idempotency-Key": sent.key}
        try:
            if sent.holder is None or sent.act == "create":
                return wire.call("POST", f"{PREFIX}/dids", sent.body, named | {"X-API-Key": self.api_key})
            holder = sent.holder
            for key in (holder.key, *([] if sent.new_key is None else [sent.new_key])):
                at = Holder(wire, holder.did, key, None, {})
                asked = at.ask(sent.act, body_hash(sent.body))
                if asked.status != 200:
                    return asked
                text = asked.json["challenge"]
                signed = header(holder.did, key.sign(text.encode()).signature)
                method, path = ACTS[sent.act]
                if method == "DELETE":
                    named = {}
                answer = wire.call(method, did_path(holder.did) + path, sent.body, named | {"Authorization": signed})
                if answer.status != 401:
                    break
        except LOST:
            return None
        return answer

    def use_twice(self, own: Owned) -> None:
        """Sign one challenge that binds nothing, and send it with another change to each replica at the same moment."""
        own.changes += len(self.wires)
        began = time.monotonic()
        try:
            asked = Holder(self.dice.choice(self.wires), own.holder.did, own.holder.key, None, {}).ask()
        except LOST:
            return
        if asked.status != 200:
            return
        signed = header(own.holder.did, own.holder.key.sign(asked.json["challenge"].encode()).signature)
        bodies, signature = [self._service() for _ in self.wires], str(uuid.uuid4())

        def send(place: int) -> None:
            body, marker = bodies[place]
            outcome: Outcome = "unknown"
            version = None
            try:
                at = Wire(self.wires[place].url)
                answer = at.call("PATCH", did_path(own.holder.did), body, {"Authorization": signed})
                at.close()
                if answer.status == 200:
                    outcome, version = "done", version_of(answer)
                elif answer.status == 401:
                    outcome = "refused"
                elif answer.status < 500:
                    self.history.strange.append(f"one signature twice: {answer.status} {answer.body!r}")
            except LOST:
                pass
            ended = inf if outcome == "unknown" else time.monotonic()
            self.history.changes.append(
                Change(self.number, own.holder.did, marker, began, ended, outcome, version, signature)
            )

        in_parallel([lambda place=place: send(place) for place in range(len(bodies))])  # type: ignore[misc]

    def resolve(self, did: str) -> None:
        began = time.monotonic()
        try:
            answer = self.dice.choice(self.wires).call("GET", did_path(did))
        except LOST:
            return
        ended = time.monotonic()
        if answer.status == 200:
            markers = markers_of(answer.json["didDocument"])
            self.history.reads.append(Read(self.number, did, began, ended, version_of(answer) or 0, markers))
        elif answer.status == 410:
            self.history.reads.append(Read(self.number, did, began, ended, version_of(answer) or 0))
        elif answer.status == 404 and did in self.history.created:
            self.history.reads.append(Read(self.number, did, began, ended, 0))
        elif answer.status not in (404, 503):
            self.history.strange.append(f"resolution of {did}: {answer.status} {answer.body!r}")

    def checkpoint(self) -> None:
        try:
            answer = self.dice.choice(self.wires).call("GET", f"{PREFIX}/ledger/checkpoint")
        except LOST:
            return
        if answer.status == 200:
            _, size, root, *_ = answer.body.decode().splitlines()
            self.history.checkpoints.add((int(size), root))


def in_parallel(calls: Sequence[Callable[[], object]]) -> None:
    """Run each in a thread; return when all have ended."""
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    assert not any(thread.is_alive() for thread in threads), "a client never got an answer"
