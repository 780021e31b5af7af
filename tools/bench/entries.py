"""Entries for a benchmark's data: real ones, made by ``did:ids`` as a service makes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from identity_did_ids import DidIds, DidIdsSettings
from identity_kit.conformance.controller import Controller

from identity_codec import ed25519, multikey
from identity_core.domain.dids import logs
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Create, NewService, Update, UpdateService
from identity_core.domain.dids.state import state_from_json, state_to_json
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion

OWNER: Final = "key:seeding"


@dataclass(frozen=True, slots=True)
class Line:
    """One entry and the state that it leads to, as bytes, because they come from another process."""

    did: str
    version: int
    entry: bytes
    metadata: bytes
    document: bytes
    changes: tuple[str, ...]
    key_id: str | None

    def recorded(self, receipt: Receipt) -> IndexedVersion:
        """What the index is given of it."""
        return IndexedVersion(state_from_json(self.did, self.metadata, self.document), receipt, self.changes)


def lines_of(first: int, count: int, versions: int, log_seed: bytes, now: datetime) -> list[Line]:
    """The entries of some DIDs, all first versions first."""
    method, log_key = DidIds(DidIdsSettings()), ed25519.generate(log_seed)
    signer = multikey.encode_public(multikey.ED25519, log_key.public)
    rows: list[list[Line]] = [[] for _ in range(versions)]
    for number in range(first, first + count):
        controller = Controller(f"bench/{log_seed.hex()}/{number}")
        state = None
        for place in range(versions):
            at = now - timedelta(hours=versions - place, microseconds=number)
            service = NewService("LinkedDomains", f"https://hana.example/{place}", "files")
            change: Create | Update
            if state is None:
                change = Create((controller.new_key(),), (signer,), (service,))
            else:
                key = history.authentication_keys(state, at)[0]
                wanted = {"id": service.fragment, "type": service.type, "serviceEndpoint": service.endpoint}
                body = {"operation": "updateService", "service": wanted}
                authorization = controller.authorize(str(state.did), key, at, purpose="update", body=body)
                change = Update((UpdateService(service),), authorization)
            draft = method.draft(state, change, at, signer=signer)
            signature = log_key.sign(draft.signing_input)
            after = draft.state
            line = Line(
                str(after.did),
                place + 1,
                draft.sealed(signature),
                state_to_json(after),
                after.document.encoded,
                logs.changes(state, after),
                after.key_id,
            )
            rows[place].append(line)
            state = after
    return [line for row in rows for line in row]
