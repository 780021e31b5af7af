"""How an anchor's status may change."""

import pytest

from identity_core.domain.ledger.anchoring import AnchorStatus

S = AnchorStatus
ALLOWED = {
    (S.PENDING, S.CONFIRMED),
    (S.PENDING, S.FAILED),
    (S.PENDING, S.REVOKED),
    (S.CONFIRMED, S.REVOKED),
    (S.CONFIRMED, S.PENDING),
    (S.FAILED, S.PENDING),
    (S.REVOKED, S.PENDING),
    (S.REVOKED, S.CONFIRMED),
    (S.REVOKED, S.FAILED),
    (S.PRE_PHASE7, S.PENDING),
}


@pytest.mark.parametrize("before", S)
@pytest.mark.parametrize("after", S)
def test_transitions(before, after):
    if (before, after) in ALLOWED:
        assert before.to(after) is after
    else:
        with pytest.raises(ValueError, match="does not go"):
            before.to(after)


def test_the_names_of_the_specification():
    assert {status.value for status in S} == {"pending", "confirmed", "revoked", "failed", "pre-phase7"}
