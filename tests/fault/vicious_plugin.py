"""Every kind of plugin that lives in the server's process, until it falls into a vice that no border contains.

The file that ``IDENTITY_TEST_FAULT`` names holds one word such as ``ledger:exit``, ``custodian:fork`` or ``bearer:block``. The process
that acts on it takes it away first, so that it happens once. The ports are those of the features' plugin, plus a bearer verifier.
"""

from __future__ import annotations

import contextlib
import os
import time
from datetime import datetime
from typing import Any

import identity_custodian_sealed
import identity_did_ids
import identity_ledger_sql
from identity_server_processes import workers

from features.faults import plugin as stock
from features.faults.words import FAULT, faults
from identity_core.domain.callers import ApiKey, Caller
from identity_core.plugin import NoSettings, Provider, hookimpl

# A process that hangs is killed in the end; the tests need not wait for all of the time that it is left.
workers.CLOSING_SECONDS = 1.0


def fall(kind: str) -> None:
    """Does what the file says, if it says it of this kind."""
    word = next((word for word in faults() if word.startswith(f"{kind}:")), None)
    if word is None:
        return
    with contextlib.suppress(FileNotFoundError):
        FAULT.rename(f"{FAULT}.{os.getpid()}")
        match word.partition(":")[2]:
            case "exit":
                os._exit(9)
            case "fork":
                # Both would go on from here, each as the server.
                os.fork()
            case "block":
                time.sleep(600)


class Ledger(stock.Ledger):
    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Any:
        fall("ledger")
        return await super().append(did, entry, expected_version=expected_version)


class Custodian(stock.Custodian):
    async def sign(self, name: str, message: bytes) -> Any:
        # Only for entries of a log: a process that starts signs with other keys, and would take what is meant for one that serves.
        if name.startswith("log"):
            fall("custodian")
        return await super().sign(name, message)


class KeyStore:
    async def find(self, digest: str) -> ApiKey | None:
        fall("key_store")
        return None


class Method(stock.Method):
    def draft(self, state: Any, change: Any, at: Any, *, signer: str) -> Any:
        fall("did_method")
        return super().draft(state, change, at, signer=signer)


@hookimpl
def identity_provide_ledger_backend() -> Provider[Any]:
    return _wrapping("vicious", identity_ledger_sql, "identity_provide_ledger_backend", Ledger)


@hookimpl
def identity_provide_custodian() -> Provider[Any]:
    return _wrapping("vicious", identity_custodian_sealed, "identity_provide_custodian", Custodian)


@hookimpl
def identity_provide_key_store() -> Provider[Any]:
    return Provider("vicious", build=lambda _settings, _context: KeyStore())


@hookimpl
def identity_provide_did_method() -> Provider[Any]:
    return _wrapping("ids", identity_did_ids, "identity_provide_did_method", Method)


@hookimpl
def identity_verify_bearer(token: str, now: datetime) -> Caller | None:
    fall("verify_bearer")
    return None


def _wrapping(name: str, module: Any, hook: str, wrapper: type[Any]) -> Provider[Any]:
    real = getattr(module, hook)()
    return Provider(name, build=lambda _, context: wrapper(real.build(real.settings(), context)), settings=NoSettings)
