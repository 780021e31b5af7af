"""Logs of did:webvh that a client must judge as the service does: made here, right and wrong, and those of the public test suite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from identity_commands.verify_log import verify

from identity_core.domain.dids.logs import multihash
from identity_core.domain.dids.state import LogInvalid
from tests.vectors.files import ROOT, match_paths
from tests.webvh_logs import KEY, NEXT, WITNESS, approval, first, first_of, following, moved

Json = dict[str, Any]


def webvh_cases() -> Iterator[tuple[str, list[Json], Any]]:
    """Name, entries and did-witness.json (None for no file) of logs made here, right and wrong."""
    one, other = first(), first(portable=True, ttl=60)
    for name, parameters in CHANGES.items():
        two = following(one, **parameters)
        yield name, [one, two], None
        yield f"{name} and then more", [one, two, following(two)], None
        yield f"{name} and then by the next key", [one, two, following(two, (NEXT,))], None
    yield "moved", [other, following(other, state=moved(other))], None
    yield "moved though not portable", [one, following(one, state=moved(one))], None
    yield "moved without a trace", [other, following(other, state=moved(other, alsoKnownAs=[]))], None
    yield "of two keys", [first((KEY, NEXT), updateKeys=[KEY.multikey, NEXT.multikey])], None
    yield "of a key and a stranger", [first((KEY, WITNESS))], None
    committed = first(nextKeyHashes=[multihash(NEXT.multikey.encode())])
    for named, signer in (("the key", KEY), ("the next key", NEXT), ("a stranger's", WITNESS)):
        said: Json = {"updateKeys": [signer.multikey], "nextKeyHashes": []}
        yield f"committed, with {named}, by the key", [committed, following(committed, (KEY,), **said)], None
        yield f"committed, with {named}, by the next key", [committed, following(committed, (NEXT,), **said)], None
    yield "committed and unsaid", [committed, following(committed, (NEXT,), updateKeys=[NEXT.multikey])], None
    for place in PLACES:
        yield place, [first_of(place)], None
    for name, witness in WITNESSES.items():
        guarded = first(witness=witness)
        later = following(guarded, witness={"threshold": 1, "witnesses": [{"id": NEXT.multikey}]})
        for kind, approvals in approvals_of(guarded, later).items():
            yield f"witness {name}, {kind}", [guarded, later], approvals


CHANGES: dict[str, Json] = {
    "updated": {}, "rotated": {"updateKeys": [NEXT.multikey]}, "ended": {"deactivated": True}, "portable later": {"portable": True},
    "null": {"ttl": None, "watchers": None}, "an scid again": {"scid": "x"}, "unknown": {"unknown": 1}, "no list": {"watchers": [1]},
    "another method": {"method": "did:webvh:2.0"}, "no method": {"method": None},
    "keys twice": {"updateKeys": [KEY.multikey] * 2}, "ttl": {"ttl": 2**31 + 1},
    "a member of every object": {"constructor": 1}, "its prototype": {"__proto__": {}},
    "no boolean": {"deactivated": "x"}, "no key": {"updateKeys": ["z6Mk"]},
}  # fmt: skip
PLACES = (
    "127.0.0.1", "localhost", "example.com%3A8443", "example.com:..", "example.com:%2e%2e", "example.com:x%20y", "a.0x10", "a..b",
    "example.com:a%2Fb", "example.com:%C3%A9", "example.com:a%00", "example.com:a%FF",
    "example.com:a%FF%2F", "example.com:%EF%BB%BF", "example.com:%ED%A0%80",
)  # fmt: skip
ONE = [{"id": f"did:key:{WITNESS.multikey}"}]
WITNESSES: dict[str, Any] = {
    "one": {"threshold": 1, "witnesses": ONE},
    "two": {"threshold": 2, "witnesses": [{"id": WITNESS.multikey}, {"id": NEXT.multikey}]},
    "none": {},
    "empty": {"threshold": 1, "witnesses": []},
    "twice": {"threshold": 1, "witnesses": ONE * 2},
    "true": {"threshold": True, "witnesses": ONE},
    "texts": {"threshold": 1, "witnesses": ["x"]},
}


def approvals_of(before: Json, later: Json) -> dict[str, Any]:
    """Files of approvals for two entries."""
    good, new = approval(later), approval(later, NEXT)
    spoilt = {"versionId": good["versionId"], "proof": [1, {}, *good["proof"]]}
    return {
        "no file": None, "no approval": [], "an early approval": [approval(before)], "an approval": [good], "the new one's approval": [new],
        "both": [good, new], "no list": {}, "no approvals": [1], "bad approvals beside a good one": [spoilt],
    }  # fmt: skip


def webvh_files() -> dict[str, tuple[str, str | None]]:
    """Log and did-witness.json of each case, those of the public test suite among them, and some texts that are not JSON of one meaning."""
    made = {
        name: ("\n".join(map(json.dumps, entries)) + "\n", None if approvals is None else json.dumps(approvals))
        for name, entries, approvals in webvh_cases()
    }
    line = json.dumps(first())
    for name, spoilt in {
        "a name twice": line.replace('"versionTime"', '"versionTime": "", "versionTime"'),
        "a name twice by an escape": line.replace('"versionTime"', '"version\\u0054ime": "", "versionTime"'),
        "a colon in a text": json.dumps(first(watchers=['https://a.example:1/"{x": y}'])),
        "a large integer": line.replace('"parameters": {', '"parameters": {"ttl": 9007199254740993, '),
        "a day that there is not": line.replace("2026-01-01", "2026-02-30"),
        "brackets": "[" * 100_000,
    }.items():
        made[name] = (spoilt, None)
    for path in match_paths("webvh/*/*/did.jsonl"):
        if (ROOT / path).exists() and (ROOT / path).read_bytes():
            witnesses = (ROOT / path).with_name("did-witness.json")
            made[path] = (
                (ROOT / path).read_text("utf-8"),
                witnesses.read_text("utf-8") if witnesses.exists() else None,
            )
    return made


WEBVH = webvh_files()
WEBVH_NOW = datetime(2026, 11, 1, tzinfo=UTC)


def judged(log: str, witnesses: str | None) -> Json | None:
    """What the service says of a log; None where it refuses it."""
    try:
        verified = verify(log.encode(), now=WEBVH_NOW, witness_file=None if witnesses is None else witnesses.encode())
    except LogInvalid:
        return None
    return {
        "did": verified.did,
        "versions": verified.versions,
        "versionId": verified.head,
        "deactivated": verified.deactivated,
        "didDocument": verified.document,
    }
