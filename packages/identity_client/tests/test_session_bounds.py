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
