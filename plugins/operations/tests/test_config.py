"""``identity config``: a file to begin with that is good, and everything that is wrong with one at once."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Commands, here, identity

__all__ = ["here", "identity"]

WRONG = """
[server]
port = "x"
wrokers = 2
[log]
level = "loud"
[throttle]
store = "redis"
[plugins.sealed]
nope = 1
"""


def test_a_file_to_begin_with_says_nothing_yet_and_is_good(identity: Commands, here: Path) -> None:
    identity.ok("config", "init")
    text = (here / "identity.toml").read_text()
    assert tomllib.loads(text) == {}
    assert identity.ok("config", "check") == "the settings are good\n"
    assert "there is such a file" in identity.refused("config", "init")[0]
    assert (here / "identity.toml").read_text() == text


def test_every_line_of_it_counts_without_its_mark(identity: Commands, here: Path) -> None:
    identity.ok("config", "init", "sample.toml")
    text = re.sub(r"^# (?=\[|\w+ = )", "", (here / "sample.toml").read_text(), flags=re.MULTILINE)
    (here / "all.toml").write_text(text)
    wrong = json.loads(identity("config", "check", "--config", "all.toml", "--json").stdout)
    # Examples of settings that exclude each other, and of files that are not here.
    assert [one for one in wrong["problems"] if "must be" in one["error"] or "no setting" in one["error"]] == []
    shown = {row["key"] for row in identity.json("config", "show")}
    written = {line.split(" = ")[0] for line in text.splitlines() if re.match(r"\w+ = ", line)}
    assert {key.rpartition(".")[2] for key in shown} == written


def test_all_that_is_wrong_is_told_at_once(identity: Commands, here: Path) -> None:
    (here / "identity.toml").write_text(WRONG)
    identity.environment |= {"IDENTITY_QUOTA_DID_RECORDS": "-1", "IDENTITY_NOPE": "1"}
    result = identity("config", "check", "--json")
    assert result.exit_code == 2
    places = [one["at"] for one in json.loads(result.stdout)["problems"]]
    assert sorted(places) == sorted(
        [
            "file identity.toml:4 (server.wrokers)",
            "file identity.toml:3 (server.port)",
            "file identity.toml:6 (log.level)",
            "file identity.toml:8",
            "file identity.toml:10 (plugins.sealed.nope)",
            "environment IDENTITY_NOPE",
            "environment IDENTITY_QUOTA_DID_RECORDS (quota.did_records)",
        ]
    )
    text = identity("config", "check").stdout
    assert len(text.splitlines()) == 3 * 7


def test_consequences_of_a_wrong_value_are_not_reported(identity: Commands, here: Path) -> None:
    (here / "identity.toml").write_text('[throttle]\nstore = "redis"\nredis_url = "http://x"\n')
    (only,) = json.loads(identity("config", "check", "--json").stdout)["problems"]
    assert only["at"] == "file identity.toml:3 (throttle.redis_url)"


@pytest.mark.parametrize("text", ["[server", "\x00"])
def test_a_file_that_is_no_toml(identity: Commands, here: Path, text: str) -> None:
    (here / "identity.toml").write_text(text)
    (only,) = json.loads(identity("config", "check", "--json").stdout)["problems"]
    assert "not TOML" in only["error"]
