"""The ledger ``evm``: appends and anchors go into tables, one worker takes them to the chain, reads come from the index.

An append returns when the index has its entry. When its time is up before that, there are two cases: it was still waiting and
is withdrawn, or it was sent and its outcome is unknown; then the error carries the transaction hash, and ``find_transaction`` returns
the outcome.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from identity_codec.strict_json import JsonValue
from identity_core.database import Database, DatabaseError, Job, Transaction, migrate, open_database
from identity_core.errors import LedgerUnavailable, Overloaded, VersionConflict
from identity_core.plugin import BuildContext
from identity_core.ports.ledger import AnchorTransaction, LedgerEntry, LedgerHead, LogSize, Receipt
from identity_ledger_evm import anchors, appends, index, outgoing
from identity_ledger_evm.contract import Item
from identity_ledger_evm.dispatcher import MOST_OCTETS
from identity_ledger_evm.outgoing import Outgoing
from identity_ledger_evm.right_chain import WrongChain
from identity_ledger_evm.sender import sender_of
from identity_ledger_evm.settings import EvmSettings
from identity_ledger_evm.station import Station
from identity_ledger_evm.worker import Worker

T = TypeVar("T")


class EvmLedger:
    """See ``LedgerBackend`` and ``AnchoringLedger``. The station's database is closed with the ledger."""

    def __init__(self, station: Station, worker: Worker) -> None:
        self._station = station
        self._worker = worker
        self._database: Database = station.database
        self._closed = False
        self.anchor_ledger_name = f"evm:{station.chain_id}:{station.contract}"

    @classmethod
    def open(cls, settings: EvmSettings, context: BuildContext) -> EvmLedger:
        """Return the ledger with its index in ``ledger_evm.sqlite`` or on the server. Raises ``NotConfigured``, ``KeyUnusable``,
        ``WrongChain`` when the index is another contract's, ``DatabaseError``."""
        configured = settings.configured()
        sender = sender_of(settings, configured.chain_id)
        database = open_database(context.database_url, context.data_dir / "ledger_evm.sqlite", **context.opening)
        migrate(database, "identity_ledger_evm.migrations", "evm_")
        wanted = (configured.chain_id, configured.contract)
        owner = database.write_now(lambda transaction: index.start(transaction, *wanted, settings.from_block))
        if owner != wanted:
            raise WrongChain(
                f"the index is of contract {owner[1]} on chain {owner[0]}, not of {wanted[1]} on {wanted[0]}"
            )
        station = Station(database, context.clock, secrets.token_hex(8), *wanted, sender.address, settings)
        return cls(station, Worker(station, sender, configured.rpc_url, context.logger))

    def prepare(self) -> None:
        """Check the chain and read what the index lacks. Block until that is done. Raises ``WrongChain``, ``DatabaseError``."""
        # On a thread, because the caller may itself be a coroutine.
        with ThreadPoolExecutor(1, "ledger evm prepare") as thread:
            thread.submit(lambda: asyncio.run(self._worker.prepare())).result()

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        self._run()
        item = Item(did, expected_version, bytes(entry))
        if len(item.entry) + len(did.encode()) > MOST_OCTETS:
            details: dict[str, JsonValue] = {"did": did, "outcome": "not recorded"}
            raise LedgerUnavailable("The entry is too large for a transaction.", details=details)
        seconds = self._station.settings.append_seconds
        deadline = self._station.now() + int(seconds * 1_000_000)
        look = self._worker.looks
        number = await self._write(lambda transaction: appends.add(transaction, item, deadline), {"did": did})
        decided = self._worker.waiters.expect(number, look)
        self._worker.wake()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    found = await decided
                    if found is not None:
                        return _require_recorded(did, found)
        except asyncio.CancelledError:
            # Queued at once, and the caller no longer waits: an append without a caller is not sent.
            self._database.write(lambda transaction: appends.withdraw(transaction, number), durable=False)
            raise
        finally:
            self._worker.waiters.leave(number)
        return await self._give_up(number, item)

    async def _give_up(self, number: int, item: Item) -> Receipt:
        """Withdraw it, or raise ``LedgerUnavailable`` for an unknown outcome, unless it was decided at the last moment."""
        details: dict[str, JsonValue] = {"did": item.did}
        if self._station.trouble:
            details["reason"] = self._station.trouble
        if await self._write(lambda transaction: appends.withdraw(transaction, number), details):
            details["outcome"] = "not recorded"
            raise LedgerUnavailable("The entry could not be sent and was not recorded.", details=details)
        for found in await self._read(appends.decided):
            if found.id == number:
                await self._write(lambda transaction: appends.forget(transaction, number), details, durable=False)
                return _require_recorded(item.did, found)
        sent = await self._read(lambda transaction: appends.last_hash(transaction, number))
        if sent is not None:
            details["transactionHash"] = sent.hex()
        details["outcome"] = "unknown"
        raise LedgerUnavailable("The entry was sent, and is not confirmed yet.", details=details)

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        self._run()
        return await self._indexed(lambda transaction: index.of_did(transaction, did, after, limit))

    async def log_size(self, did: str) -> LogSize:
        self._run()
        return await self._indexed(lambda transaction: index.size_of(transaction, did))

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        self._run()
        return await self._indexed(lambda transaction: index.after(transaction, sequence, limit))

    async def head(self) -> LedgerHead:
        self._run()
        return await self._indexed(index.head)

    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        return await self._submit("anchor", root, size)

    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        return await self._status("anchor", root)

    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        return await self._submit("revocation", leaf, 0)

    async def revocation_status(self, leaf: bytes) -> AnchorTransaction | None:
        return await self._status("revocation", leaf)

    async def find_transaction(self, transaction_hash: bytes) -> Outgoing | None:
        """Return what became of a transaction that this ledger signed, by any hash that it ever had."""
        return await self._read(lambda transaction: outgoing.by_hash(transaction, transaction_hash))

    async def close(self) -> None:
        """End the worker and close the database; open appends continue with the next start. A second call is no error."""
        if not self._closed:
            self._closed = True
            await self._worker.stop()
            await self._database.close()

    async def _submit(self, kind: anchors.Kind, digest: bytes, size: int) -> AnchorTransaction:
        self._run()
        made = await self._write(lambda transaction: anchors.add(transaction, kind, digest, size), {})
        self._worker.wake()
        return made

    async def _status(self, kind: anchors.Kind, digest: bytes) -> AnchorTransaction | None:
        self._run()
        return await self._read(lambda transaction: anchors.find(transaction, kind, digest, self._station.trouble))

    def _run(self) -> None:
        if self._closed:
            raise LedgerUnavailable("The ledger is closed.")
        self._worker.run()

    async def _indexed(self, job: Job[T]) -> T:
        """Read as ``_read`` does, from an index that is up to date with the chain."""

        def read(transaction: Transaction) -> T:
            if not index.was_read(transaction):
                raise LedgerUnavailable("The chain was not read yet.")
            return job(transaction)

        return await self._read(read)

    async def _read(self, job: Job[T]) -> T:
        try:
            return await self._database.read(job)
        except DatabaseError as error:
            raise LedgerUnavailable from error

    async def _write(self, job: Job[T], details: dict[str, JsonValue], *, durable: bool = True) -> T:
        try:
            return await self._database.write(job, durable=durable)
        except Overloaded:
            raise
        except DatabaseError as error:
            raise LedgerUnavailable(details=details) from error


def _require_recorded(did: str, found: appends.Decided) -> Receipt:
    if found.receipt is not None:
        return found.receipt
    if found.state == "refused":
        raise VersionConflict(details={"did": did, "versionId": found.found})
    raise LedgerUnavailable(details={"did": did, "reason": found.reason})
