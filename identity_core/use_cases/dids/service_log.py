"""The DID of the service's own, found again on a ledger."""

from __future__ import annotations

from typing import Final

import orjson

from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.errors import IdentityError
from identity_core.ports.custodian import Custodian
from identity_core.ports.ledger import LedgerBackend
from identity_core.use_cases.dids.log_keys import SERVICE_KEY, public_key

SERVICE_METHOD: Final = "ids"
"""Its logs say what happened to a key, which those of did:webvh have no place for."""
PAGE: Final = 500


async def find_service(ledger: LedgerBackend, custodian: Custodian) -> str | None:
    """The DID whose first entry lists the service's own key and no other; None where the ledger has none, and where the custodian holds
    no such key. Reads the ledger from its beginning."""
    own = await public_key(custodian, SERVICE_KEY)
    sequence = 0
    while own is not None and (lines := await ledger.entries_after(sequence, PAGE)):
        for line in lines:
            if line.version == 1 and own.encode() in line.entry and _is_of(line.entry, own):
                return line.did
        sequence = lines[-1].receipt.sequence
    return None


def _is_of(entry: bytes, own: str) -> bool:
    try:
        document = DidDocument.read(orjson.loads(entry)["state"])
    except (IdentityError, ValueError, LookupError, TypeError):
        # Anyone may have written it, and then it is no entry of ours.
        return False
    return Did.parse(document.did).method == SERVICE_METHOD and [one.multibase for one in document.methods] == [own]
