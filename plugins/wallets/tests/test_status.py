"""The list that verifiers of copies read is signed when it changed, once an hour, and by the key that signs copies now."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from identity_wallets.use_cases.status import GetTokenStatusList, ListedCopyStatus

from identity_codec import multibase
from identity_core.domain.credentials.credential import CredentialStatus, StatusPurpose
from identity_core.domain.dids.did import Did
from identity_core.errors import DidDeactivated, StatusListNotFound
from identity_core.ports.credentials import StatusList

ORIGIN, LIST, ISSUER = "https://id.example", "A" * 22, "did:ids:ivo"
START = datetime(2026, 1, 5, 10, tzinfo=UTC)


class Scene:
    """A list, an issuer with a key, and a clock."""

    def __init__(self) -> None:
        self.now, self.version, self.key_id, self.signed = START, 1, f"{ISSUER}#1", 0
        self.bits: Mapping[StatusPurpose, list[int]] = {StatusPurpose.REVOCATION: [], StatusPurpose.SUSPENSION: []}
        self.statuses = {5: CredentialStatus.REVOKED, 6: CredentialStatus.ACTIVE}
        custodian = SimpleNamespace(sign=self._sign)
        issuer: Any = SimpleNamespace(newest_key=self._newest_key, custodian=custodian)
        credentials: Any = self
        self.get = GetTokenStatusList(credentials, issuer, ORIGIN, SimpleNamespace(now=lambda: self.now))  # type: ignore[arg-type]
        self.check = ListedCopyStatus(credentials, ORIGIN)

    async def _sign(self, name: str, message: bytes) -> bytes:
        self.signed += 1
        return name.encode()

    async def _newest_key(self, issuer: Did) -> tuple[str, None]:
        if self.key_id == "":
            raise DidDeactivated
        return self.key_id, None

    async def status_list(self, list_id: str, purpose: StatusPurpose) -> StatusList | None:
        return None if list_id != LIST else StatusList(ISSUER, self.version, START, self.bits[purpose])

    async def status_list_version(self, list_id: str) -> int | None:
        return self.version

    async def status_at(self, list_id: str, place: int) -> CredentialStatus | None:
        return self.statuses.get(place) if list_id == LIST else None

    def token(self) -> tuple[dict[str, Any], dict[str, Any], str]:
        head, said, signature = asyncio.run(self.get(LIST)).split(".")
        read = (json.loads(multibase.base64url_decode(part)) for part in (head, said))
        return next(read), next(read), multibase.base64url_decode(signature).decode()


def test_it_is_signed_anew_when_it_changed_or_an_hour_went_by() -> None:
    scene = Scene()
    first = scene.token()
    scene.now += timedelta(minutes=59)
    assert scene.token() == first
    assert scene.signed == 1
    scene.version, scene.bits = 2, {StatusPurpose.REVOCATION: [1], StatusPurpose.SUSPENSION: []}
    changed = scene.token()
    assert changed[1]["status_list"] != first[1]["status_list"]
    assert changed[1]["iat"] == first[1]["iat"] + 59 * 60
    scene.now += timedelta(hours=1)
    assert scene.token()[1] == changed[1] | {"iat": changed[1]["iat"] + 3600, "exp": changed[1]["exp"] + 3600}


def test_the_key_that_signs_copies_now_signs_it() -> None:
    scene = Scene()
    head, _, signature = scene.token()
    assert head == {"alg": "ES256", "typ": "statuslist+jwt", "kid": f"{ISSUER}#1"}
    scene.key_id = f"{ISSUER}#2"
    head, _, signature = scene.token()
    assert (head["kid"], signature) == (f"{ISSUER}#2", f"{ISSUER}#2")


def test_issuer_without_key_has_no_list() -> None:
    scene = Scene()
    scene.token()
    scene.key_id = ""
    for list_id in (LIST, "B" * 22):
        with pytest.raises(StatusListNotFound):
            asyncio.run(scene.get(list_id))


def test_a_change_between_the_two_looks_is_read_the_next_time() -> None:
    scene = Scene()
    read = scene.status_list

    async def changing(list_id: str, purpose: StatusPurpose) -> StatusList | None:
        found = await read(list_id, purpose)
        if purpose is StatusPurpose.REVOCATION:
            scene.version, scene.bits = 2, {StatusPurpose.REVOCATION: [1], StatusPurpose.SUSPENSION: [2]}
        return found

    scene.status_list = changing  # type: ignore[method-assign]
    scene.token()
    scene.status_list = read  # type: ignore[method-assign]
    scene.token()
    assert scene.signed == 2


def test_copy_reports_its_status() -> None:
    scene = Scene()

    def status(place: int, list_id: str = LIST) -> CredentialStatus | None:
        uri = f"{ORIGIN}/openid/status/{list_id}"
        return asyncio.run(scene.check({"status": {"status_list": {"idx": place, "uri": uri}}}))

    assert (status(5), status(6)) == (CredentialStatus.REVOKED, CredentialStatus.ACTIVE)
    assert asyncio.run(scene.check({})) is None
    for place, list_id in ((7, LIST), (5, "B" * 22)):
        with pytest.raises(ValueError, match="no credential has"):
            status(place, list_id)
