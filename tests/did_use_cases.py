"""The use cases on DIDs in one process, on real ports, with a clock that tests move."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from identity_client.challenge import Challenge, hash_body
from identity_codec import ed25519, multikey
from identity_codec.multibase import base64url_encode
from identity_codec.structs import UNSET
from identity_codec.times import printed_exactly
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids import challenge, keys
from identity_core.domain.dids.challenge import ChallengeKey
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Authorization,
    NewService,
    Operation,
    RemoveVerificationMethod,
)
from identity_core.domain.dids.did import Did
from identity_core.plugin.sockets import BuildContext
from identity_core.use_cases.auth.challenge import AuthenticateDid, ChallengeBook, GetDidAuthChallenge, Payer
from identity_core.use_cases.dids.change import DeactivateDid, RecoverDid, RotateDidKey, UpdateDid
from identity_core.use_cases.dids.commit import DidWriter
from identity_core.use_cases.dids.create import Created, CreateDid
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import CatchUp, DidReader, IndexRepair
from identity_core.use_cases.dids.log_keys import LogSigner
from identity_core.use_cases.dids.read import GetDidLog, HistoryPage, ListDidHistory, Resolution, ResolveDid
from identity_core.use_cases.transparency import WitnessApprovals
from identity_core.wire import (
    CreateDidOptions,
    CreateDidRequest,
    GetDidAuthChallengeQuery,
    ListDidHistoryQuery,
    OwnPublicKey,
    RecoverDidRequest,
    ResolveDidQuery,
    RotateDidKeyRequest,
    ServiceInput,
    UpdateDidRequest,
    VerificationMethodInput,
)
from tests.events import open_store

ORIGIN = "https://id.example"
ADDRESS = "192.0.2.1"
START = datetime(2026, 1, 1, tzinfo=UTC)


async def free(tokens: int) -> None:
    """Charge nothing."""


PAYER = Payer(ADDRESS, free, free)


@dataclass
class MovableClock:
    """Stands still until a test moves it."""

    time: datetime = START
    seconds: float = 0.0

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.seconds

    def move(self, **by: float) -> None:
        self.time += timedelta(**by)
        self.seconds += timedelta(**by).total_seconds()


@dataclass
class OneKey:
    """A custodian of one log key, and of whatever is imported."""

    pair: keys.Key = field(default_factory=lambda: keys.generate("Ed25519", os.urandom))
    imported: dict[str, tuple[str, bytes, str, str]] = field(default_factory=dict)
    capabilities: frozenset[str] = frozenset({multikey.ED25519, multikey.X25519, multikey.BLS12381G2})

    async def sign(self, name: str, message: bytes) -> bytes:
        return ed25519.sign(self.pair.secret_raw, message)

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        self.imported[name] = (key_type, secret, did, purpose)
        return name.partition("#")[2]


def operator(name: str = "op") -> Caller:
    """An admin API key."""
    return Caller(api_key=ApiKey(name, name, "0" * 64, None, None, None, None, START, fingerprint="0f1e2d3c4b5a"))


class Rooms:
    """Everything that the DID use cases need, and short ways to call them as a signed-in controller."""

    def __init__(self, folder: Path, *, ledger: Any = None, method: Any = None, url: str | None = None) -> None:
        from identity_did_ids.method import DidIds, DidIdsSettings

        self.clock = MovableClock()
        self.ledger = ledger if ledger is not None else open_ledger(folder, self.clock)
        self.store = open_store(folder, url)
        # The use cases are called below the door, so what their tests sign is bound to no body.
        own = method or DidIds(DidIdsSettings(strict_evidence=False))
        self.methods = {own.name: own}
        self.custodian = OneKey()
        index = self.store.documents
        self.check = HeadCheck(self.methods, self.ledger, index, self.store.quarantine)
        self.reader = DidReader(self.methods, index, self.clock, self.check)
        signer = LogSigner(self.custodian, "log", self.custodian.pair.public)  # type: ignore[arg-type]
        self.catch_up = CatchUp(self.methods, self.ledger, index, self.check)
        self.repair = IndexRepair(self.catch_up)
        self.writer = DidWriter(self.reader, self.methods, self.ledger, index, signer, self.clock, None)
        self.create = CreateDid(
            self.methods,
            self.writer,
            self.custodian,
            self.clock,
            os.urandom,
            WitnessApprovals(),  # type: ignore[arg-type]
        )
        self._resolve = ResolveDid(self.reader)
        self.update = UpdateDid(self.writer, WitnessApprovals())
        self.rotate = RotateDidKey(self.writer, self.custodian, os.urandom)  # type: ignore[arg-type]
        self.recover = RecoverDid(self.writer, os.urandom)
        self.deactivate = DeactivateDid(self.writer)
        self._history = ListDidHistory(self.reader, True)
        self._log = GetDidLog(self.reader, self.ledger, True)
        self.challenges = ChallengeBook(
            ChallengeKey(os.urandom(32)), self.store.spent_challenges, os.urandom, ORIGIN, timedelta(minutes=5)
        )
        self._challenge = GetDidAuthChallenge(self.reader, self.challenges, self.clock)
        self.authenticate = AuthenticateDid(self.reader, self.challenges, self.clock)

    async def close(self) -> None:
        await self.repair.close()
        await self.store.close()
        await self.ledger.close()

    async def resolve(self, did: Did, *, version_id: int | None, version_time: datetime | None) -> Resolution:
        moment = None if version_time is None else printed_exactly(version_time)
        return await self._resolve(did, ResolveDidQuery(version_id=version_id, version_time=moment))

    async def resolve_query(self, did: Did, query: ResolveDidQuery) -> Resolution:
        return await self._resolve(did, query)

    async def history(self, did: Did, *, after: int | None, limit: int, descending: bool) -> HistoryPage:
        query = ListDidHistoryQuery(limit=limit, order="desc" if descending else "asc")
        return await self._history(did, query, after=after)

    async def challenge(
        self, did: Did, *, purpose: str | None, body_hash: str | None, address: str = ADDRESS, **more: Any
    ) -> Challenge:
        query = GetDidAuthChallengeQuery(did=str(did), purpose=purpose, body_hash=body_hash, **more)
        return await self._challenge(query, address)

    async def log(self, did: Did) -> bytes:
        """All pages of a log."""
        return b"".join([page async for page in (await self._log(did)).pages])

    async def new_did(self, **wish: Any) -> Created:
        key_type, method = wish.pop("key_type", "Ed25519"), wish.pop("method", "ids")
        options = CreateDidOptions(**({"recovery_key": True} | wish))
        asked = CreateDidRequest(method=method, key_type=key_type, options=options)
        return await self.create(asked, RequestContext("createDid", operator(), "r-1"))

    async def signed(
        self, did: Did, secret: str, purpose: str, *, scheme: str = "DIDAuth", body: Any = None
    ) -> Authorization:
        """A verified signature of ``secret`` over a fresh challenge."""
        digest = None if body is None else hash_body(body)
        offer = await self.challenge(did, purpose=purpose, body_hash=digest)
        signature = ed25519.sign(multikey.decode_secret(secret)[1], offer.text.encode())
        header = challenge.SignedHeader(did, signature)
        bound: Any = {"purpose": purpose, "body_hash": digest, "target": f"/dids/{did}"}
        return await self.authenticate(header, scheme=scheme, body=body, payer=PAYER, **bound)

    @staticmethod
    def context(did: Did, authorization: Authorization) -> RequestContext:
        return RequestContext("test", Caller(did=did, authorization=authorization), "r-2")


def open_ledger(folder: Path, clock: MovableClock) -> Any:
    """The SQLite ledger in ``folder``."""
    import identity_ledger_sql

    provider = identity_ledger_sql.identity_provide_ledger_backend()
    return provider.build(provider.settings(), BuildContext(clock, logging.getLogger("test"), folder, None))


def secret_of(created: Created, purpose: str = "authentication") -> str:
    """The private key that the answer holds for ``purpose``."""
    return next(key.secret for key in created.keys if key.purposes[0] == purpose and key.secret is not None)


def update_of(operation: Operation) -> UpdateDidRequest:
    """The request for one change of a document."""
    match operation:
        case AddService(NewService(type=kind, endpoint=endpoint, fragment=fragment)):
            service = ServiceInput(id=f"#{fragment}", type=kind, service_endpoint=endpoint)
            return UpdateDidRequest(operation="addService", service=service)
        case AddVerificationMethod(key):
            proof = UNSET if key.possession is None else base64url_encode(key.possession)
            method = VerificationMethodInput(type=key.type, public_key_multibase=key.public, proof_of_possession=proof)
            return UpdateDidRequest(
                operation="addVerificationMethod", verification_method=method, relationships=key.purposes
            )
        case RemoveVerificationMethod(key_id):
            return UpdateDidRequest(operation="removeVerificationMethod", key_id=key_id)
        case _:
            raise NotImplementedError


def own_key(type_: str, purpose: str, multibase: str) -> OwnPublicKey:
    """A key that the caller brings along."""
    return OwnPublicKey(type=type_, purpose=(purpose,), public_key_multibase=multibase)


def rotation_of(old_key_id: str, end: datetime | None = None, **more: Any) -> RotateDidKeyRequest:
    """The request for a new Ed25519 key."""
    after = UNSET if end is None else printed_exactly(end)
    return RotateDidKeyRequest(old_key_id=old_key_id, new_key_type="Ed25519", revoke_old_after=after, **more)


def recovery_of(multibase: str, *, revoke_all: bool, **more: Any) -> RecoverDidRequest:
    """The request for a new Ed25519 key under the recovery key."""
    key = VerificationMethodInput(type="Ed25519", public_key_multibase=multibase)
    return RecoverDidRequest(new_authentication_key=key, revoke_all_existing_keys=revoke_all, **more)
