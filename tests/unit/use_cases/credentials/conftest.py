"""Issuer, holder and the use cases on credentials, on a real store, a real custodian and a clock that tests move."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from identity_bound_credentials.domain.bound_format import BOUND_CREDENTIALS
from identity_bound_credentials.store.holder_secrets import StoredHolderSecrets
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.presenting import PresentBound
from identity_bound_credentials.use_cases.status_gaps import PublishStatusGaps
from identity_bound_credentials.use_cases.suite import BoundSuite
from identity_custodian_sealed.custodian import holder_secrets
from identity_custodian_sealed.held_key import HeldKey, Label
from identity_verification.use_cases.check import IssuerKeys
from identity_verification.use_cases.credentials import VerifyCredential
from msgspec import structs

from identity_bbs.blind import IssueRequest
from identity_bbs.holders import HolderConsent
from identity_codec.multikey import BLS12381G2, encode_secret
from identity_codec.structs import UNSET, convert
from identity_codec.times import printed_exactly
from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.delegations.delegation import AutonomyTable
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.ports.custodian import KeyNotHeld, KeyRefused
from identity_core.use_cases.credentials.issue import (
    CredentialIntake,
    ImportCredential,
    IssueCredential,
)
from identity_core.use_cases.credentials.read import CredentialAccess, GetCredential, ListCredentials
from identity_core.use_cases.credentials.schemas import CreateCredentialSchema
from identity_core.use_cases.credentials.sealed import CredentialSeal, SealedCredentials, ShownCredential
from identity_core.use_cases.credentials.signature_checks import SignatureChecks
from identity_core.use_cases.credentials.status import GetStatusList, SetCredentialStatus
from identity_core.use_cases.dids.log_keys import LogSigner
from identity_core.use_cases.proofs.suite_1 import SuiteOne
from identity_core.use_cases.record import Record
from identity_core.wire import (
    AdditionalKey,
    CreateCredentialSchemaRequest,
    CredentialAttribute,
    ImportCredentialRequest,
    IssueCredentialRequest,
)
from tests.credentials import ATTRIBUTES, VALUES, sign_messages
from tests.did_use_cases import START, OneKey, Rooms

BASE = "https://id.example/api/v1"
SCHEMA = "urn:example:person:1"
HOLDERS = holder_secrets(b"h" * 32, os.urandom)


class Keys(OneKey):
    """Holds what is imported, and signs credentials with it."""

    async def public_key(self, name: str) -> str:
        if name not in self.imported:
            raise KeyNotHeld
        return name.partition("#")[2]

    async def sign_bbs(self, name: str, header: bytes, messages: Any) -> bytes:
        _, secret, _, _ = self.imported[name]
        return sign_messages(header, messages, held_key(name, secret))

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        raise KeyRefused

    async def destroy(self, name: str) -> None:
        self.imported.pop(name, None)

    async def commit_holder(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        return HOLDERS.commit(secret, credential, request)

    async def sign_bbs_blind(self, name: str, messages: Any, commitment: bytes, request: IssueRequest) -> bytes:
        _, secret, _, _ = self.imported[name]
        key = HeldKey.from_secret(Label(name, BLS12381G2, "d", "p"), secret)
        return key.sign_bbs_blind(messages, commitment, request)

    async def consent(self, secret: str, credentials: Any, message: bytes, pseudonym: str | None) -> HolderConsent:
        return HOLDERS.consent(secret, credentials, message, pseudonym)


def held_key(key_id: str, secret: bytes) -> Key:
    """A BBS key whose 32 bytes the custodian holds."""
    return Key(BLS12381G2, key_id.partition("#")[2], secret=encode_secret(BLS12381G2, secret))


def key_caller(*, targets: frozenset[str] | None = None, scopes: frozenset[str] | None = None) -> Caller:
    """An API key."""
    return Caller(api_key=ApiKey("k", "k", "ab" * 32, scopes, targets, None, None, START, fingerprint="0f1e2d3c4b5a"))


def context(caller: Caller, operation: str = "test") -> RequestContext:
    return RequestContext(operation, caller, "r-1")


@dataclass
class Office:
    """The rooms of ``Rooms`` and those of credentials."""

    rooms: Rooms
    ivo: Did
    hana: Did
    key_id: str

    def __post_init__(self) -> None:
        store, clock = self.rooms.store, self.rooms.clock
        self.credentials, self.schemas = store.credentials, store.credential_schemas
        self.record = Record(store.activity)
        self.vault = SealedCredentials(self.credentials, self.schemas, CredentialSeal(b"k" * 32, os.urandom))
        access = CredentialAccess(self.credentials, store.delegations, AutonomyTable(), clock)
        check = SignatureChecks()
        custodian: Any = self.rooms.custodian
        self.create_schema = CreateCredentialSchema(
            self.schemas, self.record, clock, os.urandom, "https://id.example/api/v1/dids/"
        )
        provers: Any = SimpleNamespace(extensions={"bound_credentials"})
        publisher = PublishStatusGaps(StoredStatusGaps(store.database), custodian, clock)
        present = PresentBound(
            provers, custodian, StoredStatusGaps(store.database), publisher, IssuerKeys(self.rooms.reader)
        )
        parts = (
            custodian,
            custodian,
            publisher,
            provers,
            StoredHolderSecrets(store.database, store.activity),
            os.urandom,
            present,
        )
        suites = {1: SuiteOne(provers, custodian), 2: BoundSuite(*parts)}
        seal, record = self.vault.seal, self.record
        intake = CredentialIntake(
            *(self.rooms.reader, self.schemas, self.credentials, seal, check, suites, record, clock, os.urandom)
        )
        self.issue = IssueCredential(intake, custodian)
        self.import_signed = ImportCredential(intake)
        self.get = GetCredential(access, self.vault, self.record, clock)
        self.list = ListCredentials(self.rooms.reader, self.credentials, self.record, clock)
        self.set_status = SetCredentialStatus(access, self.credentials, self.record, clock)
        signer = LogSigner(custodian, "log", custodian.pair.public)
        self.status_list = GetStatusList(self.credentials, signer, BASE)
        issuer_keys = IssuerKeys(self.rooms.reader)
        self.verify = VerifyCredential(
            self.schemas, self.credentials, issuer_keys, check, check, clock, BASE, BOUND_CREDENTIALS
        )

    def issue_by(self, **changed: Any) -> IssueCredential:
        """Return issueCredential with a suite 2 that is changed."""
        intake = self.issue.intake
        suite: Any = intake.suites[2]
        suites = {**intake.suites, 2: replace(suite, **changed)}
        return replace(self.issue, intake=replace(intake, suites=suites))

    @classmethod
    async def open(cls, folder: Path) -> Office:
        rooms = Rooms(folder)
        rooms.custodian = Keys()
        signer = LogSigner(rooms.custodian, "log", rooms.custodian.pair.public)  # type: ignore[arg-type]
        structs.force_setattr(rooms.writer, "signer", signer)
        structs.force_setattr(rooms.create, "custodian", rooms.custodian)
        wish = AdditionalKey(type="Bls12381G2Key2020", purpose=("assertionMethod",))
        ivo = await rooms.new_did(additional_keys=(wish,), store_secrets=True)
        hana = await rooms.new_did()
        key_id = f"{ivo.version.state.did}#{ivo.keys[1].public}"
        office = cls(rooms, ivo.version.state.did, hana.version.state.did, key_id)
        await office.schema(SCHEMA, ATTRIBUTES, context(key_caller()))
        return office

    def as_(self, did: Did) -> Caller:
        """The DID itself, by a token."""
        return Caller(subject=did)

    def new(self, **changed: Any) -> IssueCredentialRequest:
        """What Ivo says of Hana."""
        parts: dict[str, Any] = {"issuer": self.ivo, "holder": self.hana} | changed
        texts = {f"{name}_did": str(parts.pop(name)) for name in ("issuer", "holder")}
        for name, value in parts.items():
            parts[name] = printed_exactly(value) if isinstance(value, datetime) else value
        return IssueCredentialRequest(**({"schema_id": SCHEMA, "attributes": VALUES} | texts | parts))

    async def bound(self, **changed: Any) -> ShownCredential:
        """The same under suite 2."""
        return await self.issued(suite=2, **changed)

    def import_of(self, signature: str, **changed: Any) -> ImportCredentialRequest:
        """The same with a signature from elsewhere."""
        said = structs.asdict(self.new(**changed))
        del said["suite"]
        return ImportCredentialRequest(**said, signature=signature)

    def schema(self, schema_id: str | None, attributes: Any, context: RequestContext) -> Any:
        """createCredentialSchema."""
        members = convert(list(attributes), tuple[CredentialAttribute, ...])
        wish = CreateCredentialSchemaRequest(id=UNSET if schema_id is None else schema_id, attributes=members)
        return self.create_schema(wish, context)

    async def issued(self, **changed: Any) -> ShownCredential:
        return await self.issue(self.new(**changed), context(self.as_(self.ivo), "issueCredential"))


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    opened = asyncio.run(Office.open(tmp_path))
    yield opened
    asyncio.run(opened.rooms.close())


@pytest.fixture
def store_files(office: Office, tmp_path: Path) -> Callable[[], bytes]:
    """Every byte that the rooms have written to the disk, the log of the database included."""
    return lambda: b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())
