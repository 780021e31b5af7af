"""A log whose checkpoint key was replaced, and the forks that a thief of the replaced key signs and serves.

The true log has eight entries. Both keys signed the replacement when it had five; its entry came as the seventh, and the holder's DID was
deactivated with the fourth. A fork has another entry instead of the deactivation.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from identity_did_ids.service_keys import CHECKPOINT, TYPE, Replacement
from identity_kit.conformance.controller import Controller, Life, WalletSigner, committed
from identity_transparency.domain.checkpoint_keys import succession_text
from identity_transparency.domain.history import LoggedHistory

from identity_codec import multibase, multikey, times
from identity_codec.values import replace
from identity_core.domain.dids.changes import AddService, Deactivate, NewService
from identity_tlog.leaf import LogLeaf, Recorded
from identity_tlog.note import Checkpoint, Note
from identity_tlog.proofs import Span, TlogProof, consistency_spans, inclusion_spans, span_hash
from identity_tlog.tiles import bundled, node_from
from identity_tlog.tree import leaf_hash
from tests.attack.log_forger import METHOD
from tests.did_use_cases import START
from tests.transparency import ORIGIN, LogKey, tiles_over

OLD, NEW = LogKey(bytes([1]) * 32), LogKey(bytes([2]) * 32)
SIGNED_SIZE, PLACE = 5, 6
"""How many entries the log had when both keys signed the replacement, and the place of its entry."""


def replacing_service(new_key: LogKey, signing: Sequence[LogKey], owner: str = "service", others: int = 0) -> Life:
    """The log of a service's own DID: it replaces the key, as ``signing`` signed, or has so many ``others`` entries instead."""
    first, second = WalletSigner(f"{owner} 1"), WalletSigner(f"{owner} 2")
    controller, compromised = Controller(owner), OLD not in signing
    life = Life(METHOD, controller.creation(first), controller, first, committed(first, second))
    old, new = (multikey.encode_public(multikey.ED25519, key.pair.public) for key in (OLD, new_key))
    text = succession_text(ORIGIN, old, new, SIGNED_SIZE)
    lines = "".join(key.verifier.line(key.pair.sign(text.encode())) for key in signing)
    said = Replacement(CHECKPOINT, 2, new, old, SIGNED_SIZE, compromised, START, f"{text}\n{lines}".encode())
    for number in range(others):
        life.update(AddService(NewService("LinkedDomains", "https://example.com", f"other-{number}")))
    if others:
        return life
    life.update(AddService(NewService(TYPE, said.endpoint, said.fragment)))
    return life


def _holder() -> Life:
    signer, owner = WalletSigner("log key"), Controller("hana")
    life = Life(METHOD, owner.creation(signer), owner, signer)
    at = life.later()
    life.change(Deactivate(life.authorize(at)), at)
    return life


SERVICE, HOLDER = replacing_service(NEW, (OLD, NEW)), _holder()
STOLEN, OTHERS = replacing_service(NEW, (NEW,)), replacing_service(NEW, (), others=2)
SERVICE_DID, DID = str(SERVICE.state.did), str(HOLDER.state.did)


def leaf(index: int, did: str = "", version: int = 1, entry: bytes = b"") -> LogLeaf:
    """Return an entry of the log at this place; by default its DID is unregistered."""
    did = did or f"did:key:z{index}"
    at = START + timedelta(minutes=index)
    return LogLeaf(index + 1, leaf_hash(b"%d" % index).hex(), index + 1, at, did, version, entry or b'{"n":%d}' % index)


@dataclass
class ShownLog:
    """A log as a service or a file shows it: its leaves, who signs it, and the ``stated`` leaves that are not in it."""

    leaves: list[LogLeaf]
    signers: Sequence[LogKey]
    stated: list[LogLeaf] = field(default_factory=list)

    @cached_property
    def encoded(self) -> list[bytes]:
        return [one.encode() for one in self.leaves]

    def hash_of(self, span: Span) -> bytes:
        return span_hash(span, node_from(tiles_over(self.encoded)))

    @cached_property
    def note(self) -> bytes:
        first, *others = self.signers
        text = Checkpoint(ORIGIN, len(self.leaves), self.hash_of((0, len(self.leaves)))).text.encode()
        lines = "".join(one.verifier.line(one.pair.sign(text)) for one in others)
        return first.note(self.encoded) + lines.encode()

    def recorded(self, one: LogLeaf, size: int | None = None) -> Recorded:
        """The leaf with the hashes of its place; one that the tree has not gets those of another place."""
        size = size or len(self.leaves)
        return Recorded(one, tuple(map(self.hash_of, inclusion_spans(min(one.index, size - 1), size))))

    def leaves_of(self, did: str) -> list[LogLeaf]:
        return sorted((one for one in (*self.leaves, *self.stated) if one.did == did), key=lambda one: one.version)

    def history(self, *, service: bool = True) -> LoggedHistory:
        """The history of the holder's DID, as `identity ledger verify --save` writes it."""
        entries = tuple(map(self.recorded, self.leaves_of(DID)))
        own = tuple(map(self.recorded, self.leaves_of(SERVICE_DID)))
        return LoggedHistory(DID, self.note, entries, SERVICE_DID if service else None, own if service else ())

    def proof(self) -> bytes:
        """The tlog-proof of the holder's newest entry."""
        one = self.leaves_of(DID)[-1]
        return TlogProof(one.index, self.recorded(one).hashes, self.note, one.encode()).encode()

    def answer(self, path: str, query: dict[str, str]) -> Any:
        """Return the answer of a service: bytes, or a JSON body."""
        match path.split("/"):
            case ["ledger", "key"]:
                return {"verifierKey": str(NEW.verifier), "serviceDid": SERVICE_DID, "earlierKeys": []}
            case ["dids", did, "history"]:
                found = self.leaves_of(unquote(did))
                items = [{"versionId": one.version, "transactionHash": one.transaction_hash} for one in found]
                return {"items": items, "nextCursor": None}
            case ["ledger", "transactions", hash_]:
                one = next(one for one in (*self.leaves, *self.stated) if one.transaction_hash == hash_)
                return stated(one)
            case ["ledger", "checkpoint"]:
                return self.note
            case ["ledger", "proof", "inclusion"]:
                one = next(one for one in self.leaves if one.transaction_hash == query["transaction"])
                return {"hashes": list(map(multibase.base64url_encode, self.recorded(one, int(query["size"])).hashes))}
            case ["ledger", "proof", "consistency"]:
                spans = consistency_spans(int(query["first"]), int(query["second"]))
                return {"hashes": [multibase.base64url_encode(self.hash_of(span)) for span in spans]}
            case ["ledger", "tile", "entries", *_]:
                return bundled(self.encoded)
            case ["ledger", "tile", *_]:
                return tiles_over(self.encoded)[0, 0]
        raise AssertionError(path)


def stated(one: LogLeaf) -> dict[str, Any]:
    """The leaf as getLedgerTransaction answers it."""
    return {
        "sequence": one.sequence,
        "transactionHash": one.transaction_hash,
        "blockNumber": one.block_number,
        "recordedAt": times.printed_exactly(one.recorded_at),
        "did": one.did,
        "versionId": one.version,
        "entry": multibase.base64url_encode(one.entry),
    }


def true_log(size: int = 8, signers: Sequence[LogKey] = (NEW,), service: Life = SERVICE) -> ShownLog:
    """The log as it was when it had so many entries."""
    placed = {
        0: leaf(0, DID, 1, HOLDER.entries[0]),
        1: leaf(1, SERVICE_DID, 1, SERVICE.entries[0]),
        3: leaf(3, DID, 2, HOLDER.entries[1]),
        PLACE: leaf(PLACE, SERVICE_DID, 2, service.entries[1]),
    }
    return ShownLog([placed.get(index) or leaf(index) for index in range(size)], signers)


def fork(size: int, place: int) -> ShownLog:
    """A fork of this size without the deactivation, which the thief of the old key signs; the replacement is stated at ``place``."""
    leaves = [one if one.index in (0, 1) else leaf(one.index) for one in true_log(min(size, PLACE)).leaves]
    leaves += [leaf(index) for index in range(len(leaves), size)]
    entry = leaf(place, SERVICE_DID, 2, SERVICE.entries[1])
    if place < size:
        leaves[place] = entry
        return ShownLog(leaves, (OLD,))
    return ShownLog(leaves, (OLD,), [entry])


def thief_log(service: Sequence[bytes]) -> ShownLog:
    """A fork of 60 entries with this log of the service's own DID, which names no replacement of the key that signs it."""
    placed = {index: leaf(index, SERVICE_DID, index, entry) for index, entry in enumerate(service, 1)}
    holder = leaf(0, DID, 1, HOLDER.entries[0])
    return ShownLog([holder, *(placed.get(index) or leaf(index) for index in range(1, 60))], (OLD,))


def resigned(history: LoggedHistory, note: bytes) -> LoggedHistory:
    """The history with another checkpoint."""
    Note.parse(note)
    return replace(history, checkpoint=note)


@contextlib.contextmanager
def served(log: ShownLog) -> Iterator[str]:
    """The URL of a service that shows the log."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path.removeprefix("/api/v1/"))
            body = log.answer(parts.path, dict(parse_qsl(parts.query)))
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain" if isinstance(body, bytes) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
