"""The faults that stop a start, and the duration of a start."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import identity_ledger_evm
import pytest
from eth_account import Account
from identity_ledger_evm import index
from identity_ledger_evm.deployment import deploy, status
from identity_ledger_evm.index import Cursor
from identity_ledger_evm.ledger import EvmLedger
from identity_ledger_evm.node import NodeAway
from identity_ledger_evm.settings import EvmSettings
from identity_ledger_evm.watcher import Watcher
from identity_ledger_evm.worker import NeverRead
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.project import LedgerFollower

from identity_codec.values import replace
from identity_core.database import Transaction, migrate, open_database
from identity_core.errors import LedgerUnavailable
from identity_core.plugin import NotConfigured, PluginError
from identity_core.ports.ledger import AnchoringLedger, LedgerHead
from identity_core.store import Store

KEY = "0x" + "17" * 32
CONTRACT = "0x" + "ab" * 20


def build(site: Any, **changes: Any) -> Any:
    return identity_ledger_evm.build(replace(site.settings, **changes), site.context())


def test_the_hook_hands_it_over_and_build_opens_it(site: Any) -> None:
    provider = identity_ledger_evm.identity_provide_ledger_backend()
    assert (provider.name, provider.settings) == ("evm", EvmSettings)
    ledger = build(site)
    assert isinstance(ledger, AnchoringLedger)
    assert ledger.anchor_ledger_name == f"evm:31337:{site.settings.contract}"
    asyncio.run(ledger.close())


def test_the_import_brings_nothing_of_a_chain() -> None:
    program = (
        "import sys, identity_ledger_evm\n"
        "print([name for name in ('eth_account', 'coincurve', 'httpx', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["rpc_url", "chain_id", "contract"])
def test_unguessable_setting_is_required(missing: str, tmp_path: Path) -> None:
    settings = EvmSettings(rpc_url="http://127.0.0.1:1", chain_id=1, contract=CONTRACT, private_key=KEY)
    with pytest.raises(NotConfigured, match=missing):
        replace(settings, **{missing: None}).configured()
    with pytest.raises(NotConfigured, match="private_key"):
        replace(settings, private_key=None).configured()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"chain_id": 1}, "the node is of chain 31337, plugins.evm.chain_id is 1"),
        ({"contract": CONTRACT}, "there is no contract at this address"),
        ({"private_key": KEY}, "and the key is that of 0x"),
        ({"private_key": "0x" + "00" * 32}, "is not a key"),
        ({"private_key": "secret"}, "is not a key"),
        ({"private_key": None, "keystore": Path("/nowhere/key.json")}, "cannot be read"),
    ],
)
def test_another_chain_contract_or_key_stops_the_start(site: Any, changes: Any, reason: str) -> None:
    with pytest.raises(PluginError, match=reason) as caught:
        build(site, **changes)
    assert "secret" not in str(caught.value)


def test_another_contract_at_the_address_stops_the_start(site: Any) -> None:
    # The chain outlives the test, and others want nothing at CONTRACT.
    elsewhere = "0x" + "cd" * 20
    site.server.call("anvil_setCode", elsewhere, "0x6001")
    with pytest.raises(PluginError, match="not the one that this version"):
        build(site, contract=elsewhere)


def test_an_index_of_another_contract_stops_the_start(site: Any) -> None:
    asyncio.run(site.open().close())
    with pytest.raises(PluginError, match=f"the index is of contract {site.settings.contract} on chain 31337"):
        build(site, contract=CONTRACT)


@pytest.mark.parametrize(
    "wrong",
    [{"contract": "0x12"}, {"contract": "x" * 42}, {"private_key": KEY, "keystore": Path("key.json")}],
)
def test_settings_that_cannot_be_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"contract must be an address|exclude each other"):
        EvmSettings(**wrong)


def test_a_key_is_in_no_repr() -> None:
    settings = EvmSettings(rpc_url="http://user:hush@node", private_key=KEY, keystore_password=None)
    assert KEY[2:] not in repr(settings)
    assert "hush" not in repr(settings)


def test_a_keystore_file_signs(site: Any, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(json.dumps(Account.encrypt(site.settings.private_key, "pass word", kdf="pbkdf2", iterations=1000)))
    with pytest.raises(PluginError, match="does not open it"):
        build(site, private_key=None, keystore=path, keystore_password="wrong")
    ledger = build(site, private_key=None, keystore=path, keystore_password="pass word")

    async def scenario() -> None:
        await ledger.append("did:x:1", b"1", expected_version=0)
        await ledger.close()

    asyncio.run(scenario())


def test_a_chain_that_was_never_read_is_not_told_as_empty(site: Any) -> None:
    """A new index over a contract that has entries, and a node that is away: nothing is signed over no entries, and no DID is not found."""
    away = "http://127.0.0.1:1"

    async def scenario() -> None:
        before = site.open("before")
        await before.append("did:x:1", b"1", expected_version=0)
        await before.close()
        unread = EvmLedger.open(replace(site.settings, rpc_url=away), site.context("fresh"))
        follower = LedgerFollower(unread, TransparencyTree(Store.open(site.folder / "fresh", None).database))
        for read in (unread.head(), unread.entries("did:x:1"), unread.log_size("did:x:1"), follower.now()):
            with pytest.raises(LedgerUnavailable, match="not read yet"):
                await read
        with pytest.raises(NeverRead):
            unread.prepare()
        await unread.close()
        # What was read before is there without the node.
        again = site.open("before", rpc_url=away)
        assert (await again.head()).sequence == 1
        await again.close()

    asyncio.run(scenario())
    with pytest.raises(PluginError, match="the chain was not read yet, and its node does not tell what it has"):
        identity_ledger_evm.build(replace(site.settings, rpc_url=away), site.context("fresh"))
    # A second process waits for the one that reads it.
    with ThreadPoolExecutor() as threads:
        for ledger in [one.result() for one in [threads.submit(site.open, "fresh") for _ in range(2)]]:
            assert asyncio.run(ledger.head()).sequence == 1


def test_a_first_read_that_breaks_off_is_not_told_as_the_ledger(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node is gone after some of the blocks were read: what the index has is the beginning, and nothing is told of it, after a start
    without the node neither."""
    away = "http://127.0.0.1:1"
    whole = Watcher._read_blocks

    async def breaks_off(watcher: Watcher, at: Cursor, last: int, *, is_newest: bool) -> Cursor:
        if at.sequence:
            raise NodeAway("it is gone")
        return await whole(watcher, at, last, is_newest=is_newest)

    async def scenario() -> None:
        before = site.open("before")
        for number in range(3):
            await before.append(f"did:x:{number}", b"1", expected_version=0)
        await before.close()
        with monkeypatch.context() as patch:
            patch.setattr(Watcher, "_read_blocks", breaks_off)
            with pytest.raises(PluginError, match="the chain was not read yet"):
                identity_ledger_evm.build(replace(site.settings, log_blocks=1), site.context("fresh"))
        with pytest.raises(PluginError, match="the chain was not read yet"):
            identity_ledger_evm.build(replace(site.settings, rpc_url=away), site.context("fresh"))
        unread = EvmLedger.open(replace(site.settings, rpc_url=away), site.context("fresh"))
        assert await unread._database.read(index.head) == LedgerHead(1, ANY)
        for read in (unread.head(), unread.entries("did:x:0"), unread.entries_after(0, 10)):
            with pytest.raises(LedgerUnavailable, match="not read yet"):
                await read
        await unread.close()
        again = site.open("fresh")
        assert (await again.head()).sequence == 3
        await again.close()
        # What was read to its end is there without the node.
        known = site.open("fresh", rpc_url=away)
        assert (await known.head()).sequence == 3
        await known.close()

    asyncio.run(scenario())


def test_a_contract_without_confirmed_entries_is_an_empty_ledger(still_chain: Any) -> None:
    site = still_chain(confirmations=30)
    for changes in ({}, {"from_block": 0}):
        ledger = site.open(f"index-{len(changes)}", **changes)
        assert asyncio.run(ledger.head()).sequence == 0


def test_the_status_tells_what_the_chain_has(site: Any) -> None:
    async def scenario() -> None:
        ledger = site.open()
        await ledger.append("did:x:1", b"1", expected_version=0)
        found = await status(site.settings)
        assert (found.fault, found.entries, found.owner) == ("", 1, found.sender)
        assert found.head_block >= site.settings.from_block
        await ledger.close()

    asyncio.run(scenario())


def test_deploying_says_what_went_wrong(site: Any) -> None:
    poor = replace(site.settings, private_key=KEY)
    with pytest.raises(LedgerUnavailable, match=r"(?i)insufficient funds"):
        asyncio.run(deploy(poor, wait_seconds=5))
    with pytest.raises(LedgerUnavailable, match="does not answer"):
        asyncio.run(deploy(replace(poor, rpc_url="http://127.0.0.1:1"), wait_seconds=5))
    site.server.expensive()
    with pytest.raises(LedgerUnavailable, match="max_fee_gwei"):
        asyncio.run(deploy(replace(site.settings, max_fee_gwei=0.000_001), wait_seconds=5))


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_old_index_counts_as_read_unless_empty(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The second step of the migrations, over what the first has left."""
    url = request.getfixturevalue("postgres_url") if dialect == "postgresql" else None
    database = open_database(url, tmp_path / "index.sqlite")
    migrate(database, "identity_ledger_evm.migrations", "evm_")

    def as_before(transaction: Transaction, block_hash: bytes) -> None:
        transaction.execute("DELETE FROM evm_cursor")
        index.start(transaction, 1, CONTRACT, 5)
        transaction.execute("UPDATE evm_cursor SET block_hash = :hash", {"hash": block_hash})
        transaction.execute("ALTER TABLE evm_cursor DROP COLUMN is_read")
        transaction.execute("DELETE FROM evm_migrations WHERE number = 2")

    for block_hash, is_read in ((b"", False), (bytes(32), True)):
        database.write_now(partial(as_before, block_hash=block_hash))
        migrate(database, "identity_ledger_evm.migrations", "evm_")
        assert database.read_now(index.was_read) is is_read
        # The first chunk of an index of which nothing was read is not all of it.
        move = Cursor(7, bytes(32), 0)
        database.write_now(lambda transaction, move=move: index.advance(transaction, [], move))
        assert database.read_now(index.was_read) is is_read
    asyncio.run(database.close())
