"""The checkpoint that a restore fetches from a URL has a bound."""

from __future__ import annotations

import gzip

import pytest
from identity_operations.commands import backup

from tests.fixed_answers import answering


@pytest.mark.parametrize(
    ("body", "headers"), [(gzip.compress(bytes(10), mtime=0), {"Content_Encoding": "gzip"}), (bytes(70_000), {})]
)
def test_a_fetched_checkpoint_has_a_bound(
    body: bytes, headers: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(body, **headers) as (url, accepted), pytest.raises(SystemExit):
        backup._checkpoint(url)
    assert accepted == ["identity"]
    assert "the checkpoint cannot be fetched" in capsys.readouterr().err
