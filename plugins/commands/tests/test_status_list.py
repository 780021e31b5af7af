"""identity status-list: lists that lie in a folder, and what a holder fetches of them from a web server that knows nothing of lists."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_log import record_of
from identity_bound_credentials.domain.gap_shards import MAX_MANIFEST_OCTETS, Manifest
from identity_commands import status_list
from identity_transparency.domain import gap_record

from identity_bbs import interface
from identity_bbs.bls12381 import keys, select
from identity_bbs.suite import ciphersuite
from identity_codec import multikey
from identity_codec.multibase import base64url_decode
from identity_core.database.files import FileLock
from identity_tlog.leaf import LogLeaf
from identity_tlog.proofs import TlogProof
from tests.transparency import LogKey
from tests.unit.cli.conftest import Commands

DID = "did:example:ivo"
LIST = "AAAAAAAAAAAAAAAAAAAAAA"
PAIR = bytes(31) + b"\x07"
PUBLIC = multikey.encode_public(multikey.BLS12381G2, keys.public_key(PAIR))
METHOD = f"{DID}#{PUBLIC}"
EPOCH = status_gaps.epoch_at(datetime.now(UTC), 86_400) + 1
"""Tomorrow: the day may end between two commands, and this epoch with it for another day only."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@pytest.fixture
def mirror(here: Path) -> Iterator[str]:
    """The address of a plain web server over the folder ``lists``."""
    (here / "lists").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(here / "lists"))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def issuer(here: Path) -> Path:
    """A keys file with a BLS key."""
    path = here / "ivo.json"
    key = {
        "type": multikey.BLS12381G2,
        "keyId": METHOD,
        "publicKey": PUBLIC,
        "privateKey": multikey.encode_secret(multikey.BLS12381G2, PAIR),
    }
    path.write_text(json.dumps({"did": DID, "keys": {"assertionMethod": key}}))
    path.chmod(0o600)
    return path


Publish = Callable[..., Any]


@pytest.fixture
def published(identity: Commands, here: Path, issuer: Path) -> Publish:
    """Publishes a list with these handles, and says what the command printed."""

    def publish(handles: str, *more: str) -> Any:
        (here / "revoked").write_text(handles)
        words = ("--keys", issuer, "--list", LIST, "--handles", here / "revoked", "--folder", here / "lists")
        return identity.json("status-list", "publish", *words, *(more or ("--epoch", str(EPOCH))))

    return publish


def fetch(identity: Commands, url: str, handle: int, *more: str) -> tuple[Any, ...]:
    (Path.cwd() / "handle").write_text(f"{handle}\n")
    Path("handle").chmod(0o600)
    which = ("--list", LIST, "--method", METHOD, "--key", PUBLIC, "--handle", "handle")
    return ("status-list", "fetch", url, *which, *(() if "--epoch" in more else ("--epoch", str(EPOCH))), *more)


def test_published_list_is_fetched_from_any_web_server(identity: Commands, published: Publish, mirror: str) -> None:
    made = published("1000\n2500000000\n")
    assert (made["gaps"], made["shards"], made["edition"], made["changed"]) == (3, 1, 1, True)
    got = identity.json(*fetch(identity, mirror, 77_000, "--digest", made["digest"]))
    assert (got["low"], got["high"]) == (1_000, 2_500_000_000)
    # What a prover needs, with nothing but the key of the list.
    interface.verify(
        ciphersuite(select()),
        keys.public_key(PAIR),
        base64url_decode(got["signature"]),
        base64url_decode(got["header"]),
        [got["low"], got["high"]],
    )
    assert "not revoked in epoch" in identity.ok(*fetch(identity, mirror, 5, "--whole"))


def test_gap_is_read_from_a_copied_folder(identity: Commands, published: Publish, here: Path) -> None:
    made = published("1000 70000\n")
    copied = here / "copied"
    shutil.copytree(here / "lists", copied)
    got = identity.json(*fetch(identity, str(copied), 77_000, "--digest", made["digest"]))
    assert got["low"] == 70_000
    assert "cannot be read" in identity.refused(*fetch(identity, str(here / "absent"), 5))[0]
    (manifest,) = (copied / "status-gaps" / LIST).glob(f"{made['epoch']}*")
    manifest.write_bytes(b"x" * (MAX_MANIFEST_OCTETS + 1))
    assert "too long" in identity.refused(*fetch(identity, str(copied), 5))[0]


def test_a_revoked_handle_ends_the_command(identity: Commands, published: Publish, mirror: str) -> None:
    published("1000\n2500000000\n")
    for handle in (1_000, 2_500_000_000):
        said = identity.refused(*fetch(identity, mirror, handle))
        assert "revoked or suspended" in said[0]


def test_a_change_is_the_next_edition_and_no_change_is_none(
    identity: Commands, published: Publish, mirror: str, here: Path
) -> None:
    first = published("1000\n")
    files = {path: path.read_bytes() for path in (here / "lists").rglob("*") if path.is_file()}
    assert {path.stat().st_mode & 0o777 for path in files if path.name != ".lock"} == {0o644}
    assert published("1000\n") == {**first, "changed": False}
    second = published("1000\n77000\n")
    assert (second["edition"], second["changed"]) == (2, True)
    assert identity.refused(*fetch(identity, mirror, 77_000))[0].startswith("error: the credential is revoked")
    # Who still has the manifest of before finds its shards.
    place = here / "lists" / "status-gaps" / LIST
    assert all(path.read_bytes() == data for path, data in files.items() if path.parent.name == "shards")
    assert len(list((place / "shards").iterdir())) == 2
    assert identity.refused(*fetch(identity, mirror, 5, "--digest", first["digest"]))[0].endswith("the log has")


def test_the_current_epoch_is_the_default(identity: Commands, published: Publish, mirror: str) -> None:
    made = published("1000\n", "--period", "day")
    assert made["epoch"] in (EPOCH - 1, EPOCH)
    assert identity.json(*fetch(identity, mirror, 5, "--epoch", str(made["epoch"])))["high"] == 1_000


def test_publication_excludes_other_publishers(published: Publish, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two who publish at once would make two lists of one edition."""
    free: list[bool] = []

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def watch(*arguments: Any) -> Any:
            with contextlib.closing(FileLock(here / "lists" / "status-gaps" / LIST / ".lock")) as other:
                free.append(other.try_acquire())
            return function(*arguments)

        return watch

    for name in ("_before", "_write_file"):
        monkeypatch.setattr(status_list, name, watched(getattr(status_list, name)))
    published("1000\n")
    assert free == [False] * 3
    monkeypatch.undo()
    assert published("1000\n5\n")["edition"] == 2, "the lock is given back"


def test_the_next_epoch_is_made_before_it_begins(
    identity: Commands, published: Publish, mirror: str, here: Path
) -> None:
    made = published("1000\n", "--epoch", "next", "--period", "hour")
    now = status_gaps.epoch_at(datetime.now(UTC), 3_600)
    assert made["epoch"] in (now, now + 1)
    data = (here / "lists" / "status-gaps" / LIST / str(made["epoch"])).read_bytes()
    assert Manifest.from_octets(data).epoch.period == 3_600
    words = fetch(identity, mirror, 5, "--period", "hour", "--epoch", str(made["epoch"]))
    assert identity.json(*words)["high"] == 1_000
    # The number is that of another day's list: a period that is not the list's is refused.
    words = fetch(identity, mirror, 5, "--epoch", str(made["epoch"] // 24))
    assert "404" in identity.refused(*words)[0]


def test_a_list_that_is_not_there(identity: Commands, published: Publish, mirror: str) -> None:
    assert "404" in identity.refused(*fetch(identity, mirror, 5))[0]
    assert "does not answer" in identity.refused(*fetch(identity, "http://127.0.0.1:1", 5))[0]
    published("1000\n")
    manifest = fetch(identity, mirror, 5, "--period", "hour", "--epoch", "current")
    assert "404" in identity.refused(*manifest)[0]


def test_a_manifest_of_another_key_is_not_replaced(identity: Commands, published: Publish, issuer: Path) -> None:
    published("1000\n")
    other = bytes(31) + b"\x08"
    value = json.loads(issuer.read_text())
    public = multikey.encode_public(multikey.BLS12381G2, keys.public_key(other))
    value["keys"]["assertionMethod"] |= {
        "keyId": f"{DID}#{public}",
        "publicKey": public,
        "privateKey": multikey.encode_secret(multikey.BLS12381G2, other),
    }
    issuer.write_text(json.dumps(value))
    words = ("--keys", issuer, "--list", LIST, "--handles", "revoked", "--folder", "lists", "--epoch", str(EPOCH))
    said = identity.refused("status-list", "publish", *words)
    assert "another list's, key's or period's" in said[0]


@pytest.mark.parametrize(
    ("handles", "says"),
    [
        ("0\n", "no handle"),
        ("4294967295\n", "do not ascend"),
        ("7\n7\n", "do not ascend"),
        ("9999999999\n", "do not ascend"),
        ("-1\n", "no handle"),
        ("seven\n", "no handle"),
        ("1,2\n", "no handle"),
        ("0x10\n", "no handle"),
        ("99999999999\n", "no handle"),
    ],
)
def test_a_file_that_holds_something_else(
    identity: Commands, issuer: Path, handles: str, says: str, here: Path
) -> None:
    (here / "revoked").write_text(handles)
    words = ("--keys", issuer, "--list", LIST, "--handles", "revoked", "--folder", "lists")
    assert says in identity.refused("status-list", "publish", *words, status=2)[0]
    assert not (here / "lists").exists()


@pytest.mark.parametrize(
    "more", [("--epoch", "yesterday"), ("--epoch", "-1"), ("--epoch", "1"), ("--list", "short"), ("--epoch", "9" * 30)]
)
def test_options_that_name_no_epoch(identity: Commands, issuer: Path, more: tuple[str, str], here: Path) -> None:
    (here / "revoked").write_text("")
    words = ("--keys", issuer, "--list", LIST, "--handles", "revoked", "--folder", "lists", *more)
    identity.refused("status-list", "publish", *words, status=2)


def test_a_handle_is_no_argument(identity: Commands, here: Path) -> None:
    """Arguments are read by everybody on the machine, and a handle with a fetch beside it says whose credential it is."""
    words = ("status-list", "fetch", "http://127.0.0.1:1", "--list", LIST, "--method", METHOD, "--key", PUBLIC)
    assert "everyone on this machine" in identity.refused(*words, "--handle", "77000", status=2)[0]
    assert "missing" in identity.refused(*words, status=2)[0]
    (here / "handle").write_text("seventy\n")
    (here / "handle").chmod(0o600)
    assert "no number" in identity.refused(*words, "--handle", "handle", status=2)[0]


def test_a_list_is_taken_with_the_proof_that_a_log_has_it(
    identity: Commands, published: Publish, mirror: str, here: Path
) -> None:
    published("1000\n")
    manifest = Manifest.from_octets((here / "lists" / "status-gaps" / LIST / str(EPOCH)).read_bytes())
    key, record = LogKey(bytes(32)), record_of(manifest)
    leaf = LogLeaf(1, "0" * 64, 1, datetime.now(UTC), gap_record.subject(LIST), 1, record.encoded).encode()
    words = ("--log-key", str(key.verifier), "--save-proof", here / "kept")
    assert identity.refused(*fetch(identity, mirror, 5, *words))
    assert not (here / "kept").exists()
    place = here / "lists" / gap_shards.proof_place(manifest)
    place.parent.mkdir()
    place.write_bytes(TlogProof(0, (), key.note([leaf]), leaf).encode())
    assert identity.json(*fetch(identity, mirror, 5, *words))["low"] == 0
    assert (here / "kept").read_bytes() == place.read_bytes()
    assert identity.refused(*fetch(identity, mirror, 5, "--log-key", str(LogKey(bytes([1]) * 32).verifier)))
    assert "goes with --log-key" in "".join(
        identity.refused(*fetch(identity, mirror, 5, "--save-proof", "x"), status=2)
    )
