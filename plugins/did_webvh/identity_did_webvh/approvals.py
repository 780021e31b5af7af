"""Witnesses of did:webvh 1.0 (§"DID Witnesses"): who must have approved an entry, and whether they did.

A witness signs ``{"versionId": …}``; its approval of a published entry holds for all entries before it. A list of witnesses
that is replaced still has to witness the entry that replaces it, or a stolen update key could replace its own guards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import orjson
from identity_did_ids import entry as entries
from msgspec import Struct

from identity_client import data_integrity
from identity_codec import multikey, strict_json
from identity_codec.ed25519 import Ed25519KeyPair
from identity_codec.multibase import base58btc_encode
from identity_core.domain.dids.state import LogInvalid

NOTHING: Final = b"[]\n"
"""The did-witness.json without an approval."""
ROOM: Final = 32
"""A did-witness.json has so many times the values of a request at most: 4,000 approvals, each of eight members."""
MOST_PENDING: Final = 64
"""Approvals of one witness that are kept although the entries are not approved by enough yet: who approves of everything leaves room for
the others."""


class Witnesses(Struct, frozen=True):
    """``threshold`` of ``keys`` (Ed25519 multikeys) must approve."""

    threshold: int
    keys: frozenset[str]


def read_witnesses(value: Any) -> Witnesses | None:
    """Return the parameter ``witness``; None for ``{}``. A witness is a did:key, or a bare multikey as one implementation writes it."""
    if value == {}:
        return None
    if type(value) is not dict or value.keys() != {"threshold", "witnesses"} or type(value["witnesses"]) is not list:
        raise LogInvalid("witness is malformed.")
    keys = []
    for item in value["witnesses"]:
        identifier = item.get("id") if type(item) is dict else None
        if type(identifier) is not str:
            raise LogInvalid("A witness has no id.")
        keys.append(identifier.removeprefix("did:key:"))
    threshold = value["threshold"]
    if len(set(keys)) != len(keys):
        raise LogInvalid("A witness is listed twice.")
    if type(threshold) is not int or not 1 <= threshold <= len(keys):
        raise LogInvalid("The threshold cannot be met, or is below 1.")
    for key in keys:
        _require_ed25519(key)
    return Witnesses(threshold, frozenset(keys))


def _require_ed25519(key: str) -> None:
    try:
        name, _ = multikey.decode_public(key)
    except ValueError as error:
        raise LogInvalid("A witness is not a did:key.") from error
    if name != multikey.ED25519:
        raise LogInvalid("A witness key is not of type Ed25519.")


def required_by(said: Iterable[Any]) -> list[Witnesses | None]:
    """Return the witnesses of each entry, from the parameter ``witness`` of all entries (None if an entry has none). A
    new list counts from the entry after it on; only one that follows an empty list counts at once."""
    required, guards = list[Witnesses | None](), None
    for value in said:
        listed = guards if value is None else read_witnesses(value)
        required.append(guards or listed)
        guards = listed
    return required


def check_witnessed(
    version_ids: Sequence[str], required: Sequence[Witnesses | None], witness_file: bytes | None
) -> None:
    """Raise ``LogInvalid`` unless every entry that ``required`` asks it of was approved, itself or by a later entry."""
    if not any(required):
        return
    if witness_file is None:
        raise LogInvalid("The log has witnesses and comes without their did-witness.json.")
    approvers = [set(proofs) for proofs in _good_approvals(version_ids, required, witness_file)]
    place = _unapproved(required, approvers)
    if place is not None:
        raise LogInvalid("Too few witnesses approved of the entry.", details={"line": place + 1})


def merge(
    version_ids: Sequence[str], required: Sequence[Witnesses | None], before: bytes | None, offered: bytes
) -> tuple[bytes, int]:
    """Return the did-witness.json with the approvals of both files, and how many of the entries, from the first, a reader takes who
    has it.

    Of each witness the newest approval for one of these is kept, because a reader of the log so far counts no other, and what approves of
    entries behind them, for when they are enough: ``MOST_PENDING`` of each witness, spread over the log. Anything else is left out.
    ``before`` is what this made, so its signatures are not looked at again. Raises ``LogInvalid`` for a malformed file.
    """
    approvals = _kept_approvals(version_ids, before or NOTHING)
    for found, more in zip(approvals, _good_approvals(version_ids, required, offered), strict=True):
        found.update((key, proof) for key, proof in more.items() if key not in found)
    taken = _count_approved(required, approvals)
    newest = {key: place for place in range(taken) for key in approvals[place]}
    pending = _pending(approvals, taken)
    shown = []
    for place, (version_id, found) in enumerate(zip(version_ids, approvals, strict=True)):
        kept = {key for key in found if (place in pending[key] if place >= taken else newest[key] == place)}
        proofs = [proof for key, proof in found.items() if key in kept]
        shown += [{"versionId": version_id, "proof": proofs}] if proofs else []
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2) + b"\n", taken


def _pending(approvals: Sequence[Collection[str]], taken: int) -> dict[str, list[int]]:
    """Return the places behind the first ``taken`` whose approvals are kept, by witness: the first and the newest, and of those
    between them not the ones that stand closest to their neighbours."""
    found: dict[str, list[int]] = {}
    for place in range(taken, len(approvals)):
        for key in approvals[place]:
            places = found.setdefault(key, [])
            places.append(place)
            if len(places) > MOST_PENDING:
                between = range(1, len(places) - 1)
                del places[min(between, key=lambda at: places[at + 1] - places[at - 1])]
    return found


def _count_approved(required: Sequence[Witnesses | None], approvals: Sequence[Collection[str]]) -> int:
    """Return how many entries, from the first, are approved by approvals of them alone."""
    # Of each entry: with how many, from the first, enough have approved of it or a later one. From the end backwards, so that the next
    # approval of each witness is known.
    following, enough, until = dict[str, int](), list[int](), 0
    guards: Witnesses | None = None
    for place in reversed(range(len(required))):
        if approvals[place] or required[place] is not guards:
            guards = required[place]
            following.update(dict.fromkeys(approvals[place], place + 1))
            until = _reached(guards, following, len(required) + 1)
        enough.append(until)
    taken, most = 0, 0
    for count, one in enumerate(reversed(enough), 1):
        most = max(most, one)
        if most <= count:
            taken = count
    return taken


def _reached(guards: Witnesses | None, following: Mapping[str, int], never: int) -> int:
    if guards is None:
        return 0
    places = sorted(following[key] for key in guards.keys if key in following)
    return places[guards.threshold - 1] if len(places) >= guards.threshold else never


def unapproved(
    version_ids: Sequence[str], required: Sequence[Witnesses | None], kept: bytes | None
) -> list[tuple[int, set[str]]]:
    """Return the places of the entries of which too few have approved, each with the keys of its witnesses that have, by ``kept``,
    which ``merge`` made."""
    found, seen = list[tuple[int, set[str]]](), set[str]()
    for place, approvals in reversed(list(enumerate(_kept_approvals(version_ids, kept or NOTHING)))):
        seen |= approvals.keys()
        witnesses = required[place]
        if witnesses is not None and len(seen & witnesses.keys) < witnesses.threshold:
            found.append((place, seen & witnesses.keys))
    return found[::-1]


def check_approval(version_id: str, proof: Mapping[str, Any]) -> str:
    """Return the key that made a valid ``proof`` of ``version_id``. Raises ``LogInvalid``."""
    return entries.check_proof(proof, {"versionId": version_id}, {entries.signer(proof)})


def _kept_approvals(version_ids: Sequence[str], kept: bytes) -> list[dict[str, dict[str, Any]]]:
    approvals = _read_approvals(kept)
    return [{entries.signer(proof): proof for proof in approvals.get(version, ())} for version in version_ids]


def _good_approvals(
    version_ids: Sequence[str], required: Sequence[Witnesses | None], witness_file: bytes
) -> list[dict[str, dict[str, Any]]]:
    """Return the good proofs in the file of each version, by the key of the witness."""
    approvals = _read_approvals(witness_file)
    everybody = {key for witnesses in set(required) if witnesses is not None for key in witnesses.keys}
    return [_approvers(version_id, approvals, everybody) for version_id in version_ids]


def _unapproved(required: Sequence[Witnesses | None], approvers: Sequence[set[str]]) -> int | None:
    """Return the place of the last entry of which too few approved, itself or by a later entry."""
    seen: set[str] = set()
    for place in reversed(range(len(required))):
        seen |= approvers[place]
        witnesses = required[place]
        if witnesses is not None and len(seen & witnesses.keys) < witnesses.threshold:
            return place
    return None


def _read_approvals(witness_file: bytes) -> dict[str, list[dict[str, Any]]]:
    try:
        value = strict_json.loads(witness_file, room=ROOM)
    except strict_json.JsonRefused as error:
        raise LogInvalid(f"did-witness.json is {error.reason}.") from error
    if type(value) is not list:
        raise LogInvalid("did-witness.json is not a list.")
    approvals: dict[str, list[dict[str, Any]]] = {}
    for item in value:
        proofs = item.get("proof") if type(item) is dict else None
        if type(proofs) is not list or type(item.get("versionId")) is not str:
            raise LogInvalid("did-witness.json is malformed.")
        approvals.setdefault(item["versionId"], []).extend(proof for proof in proofs if type(proof) is dict)
    return approvals


def _approvers(
    version_id: str, approvals: dict[str, list[dict[str, Any]]], everybody: set[str]
) -> dict[str, dict[str, Any]]:
    """Return the good proofs of this version by the witness; a bad proof counts for nothing, and spoils nothing."""
    found = {}
    for proof in approvals.get(version_id, ()):
        try:
            found[entries.check_proof(proof, {"versionId": version_id}, everybody)] = proof
        except LogInvalid:
            continue
    return found


def approve(witness_file: bytes | None, version_id: str, pair: Ed25519KeyPair, created: str) -> bytes:
    """Return the did-witness.json with the approval of ``version_id`` by the key of ``pair``, which replaces the earlier ones of this key.

    ``created`` is an RFC 3339 time. Raises ``LogInvalid`` for an invalid ``witness_file``.
    """
    key = multikey.encode_public(multikey.ED25519, pair.public)
    method = f"did:key:{key}#{key}"
    approvals = {} if witness_file is None else _read_approvals(witness_file)
    others = {
        version: [proof for proof in proofs if proof.get("verificationMethod") != method]
        for version, proofs in approvals.items()
    }
    config = entries.proof_config(key, created)
    signature = pair.sign(data_integrity.proof_input(config, {"versionId": version_id}))
    others.setdefault(version_id, []).append(config | {"proofValue": base58btc_encode(signature)})
    shown = [{"versionId": version, "proof": proofs} for version, proofs in others.items() if proofs]
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2) + b"\n"
