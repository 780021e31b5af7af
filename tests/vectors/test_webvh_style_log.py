"""The log that two independent verifiers accept, and each mutation that they refuse."""

from __future__ import annotations

import json

import pytest
from identity_commands.verify_log import verify
from identity_did_ids import entry
from identity_did_webvh import log as webvh
from identity_kit.conformance.controller import WalletSigner

from identity_client import data_integrity
from identity_codec.multibase import base58btc_encode
from identity_core.domain.dids.state import LogInvalid
from tests.vectors.files import vector, vector_json

EXPECTED = "did/webvh-style-log-expected.json"
LOG = "did/webvh-style-log.jsonl"


@pytest.fixture
def entries() -> list[dict]:
    return [json.loads(line) for line in vector(LOG).read_bytes().splitlines()]


def verify_again(entries: list[dict]):
    return verify("\n".join(json.dumps(item) for item in entries).encode())


def test_it_verifies_to_what_others_found() -> None:
    expected = vector_json(EXPECTED)
    states = webvh.verify_entries(vector(LOG).read_bytes().splitlines(), now=None, witness_file=None)
    assert [state.version_id for state in states] == expected["versions"]
    verified = verify(vector(LOG).read_bytes())
    assert (verified.did, verified.head, verified.deactivated) == (
        expected["did"],
        expected["head"]["versionId"],
        expected["head"]["deactivated"],
    )


def test_any_byte_of_an_entry(entries: list[dict]) -> None:
    lines = vector(LOG).read_bytes().splitlines()
    for place in range(0, len(lines[1]), 5):
        spoilt = bytearray(lines[1])
        spoilt[place] ^= 1
        with pytest.raises(LogInvalid):
            verify(b"\n".join([lines[0], bytes(spoilt), *lines[2:]]))


def test_swap_removal_repetition_and_another_beginning(entries: list[dict]) -> None:
    first, second, third, fourth = entries
    for mutated in (
        [first, third, second, fourth],
        [first, third, fourth],
        [first, second, fourth],
        [second, third, fourth],
        [first, second, second, third, fourth],
        [first, first, second],
        [first, second, third, fourth, fourth],
    ):
        with pytest.raises(LogInvalid):
            verify_again(mutated)


def resigned(item: dict, predecessor: str, signer: WalletSigner) -> dict:
    """Return the entry with a hash and a proof that fit, signed by another key."""
    body = {name: value for name, value in item.items() if name != "proof"}
    body["versionId"] = predecessor
    number = item["versionId"].split("-")[0]
    body["versionId"] = f"{number}-{entry.multihash(entry.canonical(body))}"
    config = entry.proof_config(signer.multikey, item["versionTime"])
    signature = signer._pair.sign(data_integrity.proof_input(config, body))
    return body | {"proof": [config | {"proofValue": base58btc_encode(signature)}]}


def test_another_signer(entries: list[dict]) -> None:
    stranger = WalletSigner("stranger")
    forged = resigned(entries[1], entries[0]["versionId"], stranger)
    with pytest.raises(LogInvalid, match="may not sign"):
        verify_again([entries[0], forged])
    forged["proof"][0]["verificationMethod"] = entries[1]["proof"][0]["verificationMethod"]
    with pytest.raises(LogInvalid, match="signature"):
        verify_again([entries[0], forged])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda item: item["parameters"].pop("updateKeys"), "pre-rotation"),
        (lambda item: item["parameters"].pop("nextKeyHashes"), "pre-rotation"),
        (lambda item: item["parameters"].update(updateKeys=[WalletSigner("stranger").multikey]), "committed"),
        (lambda item: item.update(versionTime="2026-01-01T00:00:00Z"), "later"),
        (lambda item: item.update(versionTime="2025-12-31T23:59:59Z"), "later"),
        (lambda item: item["parameters"].update(method="did:webvh:0.5"), "version"),
        (lambda item: item["parameters"].update(scid="Qm" + "a" * 44), "scid"),
        (lambda item: item["parameters"].update(portable=True), "portable"),
        (lambda item: item["parameters"].update(surprise=1), "unknown"),
        (lambda item: item["parameters"].update(ttl=-1), "ttl"),
        (lambda item: item["parameters"].update(deactivated="yes"), "deactivated"),
    ],
)
def test_stolen_key_cannot_write(entries: list[dict], change, reason: str) -> None:
    """Hash and signature fit; the rules do not."""
    change(entries[1])
    with pytest.raises(LogInvalid, match=reason):
        verify_again([entries[0], resigned(entries[1], entries[0]["versionId"], WalletSigner("stranger"))])


def test_nothing_follows_a_deactivation(entries: list[dict]) -> None:
    more = json.loads(json.dumps(entries[3]))
    more["versionId"], more["versionTime"] = "5-" + "Qm" + "a" * 44, "2026-01-05T00:00:00Z"
    with pytest.raises(LogInvalid, match="deactivated"):
        verify_again([*entries, resigned(more, entries[3]["versionId"], WalletSigner("stranger"))])


def test_truncation_is_valid_by_itself(entries: list[dict]) -> None:
    """Not a fault of the verifier: anyone who must notice remembers the last versionId, or asks a witness."""
    assert verify_again(entries[:2]).versions == 2
