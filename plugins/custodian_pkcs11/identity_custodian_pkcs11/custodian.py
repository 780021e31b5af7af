"""The custodian: names to keys on the token, for one thread (``in_threads`` makes its methods coroutines).

Tokens know no unique names, so that the processes of one host make and destroy keys one after another, under a lock
file. BBS and key agreement are left out: no token signs on BLS12-381, and the port has no use of X25519 keys. The secrets of
holders follow from a key on the token.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pkcs11

from identity_bbs.blind import IssueRequest
from identity_bbs.holders import HolderConsent, HolderSecrets
from identity_codec import multikey
from identity_core.database.files import FileLock
from identity_core.errors import PluginUnavailable
from identity_core.ports.custodian import KeyNameTaken, KeyNotHeld, KeyRefused, checked_names
from identity_custodian_pkcs11 import keys, master
from identity_custodian_pkcs11.keys import KeyDamaged, Label, TokenKey
from identity_custodian_pkcs11.token import Connection, Token

T = TypeVar("T")

CAPABILITIES = frozenset({multikey.ED25519, multikey.P256})
# What a handle says whose object another process destroyed.
_GONE = (pkcs11.ObjectHandleInvalid, pkcs11.KeyHandleInvalid)


class Pkcs11Custodian:
    """A ``KeepingCustodian`` with plain methods. Raises ``PluginUnavailable`` when the token is away, refuses, or holds half a
    key. Without a ``lock`` it makes and destroys nothing."""

    def __init__(self, token: Token, lock: FileLock | None, *, curve: str) -> None:
        self._token = token
        self._lock = lock
        self._curve = keys.CURVES[curve]
        self._closed = False
        self._secrets = HolderSecrets(self._derived, os.urandom)
        self._secrets_or_made = HolderSecrets(self._derived_or_made, os.urandom)

    @property
    def capabilities(self) -> frozenset[str]:
        return CAPABILITIES

    def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        label = Label(name, key_type, did, purpose)
        label.check()
        return self._found_or_made(label, lambda session: keys.generate(session, label, self._curve)).public_key

    def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        label = Label(name, key_type, did, purpose)
        label.check()
        if len(secret) != keys.SECRET_BYTES:
            raise KeyRefused(f"A secret has {keys.SECRET_BYTES} bytes.")
        taken = bytes(secret)
        keys.public_of(key_type, taken)
        key = self._found_or_made(label, lambda session: keys.take(session, label, taken, self._curve))
        if key.public_raw != keys.public_of(key_type, taken):
            raise KeyNameTaken
        return key.public_key

    def public_key(self, name: str) -> str:
        return self._use_key(name, _read_public_key)

    def sign(self, name: str, message: bytes) -> bytes:
        return self._use_key(name, lambda key: key.sign(message))

    def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        """Raise ``KeyRefused``: see ``capabilities``."""
        self.public_key(name)
        raise KeyRefused("A key token makes no BBS signatures.", details={"supported": [*CAPABILITIES]})

    def commit_holder(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        """Commit to the holder's secret. On the first call the token generates the key from which all secrets follow."""
        with checked_names():
            return self._secrets_or_made.commit(secret, credential, request)

    def consent(self, secret: str, credentials: Sequence[str], message: bytes, pseudonym: str | None) -> HolderConsent:
        """Raise ``KeyNotHeld`` where the token has not what the secrets follow from: it is lost, or lies on another token."""
        with checked_names():
            return self._secrets.consent(secret, credentials, message, pseudonym)

    def destroy(self, name: str) -> None:
        if not keys.is_printable(name, 200):
            return

        def job(connection: Connection) -> None:
            connection.check()
            connection.keys.forget(name)
            keys.destroy(connection.session, name)

        with self._alone():
            self._token.run(job)

    def close(self) -> None:
        """Log out of the token. The keys stay on it."""
        if not self._closed:
            self._closed = True
            self._token.close()
            if self._lock is not None:
                self._lock.close()

    def _found_or_made(self, label: Label, make: Callable[[pkcs11.Session], None]) -> TokenKey:
        def job(connection: Connection) -> TokenKey:
            # Not from memory: another process may have put something else under the name.
            key = _find(connection, label.name)
            if key is None:
                make(connection.session)
                key = _find(connection, label.name)
            if key is None:
                raise PluginUnavailable("The key token does not keep the keys that it makes.")
            if key.identifier != label.identifier:
                raise KeyNameTaken
            return key

        with self._alone():
            return self._token.run(job)

    def _derived(self, info: bytes) -> bytes:
        def job(connection: Connection) -> bytes | None:
            key = _master(connection)
            return None if key is None else master.derive(key, info)

        material = self._token.run(job)
        if material is None:
            raise KeyNotHeld
        return material

    def _derived_or_made(self, info: bytes) -> bytes:
        def job(connection: Connection) -> None:
            # Another process may have made it while this one waited.
            if _master(connection) is None:
                master.make(connection.session)

        try:
            return self._derived(info)
        except KeyNotHeld:
            with self._alone():
                self._token.run(job)
            return self._derived(info)

    def _use_key(self, name: str, use: Callable[[TokenKey], T]) -> T:
        if not keys.is_printable(name, 200):
            raise KeyNotHeld

        def job(connection: Connection) -> T:
            held = connection.keys.get(name)
            if held is not None:
                try:
                    return use(held)
                except _GONE:
                    # Another process destroyed it, or the session is lost, which the next look finds out.
                    pass
            key = _find(connection, name)
            if key is None:
                raise KeyNotHeld
            return use(key)

        return self._token.run(job)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        if self._lock is None:
            raise PluginUnavailable("The key token is only looked at.")
        self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()


def _read_public_key(key: TokenKey) -> str:
    key.check()
    return key.public_key


def _master(connection: Connection) -> Any | None:
    connection.check()
    try:
        return master.find(connection.session)
    except KeyDamaged as error:
        raise PluginUnavailable(f"What the secrets of holders follow from cannot be used: {error}.") from error


def _find(connection: Connection, name: str) -> TokenKey | None:
    connection.check()
    connection.keys.forget(name)
    try:
        key = keys.find(connection.session, name)
    except KeyDamaged as error:
        raise PluginUnavailable(f"A key on the token cannot be used: {error}.") from error
    if key is None:
        return None
    return connection.keys.store(name, key)
