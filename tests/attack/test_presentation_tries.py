"""Many tries of every kind against every backend: forgers with false witnesses drawn at random, and mutants of honest proofs.

None may be accepted. The default run has 3,300 and the nightly run 10,000; ``IDENTITY_ROUNDS`` multiplies them. How many there were is
printed at the end of the run.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import islice
from random import Random

import pytest
from identity_bound_credentials.domain.presentation import PresentationStatement, StatusPart
from identity_kit.conformance.prover_cases import HANA
from identity_prover_bbs.suite2 import PresentationEnvelope

from identity_bbs.bls12381 import ORDER, Curve
from identity_bbs.consent import consent as give_consent
from identity_bbs.suite import ciphersuite
from identity_codec.values import replace
from tests.attack.conftest import TRIES
from tests.attack.presentation_forge import CHEATS, PLACES, PresentationForger, material
from tests.attack.test_presentation_soundness import (
    BALANCE,
    CREDENTIAL,
    HANA_HOLDS,
    IVO,
    OTTO,
    OTTOS,
    cheater,
    claimant,
    consented,
    forge,
    scene,
    signed_anew,
)
from tests.curves import curve_on
from tests.presenting import DAY, HANDLE, REVOKED, Scene, context, seeded
from tests.random_presentations import mutant, presentations

ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "1"))
MOST = 1_000_000
FORGERIES = {"blst": 168, "pyblst": 42, "py_ecc": 1}
MUTANTS = {"blst": 8_600, "pyblst": 902, "py_ecc": 9}
SHARES = {"blst": 4}
"""In how many tests the mutants are, so that the processes of a run have as much to do as each other."""
HEADER_COUNT = CREDENTIAL.header.message_count
SCALARS = (0, 1, 2, ORDER - 1, 1 << 16, 1 << 32, (1 << 32) - 1, 1 << 64, (1 << 64) - 1)


def tries(table: dict[str, int], backend: str) -> int:
    return min(table[backend] * ROUNDS, MOST)


def hostile(random: Random) -> int:
    return random.choice((*SCALARS, random.getrandbits(16), random.getrandbits(64), random.randrange(ORDER)))


def outside(random: Random, low: int, high: int) -> int:
    """A scalar that is not in [low, high], often near it."""
    while (
        low
        <= (drawn := random.choice((low - 1, high + 1, high + 1 + hostile(random), hostile(random))) % ORDER)
        <= high
    ):
        pass
    return drawn


def any_cheat(random: Random, **more):
    return cheater(random.choice(list(CHEATS)), **more)


def signed(random: Random, asked: Scene, change) -> str:
    """The forger's proof under true signatures of what no honest issuer signs."""
    messages, signatures = signed_anew(asked, change)
    return PresentationForger(asked.curve, random.random(), any_cheat(random)).forge(asked, messages, signatures)


def days(random: Random, curve: Curve):
    asked = replace(scene(), curve=curve)
    late = outside(random, 0, DAY)
    wrong = random.choice(((late, DAY), (DAY, hostile(random) % DAY), (late, 0)))
    return asked, signed(random, asked, lambda m: m[0].__setitem__(slice(3, 5), wrong))


def handle(random: Random, curve: Curve):
    asked = replace(scene(status=True), curve=curve)
    wrong = random.choice((*REVOKED, outside(random, REVOKED[1] + 1, REVOKED[2] - 1)))
    return asked, signed(random, asked, lambda m: m[0].__setitem__(5, wrong))


def gap(random: Random, curve: Curve):
    asked = replace(scene(status=True), curve=curve)
    wider = (random.choice((0, HANDLE - 1, hostile(random))), random.choice((1 << 32, HANDLE + 1, hostile(random))))
    return asked, forge(asked, lambda m: m[1].__setitem__(slice(0, 2), [value % ORDER for value in wider]))


def message(random: Random, curve: Curve):
    asked = replace(scene(("balance", "gte", 5)), curve=curve)
    slot = random.randrange(HEADER_COUNT)
    return asked, forge(asked, lambda m: m[0].__setitem__(slot, (m[0][slot] + 1 + hostile(random) % 9) % ORDER))


def interval(random: Random, curve: Curve):
    asked = replace(scene(("balance", "lt", 5), ("balance", "gte", -5)), curve=curve)
    wrong = outside(random, (1 << 63) - 5, (1 << 63) + 4)
    return asked, signed(random, asked, lambda m: m[0].__setitem__(BALANCE, wrong))


def equality(random: Random, curve: Curve):
    asked = replace(scene(("score", "eq", random.choice((0, 1, 210, 212, 255)))), curve=curve)
    return asked, forge(asked)


def secret(random: Random, curve: Curve):
    asked = replace(scene(), curve=curve)
    return asked, forge(asked, lambda m: m[0].__setitem__(0, hostile(random)))


def holders(random: Random, curve: Curve):
    asked = replace(scene(held=[CREDENTIAL, OTTOS]), curve=curve)
    other = random.choice((OTTO.secret.scalar, HANA_HOLDS.secret.scalar, hostile(random)))
    return asked, forge(asked, lambda m: m[random.randrange(2)].__setitem__(0, other) or m[1].__setitem__(0, other))


def agreement(random: Random, curve: Curve):
    """Consents of strangers, for other requests, and put together from two."""
    asked = replace(consented(), curve=curve)
    suite = ciphersuite(curve)
    messages, signatures, own = material(asked)
    about = asked.terms.message(asked.question, asked.context, None)
    other = asked.terms.message(asked.question, context(nonce=random.randbytes(20)), None)
    blind = hostile(random)
    stranger, rhos = give_consent(suite, replace(OTTO, curve=curve).secret, [blind], about, seeded(random.random()))
    elsewhere, again = give_consent(
        suite, replace(HANA_HOLDS, curve=curve).secret, [CREDENTIAL.blind], other, seeded(random.random())
    )
    at = random.choice((48, 80, 112))
    agreed = random.choice(
        (stranger, elsewhere, own[:at] + stranger[at:], stranger[:at] + own[at:], own[:at] + elsewhere[at:])
    )
    messages[0][1] = random.choice((messages[0][1], rhos[0], again[0], CREDENTIAL.blind, blind, hostile(random)))
    return asked, PresentationForger(curve, random.random()).forge(asked, messages, signatures, consent=agreed)


def pseudonym(random: Random, curve: Curve):
    asked = replace(scene(pseudonym="shop"), curve=curve)
    shown = curve.g1_to_octets(curve.g1_mul(curve.g1_generator(), 1 + hostile(random) % (ORDER - 2)))
    return asked, forge(asked, envelope={"pseudonym": shown})


def unequal(random: Random, curve: Curve):
    asked = replace(scene(("country", "neq", HANA["country"])), curve=curve)
    return asked, forge(asked, vector=any_cheat(random, inverses=(hostile(random), hostile(random))))


def member(random: Random, curve: Curve):
    scores = random.sample([number for number in range(256) if number != HANA["score"]], random.randrange(2, 9))
    countries = random.sample(["DE", "ES", "FR", "IT", "US", "CA", "KE"], random.randrange(2, 7))
    asked = replace(
        scene(random.choice((("score", "set_member", sorted(scores)), ("country", "set_member", sorted(countries))))),
        curve=curve,
    )
    return asked, forge(asked, member=claimant(random.choice(list(PLACES))))


def alternatives(random: Random, curve: Curve):
    asked = replace(
        scene(("score", "lte", 3), ("balance", "lt", 5), ("country", "eq", "DE"), either=((0, 1, 2),)), curve=curve
    )
    vector = any_cheat(random, selectors=(hostile(random), hostile(random)))
    return asked, forge(asked, vector=vector, selected=[random.randrange(3)])


def statement(random: Random, curve: Curve):
    """A proof that is right of another statement, said to be of this one."""
    asked = replace(scene(("balance", "gte", 5), status=True), curve=curve)
    mine, epoch = asked.statement, asked.statement.status[0].epoch
    other = random.choice(
        (
            replace(mine, day=DAY + random.choice((-1, 1, 9))),
            replace(mine, status=(StatusPart(replace(epoch, epoch=epoch.epoch - random.randrange(1, 9)), IVO.public),)),
            PresentationStatement(
                scene(("balance", "gte", random.randrange(6, 99)), status=True).question, mine.keys, DAY, mine.status
            ),
        )
    )
    renamed = {"question": asked.question, "day": DAY, "epochs": (epoch,)}
    return asked, forge(asked, statement=other, envelope=renamed)


KINDS = (
    days, handle, gap, message, interval, equality, secret, holders, agreement, pseudonym, unequal, member,
    alternatives, statement
)  # fmt: skip


@pytest.mark.parametrize("backend", FORGERIES)
def test_forgers(backend, record_property):
    """Each kind as often as any other."""
    random, curve = Random(f"forgers of {backend}"), curve_on(backend)
    count = tries(FORGERIES, backend)
    kinds = (KINDS[number % len(KINDS)] for number in range(count)) if count >= len(KINDS) else [random.choice(KINDS)]
    for number, kind in enumerate(kinds):
        asked, text = kind(random, curve)
        verdict = asked.verdict(text)
        assert verdict is not True, (kind.__name__, number)
        PresentationEnvelope.decode(text)  # what decided was the proof, and not the text
    record_property(TRIES, count)


@cache
def honest(count: int):
    return list(islice(presentations(Random("honest")), count))


# The default run has the first share of each backend.
PARTS = [
    pytest.param(backend, share, marks=pytest.mark.nightly if share else ())
    for backend in MUTANTS
    for share in range(SHARES.get(backend, 1))
]


@pytest.mark.parametrize(("backend", "share"), PARTS)
def test_mutants(backend, share, record_property):
    """Nothing but an honest proof itself is accepted of what was made from honest proofs."""
    random, curve = Random(f"mutants of {backend}, {share}"), curve_on(backend)
    most = tries(MUTANTS, backend) // SHARES.get(backend, 1)
    cases = [replace(case, scene=replace(case.scene, curve=curve)) for case in honest(4 if backend == "py_ecc" else 20)]
    texts = {case.text for case in cases}
    kinds, refused = set(), 0
    while refused < most:
        kind, made = mutant(random, random.choice(cases), random.choice(cases))
        if made.text in texts:
            continue
        assert made.verdict is not True, (kind, refused)
        kinds.add(kind)
        refused += 1
    assert {"a bit", "a scalar", "a point", "a length", "a splice", "a member", "a spelling"} >= kinds
    assert len(kinds) > 4
    record_property(TRIES, refused)
