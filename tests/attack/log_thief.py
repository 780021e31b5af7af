"""A thief of the log key: the key that she has a copy of, and the entries that she writes with it.

She writes plain JSON, with nacl and the standard library alone; ``appended`` is how what she wrote comes into the ledger of an
installation, past its service.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

from nacl.signing import SigningKey

from tests.attack.stranger import base58, public

STOLEN_SEED = bytes(range(32))
STOLEN = SigningKey(STOLEN_SEED)


def jcs(value: Any) -> bytes:
    """All names and texts here are ASCII, and there are no fractions."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def multihash(data: bytes) -> str:
    return base58(b"\x12\x20" + hashlib.sha256(data).digest())


def sealed(item: dict[str, Any], log_key: SigningKey, before: str) -> bytes:
    """The entry as a line that follows ``before`` (a versionId), hashed and signed with the stolen key."""
    body = {name: value for name, value in item.items() if name != "proof"} | {"versionId": before}
    body["versionId"] = f"{int(before.split('-')[0]) + 1}-{multihash(jcs(body))}"
    name = public(log_key)
    config = {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        "verificationMethod": f"did:key:{name}#{name}",
        "created": body["versionTime"],
        "proofPurpose": "assertionMethod",
    }
    signed = hashlib.sha256(jcs(config)).digest() + hashlib.sha256(jcs(body)).digest()
    value = "z" + base58(log_key.sign(signed).signature)
    return jcs(body | {"proof": [config | {"proofValue": value}]})


async def make_the_key(folder: Path) -> None:
    """Make the first log key of the installation that will be in ``folder``; the attacker has a copy of it."""
    from identity_custodian_sealed import SealedSettings, build

    from identity_codec import multikey
    from identity_core.bootstrap import SystemClock
    from identity_core.plugin import BuildContext

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    custodian = build(SealedSettings(), BuildContext(SystemClock(), logging.getLogger("test"), folder, None))  # type: ignore[arg-type]
    await custodian.import_key("log", multikey.ED25519, STOLEN_SEED, did="-", purpose="log")
    await custodian.close()


async def appended(folder: Path, did: str, line: bytes, *, after: int = 1) -> list[str]:
    """Past the service, as anyone does who can write to the database. ``after`` is the number of the entry before. The transactions of the
    DID."""
    from identity_core.bootstrap import open_ledger
    from identity_core.settings import load

    settings = load(environment={}, overrides={"data_dir": str(folder)})
    async with open_ledger(settings) as ledger:
        await ledger.append(did, line, expected_version=after)
        return [entry.receipt.transaction_hash for entry in await ledger.entries(did)]
