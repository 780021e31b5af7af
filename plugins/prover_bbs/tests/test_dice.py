"""Masks: fresh, hedged, uniform, and only from the operating system."""

import inspect
import logging
import os
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import identity_prover_bbs
import pytest
from identity_kit.conformance.prover_cases import HANA, SCHEMA, BbsIssuer, context, statement
from identity_prover_bbs import BbsProver, BbsSettings, identity_provide_prover
from identity_prover_bbs.dice import Dice
from identity_prover_bbs.envelope import Envelope

from identity_bbs.bls12381 import ORDER, select
from identity_codec.values import replace
from identity_core.plugin import BuildContext

ISSUER = BbsIssuer()
ASKED = statement(ISSUER.key, ("balance", "gte", 5), ("score", "set_member", [1, 211]))


def stuck(count):
    return b"\x07" * count


def chunks(proof, size=16):
    envelope = Envelope.decode(proof.proof)
    data = envelope.bbs_proof + b"".join(envelope.predicate_proofs)
    return {data[start : start + size] for start in range(0, len(data) - size, size)}


def prove(random, *, asked=ASKED, values=HANA, bound=None):
    return BbsProver(select(), random).prove(
        asked, ISSUER.credential(SCHEMA, values), context=context() if bound is None else bound
    )


def test_two_proofs_share_no_element():
    assert not chunks(prove(os.urandom)) & chunks(prove(os.urandom))


def test_a_stuck_source_repeats_only_the_same_proof():
    """Another context, statement or credential has other masks even then."""
    first = prove(stuck)
    assert prove(stuck) == first
    later = replace(context(), issued_at=context().issued_at + timedelta(seconds=1))
    for other in (
        prove(stuck, bound=later),
        prove(stuck, bound=context("proof-2")),
        prove(stuck, asked=statement(ISSUER.key, ("balance", "gte", 6), ("score", "set_member", [1, 211]))),
        prove(stuck, values={**HANA, "debt": 3}),
    ):
        assert not chunks(first) & chunks(other)


def test_a_source_that_fails_makes_no_proof():
    def short(count):
        return bytes(count - 1)

    def broken(count):
        raise OSError("no randomness")

    for source in (short, broken):
        with pytest.raises(OSError, match=r"randomness|too few"):
            prove(source)


def test_the_stream_is_uniform_and_never_repeats():
    dice = Dice(os.urandom, b"about")
    drawn = dice.scalars(2000) + dice.scalars(2000)
    assert len(set(drawn)) == 4000
    assert all(0 <= scalar < ORDER for scalar in drawn)
    counts = [0] * 64
    for scalar in drawn:
        counts[scalar * 64 // ORDER] += 1
    expected = 4000 / 64
    # Chi-square with 63 degrees of freedom; 126 is passed once in a million.
    assert sum((count - expected) ** 2 / expected for count in counts) < 126


def test_statement_changes_the_random_stream():
    assert Dice(stuck, b"a").scalars(3) == Dice(stuck, b"a").scalars(3)
    assert not set(Dice(stuck, b"a").scalars(3)) & set(Dice(stuck, b"b").scalars(3))


def test_no_setting_reaches_the_dice(tmp_path, monkeypatch):
    assert [field.name for field in fields(BbsSettings)] == ["curve"]
    provider = identity_provide_prover()
    asked = []
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or bytes(count))
    made = provider.build(BbsSettings(), BuildContext(None, logging.getLogger("t"), Path(tmp_path), None))
    made.prove(ASKED, ISSUER.credential(SCHEMA, HANA), context=context())
    assert asked == [32]
    parameter = inspect.signature(BbsProver.__init__).parameters["random"]
    assert parameter.default is inspect.Parameter.empty
    assert identity_prover_bbs.BbsProver is type(made)
