"""Keys of the service are replaced in the middle of the work: of two workers on SQLite, and of two replicas on PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_transparency.domain.checkpoint_keys import CheckpointKeys, keys_followed
from identity_transparency.rotation import (
    checkpoint_key_replacement,
    log_key_rotation,
    seal_rotation,
    token_key_replacement,
)

from identity_codec.values import replace
from identity_core.database import open_database
from identity_core.domain.dids.logs import signer_of
from identity_core.ports.custodian import Resealed
from identity_core.settings import Settings, load
from identity_tlog.note import VerifierKey
from tests import servers
from tests.attack.stranger import PREFIX, Answer
from tests.fault.creators import PAUSE_SECONDS, Acknowledged, check_all_are_there, creating
from tests.fault.service_process import API_KEY, Running, eventually, kept_port, service
from tests.listed_keys import listed_replacements
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]


@dataclass
class Site:
    """An installation: what its requests go to, and what a command beside it works on."""

    places: list[Running]
    settings: Settings


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":
            ports = [stack.enter_context(kept_port())]
            environment, more = {}, ("--workers", "2")
        else:
            server: PostgresServer = request.getfixturevalue("postgres_server")
            ports, more = [stack.enter_context(kept_port()) for _ in range(2)], ()
            environment = {
                "IDENTITY_DATABASE_URL": server.new_database(),
                "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for both replicas",
                **servers.CHEAP_PASSPHRASE,
            }
        environment["IDENTITY_SERVER_PUBLIC_URL"] = "https://id.example"
        places = [
            stack.enter_context(service(tmp_path / f"{port}", "--port", f"{port}", *more, environment=environment))
            for port in ports
        ]
        folder = tmp_path / (f"{ports[0]}" if request.param == "sqlite" else "beside")
        yield Site(places, load(environment=environment, overrides={"data_dir": str(folder)}))


def token_of(running: Running) -> Answer:
    body = {"grant_type": "client_credentials"}
    return running.wire.call("POST", f"{PREFIX}/auth/token", body, {"X-API-Key": API_KEY}, fresh=True)


def list_dids(running: Running, token: str) -> Answer:
    return running.wire.call("GET", f"{PREFIX}/dids", None, {"Authorization": f"Bearer {token}"}, fresh=True)


def token(running: Running) -> str:
    said = token_of(running)
    assert said.status == 200, said.body
    text: str = said.json["access_token"]
    return text


def kids(running: Running) -> list[str]:
    answer = running.wire.call("GET", "/.well-known/jwks.json", fresh=True)
    return [key["kid"] for key in answer.json["keys"]]


def use_tokens(site: Site, stop: threading.Event, said: list[tuple[int, int]]) -> None:
    """Fetches a token at one place and shows it at the other, until it is told to stop: the statuses of both."""
    here, there = site.places[0], site.places[-1]
    while not stop.wait(PAUSE_SECONDS):
        fetched = token_of(here)
        text = fetched.json["access_token"] if fetched.status == 200 else "none"
        said.append((fetched.status, list_dids(there, text).status))
        here, there = there, here


@contextlib.contextmanager
def used(site: Site) -> Iterator[list[tuple[int, int]]]:
    """Use tokens in a thread meanwhile, and check afterwards that all answers are complete."""
    stop, said = threading.Event(), list[tuple[int, int]]()
    thread = threading.Thread(target=use_tokens, args=(site, stop, said), daemon=True)
    thread.start()
    try:
        eventually(lambda: len(said) > 4, "tokens are used")
        yield said
        before = len(said)
        eventually(lambda: len(said) > before + 4, "tokens are used on")
    finally:
        stop.set()
        thread.join(60)


async def replaced(settings: Settings, **how: Any) -> Any:
    async with token_key_replacement(settings) as replacement:
        return await replacement(**how)


async def rotated(settings: Settings, **how: Any) -> Any:
    async with log_key_rotation(settings) as rotate:
        return await replace(rotate, settle_seconds=1.0)(**how)


async def checkpoint_replaced(settings: Settings, **how: Any) -> Any:
    async with checkpoint_key_replacement(settings) as replacement:
        return await replacement(**how)


def checkpoint_keys(running: Running) -> CheckpointKeys:
    """The keys as this place lists them, which have signed for each other, each with the size that the place of its entry gives."""
    answer = running.wire.call("GET", f"{PREFIX}/ledger/key", fresh=True).json
    keys = keys_followed(VerifierKey.parse(answer["verifierKey"]), listed_replacements(answer))
    sizes = [one["treeSize"] for one in answer["earlierKeys"]]
    assert all(size >= one.tree_size for size, one in zip(sizes, keys.earlier, strict=True))
    placed = (replace(one, tree_size=size) for size, one in zip(sizes, keys.earlier, strict=True))
    return replace(keys, earlier=tuple(placed))


def fetch_checkpoints(site: Site, stop: threading.Event, said: list[Answer]) -> None:
    """Fetches the checkpoint of each place in turn, until it is told to stop."""
    while not stop.wait(PAUSE_SECONDS):
        for place in site.places:
            said.append(place.wire.call("GET", f"{PREFIX}/ledger/checkpoint?quorum=any", fresh=True))


@pytest.mark.parametrize("compromised", [False, True])
def test_key_of_checkpoints_is_replaced_everywhere(site: Site, compromised: bool) -> None:
    acknowledged, said, stop = Acknowledged(), list[Answer](), threading.Event()
    first = checkpoint_keys(site.places[0]).present
    thread = threading.Thread(target=fetch_checkpoints, args=(site, stop, said), daemon=True)
    with creating(site.places, acknowledged, each=1):
        thread.start()
        try:
            eventually(lambda: len(acknowledged.hashes) > 4 and len(said) > 4, "DIDs are created, checkpoints signed")
            done = asyncio.run(checkpoint_replaced(site.settings, compromised=compromised))
            before = len(said)
            eventually(lambda: len(said) > before + 8, "checkpoints are signed on")
        finally:
            stop.set()
            thread.join(60)
    assert (acknowledged.refused, acknowledged.lost_answers) == ({}, 0)
    assert {answer.status for answer in said} == {200}
    check_all_are_there(site.places, acknowledged)
    assert (done.number, done.destroyed) == (2, (1,) if compromised else ())
    for place in site.places * 4:
        eventually(lambda place=place: checkpoint_keys(place).number == 2, "every process lists the new key")
        keys = checkpoint_keys(place)
        assert [one.key for one in keys.earlier] == [first]
        # No tree with the entry of the replacement in it was signed by the old key alone.
        assert max(keys.open(answer.body).checkpoint.size for answer in said) > keys.earlier[0].tree_size


def test_key_of_tokens_is_replaced_everywhere(site: Site) -> None:
    old = token(site.places[0])
    first, second = kids(site.places[0])
    with used(site) as said:
        done = asyncio.run(replaced(site.settings))
    assert {*said} == {(200, 200)}
    assert done.number == 2
    for place in site.places * 4:
        eventually(lambda place=place: kids(place)[::2] == [second, first], "both keys are published")
        assert list_dids(place, old).status == 200
    with used(site) as said:
        asyncio.run(replaced(site.settings, compromised=True))
    # A token that a process signed before it had heard of the theft is of the stolen key.
    assert {issued for issued, _ in said} == {200}
    assert {status for _, status in said[-4:]} == {200}
    for place in site.places * 4:
        # The first key was replaced in good order and lay beside the stolen one all the same.
        assert list_dids(place, old).status == 401
        assert {first, second}.isdisjoint(kids(place))
        assert list_dids(place, token(place)).status == 200


def test_key_of_log_is_replaced_everywhere(site: Site) -> None:
    acknowledged, holder = Acknowledged(), site.places[0].stranger.holder()
    with creating(site.places, acknowledged, each=1):
        eventually(lambda: len(acknowledged.hashes) > 4, "DIDs are created")
        done = asyncio.run(rotated(site.settings, compromised=True))
        before = len(acknowledged.hashes)
        eventually(lambda: len(acknowledged.hashes) > before + 4, "DIDs are created on")
    assert (acknowledged.refused, acknowledged.lost_answers) == ({}, 0)
    check_all_are_there(site.places, acknowledged)
    assert (done.generation, done.waiting, len(done.retired), done.late) == (2, 0, 1, ())
    for place in site.places:
        log = replace(holder, wire=place.wire).log()
        assert verify(log).versions == 1
        assert signer_of(log.splitlines()[0]) in done.retired
        newest = place.stranger.holder()
        assert signer_of(newest.log().splitlines()[-1]) == done.multikey


def test_everything_is_sealed_anew_and_no_write_is_refused(site: Site) -> None:
    acknowledged = Acknowledged()
    # Those that may each have a passphrase of their own are asked.
    assert attending(site.settings) == (
        set() if site.settings.database_url is None else {one.process.pid for one in site.places}
    )
    with creating(site.places, acknowledged, each=1):
        eventually(lambda: len(acknowledged.hashes) > 4, "DIDs are created")
        done = [asyncio.run(sealed_anew(site.settings, compromised=False)) for _ in range(2)]
        before = len(acknowledged.hashes)
        eventually(lambda: len(acknowledged.hashes) > before + 4, "DIDs are created on")
    assert (acknowledged.refused, acknowledged.lost_answers) == ({}, 0)
    check_all_are_there(site.places, acknowledged)
    assert [one.generation for one in done] == [2, 3]


def attending(settings: Settings) -> set[int]:
    """The numbers of the processes that a rotation of the seal asks."""
    database = open_database(settings.database_url, settings.data_dir / "custodian.sqlite", read_only=True)
    try:
        rows = database.read_now(
            lambda transaction: transaction.execute("SELECT number FROM custodian_processes").fetchall()
        )
    finally:
        asyncio.run(database.close())
    return {row[0] for row in rows}


async def sealed_anew(settings: Settings, *, compromised: bool) -> Resealed:
    async with seal_rotation(settings) as rotate:
        return await rotate(compromised=compromised)
