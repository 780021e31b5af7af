"""A service in the middle: it hands Hana the challenge of another one, to sign in there as her (openapi/DECISIONS.md §3.1)."""

from __future__ import annotations

import http.server
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from identity_client import ForeignOrigin, Session, Signer
from identity_core.cli import main
from tests.attack.conftest import Target


@pytest.fixture
def relay(target: Target) -> Iterator[tuple[str, list[str]]]:
    """Where Mallory listens, and the signatures that she got. She asks the real service for whatever she is asked."""
    caught: list[str] = []

    class Relay(http.server.BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            caught.extend(self.headers.get_all("Authorization") or [])
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            request = urllib.request.Request(target.wire.url + self.path, sent, method=self.command)
            with urllib.request.urlopen(request, timeout=60) as answer:
                data = answer.read()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _pass_on

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", caught
        server.shutdown()


def test_nothing_is_signed_for_whoever_hands_on_a_challenge(target: Target, relay: tuple[str, list[str]]) -> None:
    url, caught = relay
    made = target.stranger.holder().created
    hana = Signer(made["did"], made["keys"]["authentication"]["privateKey"])
    with Session(url) as session:
        assert session.resolve(hana.did)["didDocument"]["id"] == hana.did
        with pytest.raises(ForeignOrigin) as refused:
            session.token(hana)
        with pytest.raises(ForeignOrigin):
            session.update(hana.did, {"operation": "removeService", "serviceId": "files"}, hana)
    assert refused.value.origin == target.wire.url
    assert caught == []
    with Session(target.wire.url) as session:
        assert session.token(hana)["access_token"]


def test_the_command_line_says_what_it_refused(target: Target, relay: tuple[str, list[str]], tmp_path: Path) -> None:
    url, caught = relay
    keys = str(tmp_path / "hana.json")
    run = CliRunner(env={"IDENTITY_API_KEY": target.stranger.api_key})
    assert run.invoke(main, ["did", "create", "--keys", keys, "--url", target.wire.url]).exit_code == 0
    listing = ["delegation", "list", "--keys", keys, "--url"]
    refused = run.invoke(main, [*listing, url])
    assert refused.exit_code == 1
    what, where, remedy = refused.stderr.splitlines()
    assert what == f"error: nothing was signed: the challenge is one of {target.wire.url}"
    assert where == f"  at: {url}"
    assert f"IDENTITY_ORIGIN={target.wire.url}" in remedy
    signing = run.invoke(main, ["auth", "sign", "--keys", keys, "--url", url, "--purpose", "token"])
    assert signing.exit_code == 1
    assert f"the challenge is one of {target.wire.url}" in signing.stderr
    assert signing.stdout == ""
    assert caught == []
    assert run.invoke(main, [*listing, target.wire.url]).exit_code == 0
    # Only an operator who knows that both are one service says so.
    assert run.invoke(main, [*listing, url], env={"IDENTITY_ORIGIN": target.wire.url}).exit_code != 0
    assert len(caught) == 1
