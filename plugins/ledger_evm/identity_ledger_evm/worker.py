"""The one task of a process that talks to the chain: look, settle, send, and rest a little longer each time nothing happens.

It starts with the first call of the ledger in an event loop. Whatever goes wrong with node or database is the station's
``trouble``: logged once when it begins and every minute while it lasts, and tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from identity_core.database import DatabaseError, Transaction
from identity_ledger_evm import index, lease
from identity_ledger_evm.chain import Chain
from identity_ledger_evm.dispatcher import Dispatcher
from identity_ledger_evm.lease import LeaseLost
from identity_ledger_evm.node import Node, NodeError
from identity_ledger_evm.right_chain import WrongChain, verify
from identity_ledger_evm.sender import Sender
from identity_ledger_evm.station import Station
from identity_ledger_evm.waiters import Waiters
from identity_ledger_evm.watcher import Watcher

QUICK_SECONDS = 0.005
# Without work of our own: how often to look whether the chain took something back, or another writer added something.
IDLE_SECONDS = 2.0
ALARM_SECONDS = 60.0

_WORK = """
SELECT EXISTS (SELECT 1 FROM evm_appends WHERE state = 'waiting')
OR EXISTS (SELECT 1 FROM evm_anchors WHERE state = 'waiting')
OR EXISTS (SELECT 1 FROM evm_transactions WHERE state IN ('submitted', 'mined'))
"""


class NeverRead(Exception):
    """The chain was never read: an empty ledger would be reported instead of one that may have entries."""


class Worker:
    """See the module. ``looks`` counts the looks at the chain."""

    def __init__(self, station: Station, sender: Sender, rpc_url: str, logger: logging.Logger) -> None:
        self._station = station
        self._sender = sender
        self._rpc_url = rpc_url
        self._logger = logger
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._told = ("", 0.0)
        self.waiters = Waiters(station.database)
        self.looks = 0

    def run(self) -> None:
        """Ensure that the task runs in this event loop."""
        loop = asyncio.get_running_loop()
        if self._task is not None and self._loop is loop and not self._task.done():
            return
        self._loop, self._wake = loop, asyncio.Event()
        self._task = loop.create_task(self._work(), name="ledger evm")
        self._task.add_done_callback(self._say_how_it_ended)

    def wake(self) -> None:
        """There is something new to send."""
        self._wake.set()

    async def stop(self) -> None:
        """End the task and release the lease. A task of a loop that is gone has ended with it."""
        task, self._task = self._task, None
        if task is not None and self._loop is asyncio.get_running_loop():
            task.cancel()
            await asyncio.wait([task])
        holder = self._station.holder
        await self._station.database.write(lambda transaction: lease.release(transaction, holder), durable=False)

    async def prepare(self) -> None:
        """Check that the chain is the one that was meant, and read what the index lacks. Raises ``WrongChain``; ``NeverRead``: when the
        node does not answer and nothing of the chain is in the index. A node that is away later is an error of single calls."""
        async with Node(self._rpc_url, self._station.settings.rpc_seconds) as node:
            chain = Chain(node, self._station.contract)
            watcher = Watcher(self._station, chain, self._logger)
            while True:
                if await self._read_up_to_now(chain, watcher):
                    return
                # Another process reads the chain for the first time.
                await asyncio.sleep(QUICK_SECONDS)

    async def _read_up_to_now(self, chain: Chain, watcher: Watcher) -> bool:
        """Return whether the index was read, now or before."""
        was_read = await self._station.database.read(index.was_read)
        try:
            await verify(self._station, chain)
            if await self._station.take_lease():
                await watcher.follow(await chain.head())
                return True
        except LeaseLost as error:
            self._logger.warning("the index of the chain is as old as the last run: %s", error)
        except NodeError as error:
            if not was_read:
                await self.stop()
                raise NeverRead(
                    f"the chain was not read yet, and its node does not tell what it has: {error}"
                ) from error
            self._logger.warning("the index of the chain is as old as the last run: %s", error)
        return was_read

    async def _work(self) -> None:
        async with Node(self._rpc_url, self._station.settings.rpc_seconds) as node:
            chain = Chain(node, self._station.contract)
            watcher = Watcher(self._station, chain, self._logger)
            dispatcher = Dispatcher(self._station, chain, self._sender, self._logger)
            verified = False
            pause = QUICK_SECONDS
            while True:
                self._wake.clear()
                changed = False
                try:
                    if await self._station.take_lease():
                        if not verified:
                            await verify(self._station, chain)
                        verified = True
                        changed = await self._look(chain, watcher, dispatcher)
                    else:
                        self._station.trouble = ""
                except (NodeError, WrongChain, DatabaseError) as error:
                    # A node that comes back may be another one.
                    verified = False
                    self._station.trouble = error.reason if isinstance(error, DatabaseError) else str(error)
                except LeaseLost:
                    self._station.lost_lease()
                    self._logger.info("another process talks to the chain now")
                self._tell()
                self.looks += 1
                await self._tell_waiters()
                pause = QUICK_SECONDS if changed else min(2 * pause, self._station.settings.poll_seconds)
                await self._rest(pause)

    async def _look(self, chain: Chain, watcher: Watcher, dispatcher: Dispatcher) -> bool:
        head = await chain.head()
        changed = await watcher.follow(head)
        return await dispatcher.dispatch(head) or changed

    async def _rest(self, pause: float) -> None:
        """Until the pause is over while something is open; else until there is work, here or in another process."""
        if self._wake.is_set():
            return
        loop = asyncio.get_running_loop()
        idle_until = loop.time() + IDLE_SECONDS
        while True:
            # Not wait_for, which can swallow a cancellation that comes at the same moment (until Python 3.12).
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
                return
            if loop.time() >= idle_until or await self._has_work():
                return
            pause = self._station.settings.poll_seconds

    async def _has_work(self) -> bool:
        try:
            return await self._station.database.read(has_work)
        except DatabaseError:
            return True

    async def _tell_waiters(self) -> None:
        # Who is not told now is told next time, or asks the database himself when his time is up.
        with contextlib.suppress(DatabaseError):
            await self.waiters.tell(self.looks, self._station.trouble)

    def _tell(self) -> None:
        trouble, now = self._station.trouble, self._station.clock.monotonic()
        told, at = self._told
        if trouble and (trouble != told or now - at >= ALARM_SECONDS):
            self._logger.error("the chain cannot be written to: %s", trouble)
            self._told = (trouble, now)
        elif not trouble and told:
            self._logger.info("the chain can be written to again")
            self._told = ("", 0.0)

    def _say_how_it_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._logger.error("the task that talks to the chain broke", exc_info=task.exception())


def has_work(transaction: Transaction) -> bool:
    """Return whether something waits or is open."""
    return bool(transaction.execute(_WORK).fetchone()[0])
