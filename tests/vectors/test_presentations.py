"""The frozen presentations of suite 2, read from the file alone."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from identity_bound_credentials.domain.bound_credential import BoundHeader
from identity_bound_credentials.domain.presentation import Acceptance, Cover
from identity_bound_credentials.domain.question import Question
from identity_prover_bbs.suite2 import PresentationVerifier
from identity_prover_bbs.suite2.received import ReceivedPresentation

from identity_bbs.bls12381 import select
from identity_core.errors import ProofInvalid
from tests.vectors.presentations import FILE, vectors

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text())
ACCEPTED, REFUSED = VECTORS["accepted"], VECTORS["refused"]


def received(vector: dict[str, Any]) -> ReceivedPresentation:
    headers = [BoundHeader.from_octets(bytes.fromhex(text)) for text in vector["headers"]]
    question = Question.from_json(vector["question"], headers)
    assert question.json == vector["question"]
    keys = {method: bytes.fromhex(key) for method, key in vector["keys"].items()}
    now = datetime.fromtimestamp(vector["now"], UTC)
    acceptance = Acceptance(now, timedelta(seconds=vector["statusMaxAge"]), Cover(vector["cover"]))
    nonce, agent_key, capability = (
        None if vector[name] is None else bytes.fromhex(vector[name]) for name in ("nonce", "agentKey", "capability")
    )
    assert nonce is not None
    return ReceivedPresentation(
        vector["text"], question, keys, vector["audience"], nonce, acceptance, agent_key, capability
    )


def verdict(vector: dict[str, Any], backend: str = "blst") -> bool | str:
    one = received(vector)
    try:
        PresentationVerifier(select(backend)).accept(
            one.text,
            one.question,
            one.keys,
            audience=one.audience,
            nonce=one.nonce,
            acceptance=one.acceptance,
            agent_key=one.agent_key,
            capability=one.capability,
        )
    except ProofInvalid as refused:
        return str(refused.details["reason"]).partition(":")[0]
    return True


def test_there_are_enough_vectors_of_each_kind() -> None:
    assert len(ACCEPTED) >= 40
    assert len(REFUSED) >= 40
    names = Counter(one["name"] for one in (*ACCEPTED, *REFUSED))
    assert [name for name, count in names.items() if count > 1] == []
    reasons = Counter(one["reason"] for one in REFUSED)
    assert reasons["the proof does not match"] < len(REFUSED) / 3
    assert len(reasons) >= 20


@pytest.mark.parametrize("vector", ACCEPTED, ids=lambda vector: vector["name"])
def test_a_vector_is_accepted(vector: dict[str, Any]) -> None:
    assert verdict(vector) is True


@pytest.mark.parametrize("vector", REFUSED, ids=lambda vector: vector["name"])
def test_a_vector_is_refused_for_its_reason(vector: dict[str, Any]) -> None:
    assert verdict(vector) == vector["reason"]


def test_all_vectors_at_once_have_the_same_verdicts() -> None:
    both = [*ACCEPTED, *REFUSED]
    found = PresentationVerifier(select()).accept_all([received(one) for one in both])
    assert [isinstance(one, ProofInvalid) for one in found] == [False] * len(ACCEPTED) + [True] * len(REFUSED)


def test_the_prover_makes_the_vectors() -> None:
    assert vectors() == VECTORS
