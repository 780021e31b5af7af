"""No secret is in a ``repr``, and so in no traceback or log."""

from __future__ import annotations

import pytest

from identity_bbs.openings import HolderSecret
from identity_bbs.suite import RandomScalars, Signature

SECRET = 987_654_321


@pytest.mark.parametrize(
    "value", [Signature(SECRET, SECRET), RandomScalars(*[SECRET] * 5, (SECRET,)), HolderSecret(SECRET, SECRET)]
)
def test_repr_shows_no_secret(value: object) -> None:
    assert str(SECRET) not in f"{value!r} {value}"
