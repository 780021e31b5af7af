"""Bounds of responses to the command line. Nothing is unpacked: 306 KB of gzip became 1.26 GB."""

from __future__ import annotations

import gzip

import pytest
from identity_transparency.cli.ledger_checkpoint import cosigned

from identity_client import Session, UnreadableAnswer, session
from identity_tlog.note import Checkpoint
from tests.fixed_answers import answering


def test_a_compressed_answer_is_not_unpacked() -> None:
    with (
        answering(gzip.compress(bytes(10_000_000), mtime=0), Content_Encoding="gzip") as (url, accepted),
        Session(url) as client,
    ):
        for call in (lambda: client.call("GET", "/health"), lambda: client.get_bytes("/ledger/checkpoint")):
            with pytest.raises(UnreadableAnswer, match="compressed"):
                call()
    assert set(accepted) == {"identity"}


def test_an_answer_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MOST_OCTETS", 1000)
    with (
        answering(bytes(1001)) as (url, _),
        Session(url) as client,
        pytest.raises(UnreadableAnswer, match="more than 1000 bytes"),
    ):
        client.get_bytes("/ledger/checkpoint")
    with answering(bytes(1000)) as (url, _), Session(url) as client:
        assert client.get_bytes("/ledger/checkpoint") == bytes(1000)


@pytest.mark.parametrize(
    ("body", "headers"), [(gzip.compress(b"x", mtime=0), {"Content_Encoding": "gzip"}), (bytes(70_000), {})]
)
def test_a_cosignature_has_a_bound(body: bytes, headers: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with answering(body, **headers) as (url, _), pytest.raises(SystemExit):
        cosigned(url, b"", Checkpoint("log", 0, bytes(32)), lambda old: [])
    assert "the witness: the answer" in capsys.readouterr().err


@pytest.mark.parametrize("charset", ["punycode", "zlib_codec", "utf-16", "nothing"])
def test_text_is_utf_8_whatever_the_answer_names(charset: str) -> None:
    """Punycode takes quadratic time, and a service that is called may be another one."""
    with (
        answering(b"{}\n" * 300_000, Content_Type=f"text/jsonl; charset={charset}") as (url, _),
        Session(url) as client,
    ):
        assert client.log("did:ids:x") == "{}\n" * 300_000


@pytest.mark.parametrize(
    ("body", "media"),
    [(b"text", "text/plain"), (b'"text"', "application/json"), (b"[]", "application/json"), (b"", "x/y")],
)
def test_answer_that_is_not_an_object_is_unreadable(body: bytes, media: str) -> None:
    with answering(body, Content_Type=media) as (url, _), Session(url) as client, pytest.raises(UnreadableAnswer):
        client.call("GET", "/health")


def test_redirect_is_not_an_answer() -> None:
    page = answering(b'{"items": []}', status=302, Content_Type="application/json", Location="/")
    with page as (url, _), Session(url) as client, pytest.raises(UnreadableAnswer):
        client.call("GET", "/dids")


def test_history_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MOST_PAGES", 5)
    page = b'{"items": [{"versionId": 1}], "nextCursor": "again"}'
    with answering(page, Content_Type="application/json") as (url, asked), Session(url) as client:
        with pytest.raises(UnreadableAnswer, match="do not end"):
            list(client.whole_history("did:ids:x"))
        assert len(asked) == 5
