"""The kit once more, with the tables on a PostgreSQL server and a passphrase over them; and replicas whose keys are sealed anew."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from identity_custodian_sealed import SealedCustodian, SealedSettings, build

from identity_core.codec import multikey
from identity_core.conformance.custodian import CustodianConformance, verified
from identity_core.plugin import BuildContext
from identity_core.ports.custodian import KeyRefused
from tests.postgres_server import postgres_server, postgres_url  # noqa: F401


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class TestSealedOnPostgresql(CustodianConformance):
    @pytest.fixture
    def reopen(self, tmp_path: Path, postgres_url: str) -> Callable[[], SealedCustodian]:  # noqa: F811
        settings = SealedSettings("correct horse", argon2_operations=1, argon2_memory_mib=8)
        context = BuildContext(Clock(), logging.getLogger("identity.sealed"), tmp_path, postgres_url)
        return lambda: build(settings, context)

    @pytest.fixture
    def custodian(self, reopen: Callable[[], SealedCustodian]) -> Iterator[SealedCustodian]:
        custodian = reopen()
        yield custodian
        asyncio.run(custodian.close())


async def generated(custodian: SealedCustodian, *names: str) -> dict[str, str]:
    return {name: await custodian.generate(name, multikey.ED25519, did="did:ids:x", purpose="log") for name in names}


async def check(custodian: SealedCustodian, publics: dict[str, str]) -> None:
    for name, public in publics.items():
        assert await custodian.public_key(name) == public
        await verified(custodian, name, b"message")


@pytest.fixture
def replicas(tmp_path: Path, postgres_url: str) -> Iterator[list[SealedCustodian]]:  # noqa: F811
    """Two, each with its own copy of the master key file, and what a command beside the first opens."""
    folders = [tmp_path / "one", tmp_path / "two"]
    found = []
    for folder in folders:
        folder.mkdir()
        if found:
            shutil.copyfile(folders[0] / "custodian.key", folder / "custodian.key")
        context = BuildContext(Clock(), logging.getLogger("identity.sealed"), folder, postgres_url)
        found.append(build(SealedSettings(), context))
    context = BuildContext(Clock(), logging.getLogger("identity.sealed"), folders[0], postgres_url)
    found.append(build(SealedSettings(), context))
    yield found
    for custodian in found:
        asyncio.run(custodian.close())


def test_replicas_store_on_while_everything_is_sealed_anew(replicas: list[SealedCustodian]) -> None:
    """What a replica stores in the moment of the rotation is neither refused nor sealed under a data key that is gone."""
    one, two, command = replicas

    async def scenario() -> None:
        publics, ended = await generated(one, "before"), threading.Event()

        def rotate() -> None:
            try:
                for _ in range(5):
                    command.reseal_now(compromised=False)
            finally:
                ended.set()

        rotating, number = asyncio.create_task(asyncio.to_thread(rotate)), 0
        while not ended.is_set():
            both = await asyncio.gather(generated(one, f"one-{number}"), generated(two, f"two-{number}"))
            await two.destroy(f"one-{number}")
            publics |= both[1]
            number += 1
        await rotating
        for custodian in replicas:
            await check(custodian, publics)

    asyncio.run(scenario())


def test_a_new_master_key_is_with_every_replica_before_it_is_used(
    replicas: list[SealedCustodian], tmp_path: Path
) -> None:
    one, two, command = replicas
    publics = asyncio.run(generated(one, "a", "b"))
    old = (tmp_path / "one" / "custodian.key").read_bytes()
    with pytest.raises(KeyRefused, match="copy it into the data directory of every replica"):
        command.reseal_now(compromised=True)
    asyncio.run(check(two, publics))
    shutil.copyfile(tmp_path / "one" / "custodian-next.key", tmp_path / "two" / "custodian-next.key")
    done = command.reseal_now(compromised=True)
    assert (done.generation, done.has_new_master_key) == (2, True)
    assert "VACUUM FULL custodian_keys, custodian_seal" in done.left_to_do
    for custodian in replicas:
        publics |= asyncio.run(generated(custodian, f"since-{id(custodian)}"))
        asyncio.run(check(custodian, publics))
    for folder in ("one", "two"):
        assert [path.name for path in (tmp_path / folder).glob("*.key")] == ["custodian.key"]
        assert (tmp_path / folder / "custodian.key").read_bytes() != old
