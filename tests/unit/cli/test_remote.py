"""What the commands say of a refusal: in the words of their options, and always what may help."""

from __future__ import annotations

from typing import Any

import pytest

from identity_core.cli.remedies import remedy
from identity_core.client import Refused
from tests.unit.cli.conftest import Commands


@pytest.mark.parametrize(
    ("status", "details", "says"),
    [
        (
            422,
            {"types": ["Bls12381G2Key2020"], "supported": ["A", "B"]},
            "choose from A, B instead of Bls12381G2Key2020",
        ),
        (400, {"supported": ["ids", "key"], "method": "foo"}, "choose from ids, key instead of foo"),
        (415, {"supported": ["application/json"]}, "choose from application/json"),
        (422, {"types": ["X"], "supported": []}, "nothing is there to take instead of X"),
        (422, {"reason": "too long", "members": ["a", "b"]}, "reason: too long; members: a, b"),
        (400, {}, "see `identity --help`"),
        (403, {}, "ask as somebody who may: the holder, the issuer, or another API key"),
        (409, {}, "look at what is there now, then decide"),
        (503, {}, "try again later; if it stays so, its log has the request"),
    ],
)
def test_a_remedy_is_a_sentence(status: int, details: dict[str, Any], says: str) -> None:
    assert remedy(Refused(status, "ANY", "Any.", details), details) == says


def test_a_list_of_whose_names_its_options(remote: Commands) -> None:
    said = remote.refused("credential", "list")
    assert said[0].endswith("An API key says whose credentials it means: --holder or --issuer.")
    assert said[2] == "  do: see `identity credential list --help`"


def test_a_method_that_is_not_there(remote: Commands) -> None:
    said = remote.refused("did", "create", "--method", "nosuch", "--show-secrets")
    assert said[2].startswith("  do: choose from ids, key")
    assert said[2].endswith("instead of nosuch")
