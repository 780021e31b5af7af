"""Logs of did:webvh 1.0 (https://identity.foundation/didwebvh/v1.0/), read only: §"Read (Resolve)", "DID Method Parameters",
"Pre-Rotation", "DID Portability", "DID Witnesses".

What is left out on purpose: fetching (a log is given as bytes), watchers beyond their shape, upgrades to a later version of the
method. The documents are whatever their controllers wrote; only their ``id`` and, after a move, ``alsoKnownAs`` are looked at.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from identity_did_ids import entry as entries
from identity_did_ids.entry import Entry
from msgspec import Struct

from identity_codec import multikey
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.logs import key_hash
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import InvalidDid
from identity_did_webvh.approvals import Witnesses, check_witnessed, read_witnesses

VERSION: Final = "did:webvh:1.0"
MAX_LINE: Final = 256 * 1024

_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?P<top>[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)"
    r"(?:%3A[1-9][0-9]{1,4})?",
    re.ASCII,
)
_HEXADECIMAL: Final = re.compile(r"(?:0[xX][0-9A-Fa-f]*|[0-9]+)", re.ASCII)
_DEFAULTS: Final[dict[str, Any]] = {
    "updateKeys": [],
    "nextKeyHashes": [],
    "witness": {},
    "watchers": [],
    "portable": False,
    "deactivated": False,
    "ttl": 3600,
}
_MAX_TTL: Final = 2**31


class WebvhState(Struct, frozen=True):
    """The state of a did:webvh log after an entry: the parameters in force for the next one."""

    did: Did
    scid: str
    number: int
    version_id: str
    time: datetime
    document: dict[str, Any]
    update_keys: tuple[str, ...]
    next_key_hashes: tuple[str, ...]
    witnesses: Witnesses | None
    portable: bool
    deactivated: bool


def parse_did(text: str) -> Did:
    """Return a did:webvh DID. Raises ``InvalidDid``: a host is a domain name and no address however encoded, a path climbs nowhere."""
    did = Did.parse(text)
    scid, _, rest = did.identifier.partition(":")
    host, *path = rest.split(":")
    match = _HOST.fullmatch(host)
    if did.method != "webvh" or entries.HASH.fullmatch(scid) is None or match is None:
        raise InvalidDid(details={"did": did.safe_text})
    # An address has a number for its last label (WHATWG URL, "ends in a number"), and no domain does.
    if _HEXADECIMAL.fullmatch(match["top"]) is not None:
        raise InvalidDid("The host is an address.", details={"did": did.safe_text})
    for segment in path:
        plain = urllib.parse.unquote(segment)
        if plain in ("", ".", "..") or not plain.isprintable() or set("/\\?#%") & set(plain):
            raise InvalidDid("The path leaves its place.", details={"did": did.safe_text})
    return did


def verify_entries(
    lines: Sequence[bytes], *, now: datetime | None, witness_file: bytes | None, approved: bool = True
) -> tuple[WebvhState, ...]:
    """Return the state after each line. ``now`` refuses entries of the future (None: unchecked); ``witness_file`` are the bytes of
    ``did-witness.json``. ``approved`` False is for a witness, which checks entries without an approval. Raises ``LogInvalid`` with the
    ``line`` in its details.
    """
    states: list[WebvhState] = []
    for place, line in enumerate(lines, start=1):
        before = states[-1] if states else None
        try:
            if len(line) > MAX_LINE:
                raise LogInvalid("The entry is too large.")
            state = _next(before, entries.parse(line), now)
        except (LogInvalid, InvalidDid) as error:
            raise LogInvalid(str(error), details={"line": place}) from error
        states.append(state)
    if approved:
        check_witnessed([state.version_id for state in states], required_witnesses(states), witness_file)
    return tuple(states)


def required_witnesses(states: Sequence[WebvhState]) -> list[Witnesses | None]:
    """Return the witnesses of each entry. A new list of witnesses counts from the entry after it on; only the first
    list counts at once."""
    before = [None, *(state.witnesses for state in states)]
    return [state.witnesses if old is None else old for state, old in zip(states, before, strict=False)]


def _next(before: WebvhState | None, entry: Entry, now: datetime | None) -> WebvhState:
    parameters = _parameters(before, entry)
    if entry.number != (1 if before is None else before.number + 1):
        raise LogInvalid("The entry does not have the next number.")
    if before is not None and before.deactivated:
        raise LogInvalid("The DID was deactivated before this entry.")
    if before is not None and entry.time <= before.time:
        raise LogInvalid("The entry is not later than the one before.")
    scid = parameters["scid"] if before is None else before.scid
    if before is None:
        entries.check_first_hash(entry, scid)
    else:
        entries.check_next_hash(entry, before.version_id)
    if before is not None and before.next_key_hashes and not {"updateKeys", "nextKeyHashes"} <= entry.parameters.keys():
        raise LogInvalid("With pre-rotation every entry says updateKeys and nextKeyHashes.")
    signers = _signers(before, parameters)
    if now is not None and entry.time > now:
        raise LogInvalid("The entry is of the future.")
    for proof in entry.proofs:
        entries.check_proof(proof, entry.body, signers, now)
    return WebvhState(
        did=_did(before, entry, scid, portable=parameters["portable"]),
        scid=scid,
        number=entry.number,
        version_id=entry.version_id,
        time=entry.time,
        document=entry.state,
        update_keys=tuple(parameters["updateKeys"]),
        next_key_hashes=tuple(parameters["nextKeyHashes"]),
        witnesses=read_witnesses(parameters["witness"]) if "witness" in entry.parameters else _witnesses(before),
        portable=parameters["portable"],
        deactivated=parameters["deactivated"],
    )


def _witnesses(before: WebvhState | None) -> Witnesses | None:
    return None if before is None else before.witnesses


def _parameters(before: WebvhState | None, entry: Entry) -> dict[str, Any]:
    """Return the parameters in force with this entry: its own over those before over the defaults."""
    given = {name: _DEFAULTS.get(name) if value is None else value for name, value in entry.parameters.items()}
    if unknown := sorted(given.keys() - _DEFAULTS.keys() - {"method", "scid"}):
        raise LogInvalid(f"The parameter {unknown[0][:64]!r} is unknown.")
    if given.get("method", None if before is None else VERSION) != VERSION:
        raise LogInvalid("The log is of another version of did:webvh.")
    if before is None:
        if type(given.get("scid")) is not str or "updateKeys" not in given:
            raise LogInvalid("The first entry lacks scid or updateKeys.")
    elif "scid" in given:
        raise LogInvalid("Only the first entry has an scid.")
    _check_types(given)
    if before is not None and given.get("portable") is True and not before.portable:
        raise LogInvalid("A DID is portable from the start or never.")
    return _DEFAULTS | _in_force(before) | given


def _in_force(before: WebvhState | None) -> dict[str, Any]:
    if before is None:
        return {}
    return {
        "updateKeys": list(before.update_keys),
        "nextKeyHashes": list(before.next_key_hashes),
        "portable": before.portable,
    }


def _check_types(given: dict[str, Any]) -> None:
    for name in ("updateKeys", "nextKeyHashes", "watchers"):
        values = given.get(name, [])
        if type(values) is not list or not all(type(value) is str for value in values):
            raise LogInvalid(f"{name} is not a list of texts.")
        if len(set(values)) != len(values):
            raise LogInvalid(f"{name} says something twice.")
    for name in ("portable", "deactivated"):
        if type(given.get(name, False)) is not bool:
            raise LogInvalid(f"{name} is neither true nor false.")
    ttl = given.get("ttl", 0)
    if type(ttl) is not int or not 0 <= ttl <= _MAX_TTL:
        raise LogInvalid("ttl is not a number of seconds.")


def _signers(before: WebvhState | None, parameters: dict[str, Any]) -> list[str]:
    """Return the keys that may sign the entry: the keys before it; with pre-rotation its own, which the entry before
    has committed to."""
    own: list[str] = parameters["updateKeys"]
    if before is None:
        signers = own
    elif not before.next_key_hashes:
        signers = list(before.update_keys)
    else:
        if any(key_hash(key) not in before.next_key_hashes for key in own):
            raise LogInvalid("An update key was not committed to.")
        signers = own
    for key in signers:
        try:
            name, _ = multikey.decode_public(key)
        except ValueError as error:
            raise LogInvalid("An update key is not a multikey.") from error
        if name != multikey.ED25519:
            raise LogInvalid("An update key is not of type Ed25519.")
    return signers


def _did(before: WebvhState | None, entry: Entry, scid: str, *, portable: bool) -> Did:
    text = entry.state.get("id")
    did = parse_did(text if type(text) is str else "")
    if did.identifier.partition(":")[0] != scid:
        raise LogInvalid("The document is of another DID.")
    if before is None or did == before.did:
        return did
    aliases = entry.state.get("alsoKnownAs")
    if not portable or type(aliases) is not list or before.did.text not in aliases:
        raise LogInvalid("The DID was moved without being portable, or without naming where it came from.")
    return did
