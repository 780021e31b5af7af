from __future__ import annotations

import asyncio
import io
import logging
import os
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_keys_file import FileKeys, identity_provide_key_store
from identity_keys_file.__main__ import entry, main
from identity_keys_file.entries import FileInvalid, parse_file
from identity_kit.conformance.key_store import KeyStoreConformance

from identity_core.domain.callers import digest_of, mint
from tests.listed_keys import is_minted

NOW = datetime(2026, 1, 2, tzinfo=UTC)
TEXT = mint(bytes(32))
DIGEST = digest_of(TEXT)
GOOD = f'[keys.ci]\nsha256 = "{DIGEST}"\nadmin = true\n'


def write(path: Path, text: str) -> None:
    """Replaces the file as an editor does; the modification time moves although the test takes no time."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    path.chmod(0o600)
    if path.stat().st_mtime_ns <= before:
        os.utime(path, ns=(before + 1, before + 1))


def store(path: Path) -> FileKeys:
    return FileKeys(path, logger=logging.getLogger("keys"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "keys.toml"
    write(path, GOOD)
    return path


class TestConformance(KeyStoreConformance):
    @pytest.fixture
    def store(self, file):
        return store(file)

    @pytest.fixture
    def known_key(self):
        return TEXT


def test_every_member_is_read():
    text = f"""
    [keys."a.b_c-1"]
    sha256 = "{DIGEST}"
    scopes = ["dids:create"]
    allowed_targets = []
    requests_per_second = 0.5
    burst = 7
    created_at = 2026-01-01T01:00:00+01:00
    expires_at = 2027-01-01T00:00:00Z
    revoked_at = 2026-06-01T00:00:00.5Z
    """
    (key,) = parse_file(text.encode(), modified_ns=0)
    assert (key.id, key.name, key.source) == ("file.a.b_c-1", "a.b_c-1", "file")
    assert (key.scopes, key.allowed_targets) == (frozenset({"dids:create"}), frozenset())
    assert (key.requests_per_second, key.burst) == (0.5, 7)
    assert key.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert key.expires_at == datetime(2027, 1, 1, tzinfo=UTC)
    assert key.revoked_at == datetime(2026, 6, 1, 0, 0, 0, 500_000, tzinfo=UTC)


def test_the_age_of_a_key_that_tells_none_is_that_of_the_file():
    (key,) = parse_file(GOOD.encode(), modified_ns=1_767_312_000 * 10**9)
    assert key.created_at == NOW


@pytest.mark.parametrize(
    "text",
    [
        "[keys",
        "\ufeff",
        "other = 1",
        "keys = 1",
        "[keys]\nci = 1",
        f'[keys."a b"]\nsha256 = "{DIGEST}"\nadmin = true',
        "[keys.ci]\nadmin = true",
        f'[keys.ci]\nsha256 = "{DIGEST}"',
        f'[keys.ci]\nsha256 = "{DIGEST}"\nadmin = false',
        f'[keys.ci]\nsha256 = "{DIGEST}"\nadmin = true\nscopes = []',
        f'[keys.ci]\nsha256 = "{DIGEST.upper()}"\nadmin = true',
        '[keys.ci]\nsha256 = "00"\nadmin = true',
        f"[keys.ci]\nsha256 = {int(DIGEST[:8], 16)}\nadmin = true",
        GOOD + "admin2 = true",
        GOOD + "burst = 0",
        GOOD + "burst = 1.5",
        GOOD + "burst = true",
        GOOD + "requests_per_second = 0",
        GOOD + "requests_per_second = nan",
        GOOD + "requests_per_second = inf",
        GOOD + "requests_per_second = true",
        GOOD + "expires_at = 2027-01-01",
        GOOD + "expires_at = 2027-01-01T00:00:00",
        GOOD + 'expires_at = "2027-01-01T00:00:00Z"',
        GOOD + "allowed_targets = [1]",
        GOOD + f'[keys.other]\nsha256 = "{DIGEST}"\nadmin = true',
    ],
)
def test_malformed_file_stops_the_start(tmp_path, text):
    path = tmp_path / "keys.toml"
    write(path, text)
    with pytest.raises(ValueError, match=r"keys\.toml: "):
        store(path)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_content_does_more_than_be_refused(data):
    with suppress(FileInvalid):
        parse_file(data, modified_ns=0)


def test_a_missing_file_has_no_keys_and_may_come_later(tmp_path):
    path = tmp_path / "keys.toml"
    keys = store(path)
    assert asyncio.run(keys.find(DIGEST)) is None
    write(path, GOOD)
    assert asyncio.run(keys.find(DIGEST)).id == "file.ci"


def test_a_change_is_seen_at_the_next_look_up(file):
    keys = store(file)
    assert asyncio.run(keys.find(DIGEST)).burst is None
    write(file, GOOD + "burst = 3\n")
    assert asyncio.run(keys.find(DIGEST)).burst == 3
    write(file, "")
    assert asyncio.run(keys.find(DIGEST)) is None


def test_a_deleted_file_has_no_keys(file):
    keys = store(file)
    file.unlink()
    assert asyncio.run(keys.find(DIGEST)) is None


def test_broken_file_keeps_last_keys_and_logs_once(file, caplog):
    keys = store(file)
    write(file, "[keys")
    for _ in range(3):
        assert asyncio.run(keys.find(DIGEST)) is not None
    assert len(caplog.records) == 1
    write(file, GOOD + "burst = 3\n")
    assert asyncio.run(keys.find(DIGEST)).burst == 3


def test_a_file_for_everybody_is_reported(file, caplog):
    store(file)
    assert not caplog.records
    file.chmod(0o644)
    store(file)
    assert "0600" in caplog.text


def test_a_directory_in_its_place_stops_the_start(tmp_path):
    (tmp_path / "keys.toml").mkdir()
    with pytest.raises(ValueError, match=r"keys\.toml"):
        store(tmp_path / "keys.toml")


def test_the_command_makes_an_entry_that_the_store_reads(tmp_path):
    output, errors = io.StringIO(), io.StringIO()
    code = main(
        ["ci", "--scope", "dids:create"], output=output, errors=errors, now=NOW, random=lambda size: b"r" * size
    )
    text = errors.getvalue().strip()
    assert code == 0
    assert is_minted(text)
    assert text not in output.getvalue()
    write(tmp_path / "keys.toml", output.getvalue())
    found = asyncio.run(store(tmp_path / "keys.toml").find(digest_of(text)))
    assert (found.name, found.scopes, found.created_at) == ("ci", frozenset({"dids:create"}), NOW)


def test_the_command_refuses_what_the_store_would_refuse():
    output, errors = io.StringIO(), io.StringIO()
    code = main(['a"b', "--admin"], output=output, errors=errors, now=NOW, random=bytes)
    assert code == 2
    assert output.getvalue() == ""
    assert "idk_live_" not in errors.getvalue()


@pytest.mark.parametrize("value", ["inf", "nan", "1_0", "1e3", " 7", "７", "٣", "0x10", "", "-1"])
@pytest.mark.parametrize("option", ["--rate", "--burst"])
def test_the_command_takes_plain_numbers(capsys, option, value):
    with pytest.raises(SystemExit) as ended:
        main(["ci", "--admin", f"{option}={value}"], output=io.StringIO(), errors=io.StringIO(), now=NOW, random=bytes)
    assert ended.value.code == 2
    assert "is not a" in capsys.readouterr().err


def test_the_command_demands_admin_or_scopes(capsys):
    with pytest.raises(SystemExit):
        main(["ci"], output=io.StringIO(), errors=io.StringIO(), now=NOW, random=bytes)
    assert "--admin" in capsys.readouterr().err


def test_the_command_as_a_command():
    ran = subprocess.run([sys.executable, "-m", "identity_keys_file", "ci", "--admin"], capture_output=True, text=True)
    assert ran.returncode == 0
    assert is_minted(ran.stderr.strip())
    assert ran.stdout.startswith('[keys."ci"]')


@given(st.lists(st.text(max_size=8), max_size=3), st.floats(1e-3, 1e6), st.integers(1, 10**6))
def test_an_entry_is_read_as_it_was_meant(scopes, rate, burst):
    made = entry("n", TEXT, scopes=scopes, rate=rate, burst=burst, now=NOW)
    (key,) = parse_file(made.encode(), modified_ns=0)
    assert (key.digest, key.scopes, key.requests_per_second, key.burst) == (DIGEST, frozenset(scopes), rate, burst)


def test_the_hook_provides_file():
    assert identity_provide_key_store().name == "file"
