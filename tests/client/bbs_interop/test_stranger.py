"""A stranger with PROTOCOL-2.md, our answer and the status file takes what is true, and refuses what was revoked, expired, stolen or put
together from two holders. The verifier is the one in JavaScript, and all that it has of us are files.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.status_gaps import StatusEpoch

from identity_bbs.consent import consent as give_consent
from identity_bbs.suite import ciphersuite
from identity_codec.structs import plain
from identity_codec.values import replace
from tests.attack.presentation_forge import CHEATS, CheatingVector, PresentationForger, material
from tests.presenting import (
    AUDIENCE,
    CURVE,
    DAY,
    NONCE,
    NOW,
    REVOKED,
    Holder,
    Issuer,
    Scene,
    ask,
    seeded,
)
from tests.unit.use_cases.credentials.conftest import SCHEMA, Office
from tests.unit.use_cases.proofs import test_presenting as service

IVO, HANA, OTTO = Issuer(), Holder(), Holder("otto", "did:ids:otto")
HEADER = IVO.header()
ADULT = {"attributeName": "age", "type": "gte", "value": 18}
SCORE = {"attributeName": "score", "type": "gte", "value": 100}
MISMATCH = "the proof does not match"
OTHER_LIST = "another status list than that of the file"
CLAIMED_HANDLE = 3_000_000_000


@dataclass
class Stranger:
    """Puts files into folders, and has JavaScript look at them."""

    run: Callable[[str, Any], Any]
    folder: Path
    count: int = 0

    def write_input(self, answer: Any, asked: Any, keys: dict[str, bytes], status: list[bytes]) -> str:
        folder = self.folder / str(self.count)
        self.count += 1
        folder.mkdir()
        hexes = {method: key.hex() for method, key in keys.items()}
        for name, value in (("answer", answer), ("asked", asked), ("keys", hexes)):
            (folder / f"{name}.json").write_text(json.dumps(value))
        for number, data in enumerate(status):
            (folder / f"status-{number}.json").write_bytes(data)
        return str(folder)

    def verdicts(self, *folders: str) -> list[bool | str]:
        """True, or why it is refused."""
        found = self.run("stranger.mjs", list(folders))
        return [True if one["accepts"] else one["reason"] for one in found]


@pytest.fixture
def stranger(independent: Callable[[str, Any], Any], tmp_path: Path) -> Stranger:
    folder = tmp_path / "sent"
    folder.mkdir()
    return Stranger(independent, folder)


# What the service answers and publishes


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[service.Scene]:
    """Ivo's credential of Hana at the service."""
    folder = tmp_path / "service"
    folder.mkdir()
    office = asyncio.run(Office.open(folder))
    yield service.Scene(office)
    asyncio.run(office.rooms.close())


def published(scene: service.Scene) -> bytes:
    """The status file of the present epoch."""
    (gap_list,) = asyncio.run(scene.gaps.lists())
    asyncio.run(scene.publisher.step())
    epoch = status_gaps.epoch_at(scene.clock.now(), gap_list.period)
    found = asyncio.run(scene.gaps.published(gap_list.id, epoch))
    assert found is not None
    return found.manifest


def test_answers_until_credential_is_revoked(stranger: Stranger, scene: service.Scene) -> None:
    credential = scene.held.credential
    keys = {credential.verification_method: credential.issuer_public_key}

    def sent(proof: Any, status: bytes, **changed: Any) -> str:
        member = {"issuer": str(credential.issuer), "schema": SCHEMA, "predicates": [ADULT]}
        asked = {
            "credentials": [member],
            "audience": service.SHOP,
            "challenge": service.NONCE.decode(),
            "now": int(scene.clock.now().timestamp()),
        }
        return stranger.write_input({"proof": plain(proof)}, asked | changed, keys, [status])

    # Two minutes before midnight, so that the day and the list of the proof are still taken when it is shown.
    scene.clock.time = datetime(2026, 3, 4, 23, 58, tzinfo=UTC)
    proof, today = scene.proof(expires_at=scene.clock.time + timedelta(minutes=6)), published(scene)
    folders = [
        sent(proof, today),
        sent(proof, today, audience="https://bank.example"),
        sent(proof, today, challenge="the challenge of a bank, 30 bytes"),
        sent(proof, today, credentials=[{"issuer": str(credential.issuer), "schema": SCHEMA, "predicates": []}]),
        sent(proof, today, credentials=[{"issuer": str(scene.office.hana), "schema": SCHEMA, "predicates": [ADULT]}]),
    ]
    scene.set_status("revocation")
    scene.clock.move(minutes=4)
    tomorrow = published(scene)
    folders += [sent(proof, today), sent(proof, tomorrow)]
    scene.clock.move(hours=12)
    folders += [sent(proof, tomorrow)]
    assert stranger.verdicts(*folders) == [
        True,
        "for another verifier",
        "for another verifier",
        "another question",
        "another issuer or schema",
        # Who has yesterday's list only believes it for as long as the page says.
        True,
        OTHER_LIST,
        "the proof is of another time",
    ]


# What a prover sends who knows the protocol and cheats


def status_file(epoch: StatusEpoch) -> bytes:
    ends = status_gaps.chain(REVOKED)
    manifest, _ = gap_shards.publish(epoch, 1, ends, [IVO.sign(epoch.header, gap) for gap in pairwise(ends)])
    return manifest.encoded


def story(*held: Any, now: datetime = NOW) -> Scene:
    parts = [(one.header, ("score", "gte", 100)) for one in held]
    return Scene(ask(*parts, status=True), held, HANA, now=now)


def show_to_stranger(stranger: Stranger, asked: Scene, text: str, *, now: datetime = NOW) -> str:
    count = len(asked.question.credentials)
    member = {"issuer": IVO.did, "schema": HEADER.schema.id, "predicates": [SCORE]}
    request = {
        "credentials": [member] * count,
        "audience": AUDIENCE,
        "challenge": NONCE.decode(),
        "now": int(now.timestamp()),
    }
    files = [status_file(IVO.epoch(NOW))] * count
    return stranger.write_input({"proof": {"proof": text}}, request, asked.keys, files)


def forged(asked: Scene, change: Callable[[Any], None], *, anew: bool, consent: bytes | None = None) -> str:
    """By a prover who stops at nothing; ``anew``: under a true signature of the issuer on what no honest issuer signs."""
    messages, signatures, own = material(asked)
    change(messages)
    if anew:
        headers = [HEADER.encoded] * len(asked.held) + [part.epoch.header for part in asked.statement.status]
        secrets = [(HANA.secret.scalar, one.blind) for one in asked.held]
        whole = [[*secret, *values[2:]] for secret, values in zip(secrets, messages, strict=False)]
        whole += messages[len(asked.held) :]
        signatures = [IVO.sign(header, values) for header, values in zip(headers, whole, strict=True)]
    vector = type("Cheater", (CheatingVector,), {"cheat": staticmethod(CHEATS["modulo the width"])})
    return PresentationForger(CURVE, 1, vector).forge(asked, messages, signatures, consent=consent or own)


def test_revoked_expired_stolen_and_two_holders(stranger: Stranger) -> None:
    mine = HANA.obtain(IVO)
    second = HANA.obtain(IVO, handle=CLAIMED_HANDLE + 1)
    ottos = OTTO.obtain(IVO, handle=CLAIMED_HANDLE + 2)
    alone, both = story(mine), story(mine, second)
    # What the cheat makes of the truth is good: below, what he says is wrong and not how he says it.
    good = [(alone, alone.prove()), (both, both.prove()), (alone, forged(alone, lambda m: None, anew=True))]
    honest = [show_to_stranger(stranger, asked, text) for asked, text in good]

    refused = {
        "revoked": (alone, forged(alone, lambda m: m[0].__setitem__(5, REVOKED[1]), anew=True)),
        "expired": (alone, forged(alone, lambda m: m[0].__setitem__(4, DAY - 1), anew=True)),
    }
    # The thief has all of the credential but the secret, and consents with his own.
    message = alone.terms.message(alone.question, alone.context, None)
    stolen, (rho,) = give_consent(ciphersuite(CURVE), OTTO.secret, [77], message, seeded(1))
    refused["stolen"] = alone, forged(alone, lambda m: m[0].__setitem__(1, rho), anew=False, consent=stolen)
    # Hana consents for both, and one of them is Otto's.
    together = story(mine, ottos)
    refused["of two holders"] = together, forged(together, lambda m: None, anew=False)
    # A gap that was signed before the revocation, of the list of the day before.
    early = NOW - timedelta(days=1)
    old = replace(IVO.epoch(NOW), epoch=IVO.epoch(NOW).epoch - 1)
    assert old == IVO.epoch(early)
    gap = IVO.gap(mine.witness.particulars.handle, epoch=old)
    stale = replace(alone.statement, status=(replace(alone.statement.status[0], epoch=old),))
    known = replace(alone.witness, gaps=(gap,))
    text = PresentationForger(CURVE).prove(stale, known, alone.bound)
    late = [
        show_to_stranger(stranger, alone, text),
        show_to_stranger(stranger, alone, alone.prove(), now=NOW + timedelta(hours=1)),
    ]

    sent = [show_to_stranger(stranger, asked, text) for asked, text in refused.values()]
    found = iter(stranger.verdicts(*honest, *sent, *late))
    assert [next(found) for _ in honest] == [True, True, True]
    assert {kind: next(found) for kind in refused} == dict.fromkeys(refused, MISMATCH)
    assert list(found) == ["the list is of another time", "the proof is of another time"]


def test_otto_himself_is_believed(stranger: Stranger) -> None:
    """The credential that is refused in Hana's hands is good in his."""
    ottos = OTTO.obtain(IVO, handle=CLAIMED_HANDLE + 2)
    his = replace(story(ottos), holder=OTTO)
    assert stranger.verdicts(show_to_stranger(stranger, his, his.prove())) == [True]
