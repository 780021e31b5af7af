"""Contexts of services in a log: earlier entries stay valid to the byte, and a document that lists a context continues to list it.

``before_contexts.jsonl`` was written by the release that knew only the context of DIDComm: two services at the creation, a third one
that is added and removed, a rotation with a grace period and its end, another log key.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_kit.conformance.controller import Controller, Life, WalletSigner, committed

from identity_core.domain.dids.changes import (
    AddService,
    Change,
    Create,
    Deactivate,
    Expire,
    NewService,
    Recover,
    RemoveService,
    Rotate,
    RotateLogKey,
    SetAlsoKnownAs,
    UpdateService,
)
from identity_core.domain.dids.did import DIDCOMM, SERVICE_CONTEXTS
from identity_core.domain.dids.keys import Key, default_purposes
from identity_core.domain.dids.logs import LogKeys, fold
from identity_core.domain.dids.state import LogInvalid
from tests.client.own_logs import rewritten

BEFORE = Path(__file__).with_name("before_contexts.jsonl").read_bytes()
_, DOMAINS, PRESENTATIONS = SERVICE_CONTEXTS
NOW, OLD = Chain("ids", Rules()), Chain("ids", Rules(contexts=()))
HUB = NewService("LinkedDomains", "https://hana.example/", "hub")
WHOIS = NewService("LinkedVerifiablePresentation", "https://hana.example/whois.vp", "whois")


def listed(document: Any) -> list[str]:
    """The contexts of services."""
    return [context for context in document["@context"] if context in SERVICE_CONTEXTS]


class HanasLife(Life):
    """A DID whose log begins as ``method`` writes it."""

    def __init__(self, method: Chain, *services: NewService) -> None:
        controller, signer = Controller("contexts"), WalletSigner("contexts")
        self.first, self.recovery = controller.new_key(), controller.key().public
        creation = Create(
            (self.first, controller.new_key()), (signer.multikey,), services=services, recovery_key=self.recovery
        )
        super().__init__(method, creation, controller, signer)

    @property
    def contexts(self) -> list[str]:
        shown = listed(self.state.document.to_json())
        assert list(self.state.document.contexts) == shown
        assert verify(b"\n".join(self.entries)).document == self.state.document.to_json()
        return shown

    def rotate(self, at: datetime, end: datetime | None) -> None:
        new = Key(self.first.type, self.controller.key().public, ())
        self.change(Rotate(f"{self.state.did}#{self.first.public}", new, end, self.authorize(at)), at)

    def recover(self, version: int | None = None) -> None:
        at, kind = self.later(), self.first.type
        new = Key(kind, self.controller.key().public, default_purposes(kind, primary=True))
        evidence = self.authorize(at, key=self.recovery, scheme="RecoveryKey")
        self.recovery = self.controller.key().public
        self.change(Recover(new, False, self.recovery, evidence, version), at)

    def with_contexts(self, contexts: list[str]) -> bytes:
        """The log, whose last document lists these."""

        def change(body: dict[str, Any]) -> None:
            document = body["state"]
            kept = [context for context in document["@context"] if context not in SERVICE_CONTEXTS]
            document["@context"] = [*kept, *contexts]

        line = rewritten(self.entries[-1], self.entries[-2], change, self.signer)
        return b"\n".join([*self.entries[:-1], line])


def test_a_log_of_before_holds_to_the_octet() -> None:
    documents = [json.loads(line)["state"] for line in BEFORE.splitlines()]
    assert [listed(document) for document in documents] == [[DIDCOMM]] * 6
    states = list(fold(NOW.apply, BEFORE.splitlines()))
    assert [state.document.to_json() for state in states] == documents
    assert verify(BEFORE).versions == 6


def test_expiry_keeps_contexts_until_next_change() -> None:
    life = HanasLife(OLD, HUB)
    assert life.contexts == []
    at = life.later()
    end = at.replace(microsecond=0) + timedelta(hours=1)
    life.rotate(at, end)
    life.method = NOW
    life.change(Expire(), end)
    assert life.contexts == []
    life.update(SetAlsoKnownAs(("https://hana.example/",)))
    assert life.contexts == [DOMAINS]


@pytest.mark.parametrize("how", ["rotate", "recover"])
def test_a_rotation_and_a_recovery_bring_them_too(how: str) -> None:
    life = HanasLife(OLD, HUB)
    life.method = NOW
    life.rotate(life.later(), None) if how == "rotate" else life.recover()
    assert life.contexts == [DOMAINS]


def test_a_version_of_before_that_is_restored_lists_them() -> None:
    life = HanasLife(OLD, HUB)
    life.update(RemoveService("hub"))
    life.method = NOW
    life.recover(1)
    assert life.contexts == [DOMAINS]


def test_context_comes_and_goes_with_last_service_of_its_type() -> None:
    life = HanasLife(NOW, NewService("DIDCommMessaging", "https://hana.example/inbox"))
    assert life.contexts == [DIDCOMM]
    life.update(AddService(WHOIS), AddService(HUB), AddService(NewService("LinkedDomains", "https://b.example/", "b")))
    assert life.contexts == [DIDCOMM, DOMAINS, PRESENTATIONS]
    life.update(RemoveService("b"))
    assert life.contexts == [DIDCOMM, DOMAINS, PRESENTATIONS]
    life.update(UpdateService(NewService("x", "https://hana.example/", "hub")))
    assert life.contexts == [DIDCOMM, PRESENTATIONS]
    at = life.later()
    life.change(Deactivate(life.authorize(at)), at)
    assert life.contexts == []


@pytest.mark.parametrize("method", [OLD, NOW], ids=["before", "now"])
def test_only_listed_contexts_are_loaded(method: Chain) -> None:
    """The holder of the log key may begin to list a context of a service, and do nothing else to them."""
    life = HanasLife(method, HUB)
    life.update(AddService(NewService("DIDCommMessaging", "https://hana.example/inbox", "inbox")))
    good = [[DIDCOMM, DOMAINS]] + ([[DIDCOMM]] if method is OLD else [])
    for contexts in good:
        assert listed(verify(life.with_contexts(contexts)).document) == contexts
    bad = [[DIDCOMM], [DOMAINS], [], [DOMAINS, DIDCOMM], [DIDCOMM, DIDCOMM, DOMAINS], [*SERVICE_CONTEXTS]]
    for contexts in (each for each in bad if each not in good):
        with pytest.raises(LogInvalid, match="The document is not what the change makes"):
            verify(life.with_contexts(contexts))


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("@context"),
        lambda document: document.update({"@context": None}),
        lambda document: document.update({"@context": 5}),
        lambda document: document.update({"@context": {DOMAINS: True}}),
        lambda document: document.update({"@context": DOMAINS}),
        lambda document: document["@context"].append({"x": [DOMAINS]}),
        lambda document: document["@context"].insert(0, DOMAINS),
    ],
)
def test_contexts_of_another_form_are_refused(change: Callable[[Any], object]) -> None:
    for place in (1, 2):
        life = HanasLife(OLD, HUB)
        for number in range(place):
            life.update(SetAlsoKnownAs((f"https://{number}.example/",)))
        line = rewritten(life.entries[-1], life.entries[-2], lambda body: change(body["state"]), life.signer)
        with pytest.raises(LogInvalid):
            verify(b"\n".join([*life.entries[:-1], line]))


def test_the_end_of_a_grace_period_brings_no_context() -> None:
    """The version was in force before its entry was written."""
    life = HanasLife(OLD, HUB)
    at = life.later()
    end = at.replace(microsecond=0) + timedelta(hours=1)
    life.rotate(at, end)
    life.change(Expire(), end)
    with pytest.raises(LogInvalid):
        verify(life.with_contexts([DOMAINS]))


def test_another_log_key_brings_no_context() -> None:
    class Rotating(HanasLife):
        def entry(self, change: Change, at: datetime, next_keys: LogKeys | None = None) -> bytes:
            before = self.states[-1] if self.states else None
            keys = committed(self.signer, *({other} - {self.signer}))
            return self.signer.seal(OLD.draft(before, change, at, signer=self.signer.multikey, next_keys=keys))

    other = WalletSigner("another key of contexts")

    life = Rotating(OLD, HUB)
    life.signer = other
    life.change(RotateLogKey(), life.later())
    assert life.contexts == []
    with pytest.raises(LogInvalid):
        verify(life.with_contexts([DOMAINS]))
