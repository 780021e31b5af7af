"""The verifier that PROTOCOL-2.md §11 shows is one: run from the page, on the vector and on what is not right."""

import re
from pathlib import Path

import identity_prover_bbs
import pytest

from identity_bbs.suite import BbsProofInvalid
from plugins.prover_bbs.tests.presentation_vectors import scene
from plugins.prover_bbs.tests.test_presentation_parity import VECTORS
from tests.presenting import AUDIENCE, NONCE, NOW, Issuer

PAGE = Path(identity_prover_bbs.__file__).with_name("PROTOCOL-2.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SECOND = int(NOW.timestamp())


@pytest.fixture(scope="module")
def verify():
    names: dict = {}
    exec(compile(CODE, "PROTOCOL-2.md", "exec"), names)
    return names["verify"]


def test_it_verifies_the_vector_and_refuses_the_rest(verify):
    text = VECTORS["presentations"]["plain"]["proof"]
    question, key = scene("plain").question.json, Issuer().public
    verify(text, question, key, AUDIENCE, NONCE, SECOND)
    assert len(CODE.splitlines()) < 80
    for change in (
        {"question": {**question, "status": True}},
        {"audience": "https://other.example"},
        {"nonce": b"another nonce of the verifier"},
        {"now": SECOND + 3600},
        {"now": SECOND - 3600},
        {"issuer_key": Issuer(seed="eve").public},
        {"text": VECTORS["presentations"]["neq"]["proof"]},
    ):
        asked = {
            "text": text,
            "question": question,
            "issuer_key": key,
            "audience": AUDIENCE,
            "nonce": NONCE,
            "now": SECOND,
        }
        with pytest.raises((AssertionError, BbsProofInvalid)):
            verify(**(asked | change))
