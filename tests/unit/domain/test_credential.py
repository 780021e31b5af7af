"""Validity and status of a credential."""

from __future__ import annotations

from datetime import timedelta

import pytest

from identity_core.domain.credentials.credential import CredentialStatus, StatusPurpose
from identity_core.errors import Conflict, CredentialExpired, CredentialRevoked
from tests.credentials import NOW, a_credential

SECOND = timedelta(seconds=1)
ACTIVE, SUSPENDED, REVOKED = CredentialStatus
REVOCATION, SUSPENSION = StatusPurpose


def test_it_is_usable_from_its_first_second() -> None:
    credential = a_credential(valid_from=NOW, valid_until=NOW + 2 * SECOND)
    credential.check_usable(NOW)
    credential.check_usable(NOW + SECOND)
    for now in (NOW - SECOND, NOW + 2 * SECOND):
        with pytest.raises(CredentialExpired):
            credential.check_usable(now)


@pytest.mark.parametrize("status", [SUSPENDED, REVOKED])
def test_a_status_comes_before_the_time(status: CredentialStatus) -> None:
    with pytest.raises(CredentialRevoked) as refused:
        a_credential(status=status, valid_until=NOW).check_usable(NOW)
    assert refused.value.details == {"status": status.value}


@pytest.mark.parametrize(
    ("before", "purpose", "value", "after"),
    [
        (ACTIVE, REVOCATION, True, REVOKED),
        (ACTIVE, REVOCATION, False, ACTIVE),
        (ACTIVE, SUSPENSION, True, SUSPENDED),
        (ACTIVE, SUSPENSION, False, ACTIVE),
        (SUSPENDED, REVOCATION, True, REVOKED),
        (SUSPENDED, REVOCATION, False, SUSPENDED),
        (SUSPENDED, SUSPENSION, True, SUSPENDED),
        (SUSPENDED, SUSPENSION, False, ACTIVE),
        (REVOKED, REVOCATION, True, REVOKED),
        (REVOKED, SUSPENSION, False, REVOKED),
    ],
)
def test_status_reference_leads_to_list(
    before: CredentialStatus, purpose: StatusPurpose, value: bool, after: CredentialStatus
) -> None:
    assert a_credential(status=before).status_after(purpose, value) is after


@pytest.mark.parametrize(("purpose", "value"), [(REVOCATION, False), (SUSPENSION, True)])
def test_revocation_is_final(purpose: StatusPurpose, value: bool) -> None:
    with pytest.raises(Conflict):
        a_credential(status=REVOKED).status_after(purpose, value)
