"""DIDs: their lifecycle, their history and their log."""

from __future__ import annotations

import secrets

from identity_core.api.dids import DidHandlers
from identity_core.api.dids_cache import AnswerCache
from identity_core.bootstrap.choices import shows_deactivated
from identity_core.bootstrap.runtime import Runtime
from identity_core.use_cases.dids.create import CreateDid
from identity_core.use_cases.dids.deactivate import DeactivateDid
from identity_core.use_cases.dids.get_log import GetDidLog
from identity_core.use_cases.dids.list_history import ListDidHistory
from identity_core.use_cases.dids.list_owned import ListDids
from identity_core.use_cases.dids.recover import RecoverDid
from identity_core.use_cases.dids.resolve import ResolveDid
from identity_core.use_cases.dids.rotate_key import RotateDidKey
from identity_core.use_cases.dids.update import UpdateDid
from identity_core.use_cases.dids.writer import DidWriter


def did_handlers(opened: Runtime) -> DidHandlers:
    """The handlers of the tag ``dids``."""
    reader, ledger, store, clock = opened.reader, opened.logged.ledger, opened.store, opened.clock
    methods, custodian, random = reader.methods, opened.custodian, secrets.token_bytes
    hourly = opened.settings.did.writes_per_hour
    writer = DidWriter(reader, methods, ledger, store.documents, store.audit, opened.signer, clock, hourly)
    visible = shows_deactivated(opened.settings)
    return DidHandlers(
        reader=reader,
        create=CreateDid(methods, writer, custodian, clock, random),
        resolve=ResolveDid(reader),
        update=UpdateDid(writer),
        deactivate=DeactivateDid(writer),
        rotate=RotateDidKey(writer, custodian, random),
        recover=RecoverDid(writer, random),
        history=ListDidHistory(reader, visible),
        log=GetDidLog(reader, ledger, visible),
        owned=ListDids(store.documents),
        cache=AnswerCache(store.documents, clock),
    )
