"""did:key for the key types of the service: Ed25519, X25519, BLS12-381 G2; P-256 resolves only.

A did:key resolves without ever having been registered. Registering one records a log of a single entry, which proves who recorded it and
when, and nothing about the key; it can never change. If the setting is on, a document of an Ed25519 key also has the X25519 key that
follows from it (did:key, "Document Creation Algorithm", enableEncryptionKeyDerivation). Left out on purpose: key types that nothing here
could check a signature of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from typing import Final

from identity_did_ids import entry as entries
from identity_did_ids import foreign
from identity_did_ids.chain import MAX_ENTRY, DraftedEntry
from identity_did_ids.entry import EntryBody
from identity_did_ids.revision import Revision

from identity_codec import multikey, times, x25519
from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.dids import document as documents
from identity_core.domain.dids import keys
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Change, Create
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.logs import multihash
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import IdentityError, InvalidDid, InvalidDocument

VERSION: Final = "did:key:1.0"
# Multibase of the multicodec prefix 0x1200 of a compressed key on P-256.
P256_PREFIX: Final = "zDn"

# As the method lists them: secp256k1 (0xe7), P-384 (0x1201), P-521 (0x1202), and RSA (0x1205) of 2048 and 4096 bits.
UNSUPPORTED: Final = {"zQ3s": "secp256k1", "z82": "P-384", "z2J9": "P-521", "z4MX": "RSA", "zgg": "RSA"}

EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""A did:key that was never registered has no birth: it is taken to have been there since the epoch."""

TRAITS: Final[dict[str, bool]] = json.loads(files(__package__).joinpath("traits.json").read_bytes())


@dataclass(frozen=True, slots=True)
class DidKeySettings:
    """``[plugins.key]``. Registered DIDs keep the document that they were recorded with."""

    derive_x25519: bool = field(
        default=False,
        metadata={"help": "Whether the document of an Ed25519 key has the X25519 key that follows from it."},
    )


class DidKey:
    """``DescribedDidMethod``: immutable, pure."""

    name = "key"
    mutable = False
    traits = TRAITS
    # RFC 8032 §7.1, test 1: a key that is public in both halves.
    test_identifiers = ("did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",)

    def __init__(self, settings: DidKeySettings) -> None:
        self._derives = settings.derive_x25519

    def check(self, did: Did) -> None:
        """Raise ``InvalidDid`` unless the identifier is the multikey of a type that the service knows, of a key that is not weak."""
        self.expand(did)

    def expand(self, did: Did) -> DidState | None:
        """Return the whole state, from the identifier alone. A key on P-256 is shown as others show it, and cannot be registered."""
        if did.identifier.startswith(P256_PREFIX):
            return foreign.build_foreign_state(did, _p256_members(did), EVER)
        return _state(did, _document(did, derives=self._derives), EVER)

    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> DraftedEntry:
        """Return the one entry of a did:key. Raises ``InvalidDocument`` for everything that a did:key cannot contain."""
        if state is not None or not isinstance(change, Create):
            raise InvalidDocument("A did:key never changes.")
        if signer not in change.update_keys:
            raise InvalidDocument("This key may not sign entries of the DID.", details={"key": signer[:64]})
        did = _did(change)
        document = _document(did, derives=self._derives)
        parameters = {"method": VERSION, "updateKeys": [signer]}
        body = EntryBody.from_json(parameters, document.to_json(), times.printed_exactly(at))
        entry_hash = multihash(body.encode(did.identifier))
        after = replace(_state(did, document, at), entry_hash=entry_hash, update_keys=(signer,))
        return DraftedEntry.from_body(body, after, entries.proof_config(signer, body.version_time))

    def apply(self, state: DidState | None, entry: bytes) -> DidState:
        """Return the state that the one entry records. Raises ``LogInvalid``."""
        if state is not None or len(entry) > MAX_ENTRY:
            raise LogInvalid("A did:key has one entry, and a small one.")
        try:
            return _apply(entries.parse_canonical(entry))
        except (IdentityError, ValueError) as error:
            raise LogInvalid("The entry is malformed." if isinstance(error, ValueError) else str(error)) from error


def _p256_members(did: Did) -> dict[str, JsonValue]:
    """Return the document of a key on P-256 (did:key, "Document Creation Algorithm"). Raises ``InvalidDid``."""
    try:
        keys.PublicKey.parse(multikey.P256, did.identifier)
    except InvalidDocument as error:
        raise _unusable(did, error) from error
    key_id = f"{did}#{did.identifier}"
    method: JsonValue = {
        "id": key_id,
        "type": keys.MULTIKEY,
        "controller": str(did),
        "publicKeyMultibase": did.identifier,
    }
    signing: dict[str, JsonValue] = {name: [key_id] for name in keys.ED25519.allowed}
    return {
        "@context": ["https://www.w3.org/ns/did/v1", keys.MULTIKEY_CONTEXT],
        "id": str(did),
        "verificationMethod": [method],
        **signing,
    }


def _unusable(did: Did, error: Exception) -> InvalidDid:
    kind = next((kind for start, kind in UNSUPPORTED.items() if did.identifier.startswith(start)), None)
    reason = error if kind is None else f"{kind} is not supported; Ed25519, X25519, P-256 and BLS12-381 G2 are"
    return InvalidDid(f"The DID is not a did:key that can be used here: {reason}", details={"did": did.safe_text})


def _did(change: Create) -> Did:
    """Return the DID that a creation asks for: one key, and nothing beside it."""
    if len(change.keys) != 1 or change.services or change.also_known_as or change.recovery_key is not None:
        raise InvalidDocument("A did:key has one key and nothing else: no services, names or recovery key.")
    if change.strict_evidence or change.recovery_window is not None:
        member = "strictEvidence" if change.strict_evidence else "recoveryWindow"
        raise InvalidDocument(f"A did:key never changes: leave {member} out.", details={"member": member})
    (key,) = change.keys
    keys.PublicKey.parse(key.type, key.public)
    keys.check_purposes(key.type, key.purposes)
    return Did(f"did:key:{key.public}", "key", key.public)


def _document(did: Did, *, derives: bool) -> DidDocument:
    """Return the document of a did:key: its key, with every purpose that the type may serve, and with ``derives`` the key that
    follows from it."""
    try:
        kind, raw = multikey.decode_public(did.identifier)
        if kind == multikey.P256:
            raise ValueError("a key on P-256 signs credentials here, and cannot sign for its DID")
        revision = Revision.from_document(DidDocument(str(did), (), ()))
        revision.add_key(keys.Key(kind, did.identifier, keys.key_type(kind).allowed))
        if derives and kind == multikey.ED25519:
            derived = multikey.encode_public(multikey.X25519, x25519.from_ed25519(raw))
            revision.add_key(keys.Key(multikey.X25519, derived, ("keyAgreement",)))
        document = revision.document()
        documents.check(document)
    except (ValueError, InvalidDocument) as error:
        raise _unusable(did, error) from error
    return document


def _state(did: Did, document: DidDocument, at: datetime) -> DidState:
    return DidState(
        did=did,
        version_id=1,
        created_at=at,
        updated_at=at,
        operation=history.CREATE,
        entry_hash="",
        previous_hash=None,
        document=document,
    )


def _apply(entry: entries.Entry) -> DidState:
    did = Did.parse(DidDocument.read(entry.state).did)
    # Either form, so that no change of the setting makes what was recorded invalid.
    forms = (_document(did, derives=derives) for derives in (False, True))
    document = next((form for form in forms if form.to_json() == entry.state), None)
    update_keys = entry.parameters.get("updateKeys")
    if did.method != "key" or document is None or entry.number != 1:
        raise LogInvalid("The document is not the one of this did:key.")
    if type(update_keys) is not list or entry.parameters != {"method": VERSION, "updateKeys": update_keys}:
        raise LogInvalid("The parameters are not those of a did:key.")
    if len(entry.proofs) != 1 or entry.version_time != times.printed_exactly(entry.time):
        raise LogInvalid("The entry has another form of time, or not one proof.")
    entries.check_next_hash(entry, did.identifier)
    signer = entries.check_proof(entry.proofs[0], entry.body, update_keys)
    if update_keys != [signer] or entry.proofs[0].get("created") != entry.version_time:
        raise LogInvalid("The proof says something else than the entry.")
    state = _state(did, document, entry.time)
    return replace(state, entry_hash=entry.hash, update_keys=(signer,))
