"""The store is lost and made anew from the ledger, after keys of the service were replaced: the service log is found on the ledger."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from identity_transparency.guard import accept_rollback
from identity_transparency.rotation import log_key_rotation, token_key_replacement
from identity_transparency.use_cases.follow import find_service

from identity_codec import multikey
from identity_codec.values import replace
from identity_core.bootstrap import open_installation
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.dids.changes import Create
from identity_core.domain.dids.keys import Key
from identity_core.settings import Settings, StartError, load
from plugins.transparency.tests.test_rotate_log_key import Service


async def at_once(_: float) -> None:
    return None


async def start(settings: Settings) -> None:
    async with open_installation(settings):
        pass


async def rotated(settings: Settings) -> Any:
    async with log_key_rotation(settings) as rotate:
        return await replace(rotate, sleep=at_once)(compromised=True)


async def replaced(settings: Settings) -> Any:
    async with token_key_replacement(settings) as replacement:
        return await replace(replacement, sleep=at_once)(compromised=True)


def lose(folder: Path, name: str) -> None:
    for path in folder.glob(f"{name}*"):
        path.unlink()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of an installation whose first two log keys are retired, and whose first token key was stolen."""
    settings = load(environment={}, overrides={"data_dir": tmp_path / "data", "ledger.origin": "log.example"})
    asyncio.run(start(settings))
    for _ in range(2):
        asyncio.run(rotated(settings))
    asyncio.run(replaced(settings))
    return settings


def test_service_continues_with_newest_keys(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    lose(settings.data_dir, "identity.sqlite")
    asyncio.run(accept_rollback(settings, lambda _: True))
    caplog.clear()
    asyncio.run(start(settings))
    assert "the ledger has it: did:ids:" in caplog.text
    assert "ledger.origin" in caplog.text
    caplog.clear()
    assert asyncio.run(rotated(settings)).generation == 4
    assert asyncio.run(replaced(settings)).number == 3
    asyncio.run(start(settings))
    assert caplog.text.count("the ledger has it") == 0, "it is noted, and said once"


def test_nothing_is_signed_where_the_ledger_is_lost_too(settings: Settings) -> None:
    lose(settings.data_dir, "identity.sqlite")
    lose(settings.data_dir, "ledger.sqlite")
    settings.data_dir.with_name("data.checkpoint").unlink()
    with pytest.raises(StartError, match="neither the store nor the ledger") as refused:
        asyncio.run(start(settings))
    assert "one backup" in refused.value.fix


def test_a_did_of_a_stranger_is_not_taken_for_the_services_own(tmp_path: Path) -> None:
    """Anybody can create one that lists the service's public key: beside another, or alone once the service log has shown it."""

    async def story() -> None:
        service = await Service(tmp_path).open()
        try:
            assert await find_service(service.rooms.ledger, service.custodian) is None  # type: ignore[arg-type]
            own = await service.custodian.generate("service", multikey.ED25519)
            stranger = await service.custodian.generate("stranger", multikey.ED25519)
            dids = []
            for listed in ((own, stranger), (stranger, own), (own,), (own,)):
                keys = tuple(Key(multikey.ED25519, one, ("authentication",)) for one in listed)
                signed = await service.signer.signed(
                    service.rooms.methods["ids"], None, Create(keys, ()), service.rooms.clock.now()
                )
                version = await service.rooms.writer.append(None, signed, RequestContext("test", Caller()), owner=None)
                dids.append(version.state.did)
                service.rooms.clock.move(seconds=1)
            found = await find_service(service.rooms.ledger, service.custodian)  # type: ignore[arg-type]
            assert found == str(dids[2])
        finally:
            await service.rooms.close()

    asyncio.run(story())
