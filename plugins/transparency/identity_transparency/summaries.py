"""The lines of ``identity --help`` about the commands, which are not imported for it."""

from __future__ import annotations

from typing import Final

SUMMARIES: Final = {
    "events": "Identifiers | Read the public feed of changes of DIDs.",
    "ledger": "Identifiers | Verify, audit, export and witness the transparency log.",
    "did.log.approvals": "Show how far a did:webvh log is published, and which witnesses its newer versions wait for.",
    "did.log.approve": "Check the did:webvh log in FILE and print its did-witness.json with this witness's approval.",
    "did.log.verify": "Check a log alone, without the service: FILE holds JSON lines, `-` is standard input.",
    "did.log.publish": "Publish the approvals in FILE, a did-witness.json, of the log of a did:webvh.",
}
