"""The keys file: the DID of a person at this machine, and its private keys.

It is JSON: ``{did, keys, pending}``. ``keys`` maps a purpose to ``{type, keyId, publicKey, privateKey}``; ``additional`` and
``retired`` are lists of such. Keys are made here, so the service never sees a private one. Before an operation with a new key is
sent, the key is on disk under ``pending``. If a crash leaves it there, ``settle`` queries the result from the service. The file is
replaced in one step, durable, readable for its owner only.

A passphrase for the file is not supported, nor is a lock against concurrent commands on one file.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from identity_client import ServiceError, Session, Signer
from identity_codec.multikey import decode_secret
from identity_codec.values import Hidden
from identity_commands.secret_input import read_private
from identity_core.cli.output import fail, failing
from identity_core.errors import InvalidDocument
from identity_core.files import durable_draft

AUTHENTICATION, RECOVERY = "authentication", "recovery"
STANDARD_INPUT = Path("-")
FiledKeys = list[tuple[list[str], dict[str, Any]]]
"""(purposes, key as it is filed), the primary key first."""

ADDITIONAL, RETIRED = "additional", "retired"


class Wallet(Hidden, Struct):
    """An open keys file. ``did`` is empty until it exists. ``pending`` is ``{operation, keys, …}`` of an operation with an unknown
    result."""

    path: Path
    did: str
    keys: dict[str, Any]
    pending: dict[str, Any] | None = None

    @classmethod
    def read(cls, path: Path) -> Wallet:
        """Return the file at ``path``; a missing or unreadable one ends the command."""
        data = sys.stdin.buffer.read() if path == STANDARD_INPUT else read_private(path, "keys file")
        try:
            value = json.loads(data)
            did, keys, pending = value.get("did"), value["keys"], value.get("pending")
            if not isinstance(keys, dict) or not isinstance(did, str | None) or not isinstance(pending, dict | None):
                raise TypeError("its members are of other types")
        except (ValueError, KeyError, TypeError, AttributeError):
            remedy = "it holds {did, keys} as JSON, as `identity did create --keys FILE` writes it"
            fail("this is not a keys file", str(path), remedy)
        return cls(path, did or "", keys, pending)

    @classmethod
    def open(cls, path: Path) -> Wallet:
        """Read the file as ``read`` does. A file without a DID ends the command."""
        wallet = cls.read(path)
        if not wallet.did:
            remedy = f"run `identity did create --keys {path}` again: it finishes what it began"
            fail("the keys file holds keys, but no DID yet", str(path), remedy)
        return wallet

    def signer(self, purpose: str = AUTHENTICATION) -> Signer:
        """Sign with the key of ``purpose``; a file without it ends the command."""
        key = self.keys.get(purpose)
        if not isinstance(key, dict) or "privateKey" not in key:
            fail(f"the keys file holds no private {purpose} key", str(self.path), "name the file that holds it")
        with failing(
            (ValueError, TypeError),
            str(self.path),
            "bring the file back from your copy",
            what=f"its {purpose} key is damaged",
        ):
            decode_secret(key["privateKey"])
        return Signer(self.did, key["privateKey"])

    def save(self, *, new: bool = False) -> None:
        """Replace the file in one step; ``new`` refuses to replace one (``FileExistsError``)."""
        if self.path == STANDARD_INPUT:
            fail("the new keys have no file to go to", "standard input", "name a keys file with --keys", status=2)
        value = {"did": self.did or None, "keys": self.keys} | ({"pending": self.pending} if self.pending else {})
        with durable_draft(self.path, (json.dumps(value, indent=2) + "\n").encode()) as draft:
            if new:
                self.path.hardlink_to(draft)
            else:
                draft.replace(self.path)

    def places(self) -> Iterator[tuple[Any, Any]]:
        """Return the place of each current key: ``keys`` or a list in it, and the key or index there."""
        for purpose, filed in self.keys.items():
            if isinstance(filed, list) and purpose != RETIRED:
                yield from ((filed, place) for place in range(len(filed)))
            elif isinstance(filed, dict):
                yield self.keys, purpose

    def find(self, key_id: str) -> tuple[Any, Any] | None:
        """Return the place of the key with this id."""
        return next(((filed, place) for filed, place in self.places() if filed[place].get("keyId") == key_id), None)

    def name(self, did: str) -> None:
        """Record that the DID exists: its keys have ids from now on."""
        self.did = did
        for filed, place in self.places():
            filed[place] = {"keyId": f"{did}#{filed[place]['publicKey']}"} | filed[place]

    def replace_key(self, old_key_id: str, key: dict[str, Any]) -> None:
        """Store ``key`` in place of the old one, and the old one under ``retired``. Without an old one, add the key."""
        where = self.find(old_key_id)
        if where is None:
            self.keys.setdefault(ADDITIONAL, []).append(key)
            return
        filed, place = where
        self.retire(filed[place])
        filed[place] = key

    def file(self, purpose: str, key: dict[str, Any]) -> None:
        """Store a key under its purpose; the second key of a purpose goes to ``additional``."""
        if purpose in self.keys:
            self.keys.setdefault(ADDITIONAL, []).append(key)
        else:
            self.keys[purpose] = key

    def file_all(self, keys: FiledKeys) -> None:
        """Store each key under the first of its purposes."""
        for purposes, key in keys:
            self.file(purposes[0], key)

    def retire(self, key: dict[str, Any]) -> None:
        """Move a key that is no longer used to ``retired``, because the program never deletes a private key."""
        self.keys.setdefault(RETIRED, []).append(key)

    @contextlib.contextmanager
    def sending(self, operation: str, fresh: dict[str, dict[str, Any]], **more: Any) -> Iterator[None]:
        """Store ``fresh`` keys under ``pending`` before the request is sent, and in their places once the service accepted them.

        A refusal deletes them. After a server error or without an answer the result is unknown, and ``settle`` finds it.
        """
        if not fresh:
            yield
            return
        self.pending = {"operation": operation, "keys": fresh} | more
        self.save()
        try:
            yield
        except ServiceError as error:
            if error.status < 500:
                self.abandon()
            raise
        self.finish()

    def finish(self) -> None:
        """Record that the pending operation succeeded: its keys become the current ones."""
        pending = self.pending or {}
        fresh = pending.get("keys", {})
        if pending.get("operation") == "rotate":
            self.replace_key(pending["oldKeyId"], fresh["new"])
        elif pending.get("operation") == "add":
            self.file_all([([one], key) for one, key in zip(pending["purposes"], fresh.values(), strict=True)])
        elif pending.get("operation") == "recover":
            spent = [one for one in self.places() if pending["revokeAll"] or one[1] in fresh]
            for filed, place in spent:
                self.retire(filed[place])
            if pending["revokeAll"]:
                self.keys = {RETIRED: self.keys.get(RETIRED, [])}
            self.keys |= fresh
        self.pending = None
        self.save()

    def abandon(self) -> None:
        """Record that the pending operation was refused and changed nothing."""
        for key in (self.pending or {}).get("keys", {}).values():
            self.retire(key)
        self.pending = None
        self.save()

    def settle(self, session: Session) -> None:
        """Find the result of an interrupted operation, by whether its key is in the document."""
        if self.pending is None:
            return
        methods = session.resolve(self.did)["didDocument"].get("verificationMethod", [])
        fresh = self.pending["keys"]
        telling = next(iter(fresh.values()))
        if any(method.get("publicKeyMultibase") == telling["publicKey"] for method in methods):
            self.finish()
        else:
            self.abandon()


def make_key(kind: str, did: str | None = None, *, signs_in: bool = False) -> dict[str, Any]:
    """Return a new key pair from this machine's random source, in the form of the file; without ``did`` its id is not known yet.
    Raises ``InvalidDocument``: for an unknown type, with the types that can sign in if the key is for that."""
    from identity_core.domain.dids import keys

    try:
        pair = keys.generate(kind, os.urandom)
    except InvalidDocument as error:
        supported = error.details.get("supported")
        if not signs_in or not isinstance(supported, list):
            raise
        able = [one for one in supported if AUTHENTICATION in keys.key_type(str(one)).allowed]
        raise InvalidDocument(str(error), details={**error.details, "supported": able}) from None
    filed = {"type": pair.type, "publicKey": pair.public, "privateKey": pair.secret}
    return filed if did is None else {"keyId": f"{did}#{pair.public}"} | filed


def public_half(key: dict[str, Any]) -> dict[str, Any]:
    """Return the public part of a stored key, in the form of a request."""
    return {"type": key["type"], "publicKeyMultibase": key["publicKey"]}
