"""A support bundle holds no secret and no name, however it stands in the log, the settings or a file's name."""

from __future__ import annotations

import base64
import json
import secrets
import tarfile
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner, Result
from identity_operations.commands import support_bundle
from identity_operations.commands.redaction import Redaction

from identity_core.cli import main
from tests.servers import CHEAP_PASSPHRASE

DID = "did:ids:QmXNtehwnbvU5PdgFsgXCDB8uHBPJw92vSXpk5pgAHggvb"
PASSPHRASE = 'Zündung "7"\\ & Käse'
CANARIES = {
    "an API key": "idk_" + secrets.token_urlsafe(32),
    "a private multikey": "z3u2" + "en7t5LR2WtQH5PfFqMqwVHgeXouLzo6haApm8XHqvjxq"[:40],
    "a token": "eyJhbGciOiJFZERTQSJ9."
    + base64.urlsafe_b64encode(b'{"sub":"did:ids:hana"}').decode().rstrip("=")
    + ".c2ln",
    "bytes in hexadecimal": secrets.token_hex(32),
    "bytes in base64": base64.b64encode(b"\xff\xfe" * 20).decode(),
    "a short cookie": "sid=abc",
    "a DID": DID,
    "a DID in a path": quote(DID, safe=""),
    "a DID of a web": "did:web:hana.example:people",
    "an address": "203.0.113.77",
    "an address of six": "2001:db8::dead:beef",
    "a mail address": "hana.tanaka@home.example",
}
LINES = {
    "plain": "WARNING identity: it was {}",
    "at the end of a word": "WARNING identity: caller={},",
    "in quotes": 'ERROR identity: refused "{}" again',
    "in JSON": '{{"message": "it was {}", "level": "INFO"}}',
    "in a path": "ERROR /api/v1/dids/{}/log",
}


def run(folder: Path, *words: str, log: bytes = b"", **variables: str) -> Result:
    variables = {"IDENTITY_DATA_DIR": str(folder / "data")} | CHEAP_PASSPHRASE | variables
    arguments = ["support-bundle", "-o", str(folder / "bundle.tar.gz"), "--json", *words]
    return CliRunner().invoke(main, arguments, env=variables, input=log, prog_name="identity")


def parts(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        files = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


@pytest.mark.parametrize("canary", CANARIES.values(), ids=CANARIES)
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_says_no_canary(canary: str, line: str) -> None:
    if canary == CANARIES["a short cookie"]:
        line = "DEBUG Cookie: {}"
    said = Redaction().text(f"before\n{line.format(canary)}\nafter")
    assert canary not in said
    assert canary[-8:] not in said
    assert said.startswith("before\n")
    assert said.endswith("\nafter")


@pytest.mark.parametrize(
    "header", ["Authorization: ApiKey ", "x-api-key=", "{'password': '", "passphrase ", "Bearer  "]
)
def test_value_after_a_secret_name_is_removed(header: str) -> None:
    assert "Qz" not in Redaction().text(f"{header}Qz")


@pytest.mark.parametrize(
    "piece", ["a", ":", "a:", "://a", "secret ", " ", "1.", "@", "a.", "%3A", "did:", "/", "+", "eyJ."]
)
def test_a_long_line_of_one_thing_is_read_in_one_go(piece: str) -> None:
    """This would take an hour if the search began anew at each character."""
    assert Redaction().text(piece * 50_000 + "\nend").endswith("\nend")


def test_a_known_secret_goes_in_every_form_that_a_log_gives_it() -> None:
    redaction = Redaction([PASSPHRASE, "Zündung", "abc"])
    forms = [
        PASSPHRASE,
        json.dumps(PASSPHRASE),
        json.dumps(PASSPHRASE, ensure_ascii=False),
        repr(PASSPHRASE),
        quote(PASSPHRASE),
    ]
    for form in forms:
        said = redaction.text(f"x {form} y")
        assert "ndung" not in said
        assert "K\\u00e4se" not in said
        assert "Käse" not in said
        assert "K%C3%A4se" not in said
    # What is too short to be told from other text stays, or nothing could be read.
    assert redaction.text("abc") == "abc"


def test_useful_values_stay() -> None:
    line = (
        "2026-01-02T03:04:05Z INFO identity.request: request method=GET operation=resolveDid status=200 milliseconds=0.81 "
        "octetsIn=0 octetsOut=812 caller=key:3f2a90c1d7e8 requestId=7c1e0a52-1f"
    )
    assert Redaction().text(line) == line
    for text in (
        "127.0.0.1:8080",
        "::1",
        "identity-service 1.4.0",
        "plugins.sealed.argon2_memory_mib",
        "/var/lib/identity/index.sqlite3",
    ):
        assert Redaction().text(text) == text


def test_one_did_is_one_name_in_a_bundle_and_another_in_the_next() -> None:
    first, second = Redaction(), Redaction()
    assert first.text(DID) == first.text(DID)
    assert first.text(DID) == first.text(quote(DID, safe="")).replace("%3A", ":")
    assert first.text(DID) != first.text(DID[:-1] + "c")
    assert first.text(DID) != second.text(DID)


def test_the_bundle_of_an_installation_that_was_used(tmp_path: Path) -> None:
    """With a passphrase and a password in its settings, a telling name of a file, and a log full of canaries."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / f"left-{CANARIES['an API key']}").touch(mode=0o600)
    password = "hunter2 is short"
    variables = {
        "IDENTITY_PLUGINS_SEALED_PASSPHRASE": PASSPHRASE,
        "IDENTITY_THROTTLE_REDIS_URL": f"redis://cache:{quote(password)}@127.0.0.1:1/0",
        "API_KEY": "as-short-as-this",
    }
    noise = [line.format(canary) for canary in CANARIES.values() for line in LINES.values() if canary != "sid=abc"]
    noise += [json.dumps({"message": PASSPHRASE}), f"redis said: {password}", "key as-short-as-this"]
    done = run(tmp_path, "--log", "-", log="\n".join(noise).encode(), **variables)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    found = parts(tmp_path / "bundle.tar.gz")
    assert [*found] == [f"identity-support/{name}" for name in told["parts"]]
    assert told["parts"] == ["versions.json", "settings.json", "doctor.json", "files.json", "log.txt"]
    whole = "\n".join(found.values())
    for canary in (*CANARIES.values(), PASSPHRASE, password, quote(password), "as-short-as-this"):
        assert canary not in whole
    assert "ndung" not in whole
    assert told["replaced"] >= len(noise)
    assert (tmp_path / "bundle.tar.gz").stat().st_mode & 0o777 == 0o600
    # What it is made for is there.
    rows = {row["key"]: row["value"] for row in json.loads(found["identity-support/settings.json"])}
    assert rows["server.port"] == 8080
    assert "data directory" in {one["check"] for one in json.loads(found["identity-support/doctor.json"])}
    assert "identity-service" in json.loads(found["identity-support/versions.json"])["distributions"]


def test_unavailable_part_is_reported(tmp_path: Path) -> None:
    done = run(tmp_path, "--url", "http://127.0.0.1:1", IDENTITY_API_KEY="idk_" + "a" * 40)
    assert done.exit_code == 0, done.output
    service = json.loads(parts(tmp_path / "bundle.tar.gz")["identity-support/service.json"])
    assert service["/ready"]["error"].startswith("ServiceUnreachable")
    again = run(tmp_path)
    assert again.exit_code == 1
    assert "there is such a file already" in again.stderr


def test_end_of_a_long_log_has_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support_bundle, "LOG_OCTETS", 100_000)
    lines = b"".join(b"line %09d\n" % number for number in range(100_000))
    assert run(tmp_path, "--log", "-", log=lines).exit_code == 0
    kept = parts(tmp_path / "bundle.tar.gz")["identity-support/log.txt"].encode()
    assert 99_000 < len(kept) <= 100_000
    assert lines.endswith(kept)
    assert kept.startswith(b"line ")
