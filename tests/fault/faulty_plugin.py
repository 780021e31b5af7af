"""Plugins that break on demand: those of the features, which raise and hang, and further vices of ledger and key store.

The file that ``IDENTITY_TEST_FAULT`` names holds words: ``ledger:junk`` answers with something else, ``ledger:late``
raises after the work is done, ``keys:junk`` answers with something else, ``keys:leave`` wants to end the
process, ``ledger:spill`` and ``keys:spill`` raise with what ``IDENTITY_TEST_SPILL_LEDGER`` and ``IDENTITY_TEST_SPILL_KEYS`` hold.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import identity_ledger_sql

from features.faults import plugin as stock
from features.faults.plugin import identity_provide_custodian, identity_provide_did_method
from features.faults.words import Broken, faults
from identity_core.plugin import NoSettings, Provider, hookimpl

__all__ = ["identity_provide_custodian", "identity_provide_did_method"]


def spill(word: str) -> None:
    """Raises with a message that no log should repeat."""
    if word in faults():
        raise Broken(os.environ[f"IDENTITY_TEST_SPILL_{word.partition(':')[0].upper()}"])


class Ledger(stock.Ledger):
    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Any:
        spill("ledger:spill")
        receipt = await super().append(did, entry, expected_version=expected_version)
        if "ledger:late" in faults():
            raise Broken("the answer was lost")
        return {"junk": receipt} if "ledger:junk" in faults() else receipt

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Any:
        junk = "ledger:junk" in faults()
        return [1, "junk", None] if junk else await super().entries(did, after=after, limit=limit)

    async def log_size(self, did: str) -> Any:
        return "junk" if "ledger:junk" in faults() else await super().log_size(did)


class KeyStore(stock.KeyStore):
    async def find(self, digest: str) -> Any:
        spill("keys:spill")
        if "keys:leave" in faults():
            sys.exit("the vault is not there")
        return {"admin": True} if "keys:junk" in faults() else await super().find(digest)


@hookimpl
def identity_provide_ledger_backend() -> Provider[Any]:
    real = identity_ledger_sql.identity_provide_ledger_backend()
    return Provider(
        "faulty", build=lambda _, context: Ledger(real.build(real.settings(), context)), settings=NoSettings
    )


@hookimpl
def identity_provide_key_store() -> Provider[Any]:
    return Provider("faulty", build=lambda _settings, _context: KeyStore())
