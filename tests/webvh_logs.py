"""Logs of did:webvh 1.0 made here, entry by entry, right or wrong."""

from __future__ import annotations

import json
from typing import Any

from identity_did_ids import entry
from identity_kit.conformance.controller import WalletSigner

from identity_client import data_integrity
from identity_codec.multibase import base58btc_encode

KEY, NEXT, WITNESS = WalletSigner("key"), WalletSigner("next"), WalletSigner("witness")


def sealed(body: dict[str, Any], number: int, signers: tuple[WalletSigner, ...]) -> dict[str, Any]:
    body = body | {"versionId": f"{number}-{entry.multihash(entry.canonical(body))}"}
    proofs = []
    for signer in signers:
        config = entry.proof_config(signer.multikey, body["versionTime"])
        value = base58btc_encode(signer._pair.sign(data_integrity.proof_input(config, body)))
        proofs.append(config | {"proofValue": value})
    return body | {"proof": proofs}


def first(
    signers: tuple[WalletSigner, ...] = (KEY,), state: dict[str, Any] | None = None, **parameters: Any
) -> dict[str, Any]:
    body = {
        "versionId": "{SCID}",
        "versionTime": "2026-01-01T00:00:00Z",
        "parameters": {"method": "did:webvh:1.0", "scid": "{SCID}", "updateKeys": [KEY.multikey]} | parameters,
        "state": state or {"id": "did:webvh:{SCID}:dids.example.com"},
    }
    scid = entry.multihash(entry.canonical(body))
    return sealed(json.loads(json.dumps(body).replace("{SCID}", scid)), 1, signers)


def first_of(place: str) -> dict[str, Any]:
    """At a host, and a path behind it."""
    return first(state={"id": f"did:webvh:{{SCID}}:{place}"})


def following(
    before: dict[str, Any],
    signers: tuple[WalletSigner, ...] = (KEY,),
    state: dict[str, Any] | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    number = int(before["versionId"].split("-")[0]) + 1
    body = {
        "versionId": before["versionId"],
        "versionTime": f"2026-01-{number:02}T00:00:00Z",
        "parameters": parameters,
        "state": state or before["state"],
    }
    return sealed(body, number, signers)


def moved(before: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"id": before["state"]["id"].replace("dids.", "new."), "alsoKnownAs": [before["state"]["id"]]} | changes


def approval(item: dict[str, Any], signer: WalletSigner = WITNESS) -> dict[str, Any]:
    version = {"versionId": item["versionId"]}
    config = entry.proof_config(signer.multikey, "2026-01-01T00:00:00Z")
    value = base58btc_encode(signer._pair.sign(data_integrity.proof_input(config, version)))
    return version | {"proof": [config | {"proofValue": value}]}
