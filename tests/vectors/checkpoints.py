"""Checkpoints of a ledger and proofs that lead to them, for every reader: C2SP tlog-checkpoint and tlog-cosignature, RFC 9162 §2.1.

    python -m tests.vectors.checkpoints

writes ``checkpoints.json`` anew. Keys and trees are fixed, so the file changes only with its cases. A note has what its reader needs,
and what it proves (``null`` if it is refused). Hashes are base64url, as answers of the service have them.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from identity_codec import ed25519
from identity_codec.multibase import base64url_encode
from identity_tlog import mldsa
from identity_tlog.note import (
    WITNESS,
    WITNESS_ML_DSA,
    Checkpoint,
    VerifierKey,
    cosignature_line,
    cosignature_message,
    sign_checkpoint,
)
from identity_tlog.proofs import consistency_spans, inclusion_spans, span_hash
from identity_tlog.tree import Frontier, leaf_hash, node_hash

FILE: Final = Path(__file__).with_name("checkpoints.json")
Json = dict[str, Any]

LOG: Final = ed25519.generate(bytes(range(32)))
LOG_KEY: Final = VerifierKey("id.example/log", LOG.public)
WITNESSES: Final = [ed25519.generate(bytes([number]) * 32) for number in (1, 2)]
WITNESS_KEYS: Final = [
    VerifierKey(f"witness.example/w{number}", pair.public, WITNESS) for number, pair in enumerate(WITNESSES, 1)
]
ML_DSA_KEY: Final = VerifierKey("witness.example/pq", bytes(mldsa.PUBLIC_BYTES), WITNESS_ML_DSA)
CHECKPOINT: Final = Checkpoint(LOG_KEY.name, 20852163, bytes(range(32)))
NOW: Final = 1_679_315_147
SIZES: Final = (1, 2, 3, 4, 6, 7, 8)
SEED: Final = 5
# C2SP tlog-cosignature, "Example".
EXAMPLE: Final = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
)


def signed(checkpoint: Checkpoint = CHECKPOINT) -> str:
    return sign_checkpoint(checkpoint, LOG_KEY, LOG.sign(checkpoint.text.encode())).decode()


def signed_text(text: str) -> str:
    """Return a note with any text, signed by the log."""
    return f"{text}\n{LOG_KEY.line(LOG.sign(text.encode()))}"


def cosignature(number: int = 0, seconds: int = NOW, *, shown: int | None = None) -> str:
    signature = WITNESSES[number].sign(cosignature_message(CHECKPOINT.text, seconds))
    return cosignature_line(WITNESS_KEYS[number], seconds if shown is None else shown, signature)


def note(text: str, *, cosigned: Json | None = None, checkpoint: Checkpoint = CHECKPOINT, **check: Any) -> Json:
    """Return a note that is accepted, with what it proves."""
    proven = {"origin": checkpoint.origin, "size": checkpoint.size, "root": base64url_encode(checkpoint.root)}
    return refused(text, **check) | {"proven": proven | {"cosigned": cosigned or {}}}


def refused(
    text: str, *, log: str = str(LOG_KEY), witnesses: Sequence[VerifierKey] = (), cosignatures: int = 0
) -> Json:
    keys = {"logKey": log, "witnesses": [str(each) for each in witnesses], "cosignatures": cosignatures}
    return {"note": text, **keys, "proven": None}


def notes() -> dict[str, Json]:
    """Return the notes by what they are."""
    both, line = WITNESS_KEYS, LOG_KEY.line(LOG.sign(CHECKPOINT.text.encode()))
    names = [each.name for each in both]
    first, second = signed() + cosignature(), signed() + cosignature() + cosignature(1, NOW + 1)
    origin, size, root = CHECKPOINT.text.splitlines()
    empty = Checkpoint(LOG_KEY.name, 0, Frontier().root)
    stranger = VerifierKey(LOG_KEY.name, WITNESSES[0].public)
    unknown = VerifierKey("else.example/key", WITNESSES[1].public).line(bytes(64))
    pq = cosignature_line(ML_DSA_KEY, NOW, bytes(mldsa.SIGNATURE_BYTES))
    bits = base64.b64encode(LOG_KEY.id + bytes(63)).decode()
    return {
        "signed": note(signed()),
        "of nothing": note(signed(empty), checkpoint=empty),
        "of the largest size": note(
            signed(Checkpoint(LOG_KEY.name, 2**53 - 1, bytes(32))),
            checkpoint=Checkpoint(LOG_KEY.name, 2**53 - 1, bytes(32)),
        ),
        "with a signature of an unknown key": note(signed() + unknown),
        "with a second signature of the log, which is wrong": note(signed() + LOG_KEY.line(bytes(64))),
        "cosigned": note(first, witnesses=both, cosigned={names[0]: NOW}, cosignatures=1),
        "cosigned twice": note(second, witnesses=both, cosigned={names[0]: NOW, names[1]: NOW + 1}, cosignatures=2),
        "cosigned by an unknown witness": note(second, witnesses=both[:1], cosigned={names[0]: NOW}),
        "cosigned in 1970": note(signed() + cosignature(0, 1), witnesses=both, cosigned={names[0]: 1}),
        "with a known witness of ML-DSA-44": note(signed(), witnesses=[ML_DSA_KEY, *both]),
        "the example of the specification": refused(EXAMPLE),
        "of another log": refused(signed(Checkpoint("else.example/log", 1, bytes(32)))),
        "by another key of the name": refused(signed(), log=str(stranger)),
        "by a key of a witness": refused(signed(), log=str(VerifierKey(LOG_KEY.name, LOG.public, WITNESS))),
        "with a first signature of the log that is wrong": refused(
            signed_text(CHECKPOINT.text).replace(line, LOG_KEY.line(bytes(64)) + line)
        ),
        "with one witness of two": refused(first, witnesses=both, cosignatures=2),
        "with one witness who is named twice": refused(first, witnesses=[both[0], both[0]], cosignatures=2),
        "with no witness": refused(signed(), witnesses=both, cosignatures=1),
        "with the log as its witness": refused(signed(), witnesses=[LOG_KEY], cosignatures=1),
        "cosigned at another time": refused(signed() + cosignature(shown=NOW + 1), witnesses=both),
        "cosigned at no time": refused(signed() + cosignature(0, 0), witnesses=both),
        "cosigned after the year 9999": refused(signed() + cosignature(0, 253_402_300_800), witnesses=both),
        "cosigned at the end of time": refused(signed() + cosignature(0, 2**63), witnesses=both),
        "cosigned without a time": refused(signed() + both[0].line(bytes(64)), witnesses=both),
        "with a short signature": refused(f"{CHECKPOINT.text}\n— {LOG_KEY.name} {bits}\n"),
        "without signatures": refused(CHECKPOINT.text),
        "without signature lines": refused(CHECKPOINT.text + "\n"),
        "without a last line feed": refused(signed()[:-1]),
        "with a carriage return": refused(signed().replace("\n", "\r\n", 1)),
        "with a tab": refused(signed_text(CHECKPOINT.text + "\t\n")),
        "with an extension line": refused(signed_text(CHECKPOINT.text + "more\n")),
        "with two lines": refused(signed_text(f"{origin}\n{size}\n")),
        "with an empty origin": refused(signed_text(f"\n{size}\n{root}\n")),
        "with a size of zeros": refused(signed_text(f"{origin}\n00\n{root}\n")),
        "with a negative size": refused(signed_text(f"{origin}\n-1\n{root}\n")),
        "with a size of other digits": refused(signed_text(f"{origin}\n٣\n{root}\n")),
        "with a root in base64url": refused(signed_text(f"{origin}\n{size}\n{'-' * 43}=\n")),
        "with a root without padding": refused(signed_text(f"{origin}\n{size}\n{root[:-1]}\n")),
        "with a root of other bits": refused(signed_text(f"{origin}\n{size}\n{root[:-2]}9=\n")),
        "with a short root": refused(signed_text(f"{origin}\n{size}\nAAAA\n")),
        "with a hyphen for a dash": refused(signed().replace("— ", "- ")),
        "with two spaces": refused(signed().replace("— ", "—  ")),
        "with a space of another kind in a name": refused(signed() + "— a\u2003b AAAAAAAA\n"),
        "with a next line in a name": refused(signed() + "— a\u0085b AAAAAAAA\n"),
        "with a byte order mark in a name": note(signed() + "— a\ufeffb AAAAAAAA\n"),
        "with a plus in a name": refused(signed() + "— a+b AAAAAAAA\n"),
        "with a signature of no key": refused(signed() + "— a AAAA\n"),
        "of too many bytes": refused(signed() + "— a " + "A" * 65_536 + "\n"),
        "by a key with another id": refused(signed(), log=str(LOG_KEY).replace(LOG_KEY.id.hex(), "00000000")),
        "by a key without an id": refused(signed(), log=str(LOG_KEY).replace(f"+{LOG_KEY.id.hex()}", "")),
        "by a key of another kind": refused(signed(), log=f"{LOG_KEY.name}+00000000+AgAA"),
        "by no key": refused(signed(), log=""),
        "by a witness with no key": refused(signed()) | {"witnesses": ["w"]},
        "with a cosignature of ML-DSA-44": note(signed() + pq, witnesses=[]),
    }


def hashes(spans: Sequence[tuple[int, int]], leaves: Sequence[bytes]) -> list[str]:
    """Return the hashes of a proof in base64url."""

    def node(height: int, number: int) -> bytes:
        if height == 0:
            return leaves[number]
        return node_hash(node(height - 1, 2 * number), node(height - 1, 2 * number + 1))

    return [base64url_encode(span_hash(span, node)) for span in spans]


def mutants(proof: list[str], dice: random.Random) -> Iterator[list[str]]:
    """Yield proofs with one hash more, one less, another one, and in another order."""
    other = base64url_encode(bytes([dice.randrange(256)]) * 32)
    yield [*proof, other]
    yield [other, *proof]
    if proof:
        yield proof[:-1]
        yield proof[1:]
        yield [*proof[:-1], other]
        yield [*proof[:-1], proof[-1][:-1] + chr(ord(proof[-1][-1]) + 1)]
    if len(proof) > 1:
        yield proof[::-1]


def proofs() -> dict[str, list[Json]]:
    """Return inclusion and consistency proofs of small trees, each with its verdict, and changed ones."""
    dice = random.Random(SEED)
    leaves = [leaf_hash(bytes([number])) for number in range(max(SIZES))]
    roots = {size: base64url_encode(Frontier().appended(leaves[:size]).root) for size in (0, *SIZES)}
    inclusion, consistency = list[Json](), list[Json]()
    for size in SIZES:
        for index in range(size):
            proof = hashes(inclusion_spans(index, size), leaves)
            one = {"size": size, "root": roots[size], "leafIndex": index, "leafHash": base64url_encode(leaves[index])}
            inclusion.append(one | {"hashes": proof, "good": True})
            inclusion += [one | {"hashes": changed, "good": False} for changed in mutants(proof, dice)]
            inclusion += [one | {"hashes": proof, "leafIndex": other, "good": False} for other in (index ^ 1, -1, size)]
        for first in (0, *SIZES):
            if first > size:
                continue
            proof = hashes(consistency_spans(first, size), leaves)
            one = {"first": [first, roots[first]], "second": [size, roots[size]]}
            consistency.append(one | {"hashes": proof, "good": True})
            consistency += [one | {"hashes": changed, "good": False} for changed in mutants(proof, dice)]
            other = base64url_encode(bytes([dice.randrange(256)]) * 32)
            consistency += [
                # A log of nothing begins every log.
                one | {end: [one[end][0], other], "hashes": proof, "good": first == 0 and end == "second"}
                for end in ("first", "second")
            ]
            swapped = {"first": [first, roots[size]], "second": [size, roots[first]]}
            consistency.append(swapped | {"hashes": proof, "good": first == size})
            backward = {"first": [size, roots[size]], "second": [first, roots[first]]}
            consistency.append(backward | {"hashes": proof, "good": first == size})
    return {"inclusion": inclusion, "consistency": consistency}


def vectors() -> Json:
    """Return the content of the file."""
    return {"notes": [{"name": name, **one} for name, one in notes().items()], **proofs()}


def main() -> None:
    """Write the file."""
    FILE.write_text(json.dumps(vectors(), indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
