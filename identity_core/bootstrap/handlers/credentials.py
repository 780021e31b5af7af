"""Credentials and their schemas."""

from __future__ import annotations

import secrets

from identity_core.api.credentials import CredentialHandlers
from identity_core.bootstrap.choices import origin_of
from identity_core.bootstrap.runtime import Runtime
from identity_core.domain.autonomy import AutonomyTable
from identity_core.use_cases.credentials.access import CredentialAccess
from identity_core.use_cases.credentials.create_schema import CreateCredentialSchema
from identity_core.use_cases.credentials.get import GetCredential
from identity_core.use_cases.credentials.get_schema import GetCredentialSchema
from identity_core.use_cases.credentials.get_status_list import GetStatusList
from identity_core.use_cases.credentials.import_signed import ImportCredential
from identity_core.use_cases.credentials.intake import CredentialIntake
from identity_core.use_cases.credentials.issue import IssueCredential
from identity_core.use_cases.credentials.journal import CredentialJournal
from identity_core.use_cases.credentials.list import ListCredentials
from identity_core.use_cases.credentials.list_schemas import ListCredentialSchemas
from identity_core.use_cases.credentials.sealed_credentials import SealedCredentials
from identity_core.use_cases.credentials.set_status import SetCredentialStatus
from identity_core.use_cases.credentials.signatures import SignatureChecks
from identity_core.use_cases.credentials.verify import VerifyCredential
from identity_core.use_cases.proofs.issuer_keys import IssuerKeys


def credential_handlers(
    opened: Runtime, sealed_credentials: SealedCredentials, autonomy: AutonomyTable
) -> CredentialHandlers:
    """The handlers of the tag ``credentials``."""
    reader, store, clock, random = opened.reader, opened.store, opened.clock, secrets.token_bytes
    credentials, schemas, base_url = (
        sealed_credentials.credentials,
        sealed_credentials.schemas,
        f"{origin_of(opened.settings)}/api/v1",
    )
    journal = CredentialJournal(store.audit, store.timeline)
    access = CredentialAccess(credentials, store.delegations, autonomy, clock)
    anonymous = SignatureChecks.for_strangers()
    intake = CredentialIntake(
        reader, schemas, credentials, sealed_credentials.seal, SignatureChecks(), journal, clock, random
    )
    return CredentialHandlers(
        reader=reader,
        create_schema=CreateCredentialSchema(schemas, journal, clock, random, f"{base_url}/dids/"),
        list_schemas=ListCredentialSchemas(schemas),
        get_schema=GetCredentialSchema(schemas),
        issue=IssueCredential(intake, opened.custodian),
        import_signed=ImportCredential(intake),
        list=ListCredentials(credentials, journal, clock),
        get=GetCredential(access, sealed_credentials, journal, clock),
        set_status=SetCredentialStatus(access, credentials, journal, clock),
        verify=VerifyCredential(schemas, credentials, IssuerKeys(reader), anonymous, clock, base_url),
        status_list=GetStatusList(credentials, opened.signer, base_url),
        base_url=base_url,
    )
