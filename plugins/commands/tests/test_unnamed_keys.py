"""Which keys of a log the body of no request names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from identity_commands.verify_log import UnnamedKey, unnamed_keys

CREATE = {"operation": "create", "strictEvidence": True}


def line(number: int, change: dict[str, Any] | None) -> bytes:
    """An entry with what is looked at; the rest has the form of one."""
    parameters = {} if change is None else {"change": change}
    entry = {"versionId": f"{number}-Qm{'x' * 44}", "versionTime": "2026-01-01T00:00:00Z", "parameters": parameters}
    return json.dumps(entry | {"state": {"id": "did:ids:x"}, "proof": [{}]}).encode()


def brought(body: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"operation": "…", "newKey": {"publicKeyMultibase": "zNew"}, "authorization": {"body": body}} | keys


AUTHENTICATION = {"newAuthenticationKey": {"publicKeyMultibase": "zNew"}}


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        (brought({"newPublicKeyMultibase": "zNew"}), []),
        (brought({}), ["zNew"]),
        (brought({"newPublicKeyMultibase": "zOther"}), ["zNew"]),
        (brought(AUTHENTICATION, recoveryKey="zNext"), ["zNext"]),
        (brought(AUTHENTICATION | {"newRecoveryKey": None}, recoveryKey="zNext"), ["zNext"]),
        (brought(AUTHENTICATION | {"newRecoveryKey": {"publicKeyMultibase": "zNext"}}, recoveryKey="zNext"), []),
        ({"operation": "update", "authorization": {"body": {}}}, []),
        ({"operation": "logKeyRotated"}, []),
    ],
)
def test_a_key_is_named_by_the_body_that_brought_it(change: dict[str, Any], keys: list[str]) -> None:
    assert unnamed_keys([line(1, CREATE), line(2, change)]) == tuple(UnnamedKey(2, key) for key in keys)


@pytest.mark.parametrize("first", [{"operation": "create"}, None])
def test_a_log_without_bodies_tells_nothing(first: dict[str, Any] | None) -> None:
    """One of before strictEvidence, and one of did:webvh."""
    assert unnamed_keys([line(1, first), line(2, None)]) is None
