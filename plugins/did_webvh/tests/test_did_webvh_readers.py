"""Readers that are not ours take the log: the PyPI package ``did-webvh``, with nothing changed in it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_kit.conformance.controller import WalletSigner
from webvh_life import make, resealed, robbed_life, whole_life

from identity_core.domain.dids.logs import fold
from identity_core.domain.dids.state import LogInvalid

if os.environ.get("CI"):
    import did_webvh  # noqa: F401  (in CI a missing reader is a failure)
resolver = pytest.importorskip("did_webvh.core.resolver", reason="pip install identity-did-webvh[test]")
verifier = pytest.importorskip("did_webvh.verify")

LIFE = whole_life()
LINES = LIFE.entries
OTHER = whole_life("mallory")


def read(folder: Path, lines: list[bytes], did: str | None = None, **selection: Any) -> Any:
    """Return the result of the foreign reader for ``did.jsonl``."""
    file = folder / "did.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    source = resolver.LocalHistoryResolver(file)
    reading = resolver.DidResolver(verifier.WebvhVerifier(enforce_future_skew=False))
    return asyncio.run(reading.resolve(did or str(LIFE.state.did), source, **selection))


def refused(folder: Path, lines: list[bytes], did: str | None = None) -> bool:
    result = read(folder, lines, did)
    return result.document is None and "error" in result.resolution_metadata


@pytest.mark.parametrize("length", range(1, len(LINES) + 1))
def test_the_log_is_accepted_after_every_change(tmp_path: Path, length: int) -> None:
    result = read(tmp_path, LINES[:length])
    state = LIFE.states[length - 1]
    assert result.document == state.document.to_json(), result.resolution_metadata
    assert result.document_metadata["versionId"] == f"{length}-{state.entry_hash}"
    assert result.document_metadata["deactivated"] is (length == len(LINES))


@pytest.mark.parametrize("revoke", [False, True])
def test_a_recovery_that_restores_a_version_is_one_more_entry(tmp_path: Path, revoke: bool) -> None:
    life = robbed_life(revoke=revoke)
    result = read(tmp_path, life.entries, str(life.state.did))
    assert result.document == life.state.document.to_json(), result.resolution_metadata
    assert "thief" not in json.dumps(result.document)
    keys = [method["publicKeyMultibase"] for method in result.document["verificationMethod"]]
    assert keys[:-1] == ([] if revoke else [life.creation.keys[0].public])
    assert list(fold(life.method.apply, life.entries))[-1] == life.state


def test_old_versions_are_found_in_the_whole_log(tmp_path: Path) -> None:
    for state in LIFE.states:
        result = read(tmp_path, LINES, version_number=str(state.version_id))
        assert result.document == state.document.to_json()


@pytest.mark.parametrize("table", [{"path": ""}, {"host": "id.example:8443"}, {"path": "a/b_c.d/{SCID}"}])
def test_other_places_are_accepted(tmp_path: Path, table: dict[str, str]) -> None:
    life = whole_life(method=make(**table))
    result = read(tmp_path, life.entries, str(life.state.did))
    assert result.document == life.state.document.to_json(), result.resolution_metadata


def mutations() -> Iterator[tuple[str, list[bytes]]]:
    """Logs that say something else than was recorded."""
    for place, line in enumerate(LINES):

        def with_line(spoilt: bytes, place: int = place) -> list[bytes]:
            return [*LINES[:place], spoilt, *LINES[place + 1 :]]

        value = json.loads(line)
        later = value["versionTime"].replace("2026", "2025")
        yield f"time of {place + 1}", with_line(line.replace(value["versionTime"].encode(), later.encode()))
        spoilt = json.loads(line)
        spoilt["state"]["alsoKnownAs"] = ["https://mallory.example/"]
        yield f"document of {place + 1}", with_line(json.dumps(spoilt).encode())
        spoilt = json.loads(line)
        spoilt["parameters"]["ttl"] = 1
        yield f"parameters of {place + 1}", with_line(json.dumps(spoilt).encode())
        spoilt = json.loads(line)
        spoilt["proof"][0]["proofValue"] = json.loads(OTHER.entries[place])["proof"][0]["proofValue"]
        yield f"signature of {place + 1}", with_line(json.dumps(spoilt).encode())
        spoilt = json.loads(line)
        spoilt["proof"] = []
        yield f"no proof of {place + 1}", with_line(json.dumps(spoilt).encode())
        yield f"entry {place + 1} of another DID", with_line(OTHER.entries[place])
        if place:
            yield f"swap {place} and {place + 1}", [*LINES[: place - 1], line, LINES[place - 1], *LINES[place + 1 :]]
            yield f"entry {place + 1} twice", [*LINES[: place + 1], *LINES[place:]]
        if place < len(LINES) - 1:
            yield f"without {place + 1}", [*LINES[:place], *LINES[place + 1 :]]
        if place < len(LINES) - 1:
            # Everything hashed and chained anew, and signed by a key that is not in updateKeys.
            yield f"stranger from {place + 1}", resealed(LINES, place, lambda body: None, WalletSigner("stranger"))
    again = resealed(
        [*LINES, LINES[-1]],
        len(LINES),
        lambda body: body.update(versionTime="2026-02-01T00:00:00Z"),
        LIFE.signer,
    )
    yield "after the deactivation", again


MUTATIONS = dict(mutations())


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_is_refused_by_them_and_by_us(tmp_path: Path, name: str) -> None:
    lines = MUTATIONS[name]
    assert refused(tmp_path, lines)
    with pytest.raises(LogInvalid):
        verify(b"\n".join(lines))
    with pytest.raises(LogInvalid):
        list(fold(LIFE.method.apply, lines))


def test_a_log_under_another_did_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, LINES, str(OTHER.state.did))


def test_a_log_that_was_cut_off_is_valid_by_itself() -> None:
    """A reader cannot detect this unless it has seen more: the README says so."""
    assert verify(b"\n".join(LINES[:3])).versions == 3
    assert verify(b"\n".join(LINES)).deactivated
