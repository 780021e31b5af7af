"""Notes, checkpoints, cosignatures, proofs as text and leaves: the specifications' own examples, and what is invalid."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_codec import ed25519
from identity_tlog.leaf import LogLeaf, read_head
from identity_tlog.note import (
    WITNESS,
    Checkpoint,
    Note,
    VerifierKey,
    base64_decode,
    cosignature_line,
    cosignature_message,
    open_checkpoint,
    sign_checkpoint,
)
from identity_tlog.proofs import TlogProof
from identity_tlog.tree import Malformed, Refuted

# C2SP signed-note, "Example".
EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
EXAMPLE_NOTE = (
    "This is an example message.\n\n\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZ"
    "XsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
LOG = ed25519.generate(bytes(range(32)))
LOG_KEY = VerifierKey("id.example/log", LOG.public)
WITNESS_PAIR = ed25519.generate(bytes(range(1, 33)))
WITNESS_KEY = VerifierKey("witness.example/w1", WITNESS_PAIR.public, WITNESS)
CHECKPOINT = Checkpoint(LOG_KEY.name, 20852163, bytes(range(32)))
NOW = 1_679_315_147


def signed(checkpoint: Checkpoint = CHECKPOINT) -> bytes:
    return sign_checkpoint(checkpoint, LOG_KEY, LOG.sign(checkpoint.text.encode()))


def cosigned(seconds: int = NOW) -> bytes:
    signature = WITNESS_PAIR.sign(cosignature_message(CHECKPOINT.text, seconds))
    return signed() + cosignature_line(WITNESS_KEY, seconds, signature).encode()


def test_the_example_of_the_specification() -> None:
    key = VerifierKey.parse(EXAMPLE_KEY)
    assert (key.name, key.id.hex(), str(key)) == ("example.com/foo", "530d903a", EXAMPLE_KEY)
    note = Note.parse(EXAMPLE_NOTE.encode())
    assert note.text == "This is an example message.\n"
    found = note.find_signature(key)
    assert found is not None
    ed25519.verify(key.public, note.text.encode(), found.signature)
    assert note.text + "\n" + key.line(found.signature) == EXAMPLE_NOTE


def test_the_example_of_a_cosigned_checkpoint_is_read() -> None:
    """C2SP tlog-cosignature: one signature of the log, one timestamped."""
    data = (
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
        "\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
        "\u2014 witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mb"
        "IUBkBIfZ+qnA==\n"
    ).encode()
    note = Note.parse(data)
    checkpoint = Checkpoint.parse(note.text)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20852163)
    assert checkpoint.text == note.text
    assert [len(one.signature) for one in note.signatures] == [64, 72]
    assert int.from_bytes(note.signatures[1].signature[:8], "big") == NOW


def test_a_checkpoint_is_opened_with_the_key_of_its_log() -> None:
    opened = open_checkpoint(signed(), LOG_KEY)
    assert (opened.checkpoint, opened.encoded, opened.cosigned) == (CHECKPOINT, signed(), {})
    stranger = VerifierKey(LOG_KEY.name, WITNESS_PAIR.public)
    with pytest.raises(Refuted, match="not signed by the key"):
        open_checkpoint(signed(), stranger)
    with pytest.raises(Refuted, match="another log"):
        open_checkpoint(signed(), VerifierKey("else.example/log", LOG.public))


@pytest.mark.parametrize("place", range(0, len(signed()), 3))
def test_a_flipped_byte_is_never_the_same_checkpoint(place: int) -> None:
    data = signed()
    changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    with pytest.raises((Refuted, Malformed)):
        open_checkpoint(changed, LOG_KEY)


def test_cosignatures_count_for_known_witnesses_only() -> None:
    opened = open_checkpoint(cosigned(), LOG_KEY, [WITNESS_KEY], cosignatures=1)
    assert opened.cosigned == {WITNESS_KEY.name: datetime.fromtimestamp(NOW, UTC)}
    assert open_checkpoint(cosigned(), LOG_KEY).cosigned == {}
    for data in (signed(), signed() + cosigned().replace(signed(), b"").replace(b"w1", b"w2")):
        with pytest.raises(Refuted, match="0 of the witnesses"):
            open_checkpoint(data, LOG_KEY, [WITNESS_KEY], cosignatures=1)
    double = [WITNESS_KEY, VerifierKey(WITNESS_KEY.name, WITNESS_KEY.public, WITNESS)]
    with pytest.raises(Refuted, match="1 of the witnesses"):
        open_checkpoint(cosigned(), LOG_KEY, double, cosignatures=2)


def test_the_key_of_the_log_is_no_witness() -> None:
    assert open_checkpoint(signed(), LOG_KEY, [LOG_KEY]).cosigned == {}
    with pytest.raises(Refuted, match="0 of the witnesses"):
        open_checkpoint(signed(), LOG_KEY, [LOG_KEY], cosignatures=1)


def cosignature(seconds: int, *, shown: int | None = None) -> str:
    signature = WITNESS_PAIR.sign(cosignature_message(CHECKPOINT.text, seconds))
    return cosignature_line(WITNESS_KEY, seconds if shown is None else shown, signature)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (cosignature(NOW, shown=NOW + 1), "is wrong"),
        (cosignature(0), "another form"),
        (cosignature(2**63), "another form"),
        (cosignature(2**63 - 1), "no time"),
        (WITNESS_KEY.line(WITNESS_PAIR.sign(CHECKPOINT.text.encode())), "another form"),
        (WITNESS_KEY.line(NOW.to_bytes(8, "big") + bytes(65)), "another form"),
    ],
)
def test_a_wrong_cosignature_refutes_the_note(line: str, reason: str) -> None:
    with pytest.raises(Refuted, match=reason):
        open_checkpoint(signed() + line.encode(), LOG_KEY, [WITNESS_KEY])


def test_a_cosignature_may_be_as_old_as_posix_time() -> None:
    opened = open_checkpoint(signed() + cosignature(1).encode(), LOG_KEY, [WITNESS_KEY])
    assert opened.cosigned == {WITNESS_KEY.name: datetime.fromtimestamp(1, UTC)}


@pytest.mark.parametrize(
    "text",
    [
        "a b+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        EXAMPLE_KEY.replace("530d903a", "530d903b"),
        EXAMPLE_KEY.replace("+Aek", "+Bek"),
        EXAMPLE_KEY[:-4],
        EXAMPLE_KEY + "=",
        "example.com/foo+530d903a",
        "",
        f"x+00000000+{'A' * 44}",
    ],
)
def test_malformed_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        VerifierKey.parse(text)


@pytest.mark.parametrize("public", [b"", bytes(31), bytes(33), b"\x01" + bytes(31), bytes(32)])
def test_a_weak_key_is_no_verifier_key(public: bytes) -> None:
    with pytest.raises(Malformed, match="not an Ed25519 public key"):
        VerifierKey("id.example/log", public)


@pytest.mark.parametrize(
    ("name", "kind"), [("", 1), ("a b", 1), ("a+b", 1), ("a\x00b", 1), ("a", 0), ("a", 2), ("a", 5)]
)
def test_verifier_key_names_and_kinds(name: str, kind: int) -> None:
    with pytest.raises(Malformed, match="of a key is"):
        VerifierKey(name, LOG.public, kind)


def test_kinds_are_those_of_signed_note() -> None:
    keys = [
        VerifierKey("a", ed25519.generate(bytes([seed] * 32)).public, kind) for seed in range(64) for kind in (1, 4)
    ]
    assert any(str(key).count("+") > 2 for key in keys)
    for key in keys:
        assert VerifierKey.parse(str(key)) == key
    assert [base64_decode(str(key).split("+", 2)[2])[0] for key in (LOG_KEY, WITNESS_KEY)] == [0x01, 0x04]


def test_a_note_has_at_most_64_kib() -> None:
    data = b"x\n" + signed()
    full = b"x" * (64 * 1024 - len(data)) + data
    assert len(Note.parse(full).signatures) == 1
    with pytest.raises(Malformed, match="too large"):
        Note.parse(b"x" + full)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data.replace(b"\n\n", b"\n"),
        lambda data: data.replace("\u2014 ".encode(), b"- "),
        lambda data: data.replace(b"\n\n", b"\n\x00\n\n"),
        lambda data: data.replace(b"\n\n", b"\r\n\n"),
        lambda data: data + b"\xff\n",
        lambda data: data + "\u2014 name AAAA\n".encode(),
        lambda data: data + "\u2014 name AAAAAAAB=\n".encode(),
        lambda data: data + "\u2014 na+me AAAAAAAB\n".encode(),
        lambda data: data + "\u2014 name AAAAAAAB more\n".encode(),
        lambda data: data + "\u2014 AAAAAAAB\n".encode(),
        lambda data: b"x" * 70_000 + data,
        lambda data: data.partition(b"\n\n")[2],
    ],
)
def test_malformed_note_is_refused(change: object) -> None:
    with pytest.raises(Malformed):
        Note.parse(change(signed()))  # type: ignore[operator]


@pytest.mark.parametrize(
    "text", ["\n5\nAA==\n", "a\n05\n{}\n", "a\n-1\n{}\n", "a\n5\n{}\nmore\n", "a\n5\nAAAA\n", "a\n5\n", "a\n٥\n{}\n"]
)  # fmt: skip
def test_malformed_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        Checkpoint.parse(text.replace("{}", "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="))


def test_base64_has_one_form() -> None:
    assert base64_decode("AAE=") == b"\0\1"
    for text in ("AAE", "AA E=", "AAE=\n", "é"):
        with pytest.raises(Malformed, match="not base64"):
            base64_decode(text)
    with pytest.raises(Malformed, match="bits left over"):
        base64_decode("AAF=")


# Proofs as text


@given(st.integers(0, 2**60), st.lists(st.binary(min_size=32, max_size=32), max_size=63), st.none() | st.binary())
def test_proofs_as_text(index: int, hashes: list[bytes], extra: bytes | None) -> None:
    proof = TlogProof(index, tuple(hashes), signed(), extra)
    assert TlogProof.parse(proof.encode()) == proof


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("@v1", "@v2"),
        lambda text: text.replace("index 7", "index 07"),
        lambda text: text.replace("index 7\n", ""),
        lambda text: text.replace("index 7\n", "index 7\nextra AAAA\n"),
        lambda text: text.replace("\n\n", "\n"),
        lambda text: text.replace("index 7\n", "index 7\nAAAA\n"),
        lambda text: text.replace("index 7\n", "index 7\n" + "A" * 43 + "=\n" + ("A" * 43 + "=\n") * 63),
        lambda text: "\u2014" + text,
        lambda text: text + " " * 140_000,
    ],
)
def test_malformed_proof_is_refused(change: object) -> None:
    text = TlogProof(7, (bytes(32),), signed()).encode().decode()
    with pytest.raises(Malformed):
        TlogProof.parse(change(text).encode())  # type: ignore[operator]


# Leaves

LEAF = LogLeaf(17, "ab" * 32, 3, datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), "did:ids:Qm", 2, b'{"versionId":1}\n\n')


def test_the_form_of_a_leaf() -> None:
    head = (
        "identity-ledger-leaf/v1\nsequence 17\ntransaction " + "ab" * 32 + "\nblock 3\n"
        "recorded 2026-01-02T03:04:05.678901Z\nversion 2\ndid did:ids:Qm\n\n"
    )
    assert LEAF.encode() == head.encode() + LEAF.entry
    assert LogLeaf.parse(LEAF.encode()) == LEAF
    assert LEAF.index == 16
    assert read_head(LEAF.encode()).entry_at == len(head)
    made = LogLeaf.from_receipt(LEAF.receipt, index=16, did=LEAF.did, version=2, entry=LEAF.entry)
    assert made == LEAF


@given(
    st.integers(1, 2**62),
    st.binary(min_size=32, max_size=32),
    st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1, max_size=60),
    st.binary(max_size=200),
)
def test_every_leaf_comes_back(number: int, hash_: bytes, at: datetime, did: str, entry: bytes) -> None:
    leaf = LogLeaf(number, hash_.hex(), number, at, did, number, entry)
    assert LogLeaf.parse(leaf.encode()) == leaf


@pytest.mark.parametrize(
    "change",
    [
        (b"sequence 17", b"sequence 017"),
        (b"sequence 17", b"sequence 0"),
        (b"block 3\n", b""),
        (b"ab" * 32, b"AB" * 32),
        (b"678901Z", b"678901+00:00"),
        (b"2026-01-02", b"2026-13-02"),
        (b"did did:ids:Qm", b"did \xff"),
        (b"/v1\n", b"/v2\n"),
    ],
)
def test_malformed_leaf_is_refused(change: tuple[bytes, bytes]) -> None:
    with pytest.raises(Malformed):
        LogLeaf.parse(LEAF.encode().replace(*change))


def test_value_without_leaf_is_refused() -> None:
    for did, entry in (("did:x:a\nversion 3", b""), ("did:x:a", bytes(65_535))):
        with pytest.raises(Malformed):
            LogLeaf(1, "00" * 32, 1, LEAF.recorded_at, did, 1, entry).encode()
    for receipt in (b"", LEAF.receipt + b"x", LEAF.receipt.replace(b"2026-01-02", b"2026-99-02")):
        with pytest.raises(Malformed):
            LogLeaf.from_receipt(receipt, index=0, did="did:x:a", version=1, entry=b"")
