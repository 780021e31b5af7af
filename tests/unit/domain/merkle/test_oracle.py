"""A second opinion: sigstore's parser of signed notes and its verifier of Merkle proofs read what ours makes, and agree.

Both are private parts of ``sigstore``, which is in the extra ``test`` for this file only. A third opinion on notes is a
transcription of the parser of Go's ``golang.org/x/mod/sumdb/note``, whose format C2SP signed-note describes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import random
from types import SimpleNamespace
from typing import Any

import pytest

from identity_tlog.note import WITNESS, Note, VerifierKey, cosignature_line, cosignature_message, open_checkpoint
from identity_tlog.proofs import inclusion_spans, span_hash, verify_inclusion
from identity_tlog.tiles import node_from
from identity_tlog.tree import Frontier, Refuted, leaf_hash
from tests.transparency import LogKey, some_leaves, tiles_over

KEY = LogKey(bytes(range(32)))
LEAVES = some_leaves(600)


@pytest.fixture(scope="module")
def sigstore() -> Any:
    """Its two modules, its error, and a key ring of one key."""
    try:
        from sigstore._internal.merkle import verify_merkle_inclusion
        from sigstore._internal.rekor.checkpoint import SignedCheckpoint
        from sigstore.errors import VerificationError
    except ImportError as error:
        if os.environ.get("CI"):
            pytest.fail(f"sigstore is not there: {error}")
        pytest.skip(f"sigstore is not installed, or has moved its parts: {error}")
    return SimpleNamespace(verify=verify_merkle_inclusion, SignedCheckpoint=SignedCheckpoint, Refused=VerificationError)


class KeyRing:
    """What sigstore asks for a signature."""

    def verify(self, *, key_id: bytes, signature: bytes, data: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        Ed25519PublicKey.from_public_bytes(KEY.pair.public).verify(signature, data)


def entry(leaf: bytes, index: int, size: int, hashes: list[bytes], root: bytes) -> Any:
    proof = SimpleNamespace(log_index=index, tree_size=size, hashes=hashes, root_hash=root, checkpoint=None)
    return SimpleNamespace(_inner=SimpleNamespace(inclusion_proof=proof, canonicalized_body=leaf))


def test_both_read_the_same_checkpoint(sigstore: Any) -> None:
    note = KEY.note(LEAVES)
    seconds = 1_700_000_000
    witness = VerifierKey("witness.example/w1", KEY.pair.public, WITNESS)
    text = Note.parse(note).text
    note += cosignature_line(witness, seconds, KEY.pair.sign(cosignature_message(text, seconds))).encode()
    theirs = sigstore.SignedCheckpoint.from_text(note.decode())
    ours = open_checkpoint(note, KEY.verifier, [witness], cosignatures=1).checkpoint
    assert (theirs.checkpoint.origin, theirs.checkpoint.log_size) == (ours.origin, ours.size)
    assert theirs.checkpoint.log_hash == ours.root.hex()
    assert theirs.checkpoint.other_content == []
    assert theirs.signed_note.note == ours.text
    names = [(one.name, one.sig_hash, base64.b64decode(one.signature)) for one in theirs.signed_note.signatures]
    assert names == [(one.name, one.key_id, one.signature) for one in Note.parse(note).signatures]
    theirs.signed_note.verify(KeyRing(), KEY.verifier.id)
    with pytest.raises(sigstore.Refused):
        theirs.signed_note.verify(KeyRing(), b"none")


def test_both_verify_the_same_proofs(sigstore: Any) -> None:
    chance = random.Random(1)
    node = node_from(tiles_over(LEAVES))
    for size in [*range(1, 40), 255, 256, 257, 511, 512, 513, 600]:
        root = Frontier().appended(map(leaf_hash, LEAVES[:size])).root
        for index in {0, size - 1, size // 2, *(chance.randrange(size) for _ in range(5))}:
            hashes = [span_hash(span, node) for span in inclusion_spans(index, size)]
            verify_inclusion(leaf_hash(LEAVES[index]), index, size, hashes, root)
            sigstore.verify(entry(LEAVES[index], index, size, hashes, root))
            for wrong in ([*hashes, bytes(32)], hashes[:-1], [bytes(32), *hashes[1:]]):
                if wrong == hashes or (not hashes and not wrong):
                    continue
                with pytest.raises(Refuted):
                    verify_inclusion(leaf_hash(LEAVES[index]), index, size, wrong, root)
                with pytest.raises(sigstore.Refused):
                    sigstore.verify(entry(LEAVES[index], index, size, wrong, root))


# Go's note.Open, line by line (golang.org/x/mod/sumdb/note).


def go_open(data: bytes) -> tuple[str, list[tuple[str, int, bytes]]]:
    """The text and (name, hash, signature) of a note, as Go reads it; raises ValueError where Go says errMalformedNote."""
    if len(data) > 1_000_000:
        raise ValueError
    whole = data.decode("utf-8")
    if any(one < " " and one != "\n" for one in whole):
        raise ValueError
    split = data.rfind(b"\n\n")
    if split < 0:
        raise ValueError
    text, sigs = data[: split + 1], data[split + 2 :]
    if not sigs or sigs[-1:] != b"\n":
        raise ValueError
    found = []
    for line in sigs[:-1].split(b"\n"):
        if not line.startswith(b"\xe2\x80\x94 "):
            raise ValueError
        name, _, b64 = line[4:].decode().partition(" ")
        signature = base64.b64decode(b64, validate=True)
        if not name or "+" in name or name.split() != [name] or len(signature) < 5:
            raise ValueError
        found.append((name, int.from_bytes(signature[:4], "big"), signature[4:]))
    return text.decode(), found


def go_key_hash(name: str, key: bytes) -> int:
    """Go's keyHash: over the name, a newline and the encoded key with its algorithm."""
    return int.from_bytes(hashlib.sha256(name.encode() + b"\n" + key).digest()[:4], "big")


def test_go_reads_what_we_write() -> None:
    note = KEY.note(LEAVES)
    text, [(name, key_hash, signature)] = go_open(note)
    ours = Note.parse(note)
    assert text == ours.text
    assert (name, signature) == (KEY.verifier.name, ours.signatures[0].signature)
    assert key_hash == go_key_hash(name, b"\x01" + KEY.pair.public)
    vkey = str(KEY.verifier)
    vname, vhash, vkey64 = vkey.split("+", 2)
    assert (vname, int(vhash, 16), base64.b64decode(vkey64)) == (name, key_hash, b"\x01" + KEY.pair.public)


@pytest.mark.parametrize("seed", range(300))
def test_go_and_we_refuse_the_same_bytes(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(KEY.note(LEAVES[:7]))
    for _ in range(chance.randint(1, 2)):
        place = chance.randrange(len(data))
        data[place : place + chance.randint(0, 1)] = bytes([chance.choice(b"\n \t+=A\x00\xe2\x80\x94z")])
    try:
        theirs = go_open(bytes(data))
    except ValueError:
        theirs = None
    try:
        note = Note.parse(bytes(data))
        ours = note.text, [(one.name, int.from_bytes(one.key_id, "big"), one.signature) for one in note.signatures]
    except ValueError:
        ours = None
    if ours is None and theirs is not None:
        # Ours alone asks base64 for its one form, and for a text that is there.
        lines = bytes(data).rpartition(b"\n\n")[2].decode().splitlines()
        one_form = all(
            base64.b64encode(base64.b64decode(line.split(" ")[2])).decode() == line.split(" ")[2] for line in lines
        )
        assert not one_form or theirs[0] == "\n"
    else:
        assert ours == theirs
