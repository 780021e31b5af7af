"""Writes the examples of credentials: Ivo registers a schema, issues to Hana, suspends, revokes.

    python -m openapi.write_credential_examples            writes examples/credentials.yaml and some of verification

The service's own rules and renderers made them, from a fixed random source and a fixed clock: the signatures verify, and so does the
status list. Run it when the form of an answer changes, and review the difference.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import orjson
from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.bound_credential import (
    BoundHeader,
    Particulars,
    SecretKeeper,
    StatusListReference,
    midnight,
)
from identity_bound_credentials.domain.bound_format import BOUND_CREDENTIALS
from identity_bound_credentials.use_cases.issue import GAP_PERIOD
from identity_did_ids import entry
from identity_verification.wire import CredentialCheck, CredentialVerdict

from identity_bbs import interface
from identity_bbs.blind import IssueRequest, blind_sign, commit
from identity_bbs.bls12381 import select
from identity_bbs.encoding import mixed_messages_to_scalars, signature_to_octets
from identity_bbs.openings import HolderSecret
from identity_bbs.suite import ciphersuite
from identity_client import data_integrity
from identity_codec import ed25519, multibase, times
from identity_codec.multibase import base58btc_encode
from identity_codec.structs import plain
from identity_codec.values import replace
from identity_core.api.credentials import credentials, describe, record, schema, schemas
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import (
    Binding,
    Credential,
    CredentialStatus,
    StatusPurpose,
    check_signature,
)
from identity_core.domain.credentials.credential_schema import digest
from identity_core.domain.dids.changes import Create
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key, PublicKey
from identity_core.domain.proofs.proof import Witness
from identity_core.ports.credentials import RegisteredSchema, SchemaPage
from identity_core.use_cases.credentials.sealed import ShownCredential
from identity_core.use_cases.credentials.status import SignedStatusList
from openapi.did_examples import Telling
from openapi.gap_examples import gap_examples
from openapi.person_schema import AGE_TITLES, ATTRIBUTES, TITLES, VALUES
from openapi.story import ORIGIN, START, Json, Story, dice
from openapi.write_examples import write, write_into

VERIFICATION: Final = "verifyCredential"
"""The operation whose examples are those of an extension."""
BASE_URL: Final = f"{ORIGIN}/api/v1"


ADMIN: Final = Caller(api_key=ApiKey("key_olu", "olu", "00" * 32, None, None, None, None, START))

HANDLE: Final = 2_718_281_828
WALLETS_ID: Final = "urn:uuid:7c2b0d9e-4a35-4f0b-8f57-90c1d2e3f4a5"


class CredentialTelling:
    """Ivo, his key, his schema and what he says of Hana."""

    def __init__(self) -> None:
        self.story = Story(dice("ivo"))
        self.key: Key = self.story.key("Bls12381G2Key2020", "assertionMethod")
        primary = self.story.key("Ed25519", "authentication")
        made = (primary, self.key)
        self.story.record(Create(made, (self.story.log_key,), (), (), None), START)
        hana = Telling()
        hana.create()
        self.holder = hana.story.did
        self.method = f"{self.story.did}#{self.key.public}"
        definition = schema_json.read("https://schemas.example/person/1", ATTRIBUTES)
        self.schema = RegisteredSchema(definition, START, self.story.did, {"": TITLES, "age": AGE_TITLES})

    def tell_gaps(self) -> Json:
        """operationId → examples of the lists of signed gaps."""
        return gap_examples(self.story.did, self.key, self.method)

    def tell(self) -> Json:
        """operationId → examples of the kernel."""
        issued = self.issued()
        suspended = replace(issued.credential, status=CredentialStatus.SUSPENDED, status_reason="lost card", version=2)
        claims: Json = {
            "issuerDid": self.story.did,
            "holderDid": self.holder,
            "schemaId": self.schema.definition.schema.id,
            "attributes": VALUES,
        }
        validity = {"validFrom": times.printed(START), "validUntil": times.printed(START + timedelta(days=365))}
        signed = {"verificationMethod": self.method, "signature": multibase.base64url_encode(_secret(issued).signature)}
        whole = plain(describe(issued, BASE_URL, BOUND_CREDENTIALS, ADMIN))
        unsigned = plain(describe(replace(issued, to_holder=False), BASE_URL, BOUND_CREDENTIALS, ADMIN))
        hidden = plain(describe(ShownCredential(issued.credential, None, False), BASE_URL, BOUND_CREDENTIALS, ADMIN))
        bound = self.bound()
        bound_unsigned = plain(describe(replace(bound, to_holder=False), BASE_URL, BOUND_CREDENTIALS, ADMIN))
        page = plain(credentials([suspended], 50, ADMIN))
        registered = plain(schema(self.schema, ADMIN))
        return {
            "createCredentialSchema": {
                "request": {"person": {"id": registered["id"], **TITLES, "attributes": ATTRIBUTES}},
                "201": {"person": registered},
            },
            "listCredentialSchemas": {"200": {"onePage": plain(schemas(SchemaPage([self.schema], is_last=True)))}},
            "getCredentialSchema": {"200": {"person": plain(schema(self.schema, None))}},
            "issueCredential": {
                "request": {
                    "person": {**claims, **validity},
                    "withoutEnd": {**claims, "validUntil": None},
                    "byThisKey": {**claims, "verificationMethod": self.method},
                    "bound": {**claims, "validUntil": times.printed(_days(365)), "suite": 2, "newHolderSecret": False},
                },
                "201": {"issued": unsigned, "bound": bound_unsigned},
            },
            "importCredential": {
                "request": {"signed": {**claims, **validity, **signed}, "forAWallet": self.asked_by_a_wallet()},
                "201": {"imported": unsigned},
            },
            "listCredentials": {"200": {"onePage": page}},
            "getCredential": {
                "200": {
                    "forTheHolder": whole,
                    "forTheIssuer": unsigned,
                    "forOthers": hidden,
                    "bound": plain(describe(bound, BASE_URL, BOUND_CREDENTIALS, ADMIN)),
                }
            },
            "setCredentialStatus": {
                "request": {
                    "suspend": {"purpose": "suspension", "value": True, "reason": "lost card"},
                    "resume": {"purpose": "suspension", "value": False},
                    "revoke": {"purpose": "revocation", "value": True, "reason": "moved away"},
                },
                "200": {"suspended": plain(record(suspended, None, ADMIN))},
            },
            VERIFICATION: {"request": {"shown": {"credential": whole["credential"]}}, "200": _verdicts()},
            "getStatusList": {
                f"200 {media}": {"revocation": self.status_list(issued.credential)}
                for media in ("application/json", "application/vc")
            },
        }

    def issued(self) -> ShownCredential:
        """The credential, signed as the custodian would."""
        schema = self.schema.definition.schema
        public = PublicKey.parse("Bls12381G2Key2020", self.key.public).raw
        suite, messages = ciphersuite(select()), schema.messages(VALUES)
        signature = interface.sign(suite, self.key.secret_raw, public, schema.header, messages)
        check_signature(public, signature, schema, VALUES)
        credential = Credential(
            id="urn:uuid:8f4c0f52-0f5e-4d1e-9d0b-5f6d1c7a2b11",
            issuer=Did.parse(self.story.did),
            holder=Did.parse(self.holder),
            schema=schema,
            verification_method=self.method,
            issuer_public_key=public,
            valid_from=START,
            valid_until=START + timedelta(days=365),
            status=CredentialStatus.ACTIVE,
            status_reason=None,
            status_index=94_567,
            version=1,
            created_at=START,
            created_by="apiKey:9f86d081884c",
        )
        return ShownCredential(credential, Witness(signature, VALUES), True)

    def bound(self) -> ShownCredential:
        """The same under suite 2, for a secret that the custodian keeps for Hana."""
        return self.held("urn:uuid:5e0a9a3c-7a53-4c79-8c0d-2f4f8f0d4c11", HANDLE)[0]

    def asked_by_a_wallet(self) -> Json:
        """What Ivo asks to be imported of a credential that he signed at home, on a secret that Hana's wallet keeps."""
        shown, secret, _ = self.of_a_wallet()
        credential, binding = shown.credential, shown.credential.binding
        assert binding is not None
        return {
            "issuerDid": self.story.did,
            "holderDid": self.holder,
            "schemaId": credential.schema.id,
            "attributes": VALUES,
            "validFrom": times.printed(_days(0)),
            "validUntil": times.printed(_days(365)),
            "verificationMethod": self.method,
            "signature": multibase.base64url_encode(_secret(shown).signature),
            "bound": {
                "id": credential.id,
                "header": multibase.base64url_encode(binding.header),
                "commitment": multibase.base64url_encode(binding.commitment),
                "handle": binding.handle,
                "holderTag": multibase.base64url_encode(self.tag(secret)),
            },
            "newHolderSecret": True,
        }

    def tag(self, secret: HolderSecret) -> bytes:
        """Return T of a secret (PROTOCOL-2.md §3.2), the same in every commitment to it for this issuer."""
        request = IssueRequest(self.method, b"", self.holder, bytes(32))
        return commit(ciphersuite(select()), secret, request, dice("tag"))[0][48:96]

    def of_a_wallet(self) -> tuple[ShownCredential, HolderSecret, int]:
        """As ``held``, for a secret that Hana's wallet keeps."""
        return self.held(WALLETS_ID, 1_123_581_321, SecretKeeper.WALLET)

    def held(
        self, credential_id: str, handle: int, keeper: SecretKeeper = SecretKeeper.CUSTODIAN
    ) -> tuple[ShownCredential, HolderSecret, int]:
        """A credential of suite 2, Hana's secret, and the blind of this credential, which her keeper has."""
        issued, definition, random = self.issued(), self.schema.definition, dice("hana's keeper")
        reference = StatusListReference(status_gaps.list_id(self.story.did, GAP_PERIOD), GAP_PERIOD)
        header = BoundHeader(definition.schema, self.method, reference, keeper, digest(definition))
        suite, public = ciphersuite(select()), PublicKey.parse("Bls12381G2Key2020", self.key.public).raw
        request = IssueRequest(self.method, header.encoded, self.holder, random(32))
        secret = HolderSecret.derived(suite, random(48))
        commitment, blind = commit(suite, secret, request, random if handle == HANDLE else dice(credential_id))
        binding = Binding(header.encoded, commitment[:48], handle, self.holder)
        credential = replace(
            issued.credential,
            id=credential_id,
            valid_from=_days(0),
            valid_until=_days(365),
            status_index=12_345,
            binding=binding,
        )
        particulars = Particulars(credential.id, self.holder, _days(0), _days(365), handle)
        known = mixed_messages_to_scalars(header.known_messages(VALUES, particulars))
        signature = blind_sign(suite, self.key.secret_raw, public, header.encoded, known, commitment, request)
        witness = Witness(signature_to_octets(suite, signature), VALUES)
        work, *arguments = BOUND_CREDENTIALS.signature_check(credential, binding, witness)
        work(*arguments)
        return ShownCredential(credential, witness, True), secret, blind

    def status_list(self, credential: Credential) -> Any:
        """The issuer's list of what is revoked, with two others in it."""
        list_id = status_list.list_id(credential.issuer, 0)
        signer = self.story.log_key
        document = status_list.unsigned(
            list_id,
            StatusPurpose.REVOCATION,
            (7, 40_000),
            issuer=f"did:key:{signer}",
            base_url=BASE_URL,
            valid_from=START,
        )
        return orjson.loads(self.sealed(document).encoded)

    def sealed(self, document: Json) -> SignedStatusList:
        """Signed by the story's log key."""
        config = {"@context": document["@context"], **entry.proof_config(self.story.log_key, document["validFrom"])}
        signature = ed25519.sign(self.story.log_secret, data_integrity.proof_input(config, document))
        document["proof"] = {**config, "proofValue": base58btc_encode(signature)}
        return SignedStatusList(1, entry.canonical(document))


def _days(count: int) -> datetime:
    """The beginning of a day."""
    return midnight(START) + timedelta(days=count)


def _secret(shown: ShownCredential) -> Witness:
    if shown.witness is None:
        raise ValueError("the example shows its values")
    return shown.witness


def _verdicts() -> Json:
    names = ("form", "schema", "issuerKey", "signature", "record", "status", "validity")
    right = tuple(CredentialCheck(check=name, ok=True, code=None, reason=None) for name in names)
    reason = "the signature is not the issuer's on these values"
    wrong = (*right[:3], CredentialCheck(check="signature", ok=False, code="SIGNATURE_INVALID", reason=reason))
    return {
        "good": plain(CredentialVerdict(verified=True, checks=right)),
        "changed": plain(CredentialVerdict(verified=False, checks=wrong)),
    }


def main() -> None:
    """Writes the files."""
    told = CredentialTelling().tell()
    write_into("verification", {VERIFICATION: told.pop(VERIFICATION)})
    write("credentials", told, "openapi.write_credential_examples")


if __name__ == "__main__":
    main()
