"""A contract on a chain, and the ledgers that a test opens on it; needs the plugin ``ledger_evm`` with its extra ``chain``."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from identity_ledger_evm.deployment import deploy
from identity_ledger_evm.ledger import EvmLedger
from identity_ledger_evm.settings import EvmSettings

from identity_codec.values import replace
from identity_core.plugin import BuildContext
from identity_core.ports.ledger import AnchorTransaction
from tests.anvil_server import AnvilServer

T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T]], what: Callable[[T], Any], seconds: float = 60.0) -> T:
    """What ``look`` tells when ``what`` is content with it."""
    deadline = time.monotonic() + seconds
    while not what(found := await look()):
        assert time.monotonic() < deadline, f"after {seconds:g} s still {found!r:.500}"
        await asyncio.sleep(0.02)
    return found


def is_(state: str) -> Callable[[AnchorTransaction | None], bool]:
    return lambda found: found is not None and found.state == state


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass
class Site:
    """A contract of its own on a chain, and whatever ledgers a test opens on it."""

    server: AnvilServer
    folder: Path
    settings: EvmSettings
    opened: list[EvmLedger] = field(default_factory=list)

    def context(self, name: str = "index", database_url: str | None = None) -> BuildContext:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return BuildContext(SystemClock(), logging.getLogger("test.evm"), folder, database_url)

    def open(self, name: str = "index", *, database_url: str | None = None, **changes: Any) -> EvmLedger:
        """A ledger whose index is called ``name``."""
        ledger = EvmLedger.open(replace(self.settings, **changes), self.context(name, database_url))
        ledger.prepare()
        self.opened.append(ledger)
        return ledger

    def close(self) -> None:
        for ledger in self.opened:
            asyncio.run(ledger.close())


def make_site(server: AnvilServer, folder: Path, **changes: Any) -> Site:
    """Deploys a contract that a new key owns."""
    # An append may take its time here; a test of one that gives up says when.
    wish: dict[str, Any] = {"poll_seconds": 0.05, "append_seconds": 60.0} | changes
    first = EvmSettings(rpc_url=server.url, private_key=server.new_key(), **wish)
    made = asyncio.run(deploy(first, wait_seconds=60))
    settings = replace(first, chain_id=made.chain_id, contract=made.contract, from_block=made.from_block)
    return Site(server, folder, settings)
