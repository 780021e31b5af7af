"""Suite 2 for ``bench_prover.py``: presentations, consent and blind issue of credentials of twelve slots, all hidden.

The target is "holder-bound, valid now, not revoked, one 64-bit interval". CPU time of one process; bytes are those of the proofs, without
headers and question. Targets: 7.5 / 7.7 ms and 3,760 bytes with consent, 0.3 ms for a consent, 2.5 ms for a blind issue of both sides,
1.5 ms more for a second credential.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from identity_bound_credentials.domain.presentation import Acceptance
from identity_prover_bbs.set_argument import SetLayout, SetProver
from identity_prover_bbs.suite2 import (
    PresentationEnvelope,
    PresentationProver,
    PresentationVerifier,
    ReceivedPresentation,
)
from identity_prover_bbs.suite2.generators import presentation_generators
from identity_prover_bbs.suite2.received import own_statement

from identity_bbs import blind, consent, core
from identity_bbs.bls12381 import ORDER, Curve, keys, select
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_bbs.encoding import mixed_messages_to_scalars, octets_to_public_key
from identity_bbs.frames import scalar
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import ciphersuite
from identity_codec.values import replace
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from tests.presenting import AUDIENCE, HANDLE, NONCE, NOW, PLAIN, Holder, Issuer, Scene, ask

SCHEMA = Schema(
    "https://schemas.example/bench/2",
    (
        Attribute("a", AttributeType.INTEGER),
        *(Attribute(name, AttributeType.INTEGER, low=-100, high=155) for name in "bc"),
    ),
)
VALUES = {"a": 1984, "b": -77, "c": 5}
INTERVAL = (("a", "gt", "-9223372036854775804"), ("a", "lt", "9223372036854775803"))
CASES: Mapping[str, tuple[tuple[tuple[str, str, Any], ...], dict[str, Any], int]] = {
    "BBS proof alone": ((), {"holder": PLAIN, "validity": False}, 1),
    "64-bit interval": (INTERVAL, {"holder": PLAIN, "validity": False}, 1),
    "valid today": ((), {"holder": PLAIN}, 1),
    "valid, not revoked": ((), {"holder": PLAIN, "status": True}, 1),
    "target, plain": (INTERVAL, {"holder": PLAIN, "status": True}, 1),
    "target, consented": (INTERVAL, {"status": True}, 1),
    "target, consented, pseudonym": (INTERVAL, {"status": True, "pseudonym": "https://shop.example"}, 1),
    "target, consented, neq": ((*INTERVAL, ("b", "neq", 5)), {"status": True}, 1),
    "target, consented, one of two": (
        (*INTERVAL, ("b", "gte", 50), ("c", "lte", 40)),
        {"status": True, "either": ((2, 3),)},
        1,
    ),
    "interval, valid, consented": (INTERVAL, {}, 1),
    "the same and a second credential": (INTERVAL, {}, 2),
    "target and a second credential": (INTERVAL, {"status": True}, 2),
}


def median(work: Callable[[], object], runs: int) -> float:
    """Milliseconds of CPU."""
    work()
    times = []
    for _ in range(runs):
        begun = time.process_time()
        work()
        times.append(1000 * (time.process_time() - begun))
    return statistics.median(times)


def octets_of(text: str) -> int:
    envelope = PresentationEnvelope.decode(text)
    proofs = (*envelope.credential_proofs, *envelope.gap_proofs, envelope.argument, *envelope.sets)
    return sum(map(len, (*proofs, envelope.pseudonym or b"", envelope.consent or b"")))


def scene(name: str, curve: Curve) -> Scene:
    predicates, options, count = CASES[name]
    issuer, holder = Issuer(curve=curve), Holder(curve=curve)
    header = issuer.header(SCHEMA)
    parts = [(header, *predicates), *[(header,)] * (count - 1)]
    held = tuple(holder.obtain(issuer, header=header, values=VALUES, handle=HANDLE + n) for n in range(count))
    return Scene(ask(*parts, **options), held, holder, (issuer,), curve=curve)


def presentation_figures(name: str, runs: int) -> None:
    """Prints the table of one backend."""
    curve = select(name)
    prover, verifier = PresentationProver(curve, os.urandom), PresentationVerifier(curve)
    print(f"\n{name}, suite 2: medians of {runs}")
    print(f"{'statement':34}{'prove ms':>10}{'verify ms':>11}{'bytes':>9}{'envelope':>10}")
    for case in CASES:
        asked = scene(case, curve)
        statement, witness, bound = asked.statement, asked.witness, asked.bound
        text = prover.prove(statement, witness, bound)
        proving = median(partial(prover.prove, statement, witness, bound), runs)
        verifying = median(partial(verifier.verify, statement, bound, text, Acceptance(NOW)), runs)
        print(f"{case:34}{proving:10.2f}{verifying:11.2f}{octets_of(text):9,}{len(text):10,}", flush=True)
    _batch_figures(curve, runs)
    _holder_figures(curve, runs)


def _batch_figures(curve: Curve, runs: int) -> None:
    verifier = PresentationVerifier(curve)
    for case in ("BBS proof alone", "target, consented"):
        asked = scene(case, curve)
        keys, text = asked.keys, asked.prove()
        accepts = partial(
            verifier.accept, text, asked.question, keys, audience=AUDIENCE, nonce=NONCE, acceptance=Acceptance(NOW)
        )
        one = ReceivedPresentation(text, asked.question, keys, AUDIENCE, NONCE, Acceptance(NOW))
        alone, together = (
            median(accepts, runs),
            median(partial(verifier.accept_all, [one] * 16), max(3, runs // 16)) / 16,
        )
        each = partial(verifier._but_pairings, *own_statement(one), one.acceptance)
        # What goes into a hash is computed for each by itself: no batch is faster than that (PROTOCOL-2.md §7.4).
        least = median(each, runs) + median(partial(own_statement, one), runs)
        print(f"16 at once, {case}: {together:.2f} ms each, alone {alone:.2f}, {alone / together:.2f} times; ", end="")
        print(f"without any pairing {least:.2f}, so at most {alone / least:.2f} times")


def _holder_figures(curve: Curve, runs: int) -> None:
    suite, issuer = ciphersuite(curve), Issuer(curve=curve)
    public, secret_key = issuer.public, issuer.secret
    header = issuer.header(SCHEMA)
    held = Holder(curve=curve).obtain(issuer, header=header, values=VALUES)
    secret = HolderSecret.derived(suite, b"hana".ljust(32, b"."))
    request = blind.IssueRequest(header.method, header.encoded, "did:ids:hana", b"n" * 32)
    known = mixed_messages_to_scalars(header.known_messages(VALUES, held.witness.particulars))
    commitment, own_blind = blind.commit(suite, secret, request, os.urandom)
    point = commitment[:48]

    def sign() -> Any:
        return blind.blind_sign(suite, secret_key, public, header.encoded, known, commitment, request)

    signature = sign()
    steps: dict[str, Callable[[], object]] = {
        "commitment": lambda: blind.commit(suite, secret, request, os.urandom),
        "commitment checked, signed": sign,
        "signature checked": lambda: blind.verify_blind(suite, public, header.encoded, known, point, signature),
    }
    figures = {name: median(step, runs) for name, step in steps.items()}
    print("blind issue: " + ", ".join(f"{name} {ms:.2f}" for name, ms in figures.items()), end="")
    print(f"; {sum(figures.values()):.2f} ms in all, {len(commitment)} bytes")
    agreed, _ = consent.consent(suite, secret, [own_blind], b"M", os.urandom)
    making = median(lambda: consent.consent(suite, secret, [own_blind], b"M", os.urandom), runs)
    checking = median(lambda: consent.check_consent(suite, agreed, 1, b"M"), runs)
    print(f"consent: made {making:.2f}, checked {checking:.2f} ms, {len(agreed)} bytes")


def welch(name: str, count: int) -> None:
    """Welch's t of proving, consenting, signing, signing blind and choosing of a set between two extreme secrets; |t| < 4.5 is no
    correlation."""
    curve = select(name)
    print(f"{name}, suite 2: {count} of each, the fastest nine tenths of CPU time")
    for step, sides in {
        "presentation": _proving(curve),
        "consent": [_consenting(curve, value) for value in (1, ORDER - 1)],
        "signature, by messages": [_signing(curve, message=value) for value in (0, ORDER - 1)],
        "signature, by keys": [_signing(curve, secret=value) for value in (1, ORDER - 1)],
        "blind signature, by messages": [_signing_blind(curve, message=value) for value in (0, ORDER - 1)],
        "blind signature, by keys": [_signing_blind(curve, secret=value) for value in (1, ORDER - 1)],
        "argument of a set of 256, by place": [_choosing(curve, place) for place in (0, 255)],
    }.items():
        means, t = _welch(sides, count)
        print(f"{step:30}{means[0] / 1e3:10.1f}{means[1] / 1e3:10.1f} µs, t = {t:.2f}", flush=True)


def _welch(sides: Sequence[Callable[[], object]], count: int) -> tuple[list[float], float]:
    """Means in ns of two kinds of work, done in random order, and t."""
    times: list[list[float]] = [[], []]
    for side in sides:
        side()
    order = Random(count)
    for _ in range(count):
        side = order.getrandbits(1)
        begun = time.thread_time_ns()
        sides[side]()
        times[side].append(float(time.thread_time_ns() - begun))
    kept = [sorted(one)[: len(one) * 9 // 10] for one in times]
    means = [statistics.fmean(one) for one in kept]
    return means, (means[0] - means[1]) / sum(statistics.variance(one) / len(one) for one in kept) ** 0.5


def _proving(curve: Curve) -> list[Callable[[], object]]:
    prover = PresentationProver(curve, os.urandom)
    asked = scene("target, consented", curve)
    issuer, holder, header = asked.issuers[0], asked.holder, asked.held[0].header
    sides: list[Callable[[], object]] = []
    for values, handle in (
        ({"a": "-9223372036854775803", "b": 0, "c": 0}, 2_500_000_001),
        (VALUES | {"a": "9223372036854775802"}, 3_999_999_999),
    ):
        other = replace(asked, held=(holder.obtain(issuer, header=header, values=values, handle=handle),))
        sides.append(partial(prover.prove, other.statement, other.witness, other.bound))
    return sides


def _consenting(curve: Curve, value: int) -> Callable[[], object]:
    suite = ciphersuite(curve)
    secret = HolderSecret.from_bytes(suite, scalar(value))
    return lambda: consent.consent(suite, secret, [value], b"M", os.urandom)


def _choosing(curve: Curve, place: int) -> Callable[[], object]:
    layout = SetLayout(0, tuple(range(1 << 64, (1 << 64) + 256)))
    value, y, c, mask = layout.scalars[place], ORDER - 5, ORDER - 9, ORDER - 7

    def choose() -> None:
        hedged = HedgedScalars(b"bench", os.urandom, b"")
        argument = SetProver(presentation_generators(curve), layout, value, mask, hedged)
        argument.first()
        argument.second(y)
        argument.proof(c)

    return choose


def _signing(curve: Curve, secret: int = 7, message: int = 5) -> Callable[[], object]:
    suite, header = ciphersuite(curve), Issuer(curve=curve).header(SCHEMA).encoded
    key = octets_to_public_key(suite, keys.public_key(scalar(secret)))
    return lambda: core.core_sign(suite, secret, key, header, [message] * 12)


def _signing_blind(curve: Curve, secret: int = 7, message: int = 5) -> Callable[[], object]:
    suite, header = ciphersuite(curve), Issuer(curve=curve).header(SCHEMA).encoded
    public, known = keys.public_key(scalar(secret)), [message] * 10
    request = blind.IssueRequest("did:ids:ivo#bbs", header, "did:ids:hana", b"n" * 32)
    holder = HolderSecret.derived(suite, b"hana".ljust(32, b"."))
    commitment, _ = blind.commit(suite, holder, request, os.urandom)
    return lambda: blind.blind_sign(suite, scalar(secret), public, header, known, commitment, request)
