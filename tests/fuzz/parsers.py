"""Every parser that takes bytes or text of strangers: how it is called, what it may raise, and valid inputs to start from."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from identity_bound_credentials.domain.bound_format import parse_credential
from identity_commands import verify_log as verifier
from identity_did_ids import entry
from identity_oauth.domain import tokens as token
from identity_prover_bbs.envelope import Envelope
from identity_transparency.domain.history import LoggedHistory

from identity_bbs.bls12381.choice import select
from identity_bbs.encoding import octets_to_proof, octets_to_public_key, octets_to_signature
from identity_bbs.suite import BbsProofInvalid, BbsSignatureInvalid, ciphersuite
from identity_client.action import Action, Grant, literal_of
from identity_client.capability import Capability, CapabilityInvalid, delegation_id
from identity_client.challenge import Challenge, build_header
from identity_codec import jcs, multibase, multikey, strict_json, times
from identity_core.api.errors import negotiate
from identity_core.domain.credentials import status_list
from identity_core.domain.dids import challenge
from identity_core.domain.dids import did as endpoint
from identity_core.domain.dids.did import Did
from identity_core.errors import IdentityError, NotAcceptable
from identity_core.throttle.policy import client_address, parse_proxies
from identity_tlog import proofs as proof_text
from identity_tlog import tiles
from identity_tlog.leaf import LogLeaf, read_head
from identity_tlog.note import Checkpoint, Note, VerifierKey
from identity_tlog.policy import WitnessPolicy
from identity_tlog.tiles import Tile
from identity_tlog.tree import Malformed
from identity_tlog.witness import Submission

HANA = "did:ids:QmPZ9gcCEpqKTo6aq61g2nXGUhM4iCL3ewB6LDXZCtioEB"
KEY = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
UUID = "2b0d9b6e-8c1f-4d9e-9b64-1c9f3c6f0a11"
TOKEN = {
    "id": f"urn:uuid:{UUID}",
    "type": "InvocationBoundCapabilityToken",
    "invoker": HANA,
    "target": f"did:key:{KEY}",
    "action": "zkp.prove.age.gte.18",
    "delegationRef": UUID,
    "nonce": "n" * 22,
    "issuedAt": "2026-11-22T10:00:00Z",
    "expiresAt": "2026-11-22T11:00:00Z",
    "proofValue": "z" + multibase.base58_encode(bytes(range(64))),
}
ROOT_HASH = base64.b64encode(bytes(32)).decode()
CHECKPOINT = f"id.example/api/v1/ledger\n7\n{ROOT_HASH}\n"
NOTE = f"{CHECKPOINT}\n— id.example {base64.b64encode(bytes(68)).decode()}\n"
LOG_VKEY = "id.example+b2195917+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
WITNESS_VKEY = "w.example+5eda88e9+BDtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
ENTRY = {
    "versionId": "1-Qm",
    "versionTime": "2026-11-22T10:00:00Z",
    "parameters": {"method": "did:ids:1.0", "scid": "Qm", "updateKeys": [KEY]},
    "state": {"id": HANA},
    "proof": [{"type": "DataIntegrityProof", "cryptosuite": "eddsa-jcs-2022", "proofValue": f"z{'1' * 64}"}],
}
SUITE = ciphersuite(select())
Refusals = tuple[type[Exception], ...]


@dataclass(frozen=True)
class Parser:
    """``call`` gets bytes. ``write`` gives the bytes that the value stands for, where there is only one way to write it."""

    call: Callable[[bytes], Any]
    raises: Refusals
    seeds: tuple[bytes, ...]
    write: Callable[[Any], bytes] | None = None


def of_text(
    call: Callable[[str], Any], raises: Refusals, *seeds: str, write: Callable[[Any], str] | None = None
) -> Parser:
    """A parser of text: it gets bytes as Latin-1, the way header fields and paths come, or as UTF-8 where they are that."""

    def decoded(data: bytes) -> Any:
        try:
            return call(data.decode())
        except UnicodeDecodeError:
            return call(data.decode("latin-1"))

    again = None if write is None else lambda value: write(value).encode()
    return Parser(decoded, raises, tuple(seed.encode() for seed in seeds), again)


def of_json(call: Callable[[Any], Any], raises: Refusals, *seeds: Any, shape: type = dict) -> Parser:
    """A parser of what the edge has read as JSON, and found to be of this shape."""

    def loaded(data: bytes) -> Any:
        value = strict_json.loads(data)
        return call(value) if isinstance(value, shape) else None

    return Parser(loaded, (*raises, strict_json.JsonRefused), tuple(json.dumps(seed).encode() for seed in seeds))


def capability(value: Mapping[str, Any]) -> Capability | None:
    """Behind the document's schema, which lets through exactly the ten members as strings."""
    if value.keys() != TOKEN.keys() or not all(isinstance(member, str) for member in value.values()):
        return None
    return Capability.parse(value, places=("https://id.example/api/v1/delegations/",))


PARSERS: dict[str, Parser] = {
    "strict_json": Parser(
        strict_json.loads,
        (strict_json.JsonRefused,),
        (b'{"a":[1,2.5,{"b":null}],"c":"\\u00e4"}', b'{"a":1,"a":2}', b"[" * 33 + b"]" * 33, b"123456789012345678901"),
    ),
    "jcs": of_json(jcs.canonicalize, (ValueError,), {"b": 1e21, "a": ["\u20ac", True]}, shape=object),
    "base58btc": of_text(multibase.base58btc_decode, (ValueError,), KEY, write=multibase.base58btc_encode),
    "base64url": of_text(multibase.base64url_decode, (ValueError,), "AAECAw", write=multibase.base64url_encode),
    "multikey": of_text(multikey.decode_public, (ValueError,), KEY, write=lambda found: multikey.encode_public(*found)),
    "did": of_text(Did.parse, (IdentityError,), HANA, f"did:key:{KEY}", "did:web:id.example:hana", write=str),
    "challenge": of_text(
        Challenge.parse, (ValueError,), f"didauth:v1 https://id.example {HANA} update - {'A' * 43} 2026-11-22T10:00:00Z"
    ),
    "didauth_header": of_text(
        challenge.parse_header,
        (IdentityError,),
        build_header(HANA, bytes(64)),
        write=lambda found: build_header(str(found.did) if found.named is None else found.named.text, found.signature),
    ),
    "time": of_text(times.parse, (ValueError,), "2026-11-22T10:00:00Z", "2026-11-22T10:00:00.123456+01:00"),
    "ibct": of_json(capability, (CapabilityInvalid,), TOKEN),
    "delegation_ref": of_text(
        lambda text: delegation_id(text, ("https://id.example/d/",)),
        (),
        UUID,
        f"urn:uuid:{UUID}",
        f"https://id.example/d/{UUID}",
    ),
    "action": of_text(Action.parse, (ValueError,), "zkp.prove.age.gte", "zkp.prove.age.gte.18"),
    "grant": of_text(Grant.parse, (ValueError,), "zkp.prove.age.gte.18", "zkp.prove.*"),
    "pin": of_text(literal_of, (ValueError,), "18", "s-AAAA"),
    "uri": of_text(
        lambda text: endpoint.check_uri(text, "serviceEndpoint"), (IdentityError,), "https://a.example/ä?b#c"
    ),
    "fragment": of_text(endpoint.check_fragment, (IdentityError,), "files"),
    "scopes": of_text(token.parse_scopes, (ValueError,), "dids:create zkp:prove"),
    "credential": of_json(
        parse_credential,
        (IdentityError,),
        {
            "@context": ["https://www.w3.org/ns/credentials/v2"],
            "type": ["VerifiableCredential"],
            "id": f"urn:uuid:{UUID}",
        },
    ),
    "status_list_id": of_text(status_list.parse_public_id, (ValueError, IdentityError), f"{'A' * 22}-revocation"),
    "log_entry": Parser(entry.parse, (IdentityError,), (json.dumps(ENTRY, separators=(",", ":")).encode(),)),
    "log": Parser(
        lambda data: verifier.verify(data, now=datetime(2026, 11, 22, tzinfo=UTC)),
        (IdentityError,),
        (json.dumps(ENTRY).encode() + b"\n",),
    ),
    "note": Parser(Note.parse, (ValueError, IdentityError), (NOTE.encode(),)),
    "checkpoint": of_text(Checkpoint.parse, (ValueError, IdentityError), CHECKPOINT),
    "verifier_key": of_text(
        VerifierKey.parse, (ValueError, IdentityError), f"id.example+00000000+{base64.b64encode(bytes(33)).decode()}"
    ),
    "tlog_proof": Parser(
        proof_text.TlogProof.parse,
        (ValueError, IdentityError),
        (f"c2sp.org/tlog-proof@v1\nindex 3\n{ROOT_HASH}\n\n{NOTE}".encode(),),
    ),
    "policy": Parser(
        WitnessPolicy.parse,
        (Malformed,),
        (f"log {LOG_VKEY} https://x/\nwitness a {WITNESS_VKEY}\ngroup g any a\nquorum g\n".encode(), b"quorum none\n"),
    ),
    "witness_request": Parser(
        Submission.parse, (ValueError, IdentityError), (f"old 3\n{ROOT_HASH}\n\n{NOTE}".encode(),)
    ),
    "tile": of_text(
        lambda text: Tile.parse(*text.split("|", 1)) if "|" in text else None,
        (IdentityError, ValueError),
        "0|x001/067.p/112",
    ),
    "entry_bundle": Parser(
        tiles.unbundled, (ValueError, IdentityError), (tiles.bundled([b"a", b"", b"bc"]),), tiles.bundled
    ),
    "leaf": Parser(LogLeaf.parse, (ValueError, IdentityError), (b'{"did":"a"}',)),
    "entry_head": Parser(read_head, (ValueError, IdentityError), (json.dumps(ENTRY).encode(),)),
    "history": Parser(LoggedHistory.parse, (ValueError, IdentityError), (b'{"did":"a","entries":[]}',)),
    "envelope": of_text(
        Envelope.decode,
        (IdentityError,),
        multibase.base64url_encode(b'{"suite":"a"}'),
        write=lambda found: found.encode(),
    ),
    "bbs_proof": Parser(
        lambda data: octets_to_proof(SUITE, data), (BbsProofInvalid,), (bytes(272), b"\xc0" + bytes(271))
    ),
    "bbs_signature": Parser(lambda data: octets_to_signature(SUITE, data), (BbsSignatureInvalid,), (bytes(80),)),
    "bbs_public_key": Parser(lambda data: octets_to_public_key(SUITE, data), (ValueError,), (b"\xc0" + bytes(95),)),
    "accept": of_text(
        lambda text: negotiate(text, ("application/json", "application/did+json")),
        (NotAcceptable,),
        "application/did+json;q=0.5, */*;q=0.1",
    ),
    "x_forwarded_for": of_text(
        lambda text: client_address("10.0.0.1", text, parse_proxies(["10.0.0.0/8"])),
        (),
        "192.0.2.1, [2001:db8::1]:80, 10.0.0.2",
    ),
}
