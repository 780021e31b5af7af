"""A line of a log in the did:webvh 1.0 entry shape: its hashes and its Data Integrity proofs.

``{versionId, versionTime, parameters, state, proof}``. Hashes are base58btc multihashes of the SHA-256 of the JCS (RFC 8785);
proofs are ``eddsa-jcs-2022`` (VC Data Integrity EdDSA 1.0 §3.3) by did:key verification methods. ``chain`` (this package's methods)
and ``webvh`` define parameters and state. All errors are ``LogInvalid``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_client import data_integrity
from identity_client.data_integrity import signer_of_proof
from identity_codec import jcs, multibase, strict_json, times
from identity_codec.deprecation import OldMember
from identity_core.domain.dids.logs import multihash
from identity_core.domain.dids.state import LogInvalid

MEMBERS: Final = frozenset({"versionId", "versionTime", "parameters", "state", "proof"})
PLACEHOLDER: Final = "{SCID}"

HASH: Final = re.compile(r"Qm[1-9A-HJ-NP-Za-km-z]{44}", re.ASCII)
"""What a base58btc multihash of SHA-256 looks like: always 46 characters."""

_VERSION_ID: Final = re.compile(rf"([1-9][0-9]{{0,9}})-({HASH.pattern})", re.ASCII)


class Entry(Struct, frozen=True):
    """A parsed entry. Only its shape was checked. ``body`` is the entry without its proofs."""

    number: int
    hash: str
    version_time: str
    time: datetime
    parameters: dict[str, Any]
    state: dict[str, Any]
    proofs: list[dict[str, Any]]
    body: dict[str, Any]

    @property
    def version_id(self) -> str:
        """``<number>-<hash>``."""
        return f"{self.number}-{self.hash}"


def parse(data: bytes) -> Entry:
    """Parse a line, with any order of members and any whitespace."""
    try:
        value = strict_json.loads(data)
    except strict_json.JsonRefused as error:
        raise LogInvalid(f"The entry is {error.reason}.") from error
    return _read(value)


class EntryBody(Struct, frozen=True):
    """An entry without its proof, parameters and state already in canonical form.

    The members around them are written out here. To canonicalize the whole entry three times, for the hash, the signature and the
    result, took a tenth of the time of a creation.
    """

    parameters: bytes
    state: bytes
    version_time: str
    octets = OldMember("encode")

    @classmethod
    def from_json(
        cls, parameters: Mapping[str, Any], state: Mapping[str, Any], version_time: str, *, has_body: bool = True
    ) -> EntryBody:
        """Make the body from JSON objects; ``state`` is that of a document.

        ``has_body``: the parameters may contain the body of a request, in which fractions can occur. Raises ``LogInvalid``: for a
        value that JCS cannot express.
        """
        written = canonical(parameters) if has_body else canonical_plain(parameters)
        return cls(written, canonical_plain(state), version_time)

    def encode(self, version_id: str, proof: bytes = b"") -> bytes:
        """Return the JCS of the entry; ``version_id`` and the time are ASCII that needs no escapes, ``proof`` is the JCS of a proof."""
        proofs = b'"proof":[%b],' % proof if proof else b""
        tail = f',"versionId":"{version_id}","versionTime":"{self.version_time}"}}'.encode("ascii")
        return b'{"parameters":%b,%b"state":%b%b' % (self.parameters, proofs, self.state, tail)

    def named(self, scid: str) -> EntryBody:
        """Return the body with the identifier instead of the placeholder."""
        placeholder, name = PLACEHOLDER.encode(), scid.encode("ascii")
        return EntryBody(
            self.parameters.replace(placeholder, name), self.state.replace(placeholder, name), self.version_time
        )


def parse_canonical(data: bytes) -> Entry:
    """Parse a line in canonical form. An ambiguous line, with a repeated member or a number that does not fit, is refused, because
    it would be written differently from how it was read."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise LogInvalid("The entry is not JSON.") from error
    if canonical(value) != data:
        raise LogInvalid("The entry is not in canonical form.")
    return _read(value)


def _read(value: Any) -> Entry:
    """Read an entry with exactly the five members, each of its type."""
    if type(value) is not dict or value.keys() != MEMBERS:
        raise LogInvalid("The entry does not have exactly the members of an entry.")
    proofs = value["proof"]
    if type(proofs) is not list or not proofs or not all(type(proof) is dict for proof in proofs):
        raise LogInvalid("The entry has no proof.")
    if type(value["parameters"]) is not dict or type(value["state"]) is not dict:
        raise LogInvalid("Parameters and state are objects.")
    version_id, version_time = value["versionId"], value["versionTime"]
    match = _VERSION_ID.fullmatch(version_id) if type(version_id) is str else None
    if match is None:
        raise LogInvalid("The versionId is not a number and a hash.")
    try:
        time = times.parse(version_time)
    except ValueError as error:
        raise LogInvalid("The versionTime is not a time.") from error
    if version_time[-1] not in "Zz":
        raise LogInvalid("The versionTime is not in UTC.")
    body = {name: value[name] for name in value if name != "proof"}
    return Entry(int(match[1]), match[2], version_time, time, value["parameters"], value["state"], proofs, body)


def check_first_hash(entry: Entry, scid: str) -> None:
    """Check the hashes of a first entry. Raises ``LogInvalid``.

    The identifier is the hash of the entry with a placeholder instead of each occurrence of the identifier. The entry's own hash
    covers the entry with the identifier and without its proof.
    """
    data = canonical(entry.body | {"versionId": scid})
    if multihash(data.replace(scid.encode(), PLACEHOLDER.encode())) != scid:
        raise LogInvalid("The identifier does not follow from the first entry.")
    if multihash(data) != entry.hash:
        raise LogInvalid("The hash of the entry does not fit its content.")


def check_next_hash(entry: Entry, predecessor: str) -> None:
    """Check the hash of a later entry. It covers the entry without its proof, with the predecessor's version id instead of its own."""
    if multihash(canonical(entry.body | {"versionId": predecessor})) != entry.hash:
        raise LogInvalid("The hash of the entry does not fit its content and predecessor.")


def proof_config(signer: str, created: str, possessions: Mapping[str, bytes] | None = None) -> dict[str, Any]:
    """Return a proof without its value.

    - ``signer``: an Ed25519 multikey.
    - ``possessions``: the proofs of BBS keys by multikey. They are in the proof because they name the DID, which is the hash of
      everything else in its first entry.
    """
    config = data_integrity.proof_config(signer, created)
    if possessions:
        config["possession"] = {key: multibase.base64url_encode(proof) for key, proof in possessions.items()}
    return config


def read_possessions(proof: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the proofs of BBS keys in a proof, by multikey. Raises ``LogInvalid``, ``ValueError``."""
    said = proof.get("possession", {})
    if type(said) is not dict or not all(type(text) is str for text in said.values()):
        raise LogInvalid("The proofs of possession are not texts by key.")
    return {key: multibase.base64url_decode(text) for key, text in said.items()}


def signing_input(config: Mapping[str, Any], data: bytes) -> bytes:
    """Return ``data_integrity.proof_input`` of a configuration from ``proof_config`` and a canonical document."""
    return hashlib.sha256(canonical_plain(config)).digest() + hashlib.sha256(data).digest()


def check_proof(
    proof: Mapping[str, Any], document: Mapping[str, Any], signers: Collection[str], now: datetime | None = None
) -> str:
    """Return the multikey, one of ``signers``, that made ``proof`` of ``document``; ``now`` as in ``data_integrity.check_proof``. Raises
    ``LogInvalid``."""
    try:
        return data_integrity.check_proof(proof, document, signers, now)
    except ValueError as error:
        raise LogInvalid(str(error)) from error


def signer(proof: Mapping[str, Any]) -> str:
    """Return the multikey that a proof names, checked or not. Raises ``LogInvalid``."""
    try:
        return signer_of_proof(proof)
    except ValueError as error:
        raise LogInvalid(str(error)) from error


def canonical(value: Any) -> bytes:
    """Return the JCS of a part of an entry."""
    try:
        return jcs.canonicalize(value)
    except ValueError as error:
        raise LogInvalid(f"The entry is {error}.") from error


def canonical_plain(value: Any) -> bytes:
    """Return the JCS of a part that this package made, which has neither fractions nor names beyond ASCII."""
    try:
        return jcs.canonicalize_plain(value)
    except ValueError as error:
        raise LogInvalid(f"The entry is {error}.") from error


def method_of(first: Mapping[str, Any]) -> str | None:
    """Return the DID method that ``parameters.method`` of a first entry names; None unless its version is 1.0."""
    match str(first.get("method")).split(":"):
        case ["did", name, "1.0"]:
            return name
    return None
