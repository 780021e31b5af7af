"""Lists as files: shards, manifest, and what a holder finds in them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_shards import SHARD_GAPS, Manifest, Shard, SignedGap
from identity_bound_credentials.domain.status_gaps import LAST_END, Gap, HandleListed, StatusEpoch

from identity_bbs import interface
from identity_bbs.bls12381 import keys, select
from identity_bbs.suite import ciphersuite
from identity_client.status_list import StatusListRefused
from identity_codec import jcs, strict_json
from identity_codec.values import replace

ISSUER = "did:example:issuer"
LIST = "AAAAAAAAAAAAAAAAAAAAAA"
EPOCH = StatusEpoch(ISSUER, f"{ISSUER}#status", LIST, 20_780, 86_400)
SECRET = bytes(31) + b"\x07"
PUBLIC = keys.public_key(SECRET)


def signed(
    handles: Sequence[int], epoch: StatusEpoch = EPOCH, secret: bytes = SECRET
) -> tuple[tuple[int, ...], list[bytes]]:
    ends = status_gaps.chain(handles)
    suite, public = ciphersuite(select()), keys.public_key(secret)
    return ends, [interface.sign(suite, secret, public, epoch.header, gap) for gap in pairwise(ends)]


def unsigned(handles: Sequence[int]) -> tuple[tuple[int, ...], list[bytes]]:
    """Signatures that only the layout sees."""
    ends = status_gaps.chain(handles)
    return ends, [hashlib.sha512(b"%d" % low).digest() + low.to_bytes(16, "big") for low in ends[:-1]]


def test_the_octets_of_a_shard() -> None:
    ends, signatures = signed([5, 6])
    data = Shard(ends, tuple(signatures)).encoded
    assert data == b"".join(
        (
            b"IDENTITY-SERVICE-STATUS-SHARD-V2:\0\0\0\0",
            *(signatures[0], b"\0\0\0\5", signatures[1], b"\0\0\0\6", signatures[2], b"\xff\xff\xff\xff"),
        )
    )
    assert Shard.from_octets(data) == Shard(ends, tuple(signatures))
    # A frozen value: the list of an epoch must be the same bytes on every curve backend.
    assert hashlib.sha256(data).hexdigest() == "08dccb248c848a732676c04534e859adc9f7ce2f84dca4019ccfcbba94f5718f"


def test_the_octets_of_a_manifest() -> None:
    manifest, (shard,) = gap_shards.publish(EPOCH, 2, *signed([5, 6]))
    assert strict_json.loads(manifest.encoded) == {
        "bits": 32,
        "edition": 2,
        "epoch": 20_780,
        "firsts": [0],
        "format": "identity-status-gaps-2",
        "gaps": 3,
        "issuer": ISSUER,
        "list": LIST,
        "method": f"{ISSUER}#status",
        "period": 86_400,
        "shards": ["CNzLJIyEinMmdsBFNOhZrcn3zi-E3KQBnM_LupT1cY8"],
    }
    assert manifest.digests == (hashlib.sha256(shard).digest(),)
    assert manifest.digest == hashlib.sha256(manifest.encoded).digest()
    assert Manifest.from_octets(manifest.encoded) == manifest


@pytest.mark.parametrize("gaps", [1, 2, 512, 1_023, 1_024, 1_025, 2_048, 2_049, 5_000, 100_001, status_gaps.MAX_GAPS])
def test_shards_are_as_few_as_can_be_and_alike(gaps: int) -> None:
    sizes = gap_shards.sizes(gaps)
    assert sum(sizes) == gaps
    assert len(sizes) == (gaps + SHARD_GAPS - 1) // SHARD_GAPS
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= SHARD_GAPS
    assert len(sizes) == 1 or min(sizes) >= SHARD_GAPS // 2


@pytest.mark.parametrize("size", [0, 1, 1_022, 1_023, 1_024, 2_500])
def test_a_list_is_found_again_in_its_files(size: int) -> None:
    source = random.Random(size)
    handles = source.sample(range(1, LAST_END), size)
    ends, signatures = unsigned(handles)
    manifest, shards = gap_shards.publish(EPOCH, 1, ends, signatures)
    assert len(shards) == len(gap_shards.sizes(size + 1))
    manifest = Manifest.from_octets(manifest.encoded)
    read = [manifest.open(number, data) for number, data in enumerate(shards)]
    assert [signature for shard in read for signature in shard.signatures] == signatures
    assert (0, *(end for shard in read for end in shard.ends[1:])) == ends
    assert max(map(len, shards)) <= gap_shards.MAX_SHARD_OCTETS
    assert len(manifest.encoded) <= gap_shards.MAX_MANIFEST_OCTETS


def test_the_largest_list_fits_into_its_manifest() -> None:
    count = len(gap_shards.sizes(status_gaps.MAX_GAPS))
    epoch = StatusEpoch("did:example:" + "i" * 600, "did:example:" + "i" * 600 + "#" + "k" * 100, LIST, 65_535, 86_400)
    firsts = (0, *range(LAST_END - count, LAST_END - 1))
    manifest = Manifest(epoch, 2**31 - 1, status_gaps.MAX_GAPS, firsts, (b"\xff" * 32,) * count)
    assert Manifest.from_octets(manifest.encoded) == manifest


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(1, LAST_END - 1), max_size=1_500), st.integers(1, LAST_END - 1))
def test_a_holder_finds_the_gap_that_comparing_finds(handles: set[int], handle: int) -> None:
    manifest, shards = gap_shards.publish(EPOCH, 1, *unsigned(sorted(handles)))
    for asked in (handle, *sorted(handles)[:2]):
        number = manifest.shard_of(asked)
        low, high = manifest.find(asked, number, shards[number]).gap
        assert low == max(end for end in (0, *handles) if end <= asked)
        assert high == min(end for end in (LAST_END, *handles) if end > asked)


def test_a_gap_is_checked_by_its_signature_and_by_the_handle() -> None:
    manifest, (data,) = gap_shards.publish(EPOCH, 1, *signed([100, 101, 5_000]))
    for handle in (1, 99, 102, 4_999, 5_001, LAST_END - 1):
        manifest.find(handle, 0, data).check(PUBLIC, handle)
    for handle in (100, 101, 5_000):
        with pytest.raises(HandleListed):
            manifest.find(handle, 0, data).check(PUBLIC, handle)
    gap = manifest.find(1_000, 0, data)
    for handle in (99, 102 - 2, 5_000, 6_000):
        with pytest.raises(StatusListRefused):
            gap.check(PUBLIC, handle)


def test_a_gap_of_another_key_epoch_list_or_pair_is_refused() -> None:
    manifest, (data,) = gap_shards.publish(EPOCH, 1, *signed([100, 5_000]))
    gap = manifest.find(1_000, 0, data)
    gap.check(PUBLIC, 1_000)
    other = keys.public_key(bytes(31) + b"\x08")
    with pytest.raises(StatusListRefused):
        gap.check(other, 1_000)
    wrong = [
        replace(gap, epoch=replace(EPOCH, epoch=20_779)),
        replace(gap, epoch=replace(EPOCH, list_id="BAAAAAAAAAAAAAAAAAAAAA")),
        replace(gap, gap=Gap(100, 5_001)),
        replace(gap, gap=Gap(99, 5_000)),
        replace(gap, gap=Gap(1, LAST_END)),
        replace(gap, signature=gap.signature[:-1] + bytes([gap.signature[-1] ^ 1])),
        replace(gap, signature=bytes(80)),
        replace(gap, signature=gap.signature[:79]),
        SignedGap(EPOCH, Gap(100, 5_000), b"\xc0" + bytes(79)),
    ]
    for one in wrong:
        with pytest.raises(StatusListRefused):
            one.check(PUBLIC, 1_000)


def test_a_server_cannot_make_a_credential_look_revoked() -> None:
    """The lower end is the handle in a file of the server's making: without a signature that is not a revocation."""
    _, signatures = signed([100, 5_000])
    manifest, (data,) = gap_shards.publish(EPOCH, 1, (0, 100, 1_000, LAST_END), signatures)
    with pytest.raises(StatusListRefused):
        manifest.find(1_000, 0, data).check(PUBLIC, 1_000)


def shard_of_three() -> bytes:
    return Shard(*map(tuple, unsigned([10, 20]))).encoded


@pytest.mark.parametrize("cut", [0, 1, 36, 37, 40, 117, 120, 121, 204, 288])
def test_truncated_shard_is_refused(cut: int) -> None:
    data = shard_of_three()
    manifest, _ = gap_shards.publish(EPOCH, 1, *unsigned([10, 20]))
    with pytest.raises(StatusListRefused):
        manifest.open(0, data[:cut])
    # Whole gaps from the beginning are a chain of their own; only the manifest knows that more must follow.
    if (cut - 37) % 84 or cut == 37:
        with pytest.raises(StatusListRefused):
            Shard.from_octets(data[:cut])


def test_a_shard_whose_ends_do_not_ascend_is_refused() -> None:
    data = shard_of_three()
    for at, end in ((33, 10), (33, 11), (117, 0), (117, 20), (117, 21), (201, 10), (201, 9)):
        with pytest.raises(StatusListRefused):
            Shard.from_octets(data[:at] + end.to_bytes(4, "big") + data[at + 4 :])


def test_shard_with_another_tag_or_with_too_many_gaps_is_refused() -> None:
    data = shard_of_three()
    ends, signatures = unsigned(range(1, SHARD_GAPS + 1))
    for wrong in (b"x" + data[1:], data.replace(b"SHARD-V2", b"SHARD-V1"), Shard(ends, tuple(signatures)).encoded):
        with pytest.raises(StatusListRefused):
            Shard.from_octets(wrong)


def test_a_shard_that_is_not_the_published_one_is_refused() -> None:
    manifest, shards = gap_shards.publish(EPOCH, 1, *unsigned(range(5, 5_000, 2)))
    assert len(shards) == 3
    for number in range(3):
        manifest.open(number, shards[number])
        for wrong in (shards[number - 1], shards[number] + b"\0", shards[number][:-1], b""):
            with pytest.raises(StatusListRefused):
                manifest.open(number, wrong)


def test_manifest_with_gap_or_overlap_is_refused() -> None:
    """A server that writes its own manifest: digests are right, the chain is not."""
    manifest, shards = gap_shards.publish(EPOCH, 1, *unsigned(range(5, 5_000, 2)))
    for firsts in ((0, manifest.firsts[1] + 1, manifest.firsts[2]), (0, manifest.firsts[1], manifest.firsts[2] - 1)):
        wrong = replace(manifest, firsts=firsts)
        refused = 0
        for number, data in enumerate(shards):
            try:
                wrong.open(number, data)
            except StatusListRefused:
                refused += 1
        assert refused == 2


def test_a_manifest_with_shards_of_other_sizes_is_refused() -> None:
    """A server that puts one gap into a shard of its own would learn from a fetch whose credential it is."""
    ends, signatures = unsigned(range(5, 25, 2))
    alone = [Shard(tuple(ends[start : start + 2]), (signature,)).encoded for start, signature in enumerate(signatures)]
    digests = tuple(hashlib.sha256(data).digest() for data in alone)
    with pytest.raises(StatusListRefused):
        Manifest(EPOCH, 1, len(signatures), tuple(ends[:-1]), digests)
    # It says more gaps than there are, to be allowed more shards.
    manifest = Manifest(EPOCH, 1, len(alone) * SHARD_GAPS, tuple(ends[:-1]), digests)
    with pytest.raises(StatusListRefused):
        manifest.open(4, alone[4])


def manifest_members() -> dict[str, object]:
    manifest, _ = gap_shards.publish(EPOCH, 1, *unsigned(range(5, 5_000, 2)))
    members = strict_json.loads(manifest.encoded)
    assert isinstance(members, dict)
    return members


@pytest.mark.parametrize(
    "change",
    [
        {"edition": 0},
        {"edition": 1 << 31},
        {"edition": "1"},
        {"edition": True},
        {"gaps": 0},
        {"gaps": 2_048},
        {"gaps": 3_073},
        {"gaps": 1 << 21},
        {"gaps": 1.5},
        {"gaps": None},
        {"firsts": []},
        {"firsts": [0, 7]},
        {"firsts": [0, 7, 7]},
        {"firsts": [1, 7, 8]},
        {"firsts": [0, 7, LAST_END]},
        {"firsts": [0, 7, -8]},
        {"firsts": [0, 7, "8"]},
        {"firsts": [0, 7, True]},
        {"firsts": 3},
        {"firsts": {"0": 1}},
        {"shards": []},
        {"shards": ["a", "b", "c"]},
        {"shards": [1, 2, 3]},
        {"shards": [None, [], {}]},
        {"shards": None},
        {"format": "identity-status-gaps-1"},
        {"format": None},
        {"more": 1},
        {"period": 60},
        {"list": "x"},
    ],
)
def test_a_manifest_with_another_member_is_refused(change: dict[str, object]) -> None:
    members = manifest_members()
    Manifest.from_octets(jcs.canonicalize(members))
    with pytest.raises(StatusListRefused):
        Manifest.from_octets(jcs.canonicalize({**members, **change}))
    for name in change.keys() & members.keys():
        with pytest.raises(StatusListRefused):
            Manifest.from_octets(jcs.canonicalize({key: value for key, value in members.items() if key != name}))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"1", b'"x"', b"{", b"\xff", b"[" * 10_000, b" " * (1 << 18), b"[0," * 9_999]
)
def test_octets_that_are_no_manifest_are_refused(data: bytes) -> None:
    with pytest.raises(StatusListRefused):
        Manifest.from_octets(data)


def test_a_manifest_has_one_text() -> None:
    data = jcs.canonicalize(manifest_members())
    for wrong in (data + b"\n", data.replace(b":1,", b": 1,", 1), data.replace(b"{", b'{"bits":32,', 1)):
        with pytest.raises(StatusListRefused):
            Manifest.from_octets(wrong)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_bits_flipped_in_the_files_never_give_another_gap(data: st.DataObject) -> None:
    manifest, (raw,) = FLIPPED
    which, handle = data.draw(st.sampled_from(("manifest", "shard"))), 150
    original = manifest.encoded if which == "manifest" else raw
    bit = data.draw(st.integers(0, 8 * len(original) - 1))
    changed = bytearray(original)
    changed[bit // 8] ^= 1 << bit % 8
    try:
        read = Manifest.from_octets(bytes(changed) if which == "manifest" else manifest.encoded)
        found = read.find(handle, read.shard_of(handle), bytes(changed) if which == "shard" else raw)
    except StatusListRefused:
        return
    # What is left are members that a holder compares with what it expects: epoch, issuer, key, list and edition.
    assert which == "manifest"
    assert (found.gap, found.signature) == (Gap(100, 200), manifest.find(handle, 0, raw).signature)
    assert read != manifest


FLIPPED = gap_shards.publish(EPOCH, 1, *unsigned([100, 200, 300]))


def test_invalid_handle_has_no_shard() -> None:
    manifest, _ = FLIPPED
    for handle in (0, -1, LAST_END, 1 << 32):
        with pytest.raises(StatusListRefused):
            manifest.shard_of(handle)
