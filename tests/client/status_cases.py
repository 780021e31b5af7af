"""Status lists that a client must read as they were made: the one that the document shows, and what others make of one."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from identity_did_ids import entry
from identity_kit.conformance.controller import WalletSigner

from identity_client import data_integrity
from identity_client.status_list import ENTRIES, GZIP
from identity_codec import multibase
from identity_codec.multibase import base58btc_encode
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import StatusPurpose
from identity_core.domain.dids.did import Did
from openapi import clients

Json = dict[str, Any]
# List, entry of a credentialStatus, keys that may sign; whether the bit is set, None for a list that proves nothing.
Case = tuple[Json, Json, list[str], bool | None]
LOG: Final = WalletSigner("log")
EVE: Final = WalletSigner("Eve")
ISSUER: Final = Did.parse("did:ids:QmPdn589kkBJKooQMPRUHHsRXAUDJAqunTWzvoEFGy5t6P")
SET: Final = (0, 9, 40_000, ENTRIES - 1)
CLEAR: Final = (1, 8, 10, 39_999)


def make_list(change: Callable[[Json], object] = lambda made: None, signer: WalletSigner = LOG) -> Json:
    """A list that was changed before it was signed."""
    found = status_list.unsigned(
        status_list.list_id(ISSUER, 0), StatusPurpose.REVOCATION, SET, issuer=f"did:key:{LOG.multikey}",
        base_url="https://identity.example/api/v1", valid_from=datetime(2026, 1, 5, tzinfo=UTC),
    )  # fmt: skip
    found["proof"] = {"@context": found["@context"], **entry.proof_config(signer.multikey, "2026-01-05T00:00:00Z")}
    change(found)
    config, body = found["proof"], {name: found[name] for name in found if name != "proof"}
    return body | {
        "proof": config | {"proofValue": base58btc_encode(signer._pair.sign(data_integrity.proof_input(config, body)))}
    }


def place(number: object, **others: object) -> Json:
    """The entry of a credential there."""
    shown: Json = status_list.entries(ISSUER, 0, "https://identity.example/api/v1")[0]
    return shown | {"statusListIndex": str(number)} | others


def packed(bits: bytes, more: bytes = b"") -> Callable[[Json], object]:
    text = "u" + multibase.base64url_encode(zlib.compress(bits, wbits=GZIP) + more)
    return lambda made: made["credentialSubject"].update(encodedList=text)


def change_member(name: str, **members: object) -> Callable[[Json], object]:
    return lambda made: made[name].update(members)


def shown_list() -> Json:
    document = json.loads(clients.DOCUMENT.read_bytes())
    answer = document["paths"]["/status-lists/{statusListId}"]["get"]["responses"]["200"]
    found: Json = answer["content"]["application/json"]["examples"]["revocation"]["value"]
    return found


@functools.cache
def status_cases() -> Mapping[str, Case]:
    """The cases by what they are."""
    shown, keys = shown_list(), [LOG.multikey]
    theirs = [shown["issuer"].removeprefix("did:key:")]
    bits = bytes(ENTRIES // 8)
    spoilt = make_list()
    spoilt["credentialSubject"]["encodedList"] = status_list.encoded([])
    lists: dict[str, Json] = {
        "changed after it was signed": spoilt,
        "with another member after it was signed": make_list() | {"more": 1},
        "of another issuer": make_list(lambda made: made.update(issuer=f"did:key:{EVE.multikey}")),
        "by another": make_list(signer=EVE),
        "of another type": make_list(lambda made: made.update(type=["VerifiableCredential"])),
        "of another address": make_list(lambda made: made.update(id=f"{made['id']}x")),
        "of another purpose": make_list(change_member("credentialSubject", statusPurpose="suspension")),
        "with a proof of another context": make_list(lambda made: made["proof"].update({"@context": ["https://eve.example"]})),
        "with a proof of another purpose": make_list(change_member("proof", proofPurpose="authentication")),
        "of no multibase": make_list(change_member("credentialSubject", encodedList="H4sI")),
        "of no gzip": make_list(change_member("credentialSubject", encodedList="uAAAA")),
        "of a bit less": make_list(packed(bits[1:])),
        "of a bit more": make_list(packed(bits + b"\0")),
        "of a bomb": make_list(packed(bytes(16 << 20))),
        "with bytes behind the bits": make_list(packed(bits, b"behind")),
        "with more bits behind the bits": make_list(packed(bits, zlib.compress(bits, wbits=GZIP))),
    }  # fmt: skip
    entries: dict[str, Json] = {
        "of a list of gaps": place(0, type="IdentityStatusGapsEntry"),
        "of another list": place(0, statusListCredential="https://identity.example/api/v1/status-lists/x"),
        "of a suspension": place(0, statusPurpose="suspension"),
        **{f"at {each!r}": place(each) for each in (ENTRIES, -1, "", "00", "0x0", "1e3", " 0", "٣", "9" * 30)},
    }
    more = make_list(lambda made: made.update(validUntil="2027-01-01T00:00:00Z"))
    return {
        **{f"set at {each}": (make_list(), place(each), keys, True) for each in SET},
        **{f"clear at {each}": (make_list(), place(each), [EVE.multikey, *keys], False) for each in CLEAR},
        **{
            f"shown, at {each}": (shown, place(each, statusListCredential=shown["id"]), theirs, each in (7, 40_000))
            for each in (6, 7, 8, 40_000)
        },
        "with a member that the document does not have": (more, place(9), keys, True),
        "of no key": (make_list(), place(0), [], None),
        "of another key": (make_list(), place(0), [EVE.multikey], None),
        **{f"a list {name}": (each, place(0), keys, None) for name, each in lists.items()},
        **{f"an entry {name}": (make_list(), each, keys, None) for name, each in entries.items()},
    }
