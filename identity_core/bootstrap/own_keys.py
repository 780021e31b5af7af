"""The keys that the service holds for itself, in its custodian."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from identity_core.codec import multikey
from identity_core.domain.custody import KeyNotHeld
from identity_core.ports.custodian import Custodian
from identity_core.store import Store
from identity_core.use_cases.credentials.seal import CredentialSeal
from identity_core.use_cases.credentials.sealed_credentials import SealedCredentials
from identity_core.use_cases.dids.writer import LogSigner

LOG_KEY: Final = "log"
ANSWERS_KEY: Final = "answers"
ROWS_KEY: Final = "rows"
ADOPTED_KEY: Final = "api-keys"


async def make_own_keys(custodian: Custodian) -> LogSigner:
    """Makes what is not there yet. Returns what signs the entries of the log."""
    public = await custodian.generate(LOG_KEY, multikey.ED25519, did="-", purpose=LOG_KEY)
    await custodian.generate(ANSWERS_KEY, multikey.ED25519, did="-", purpose=ANSWERS_KEY)
    return LogSigner(custodian, LOG_KEY, public)


async def answers_secret(custodian: Custodian) -> bytes:
    """What stored answers are sealed under."""
    return await _secret(custodian, b"identity: stored answers, v1")


async def rows_secret(custodian: Custodian) -> bytes:
    """What the tags of the store's rows follow from; the database alone makes none. Raises ``KeyNotHeld`` before the first start that
    makes them."""
    await custodian.public_key(ROWS_KEY)
    return await _secret(custodian, b"identity: rows of the store, v1", key=ROWS_KEY)


async def make_rows_key(custodian: Custodian) -> None:
    """Makes the key under ``rows_secret``. It has a name of its own, because that it is there says that tags have begun."""
    await custodian.generate(ROWS_KEY, multikey.ED25519, did="-", purpose=ROWS_KEY)


async def is_adopted(custodian: Custodian) -> bool:
    """Whether the API keys of before there were tags have been adopted: a key that is for nothing else says so."""
    try:
        await custodian.public_key(ADOPTED_KEY)
    except KeyNotHeld:
        return False
    return True


async def note_adopted(custodian: Custodian) -> None:
    """Says so from now on."""
    await custodian.generate(ADOPTED_KEY, multikey.ED25519, did="-", purpose=ADOPTED_KEY)


async def challenge_secret(custodian: Custodian) -> bytes:
    """What vouches for challenges that were handed out. Another secret ends those that are out, and their holders ask again."""
    return await _secret(custodian, b"identity: challenges, v1")


async def fingerprints_secret(custodian: Custodian) -> bytes:
    """What makes the fingerprints of API keys."""
    return await _secret(custodian, b"identity: fingerprints of API keys, v1")


async def open_sealed_credentials(custodian: Custodian, store: Store) -> SealedCredentials:
    """The credentials. Their values are sealed under a key that follows from one of the custodian's, so that the database alone
    opens nothing."""
    secret = await _secret(custodian, b"identity: credentials at rest, v1")
    return SealedCredentials(store.credentials, store.credential_schemas, CredentialSeal(secret, secrets.token_bytes))


async def _secret(custodian: Custodian, label: bytes, *, key: str = ANSWERS_KEY) -> bytes:
    # Ed25519 is deterministic: all processes derive the same secret, and the key itself never leaves the custodian.
    return hashlib.sha256(await custodian.sign(key, label)).digest()
