"""``identity did log verify`` refuses entries of the future: did:webvh 1.0, "DID Log File", 2 (``versionTime``)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from identity_kit.conformance.controller import Controller, Life, WalletSigner

from identity_codec.times import printed
from identity_core.domain.dids.changes import AddService, NewService
from tests.attack.log_forger import METHOD
from tests.unit.cli.conftest import Commands
from tests.webvh_logs import KEY, first, sealed


def webvh_log(last: datetime) -> str:
    """A log of did:webvh whose second entry has this time."""
    begun = first()
    body = {"versionId": begun["versionId"], "versionTime": printed(last), "parameters": {}, "state": begun["state"]}
    return "".join(f"{json.dumps(one)}\n" for one in (begun, sealed(body, 2, (KEY,))))


def own_log(last: datetime) -> str:
    """A log of did:ids whose second entry has this time."""
    signer, owner = WalletSigner("log"), Controller("hana")
    life = Life(METHOD, owner.creation(signer), owner, signer)
    life.update(AddService(NewService("A", "https://a.example/", "a")), at=last)
    return "".join(f"{line.decode()}\n" for line in life.entries)


LOGS = pytest.mark.parametrize("log", [webvh_log, own_log])


@LOGS
def test_an_entry_of_the_future_is_refused(identity: Commands, here: Path, log: Callable[[datetime], str]) -> None:
    now = datetime.now(UTC)
    for last in (datetime(9999, 12, 31, tzinfo=UTC), now + timedelta(minutes=10)):
        lines = identity.refused("did", "log", "verify", "-", input=log(last))
        assert "entry is of the future" in lines[0]
        assert '"line": 2' in lines[1]
    for last in (now - timedelta(minutes=1), now + timedelta(minutes=4)):
        assert "valid, 2 versions" in identity.ok("did", "log", "verify", "-", input=log(last))


@LOGS
def test_an_archive_is_checked_as_of_a_time(identity: Commands, here: Path, log: Callable[[datetime], str]) -> None:
    last = datetime(2045, 1, 1, tzinfo=UTC)
    words = ("did", "log", "verify", "-", "--at")
    assert "valid" in identity.ok(*words, "2045-01-01T00:00:00Z", input=log(last))
    assert "valid" in identity.ok(*words, "2044-12-31T23:55:00Z", input=log(last))
    assert "of the future" in identity.refused(*words, "2044-12-31T23:54:59Z", input=log(last))[0]
    assert "RFC 3339" in identity.refused(*words, "yesterday", input=log(last))[0]


def test_unchecked_parts_are_printed(identity: Commands, here: Path) -> None:
    text = own_log(datetime(2026, 2, 1, tzinfo=UTC))
    assert identity.json("did", "log", "verify", "-", input=text)["unchecked"] == ["retiredKeys"]
    assert identity.ok("did", "log", "verify", "-", input=text).endswith("unchecked: retiredKeys\n")
    strict = ("did", "log", "verify", "-", "--require-service-log")
    assert "service's own log is missing" in identity.refused(*strict, input=text)[0]


@pytest.mark.parametrize("readme", ["packages/identity_client", "openapi/typescript", "openapi/go"])
def test_the_clients_pages_show_a_call_with_a_time(readme: str) -> None:
    page = (Path(__file__).parents[3] / readme / "README.md").read_text("utf-8")
    call = r"verify(?:_?Log)?\(.*(?:now=datetime\.now\(UTC\)|now: new Date\(|Now: time\.Now\(\))"
    assert re.search(call, page, re.IGNORECASE)
