"""Every tag and label that the code of suite 2 hashes stands in PROTOCOL-2.md, and every remark of its second reader has an answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import identity_bound_credentials
import identity_prover_bbs
import pytest

import identity_bbs
import identity_core
from identity_bbs.openings import TAG

PACKAGE = Path(identity_prover_bbs.__file__).parent
ROOT = Path(__file__).parents[3]
PAGE = (PACKAGE / "PROTOCOL-2.md").read_text()
REVIEW = PACKAGE / "PROTOCOL-2-REVIEW.md"
CORE = Path(identity_core.__file__).parent
ROOMS = (
    Path(identity_bbs.__file__).parent,
    CORE / "domain" / "credentials",
    CORE / "domain" / "proofs",
    Path(identity_bound_credentials.__file__).parent,
    PACKAGE / "suite2",
)
OF_SUITE_1 = {b"IDENTITY-SERVICE-CREDENTIAL-V1:", b"IDENTITY-SERVICE-CAPABILITY-V1:"}
"""Those stand in PROTOCOL.md."""


def labels_of(source: str) -> Iterator[bytes]:
    """Whole labels of a module: constants of this service's own, and what is put behind ``TAG``."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes) and node.value.startswith(b"IDENTITY-"):
            yield node.value
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name) and node.left.id == "TAG":
            # A label that is not written out fails here, so that each label can be read.
            yield TAG + bytes(ast.literal_eval(node.right))


LABELS = sorted(
    {
        label
        for room in ROOMS
        for path in room.rglob("*.py")
        # The tables of the curve are no part of the protocol.
        if "bls12381" not in path.parts
        for label in labels_of(path.read_text())
    }
    - OF_SUITE_1
)


def stands(label: bytes, page: str) -> bool:
    """Whether it is quoted: whole, or as what follows TAG."""
    text = label.decode()
    short = text.removeprefix(TAG.decode())
    return f"`{text}`" in page or f'"{text}"' in page or (short != text and f'"{short}"' in page)


def test_labels_are_found() -> None:
    assert {TAG, TAG + b"first", TAG + b"commit", TAG + b"agent", TAG + b"witness"} <= {*LABELS}
    assert b"IDENTITY-SERVICE-ZKPRED-V2_XMD:SHA-256_H2S_BLIND_" in LABELS
    assert len(LABELS) >= 35


@pytest.mark.parametrize("label", LABELS)
def test_a_label_stands_on_the_page(label: bytes) -> None:
    assert stands(label, PAGE)


def test_one_that_is_named_in_passing_does_not() -> None:
    assert not stands(TAG + b"masks", "the masks are drawn")
    assert not stands(b"IDENTITY-SERVICE-X:", "IDENTITY-SERVICE-X: is a tag")


def test_the_tests_that_answer_the_second_reader_are_there() -> None:
    named = {*re.findall(r"`(test_[a-z0-9_]+)`", REVIEW.read_text())}
    folders = (ROOT / "tests", ROOT / "tools", ROOT / "plugins")
    sources = [path.read_text() for folder in folders for path in folder.rglob("test_*.py")]
    assert len(named) >= 15
    assert {name for name in named if not any(f"def {name}(" in source for source in sources)} == set()


def test_every_remark_has_an_answer() -> None:
    text = REVIEW.read_text()
    remarks = re.findall(r"^\*\*[AB]\d+\. ", text, re.MULTILINE)
    assert len(remarks) == 35
    assert text.count("\n*Answer.* ") == len(remarks)
