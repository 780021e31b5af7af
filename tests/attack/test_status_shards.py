"""A server of status lists that lies, dribbles or never ends, and the holder who asks it for one gap. What it sends are raw bytes."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from time import monotonic

import pytest
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_log import record_of
from identity_bound_credentials.domain.gap_shards import Manifest, Shard, SignedGap
from identity_bound_credentials.domain.status_gaps import LAST_END, Gap, HandleListed, StatusEpoch
from identity_bound_credentials.published_gaps import PublishedGaps
from identity_transparency.domain import gap_record
from identity_transparency.domain.audit import Audit

from identity_bbs import interface
from identity_bbs.bls12381 import keys, select
from identity_bbs.suite import ciphersuite
from identity_client.session import ServiceError, ServiceUnreachable
from identity_client.status_list import StatusListRefused
from identity_codec.multibase import base64url_encode
from identity_codec.values import replace
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint
from identity_tlog.policy import WitnessPolicy
from identity_tlog.proofs import TlogProof, inclusion_spans, span_hash
from identity_tlog.tiles import node_from
from identity_tlog.tree import Frontier, leaf_hash
from tests.credentials import NOW
from tests.transparency import LogKey, some_leaves, tiles_over

ISSUER = "did:example:issuer"
LIST = "AAAAAAAAAAAAAAAAAAAAAA"
EPOCH = StatusEpoch(ISSUER, f"{ISSUER}#status", LIST, 20_780, 86_400)
SECRET = bytes(31) + b"\x07"
PUBLIC = keys.public_key(SECRET)
HANDLE = 2_000_000_000
BASE = "/mirror/of/lists"
ROOT = f"{BASE}/status-gaps/{LIST}/20780"
SHARDS = f"{BASE}/status-gaps/{LIST}/shards"
SECONDS = 60.0
"""How long anything may take that ends by itself within a second on a machine with nothing else to do."""

Files = dict[str, bytes]


def sign(gap: tuple[int, int], epoch: StatusEpoch = EPOCH, secret: bytes = SECRET) -> bytes:
    return interface.sign(ciphersuite(select()), secret, keys.public_key(secret), epoch.header, gap)


def signed_around(handles: list[int], *near: int) -> tuple[tuple[int, ...], list[bytes]]:
    """A list of any size in which only the gaps at these handles are really signed: the others are for their neighbours."""
    ends = status_gaps.chain(handles)
    signed = {
        index for handle in near for index in (status_gaps.place(ends, handle) - 1, status_gaps.place(ends, handle))
    }
    return ends, [sign(gap) if index in signed else bytes(80) for index, gap in enumerate(pairwise(ends))]


def files(published: tuple[Manifest, list[bytes]]) -> Files:
    manifest, shards = published
    named = zip(manifest.digests, shards, strict=True)
    return {ROOT: manifest.encoded, **{f"{SHARDS}/{base64url_encode(digest)}": data for digest, data in named}}


def ok(body: bytes, *more: bytes) -> bytes:
    head = b"\r\n".join((b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), b"Connection: close", *more))
    return head + b"\r\n\r\n" + body


Answer = Callable[[str], bytes | Iterator[bytes]]


class Server:
    """Answers each request with the bytes that ``answer`` gives for its path; pieces are sent until the other side has gone."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[str] = []
        self.heads: list[bytes] = []
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode()
            self.asked.append(path)
            self.heads.append(head)
            answer = self._answer(path)
            for piece in (answer,) if isinstance(answer, bytes) else answer:
                writer.write(piece)
                await writer.drain()
                # Where pieces have no end, each gives way to the one who is asked to stop listening.
                await asyncio.sleep(0 if isinstance(answer, bytes) else 0.01)
        except ConnectionError:
            pass
        finally:
            writer.close()


def fetch(
    answer: Answer,
    handle: int = HANDLE,
    *,
    seconds: float = SECONDS,
    digest: bytes | None = None,
    whole: bool = False,
) -> tuple[SignedGap, Server]:
    async def run() -> tuple[SignedGap, Server]:
        server = Server(answer)
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        async with listening:
            port = listening.sockets[0].getsockname()[1]
            async with PublishedGaps(f"http://127.0.0.1:{port}{BASE}", timeout_seconds=seconds) as source:
                manifest = await source.manifest(EPOCH, digest=digest)
                return await source.gap(manifest, PUBLIC, handle, whole=whole), server

    return asyncio.run(run())


def serving(known: Files) -> Answer:
    return lambda path: ok(known[path]) if path in known else b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


OTHER = HANDLE + 40_000_000
THREE = gap_shards.publish(EPOCH, 1, *signed_around(list(range(1_000, LAST_END - 1, 1_700_000)), HANDLE, OTHER))


def test_one_shard_is_fetched_and_nothing_says_whose_it_is() -> None:
    assert len(THREE[1]) == 3
    found, server = fetch(serving(files(THREE)))
    assert found.gap.low < HANDLE < found.gap.high
    assert server.asked == [ROOT, f"{SHARDS}/{base64url_encode(THREE[0].digests[1])}"]
    spoken = b"".join(server.heads).lower()
    assert str(HANDLE).encode() not in spoken
    assert b"authorization" not in spoken
    assert b"cookie" not in spoken


def test_a_cookie_does_not_join_two_requests() -> None:
    known = files(THREE)
    _, server = fetch(lambda path: ok(known[path], b"Set-Cookie: holder=7"))
    assert len(server.heads) == 2
    assert b"holder=7" not in b"".join(server.heads)


def test_two_holders_of_one_shard_send_the_same_octets() -> None:
    (one, first), (two, second) = (fetch(serving(files(THREE)), handle) for handle in (HANDLE, OTHER))
    assert one.gap != two.gap
    assert first.asked == second.asked
    ports = [head.split(b"Host: 127.0.0.1:")[1].split(b"\r\n")[0] for head in (first.heads[0], second.heads[0])]
    assert first.heads == [head.replace(ports[1], ports[0]) for head in second.heads]


def test_the_whole_list_is_fetched_where_that_is_wanted() -> None:
    found, server = fetch(serving(files(THREE)), whole=True)
    assert found.gap.low < HANDLE < found.gap.high
    assert server.asked == [ROOT, *(f"{SHARDS}/{base64url_encode(digest)}" for digest in THREE[0].digests)]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_whole_list_is_whole(number: int) -> None:
    """Where all shards are asked for, a wrong one is told, also where it is not the holder's."""
    wrong = {**files(THREE), f"{SHARDS}/{base64url_encode(THREE[0].digests[number])}": THREE[1][number - 1]}
    with pytest.raises(StatusListRefused):
        fetch(serving(wrong), whole=True)


def test_a_revoked_handle_is_told_by_a_signature() -> None:
    handles = [HANDLE - 5, HANDLE]
    with pytest.raises(HandleListed):
        fetch(serving(files(gap_shards.publish(EPOCH, 1, *signed_around(handles, HANDLE)))))
    unsigned = gap_shards.publish(EPOCH, 1, status_gaps.chain(handles), [bytes(80)] * 3)
    with pytest.raises(StatusListRefused):
        fetch(serving(files(unsigned)))


def published(handles: list[int], epoch: StatusEpoch = EPOCH, secret: bytes = SECRET) -> tuple[Manifest, list[bytes]]:
    ends = status_gaps.chain(handles)
    return gap_shards.publish(epoch, 1, ends, [sign(gap, epoch, secret) for gap in pairwise(ends)])


def lies() -> Iterator[tuple[str, Files]]:
    old = replace(EPOCH, epoch=20_779)
    yield "an older epoch's files", files(published([], old))
    manifest, shards = published([], old)
    # The gap of an older epoch, before the revocation, under a manifest of this one.
    yield "an older epoch's gaps", files((replace(manifest, epoch=EPOCH), shards))
    hourly = StatusEpoch(ISSUER, EPOCH.method, LIST, 20_780, 3_600)
    yield "another period", files(published([], hourly))
    other = StatusEpoch(ISSUER, EPOCH.method, "B" * 22, 20_780, 86_400)
    yield "another list's gaps", files(published([], other))
    yield "another key's gaps", files(published([], EPOCH, bytes(31) + b"\x08"))
    ends = status_gaps.chain([HANDLE])
    good = [sign(gap) for gap in pairwise(ends)]
    yield "a gap over the revoked handle", files(gap_shards.publish(EPOCH, 1, (0, LAST_END), [good[0]]))
    yield "two gaps in the wrong order", files(gap_shards.publish(EPOCH, 1, ends, good[::-1]))
    manifest, (data,) = published([1, 2])
    yield (
        "a shard that is cut off",
        {ROOT: manifest.encoded, f"{SHARDS}/{base64url_encode(manifest.digests[0])}": data[:-84]},
    )
    fewer = hashlib.sha256(data[:-84]).digest()
    yield (
        "a manifest of a shard that is cut off",
        {
            ROOT: replace(manifest, gaps=2, digests=(fewer,)).encoded,
            f"{SHARDS}/{base64url_encode(fewer)}": data[:-84],
        },
    )
    yield "nothing", {ROOT: b""}
    yield "a page", {ROOT: b"<html>captive portal</html>"}
    alone = [Shard(ends[n : n + 2], (signature,)) for n, signature in enumerate(good)]
    digests = [hashlib.sha256(shard.encoded).digest() for shard in alone]
    small = manifest.encoded.replace(b'"firsts":[0]', b'"firsts":[0,%d]' % HANDLE).replace(
        b'"shards":["' + base64url_encode(manifest.digests[0]).encode(),
        b'"shards":["' + b'","'.join(base64url_encode(digest).encode() for digest in digests),
    )
    yield "a shard for one holder", {ROOT: small}


@pytest.mark.parametrize(("lie", "known"), [pytest.param(*lie, id=lie[0]) for lie in lies()])
def test_a_lying_server_is_refused(lie: str, known: Files) -> None:
    asked: list[str] = []

    def answer(path: str) -> bytes | Iterator[bytes]:
        asked.append(path)
        return serving(known)(path)

    with pytest.raises(StatusListRefused):
        fetch(answer)
    if lie in {"an older epoch's files", "another period", "another list's gaps", "a shard for one holder"}:
        assert asked == [ROOT], "no shard is asked for that could tell whose it is"


def test_unrecorded_manifest_is_refused_first() -> None:
    manifest, _ = THREE
    fetch(serving(files(THREE)), digest=manifest.digest)
    asked: list[str] = []

    def answer(path: str) -> bytes | Iterator[bytes]:
        asked.append(path)
        return serving(files(THREE))(path)

    with pytest.raises(StatusListRefused):
        fetch(answer, digest=replace(manifest, edition=2).digest)
    assert asked == [ROOT]


# Two lists, of which one is shown to some holders and one to others


LOG = LogKey(bytes(range(32)))


def in_a_log(*manifests: Manifest) -> list[bytes]:
    """The leaves of a log of these lists, after other entries; the operator appends whatever he likes."""
    leaves = some_leaves(5)
    for place, manifest in enumerate(manifests, 1):
        record, at = record_of(manifest), NOW.replace(microsecond=place)
        sequence, name = len(leaves) + 1, gap_record.subject(LIST)
        leaves.append(LogLeaf(sequence, f"{sequence:064x}", sequence, at, name, place, record.encoded).encode())
    return leaves


def proof_of(index: int, leaves: list[bytes], note: bytes = b"") -> bytes:
    hashes = tuple(span_hash(span, node_from(tiles_over(leaves))) for span in inclusion_spans(index, len(leaves)))
    return TlogProof(index, hashes, note or LOG.note(leaves), leaves[index]).encode()


def fetch_recorded(known: Files, asked: list[str]) -> None:
    def answer(path: str) -> bytes | Iterator[bytes]:
        asked.append(path)
        return serving(known)(path)

    async def run() -> None:
        listening = await asyncio.start_server(Server(answer).serve, "127.0.0.1", 0)
        async with listening:
            port = listening.sockets[0].getsockname()[1]
            async with PublishedGaps(f"http://127.0.0.1:{port}{BASE}", timeout_seconds=SECONDS) as source:
                manifest = await source.manifest(EPOCH)
                await source.recorded(manifest, WitnessPolicy.of_logs_alone(), logs=[LOG.verifier])

    asyncio.run(run())


def test_a_list_that_only_one_holder_is_shown_is_found_out() -> None:
    """The holder refuses the second list, or an auditor of the log sees both."""
    true, other = published([HANDLE]), published([])
    leaves = in_a_log(true[0])
    place = f"{BASE}/{gap_shards.proof_place(other[0])}"
    strangers = LogKey(bytes(32))
    shown = {
        "no proof": None,
        "the proof of the true list": proof_of(5, leaves),
        "another entry": proof_of(0, leaves),
        "a log of its own": proof_of(5, in_a_log(other[0]), strangers.note(in_a_log(other[0]))),
        "another tree under the log's checkpoint": proof_of(5, in_a_log(other[0]), LOG.note(leaves)),
        "endless": b"c2sp.org/tlog-proof@v1\n" + b"A" * (1 << 18),
    }
    for lie, proof in shown.items():
        asked: list[str] = []
        with pytest.raises((StatusListRefused, ServiceError)):
            fetch_recorded({**files(other), **({} if proof is None else {place: proof})}, asked)
        assert asked == [ROOT, place], f"{lie}: no shard is asked for that could tell whose it is"
    fetch_recorded({**files(true), f"{BASE}/{gap_shards.proof_place(true[0])}": proof_of(5, leaves)}, [])
    # Then it must log both, and each holder's proof is right.
    both = in_a_log(true[0], other[0])
    fetch_recorded({**files(other), place: proof_of(6, both)}, [])
    assert audited(both) == [("contradiction", "entry 7")]


def audited(leaves: list[bytes]) -> list[tuple[str, str]]:
    hashes = [leaf_hash(leaf) for leaf in leaves]
    tree = Frontier().appended(hashes)
    audit = Audit(Checkpoint("id.example/log", tree.size, tree.root), ())
    audit.feed(leaves, b"".join(hashes))
    audit.close()
    return [(one.kind, one.where) for one in audit.findings if one.kind in {"contradiction", "form"}]


def test_auditor_reports_lists() -> None:
    first, second = published([])[0], replace(published([HANDLE])[0], edition=2)
    tomorrow = replace(first, epoch=replace(EPOCH, epoch=EPOCH.epoch + 1))
    assert audited(in_a_log(first, tomorrow, second, replace(first, edition=7))) == []
    assert audited(in_a_log(second, first)) == [("contradiction", "entry 7")]
    assert audited(in_a_log(first, tomorrow, first)) == [("contradiction", "entry 8")]
    name = b"B" * 22
    renamed = [
        leaf.replace(b"did did:statusgaps:" + LIST.encode(), b"did did:statusgaps:" + name) for leaf in in_a_log(first)
    ]
    assert audited(renamed) == [("contradiction", "entry 6")]
    assert audited([leaf.replace(b'"edition":1', b'"edition":"1"') for leaf in in_a_log(first)]) == [
        ("form", "entry 6")
    ]


@contextmanager
def at_once() -> Iterator[None]:
    """Far sooner than an endless answer, which is what the other outcome would be."""
    begun = monotonic()
    yield
    assert monotonic() - begun < SECONDS


def endless(head: bytes, piece: bytes) -> Answer:
    def answer(path: str) -> Iterator[bytes]:
        yield head
        while True:
            yield piece

    return answer


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_an_endless_manifest_is_cut_off() -> None:
    with at_once(), pytest.raises(StatusListRefused):
        fetch(endless(CHUNKED, b"10000\r\n" + b" " * 65_536 + b"\r\n"))


def test_an_endless_shard_is_cut_off() -> None:
    manifest, _ = published([])

    def answer(path: str) -> bytes | Iterator[bytes]:
        return ok(manifest.encoded) if path == ROOT else endless(CHUNKED, b"10000\r\n" + b"x" * 65_536 + b"\r\n")(path)

    with at_once(), pytest.raises(StatusListRefused):
        fetch(answer)


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        pytest.param(CHUNKED, b"1\r\nx\r\n", id="body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX-More: ", b"x", id="head"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", id="interim answers"),
    ],
)
def test_a_dribbling_server_is_given_up(head: bytes, piece: bytes) -> None:
    with at_once(), pytest.raises(ServiceUnreachable):
        fetch(endless(head, piece), seconds=0.3)


def test_a_compressed_answer_does_not_grow() -> None:
    manifest, _ = published([])
    bomb = gzip.compress(bytes(1 << 24))

    def answer(path: str) -> bytes:
        return ok(manifest.encoded) if path == ROOT else ok(bomb, b"Content-Encoding: gzip")

    with pytest.raises(StatusListRefused):
        fetch(answer)


def test_a_redirect_is_not_followed() -> None:
    there = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nSet-Cookie: holder=7\r\n\r\n"
    asked: list[str] = []

    def answer(path: str) -> bytes:
        asked.append(path)
        return there

    with pytest.raises(ServiceError):
        fetch(answer)
    assert asked == [ROOT]


def test_missing_shard_and_silent_server() -> None:
    with pytest.raises(ServiceError) as refused:
        fetch(serving({}))
    assert refused.value.status == 404
    for answer in (b"", b"\x16\x03\x01", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"):
        with pytest.raises(ServiceUnreachable):
            fetch(lambda path, data=answer: data)  # type: ignore[misc]


def test_a_gap_that_overlaps_its_neighbour_cannot_be_written() -> None:
    data = Shard((0, 10, 20), (bytes(80), bytes(80))).encoded
    assert Shard.from_octets(data).ends == (0, 10, 20)
    for ends in ((0, 20, 10), (0, 10, 10), (10, 10, 20), (20, 10, 30)):
        with pytest.raises(StatusListRefused):
            Shard.from_octets(Shard(ends, (bytes(80), bytes(80))).encoded)
    with pytest.raises(StatusListRefused):
        SignedGap(EPOCH, Gap(10, 20), bytes(80)).check(PUBLIC, 15)
