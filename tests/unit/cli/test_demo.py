"""identity demo: the story comes out as promised, every request can be seen, and no key shows."""

from __future__ import annotations

import re

import pytest

from identity_core.cli import demo
from identity_core.cli.local_server import LocalServer
from tests.unit.cli.conftest import Commands

# A secret multikey is longer than what is shown of it.
SECRET = re.compile("z(3u2|3we|488)[1-9A-Za-z]{20,}")


def test_the_story(remote: Commands, server: LocalServer) -> None:
    result = remote("demo", "--url", server.url)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert result.stdout.splitlines()[-1].endswith("all as promised.")
    assert re.search(r"refused: 401 AUTH_FAILED", result.stdout)
    assert SECRET.search(result.stdout) is None


def test_every_request_can_be_seen(remote: Commands, server: LocalServer) -> None:
    said = remote.ok("demo", "--url", server.url, "--verbose")
    assert "     > POST /api/v1/dids\n" in said
    assert re.search(r"> GET /api/v1/auth/challenge\?did=did%3Aids%3A\w+&purpose=update&bodyHash=", said)
    assert re.search(r'> PATCH /api/v1/dids/\S+\n       \{\n         "operation": "addService"', said)
    assert '"privateKey": "z3u2…"' in said
    assert SECRET.search(said) is None
    assert re.search(r"     < 410  \(\d+ ms\)", said)


def test_as_json(remote: Commands, server: LocalServer) -> None:
    told = remote.json("demo", "--url", server.url, "--verbose")
    assert len(told["steps"]) >= 14
    created = told["steps"][0]
    assert created["exchanges"][0]["method"] == "POST"
    assert created["exchanges"][0]["status"] == 201
    assert created["answer"]["keys"]["authentication"]["privateKey"] == "z3u2…"
    assert "exchanges" not in remote.json("demo", "--url", server.url)["steps"][0]


def test_without_a_service_or_a_key(identity: Commands, server: LocalServer) -> None:
    assert "does not answer" in identity("demo", "--url", "http://127.0.0.1:1").stderr
    result = identity("demo", "--url", server.url)
    assert result.exit_code == 1
    assert "AUTH_REQUIRED" in result.stderr.splitlines()[0]


def test_a_service_that_breaks_its_promise_is_found_out(
    remote: Commands, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo.Session, "deactivate", lambda self, did, body, signer: {"blockNumber": 1})
    result = remote("demo", "--url", server.url)
    assert result.exit_code == 1
    assert "expected a refusal FORBIDDEN, got none" in result.stderr
