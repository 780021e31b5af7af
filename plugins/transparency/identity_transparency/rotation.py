"""The replacement of the service's own keys, beside a running service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

from identity_commands.beside import store_beside
from identity_did_ids import service_keys
from identity_did_ids.service_log import SERVICE_METHOD
from msgspec import Struct

from identity_codec import jose
from identity_core.bootstrap.ports import SystemClock, origin_of
from identity_core.domain.activity import OPERATOR, Event, RequestContext
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Resealed, ResealingCustodian
from identity_core.ports.did_method import DidMethod, PreRotatingDidMethod
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.dids.commit import DidWriter
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.dids.log_keys import LogSigner
from identity_core.use_cases.record import Record
from identity_transparency.opening import followed, open_log
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import OVERLAP, SignSuccession
from identity_transparency.use_cases.checkpoint_keys import name_of as checkpoint_key_name
from identity_transparency.use_cases.replace_key import ReplaceServiceKey, no_succession
from identity_transparency.use_cases.rotate_log_key import RotateServiceKey
from identity_transparency.use_cases.service_log import ServiceLog


@contextlib.asynccontextmanager
async def log_key_rotation(settings: Settings) -> AsyncIterator[RotateServiceKey]:
    """Open the rotation of the log key, beside a running service. Raises ``StartError``."""
    async with _service_log(settings) as (log, store):
        # Two deadlines: an append that ran into one may still be done a moment later.
        settle = 2 * settings.ledger.deadline_seconds
        yield RotateServiceKey(log, store.index_rows, asyncio.sleep, settle)


@contextlib.asynccontextmanager
async def token_key_replacement(settings: Settings) -> AsyncIterator[ReplaceServiceKey]:
    """Open the replacement of the key of access tokens, beside a running service. Raises ``StartError``."""
    async with _service_log(settings) as (log, _):
        keep = timedelta(seconds=settings.token.lifetime_seconds) + jose.LEEWAY
        name_of, number = service_keys.token_key_name, settings.token.key_number
        yield ReplaceServiceKey(log, service_keys.TOKEN, name_of, number, 1, keep, no_succession)


class RotateSeal(Struct, frozen=True):
    """The resealing of everything that the custodian holds, and its record. The custodian checks that all processes can open the
    new seal, and reports what must be done first."""

    custodian: ResealingCustodian
    record: Record
    clock: Clock

    async def __call__(self, *, compromised: bool) -> Resealed:
        """Rotate the seal and record it. Raises as ``ResealingCustodian.reseal_now``. Raises ``PluginUnavailable``: when the seal
        was rotated but the record failed."""
        done = self.custodian.reseal_now(compromised=compromised)
        event = Event(
            details={
                "generation": done.generation,
                "keys": done.keys,
                "newMasterKey": done.has_new_master_key,
                "compromised": compromised,
            }
        )
        await self.record(RequestContext("rotateSeal", OPERATOR), event, self.clock.now(), durable=True)
        return done


@contextlib.asynccontextmanager
async def seal_rotation(settings: Settings) -> AsyncIterator[RotateSeal]:
    """Open the resealing beside a running service, if the custodian supports it. Raises ``StartError``."""
    async with store_beside(settings) as (_, custodian, store):
        if not isinstance(custodian, ResealingCustodian):
            raise StartError(
                f"the custodian {settings.custodian.backend} seals nothing under a key that can be rotated",
                "custodian.backend",
                "rotate what it keeps keys under with its own tools",
            )
        yield RotateSeal(custodian, Record(store.activity), SystemClock())


@contextlib.asynccontextmanager
async def checkpoint_key_replacement(settings: Settings) -> AsyncIterator[ReplaceServiceKey]:
    """Open the replacement of the key of checkpoints, beside a running service. Raises ``StartError``."""
    async with _service_log(settings) as (log, store):
        custodian = log.writer.signer.custodian
        logged = await open_log(settings, log.writer.ledger, store, custodian)
        sign = SignSuccession(custodian, logged.signer.key.name)
        yield ReplaceServiceKey(log, service_keys.CHECKPOINT, checkpoint_key_name, 1, 0, OVERLAP, sign)


@contextlib.asynccontextmanager
async def _service_log(settings: Settings) -> AsyncIterator[tuple[ServiceLog, Store]]:
    """Open the service log for writing beside a running service, and the store under it."""
    clock = SystemClock()
    async with store_beside(settings) as (plugins, custodian, store):
        methods, ledger = plugins.did_methods(), plugins.ledger(settings.ledger.backend)
        signer = await LogSigner.open(custodian)
        check = HeadCheck(methods, ledger, store.documents, store.quarantine)
        follow = await followed(signer, ledger, store, check)
        reader = DidReader(methods, store.documents, clock, check)
        writer = DidWriter(reader, methods, ledger, store.documents, signer, clock, None)
        tree, origin = TransparencyTree(store.database), origin_of(settings)
        yield ServiceLog(writer, follow, service_method(methods), tree, origin), store


def service_method(methods: Mapping[str, DidMethod]) -> PreRotatingDidMethod:
    """Return the method of the service's own DID. Raises ``StartError`` when no method has logs with entries about keys."""
    method = methods.get(SERVICE_METHOD)
    if isinstance(method, PreRotatingDidMethod):
        return method
    raise StartError(
        f"the DID method {SERVICE_METHOD} is not installed, in which the service keeps the log of its keys"
    )
