"""Lock-out by a flood of challenges: whatever a stranger asks for, the owner gets in, and a bad attempt stays cheap.

openapi/DECISIONS.md §3.1. ``IDENTITY_ROUNDS`` multiplies the flood. What a bad attempt costs is printed; the limit that the
test holds is counted in signatures that this machine could have verified instead, so that it is the same on a slow one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey

from tests.attack.stranger import Answer, Holder, add_key, base64url, body_hash, header, public, rounds, service
from tests.fault import service_process
from tests.fault.service_process import Running

FLOOD = 1000 * rounds(1)
ATTEMPTS = 100
# What one attempt with a bad signature may cost the server: without a cap it would be one for each of the flood.
MOST_VERIFICATIONS = 400
# With as many keys as a document may have; without a cap it would be 19 for each of 100 challenges.
MOST_FOR_ALL_KEYS = 1000
PURPOSES = ("update", "deactivate", "rotate", "recover", "token")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with service_process.service(tmp_path_factory.mktemp("flood") / "data") as found:
        yield found


def digests() -> Iterator[str]:
    number = 0
    while True:
        yield base64url(hashlib.sha256(b"flood %d" % number).digest())
        number += 1


def unbound(hana: Holder) -> Iterator[Answer]:
    while True:
        yield hana.ask()


def distinct_bodies(hana: Holder) -> Iterator[Answer]:
    for digest in digests():
        yield hana.ask("update", digest)


def distinct_bodies_without_purpose(hana: Holder) -> Iterator[Answer]:
    for digest in digests():
        yield hana.ask(None, digest)


def purposes(hana: Holder) -> Iterator[Answer]:
    while True:
        for purpose in PURPOSES:
            yield hana.ask(purpose)


def the_owners_own_body(hana: Holder) -> Iterator[Answer]:
    """A stranger may guess what the owner is going to ask for."""
    while True:
        for purpose in (None, "update"):
            for digest in (None, body_hash(service())):
                yield hana.ask(purpose, digest)


FLOODS = [
    *(unbound, the_owners_own_body),
    *(
        pytest.param(one, marks=pytest.mark.nightly)
        for one in (distinct_bodies, distinct_bodies_without_purpose, purposes)
    ),
]


@pytest.mark.parametrize("flood", FLOODS, ids=lambda flood: f"{flood.__name__}_{FLOOD}")
def test_the_owner_gets_in_through_a_flood(
    running: Running, flood: Callable[[Holder], Iterator[Answer]], capsys: pytest.CaptureFixture[str]
) -> None:
    hana, other = running.stranger.holder(), running.stranger.holder()
    quiet = cost_of_bad_attempts(running, hana)
    answers = flood(hana)
    outcomes = {next(answers).outcome for _ in range(FLOOD)}
    assert outcomes <= {(200, None), (503, "OVERLOADED")}, outcomes
    flooded = cost_of_bad_attempts(running, hana)
    with capsys.disabled():
        print(
            f"\n{flood.__name__}: a bad attempt costs {quiet * 1000:.2f} ms before, {flooded * 1000:.2f} ms after {FLOOD}"
        )
    assert flooded <= MOST_VERIFICATIONS * verification()
    assert get_in(hana, service()).status == 200
    for place in range(16):
        next(answers)
        assert get_in(hana, service(f"s{place}")).status == 200
    assert other.act("update", service()).status == 200


def get_in(hana: Holder, body: object) -> Answer:
    """As a careful client does: bound to purpose and body where there is room, else unbound."""
    for purpose, digest in (("update", body_hash(body)), (None, None)):
        offered = hana.ask(purpose, digest)
        if offered.status == 200:
            signature = hana.key.sign(offered.json["challenge"].encode()).signature
            return hana.send("update", body, header(hana.did, signature))
        assert offered.outcome == (503, "OVERLOADED")
        assert int(offered.headers["retry-after"]) > 0
    raise AssertionError("the owner is locked out")


def cost_of_bad_attempts(running: Running, hana: Holder) -> float:
    """Seconds of the server's CPU for one attempt with a well-formed signature that is invalid."""
    value = header(hana.did, SigningKey.generate().sign(b"x").signature)
    before = cpu_seconds(running)
    for _ in range(ATTEMPTS):
        assert hana.send("update", service(), value).outcome == (401, "AUTH_FAILED")
    return (cpu_seconds(running) - before) / ATTEMPTS


def verification() -> float:
    """Seconds of this machine's CPU for one Ed25519 signature that is found to be none."""
    key, signature = SigningKey.generate().verify_key, SigningKey.generate().sign(b"x").signature
    before = time.process_time()
    for _ in range(1000):
        with contextlib.suppress(BadSignatureError):
            key.verify(b"x", signature)
    return (time.process_time() - before) / 1000


def cpu_seconds(running: Running) -> float:
    fields = Path(f"/proc/{running.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_many_keys_and_many_challenges_do_not_multiply(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    """The worst that a stranger can prepare: every kind of challenge at its cap, for a document with as many keys as it may have."""
    hana = running.stranger.holder()
    for _ in range(9):
        pair = [add_key(public(SigningKey.generate())) for _ in range(2)]
        assert hana.act("update", {"operations": pair}).status == 200
    answers = the_owners_own_body(hana)
    for _ in range(100):
        next(answers)
    cost, one = cost_of_bad_attempts(running, hana), verification()
    with capsys.disabled():
        print(
            f"\n19 keys, every challenge at its cap: a bad attempt costs {cost * 1000:.2f} ms, {cost / one:.0f} verifications"
        )
    assert cost <= MOST_FOR_ALL_KEYS * one
    assert get_in(hana, service()).status == 200


def test_challenges_are_limited_by_address() -> None:
    """With the limits as they come: a burst, then 429 with Retry-After, and the owner's other requests go on."""
    from tests.attack.stranger import Stranger, Wire
    from tests.servers import local_server

    with local_server() as server:
        wire = Wire(server.url)
        hana = Stranger(wire, server.api_key).holder()
        # Anyone who asks faster than five times a second is refused at some time.
        answers = [hana.ask() for _ in range(20)]
        while answers[-1].status == 200 and len(answers) < 1000:
            answers.append(hana.ask())
        assert {answer.outcome for answer in answers} == {(200, None), (429, "RATE_LIMITED")}
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers if answer.status == 429)
        assert hana.resolve().status == 200
        wire.close()
