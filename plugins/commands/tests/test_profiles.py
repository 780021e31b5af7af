"""Profiles: ``identity login``, ``use`` and ``logout``, and what each command takes of them."""

from __future__ import annotations

import json
import stat
import tarfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from identity_commands.local_server import LocalServer

from tests.unit.cli.conftest import Commands

KEY, TOKEN = "idk_live_secret", "eyJ.secret.x"


class Recorder:
    """A service that answers every request and keeps who asked."""

    def __init__(self, status: int = 200) -> None:
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append((self.path, self.headers["Authorization"]))
                answer = {"items": [], "nextCursor": None, "error": {"code": "AUTH_FAILED", "message": "no"}}
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def last(self) -> str | None:
        return self.asked[-1][1]


@pytest.fixture
def recorder() -> Iterator[Callable[..., Recorder]]:
    made: list[Recorder] = []

    def make(status: int = 200) -> Recorder:
        made.append(Recorder(status))
        return made[-1]

    yield make
    for one in made:
        one.server.shutdown()
        one.server.server_close()


@pytest.fixture
def profiles_file(here: Path) -> Path:
    return here / "config/identity/profiles.json"


def log_in(identity: Commands, at: Recorder, *words: str, secret: str = KEY) -> str:
    return identity.ok("login", *words, "--url", at.url, "--api-key", "-", input=secret + "\n")


def test_a_login_serves_the_commands_after_it(
    identity: Commands, server: LocalServer, profiles_file: Path, here: Path
) -> None:
    (here / "operator.key").write_text(server.api_key)
    (here / "operator.key").chmod(0o600)
    told = identity.ok("login", "home", "--url", server.url, "--api-key", "operator.key")
    assert f"home is in use: {server.url}, with an API key" in told
    identity.ok("did", "create", "--keys", "hana.json")
    did = json.loads((here / "hana.json").read_text())["did"]
    assert did in identity.ok("did", "resolve", did)
    assert did in identity.ok("did", "list", "--limit", "200")
    assert server.api_key not in told + identity.ok("use") + identity.ok("use", "--json")
    # An access token does the same, for some minutes.
    token = identity.json("auth", "token")["access_token"]
    identity.ok("login", "token", "--url", server.url, "--token", "-", input=token)
    assert did in identity.ok("did", "list", "--limit", "200")
    assert identity.json("logout")["profile"] == "token"
    assert identity("did", "list").exit_code == 1


def test_the_file_is_for_its_owner_alone(
    identity: Commands, recorder: Callable[..., Recorder], profiles_file: Path
) -> None:
    log_in(identity, recorder())
    assert stat.S_IMODE(profiles_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(profiles_file.parent.stat().st_mode) == 0o700
    profiles_file.chmod(0o644)
    what, where, remedy = identity.refused("did", "list")
    assert "others can read" in what
    assert str(profiles_file) in where
    assert "chmod 600" in remedy


def test_a_credential_that_is_not_known_is_not_kept(
    identity: Commands, recorder: Callable[..., Recorder], profiles_file: Path
) -> None:
    at = recorder(401)
    what, _, remedy = identity.refused("login", "--url", at.url, "--api-key", "-", input=KEY)
    assert "AUTH_FAILED" in what
    assert "nothing was kept" in remedy
    assert not profiles_file.exists()
    # One that may not do this, but is known.
    assert "is in use" in log_in(identity, recorder(403))


def test_one_that_is_cut_off_changes_nothing(identity: Commands, profiles_file: Path) -> None:
    for words in (["--api-key", "-"], ["--anonymous"]):
        what, _, _ = identity.refused("login", "--url", "http://127.0.0.1:1", *words, input=KEY)
        assert "does not answer" in what
    assert not profiles_file.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--url", "http://hana:pw@a.example", "--anonymous"], "an address holds no password"),
        (["--url", "ftp://a.example", "--anonymous"], "not an address of a service"),
        ([], "there is no credential"),
        (["--anonymous", "--api-key", "-"], "exclude each other"),
        (["two words", "--anonymous"], "letters, digits"),
        (["a\nb", "--anonymous"], "letters, digits"),
    ],
)
def test_a_login_that_is_asked_wrongly(identity: Commands, profiles_file: Path, words: list[str], says: str) -> None:
    lines = identity.refused("login", *words, status=2, input=KEY)
    assert says in lines[0]
    assert "pw" not in "".join(lines)
    assert not profiles_file.exists()


def test_profiles_are_chosen_by_use_by_option_and_by_environment(
    identity: Commands, recorder: Callable[..., Recorder]
) -> None:
    one, other = recorder(), recorder()
    log_in(identity, one, "one")
    identity.ok("login", "other", "--url", other.url, "--token", "-", input=TOKEN)
    identity.ok("did", "list")
    assert other.last() == f"Bearer {TOKEN}"
    identity.ok("did", "list", "--profile", "one")
    assert one.last() == f"ApiKey {KEY}"
    identity.ok("use", "one")
    assert [row["profile"] for row in identity.json("use") if row["inUse"]] == ["one"]
    count = len(one.asked)
    identity.ok("did", "list")
    assert len(one.asked) == count + 1
    identity.environment["IDENTITY_PROFILE"] = "other"
    identity.ok("did", "list")
    assert other.last() == f"Bearer {TOKEN}"
    identity.ok("did", "list", "--profile", "one")
    assert len(one.asked) == count + 2


def test_a_secret_goes_to_its_own_service_alone(identity: Commands, recorder: Callable[..., Recorder]) -> None:
    home, elsewhere = recorder(), recorder()
    log_in(identity, home)
    identity.ok("did", "list", "--url", elsewhere.url)
    assert elsewhere.last() is None
    identity.environment["IDENTITY_URL"] = elsewhere.url
    identity.ok("did", "list")
    assert elsewhere.last() is None
    # What is public is asked as anybody.
    identity.environment.clear()
    identity.ok("events", "list")
    assert home.asked[-1][0].startswith("/api/v1/events")
    assert home.last() is None


def test_nearest_setting_wins(identity: Commands, recorder: Callable[..., Recorder], here: Path) -> None:
    home = recorder()
    log_in(identity, home, "home")
    identity.environment["IDENTITY_API_KEY"] = "idk_live_environment"
    identity.ok("did", "list")
    assert home.last() == "ApiKey idk_live_environment"
    identity.ok("did", "list", "--profile", "home")
    assert home.last() == f"ApiKey {KEY}"
    (here / "a.key").write_text("idk_live_file")
    (here / "a.key").chmod(0o600)
    identity.ok("did", "list", "--profile", "home", "--api-key", "a.key")
    assert home.last() == "ApiKey idk_live_file"
    identity.environment["IDENTITY_URL"] = "http://127.0.0.1:1"
    identity.ok("did", "list", "--profile", "home")
    assert home.last() == f"ApiKey {KEY}"
    lines = identity.refused("did", "list", "--profile", "home", "--url", home.url, status=2)
    assert "exclude each other" in lines[0]


@pytest.mark.parametrize("words", [["audit", "verify"], ["audit", "export"], ["plugins", "list"], ["probe"]])
def test_a_profile_serves_where_a_service_may_be_asked(
    identity: Commands, recorder: Callable[..., Recorder], words: list[str]
) -> None:
    """By name; what it is answered here is no answer, and who asked is seen."""
    home, other = recorder(), recorder()
    log_in(identity, home, "home")
    log_in(identity, other, "other", secret="idk_live_other")
    other.asked.clear()
    identity(*words, "--profile", "home")
    assert home.last() == f"ApiKey {KEY}"
    assert other.asked == []


def test_local_commands_ignore_current_profile(
    identity: Commands, recorder: Callable[..., Recorder], here: Path
) -> None:
    home = recorder()
    log_in(identity, home, "home")
    home.asked.clear()
    identity.ok("keys", "create", "--name", "a", "--admin", "--data-dir", "data")
    identity.ok("audit", "verify", "--data-dir", "data")
    identity.ok("plugins", "list")
    assert home.asked == []
    # Nor a service that is named by an address gets a profile's credential.
    elsewhere = recorder()
    identity("audit", "verify", "--url", elsewhere.url)
    assert (elsewhere.asked != [], elsewhere.last()) == (True, None)


def test_a_history_is_verified_at_the_service_of_a_profile(identity: Commands, server: LocalServer) -> None:
    identity.ok("login", "here", "--url", server.url, "--api-key", "-", input=server.api_key + "\n")
    made = identity.json("did", "create", "--keys", "hana.json")["did"]
    key = identity.ok("ledger", "key", "--profile", "here").split()[0]
    verified = identity.ok("ledger", "verify", made, "--profile", "here", "--key", key)
    assert made in verified or "entr" in verified
    lines = identity.refused("ledger", "verify", made, "--profile", "here", "--url", server.url, status=2)
    assert "exclude each other" in lines[0]


def test_an_address_alone(identity: Commands, recorder: Callable[..., Recorder]) -> None:
    at = recorder()
    identity.ok("login", "public", "--url", at.url + "/", "--anonymous")
    identity.environment["IDENTITY_API_KEY"] = "idk_live_environment"
    identity.ok("did", "list", "--profile", "public")
    assert at.last() is None
    assert "no credential" in identity.ok("use")


def test_a_profile_that_is_not_there(identity: Commands, recorder: Callable[..., Recorder]) -> None:
    for words in (["use", "absent"], ["logout", "absent"], ["did", "list", "--profile", "absent"]):
        what, _, remedy = identity.refused(*words, status=2)
        assert "no profile absent" in what
        assert "identity use" in remedy
    assert identity.ok("use") == "none\n"
    assert "no profile is in use" in identity.refused("logout", status=2)[0]


def test_a_logout_forgets(identity: Commands, recorder: Callable[..., Recorder], profiles_file: Path) -> None:
    at = recorder()
    log_in(identity, at)
    assert at.url.removeprefix("http://") in identity.ok("use")
    told = identity.ok("logout")
    assert "identity keys revoke" in told
    assert KEY not in profiles_file.read_text() + told
    assert [path.name for path in profiles_file.parent.iterdir() if KEY in path.read_text()] == []


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"[]", b"{}", b'{"use": 1}', b'{"use": null, "profiles": {"a": {}}}', b"\xff"),
        b'{"use": "a", "profiles": {"a": {"url": "http://a", "credential": "password", "secret": "s"}}}',
    ],
)
def test_a_file_that_is_none(identity: Commands, profiles_file: Path, data: bytes) -> None:
    profiles_file.parent.mkdir(parents=True)
    profiles_file.write_bytes(data)
    profiles_file.chmod(0o600)
    for words in (["use"], ["did", "list"], ["logout"]):
        what, where, _ = identity.refused(*words)
        assert "the file of profiles cannot be read" in what
        assert str(profiles_file) in where
    assert profiles_file.read_bytes() == data
    # Who says where the service is needs no profile.
    identity.refused("did", "resolve", "did:ids:x", "--url", "http://127.0.0.1:1")


def test_support_bundle_omits_profile_credential(
    identity: Commands, here: Path, recorder: Callable[..., Recorder]
) -> None:
    service = recorder()
    log_in(identity, service, "home", secret="hunter two")
    service.asked.clear()
    said = ["support-bundle", "--profile", "home", "--log", "-", "-o", here / "bundle.tar.gz"]
    identity.ok(*said, input="the key hunter two was refused\n")
    assert [path for path, _ in service.asked] == ["/api/v1/version", "/api/v1/ready", "/api/v1/metrics"]
    assert {who for _, who in service.asked} == {"ApiKey hunter two"}
    with tarfile.open(here / "bundle.tar.gz") as archive:
        parts = [archive.extractfile(one) for one in archive.getmembers()]
        assert b"hunter" not in b"".join(part.read() for part in parts if part is not None)
    # The profile in use may be of another machine: without --profile there is no request.
    identity.ok("support-bundle", "-o", here / "second.tar.gz")
    assert len(service.asked) == 3
