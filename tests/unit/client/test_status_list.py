"""A status is read from the list that its entry names, by a key that may sign it."""

from __future__ import annotations

import pytest

from identity_client.status_list import StatusListRefused, read_status
from tests.client.status_cases import make_list, place, status_cases


@pytest.mark.parametrize("name", status_cases())
def test_a_status_is_read_from_the_right_list_alone(name: str) -> None:
    list_, entry, signers, expected = status_cases()[name]
    if expected is None:
        with pytest.raises(StatusListRefused):
            read_status(list_, entry, signers)
    else:
        assert read_status(list_, entry, signers) is expected


@pytest.mark.parametrize("spoilt", [{}, {"proof": None}, {"proof": []}, {"credentialSubject": []}, {"type": None}])
def test_malformed_list_is_refused(spoilt: dict[str, object]) -> None:
    list_ = {} if spoilt == {} else make_list() | spoilt
    with pytest.raises(StatusListRefused):
        read_status(list_, place(0), [list_.get("issuer", "did:key:z")[8:]])
