"""A stolen checkpoint key that was replaced, against every command that reads checkpoints.

A note signed by the replaced key alone proves nothing by itself: the thief signs any tree. It counts only up to the size that both keys
signed, or that the proven place of the replacement gives, and only with a consistency proof (RFC 9162 §2.1.4) to a checkpoint of the
present key (C2SP tlog-checkpoint: a log never signs two trees that are not consistent).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from identity_codec.values import replace
from tests.split_view import (
    DID,
    HOLDER,
    NEW,
    OLD,
    ORIGIN,
    OTHERS,
    PLACE,
    SERVICE,
    SERVICE_DID,
    SIGNED_SIZE,
    STOLEN,
    ShownLog,
    fork,
    leaf,
    replacing_service,
    served,
    thief_log,
    true_log,
)
from tests.transparency import LogKey, write_log
from tests.unit.cli.conftest import Commands, here, identity

__all__ = ["here", "identity"]

KEY = ("--key", str(NEW.verifier))
FORKS = {
    "stated behind a large fork": (60, 101),
    "stated behind a fork of the signed size": (SIGNED_SIZE, 101),
    "smaller than the signed size": (SIGNED_SIZE - 1, PLACE),
    "replacement inside the fork": (SIGNED_SIZE, 2),
    "larger by one than the signed size": (SIGNED_SIZE + 1, PLACE),
}


@pytest.fixture(params=FORKS.values(), ids=FORKS)
def forked(request: pytest.FixtureRequest) -> ShownLog:
    return fork(*request.param)


def files(folder: Path, log: ShownLog, name: str) -> dict[str, Path]:
    """Everything that can be kept of a log."""
    found = {kind: folder / f"{name}.{kind}" for kind in ("history", "proof", "note")}
    found["history"].write_bytes(log.history().encode())
    found["proof"].write_bytes(log.proof())
    found["note"].write_bytes(log.note)
    write_log(folder / name, log.encoded, log.note)
    return found | {"folder": folder / name}


def policy(here: Path, key: Any = NEW) -> Path:
    (here / "policy").write_text(f"log {key.verifier}\nquorum none\n")
    return here / "policy"


@pytest.mark.parametrize("believed", [(), ("--service-did", SERVICE_DID)])
def test_a_served_fork_of_a_replaced_key_is_refused(
    identity: Commands, forked: ShownLog, believed: tuple[str, ...]
) -> None:
    with served(forked) as url:
        says = identity.refused("ledger", "verify", DID, "--url", url, *KEY, *believed)[0]
        assert "replaced key alone" in says or "not signed by the key of the log" in says or "not lead" in says, says
        identity.refused("ledger", "checkpoint", "--url", url, *KEY, *believed)
        result = identity("ledger", "audit", "--url", url, *KEY, *believed)
        assert (result.exit_code, "signature" in result.stdout) == (1, True), result.output


def test_a_served_fork_is_refused_beside_a_kept_history(identity: Commands, here: Path, forked: ShownLog) -> None:
    """The caller holds the true service log; the service proves no growth from the fork to its checkpoint."""
    later = ("--service-history", files(here, true_log(), "later")["history"])
    with served(forked) as url:
        for command in (("verify", DID), ("checkpoint",)):
            assert identity("ledger", *command, "--url", url, *KEY, *later).exit_code in (1, 2)
        assert identity("ledger", "audit", "--url", url, *KEY, *later).exit_code == 1


def test_a_fork_in_files_is_refused(identity: Commands, here: Path, forked: ShownLog) -> None:
    kept, true = files(here, forked, "fork"), files(here, true_log(), "true")
    for later in (true["history"], kept["history"]):
        more = (*KEY, "--service-history", later)
        assert identity("ledger", "verify", "--history", kept["history"], *more).exit_code in (1, 2)
        identity.refused("ledger", "verify", "--policy", policy(here), kept["proof"], "--service-history", later)
        identity.refused("ledger", "checkpoint", "--dir", kept["folder"], *more)
        assert identity("ledger", "audit", "--dir", kept["folder"], *more).exit_code == 1
        (here / "log").write_bytes(HOLDER.entries[0])
        identity.refused("did", "log", "verify", here / "log", *more, "--proof", kept["proof"])
    assert identity("ledger", "verify", "--history", kept["history"], *KEY).exit_code in (1, 2)
    words = ("--dir", kept["folder"], *KEY, "--service-did", SERVICE_DID)
    identity.refused("ledger", "checkpoint", *words)
    assert identity("ledger", "audit", *words).exit_code == 1


def test_fork_is_refused_without_consistency_proof(identity: Commands, here: Path, forked: ShownLog) -> None:
    kept = files(here, forked, "fork")
    with served(true_log()) as url:
        later = (*KEY, "--service-history", files(here, true_log(), "true")["history"], "--url", url)
        says = identity.refused("ledger", "verify", "--history", kept["history"], *later)[0]
        assert any(words in says for words in ("does not continue", "not signed", "not lead", "has no leaf", "missing"))
        identity.refused("ledger", "verify", DID, "--checkpoint", kept["note"], *KEY, "--url", url)
        identity.refused("ledger", "checkpoint", "--dir", kept["folder"], *later)
        assert identity("ledger", "audit", "--dir", kept["folder"], *later).exit_code == 1


def test_the_true_log_of_the_present_key_is_proven(identity: Commands, here: Path) -> None:
    true = files(here, true_log(), "true")
    with served(true_log()) as url:
        assert "deactivated" in identity.ok("ledger", "verify", DID, "--url", url, *KEY)
        identity.ok("ledger", "checkpoint", "--url", url, *KEY)
        assert "sound" in identity.ok("ledger", "audit", "--url", url, *KEY, "--logs")
    later = (*KEY, "--service-history", true["history"])
    assert "deactivated" in identity.ok("ledger", "verify", "--history", true["history"], *KEY)
    identity.ok(
        "ledger", "verify", "--policy", policy(here, OLD), true["proof"], *later[2:], "--service-did", SERVICE_DID
    )
    identity.ok("ledger", "checkpoint", "--dir", true["folder"], *later)
    assert "sound" in identity.ok("ledger", "audit", "--dir", true["folder"], *later, "--logs")


@pytest.mark.parametrize("size", range(4, PLACE + 1))
def test_checkpoint_of_replaced_key_counts_with_proof(identity: Commands, here: Path, size: int) -> None:
    """Also one of the entries that came between the signatures and the entry of the replacement."""
    kept = files(here, true_log(size, (OLD,)), "kept")
    true = files(here, true_log(), "true")
    more = (*KEY, "--service-history", true["history"])
    with served(true_log()) as url:
        assert "deactivated" in identity.ok("ledger", "verify", "--history", kept["history"], *more, "--url", url)
        identity.ok("ledger", "verify", DID, "--checkpoint", kept["note"], *KEY, "--url", url)
        identity.ok("ledger", "verify", DID, "--held", kept["note"], *KEY, "--url", url)
        identity.ok("ledger", "checkpoint", "--dir", kept["folder"], *more, "--url", url)
        assert "sound" in identity.ok("ledger", "audit", "--dir", kept["folder"], *more, "--url", url)
    for command in ("checkpoint", "audit"):
        assert identity("ledger", command, "--dir", kept["folder"], *more).exit_code == 1
    # Who knows the old key alone, and of no replacement, has nothing else to hold the log to.
    identity.ok("ledger", "verify", "--history", kept["history"], "--key", str(OLD.verifier))


def test_replaced_key_does_not_sign_tree_with_its_replacement(identity: Commands, here: Path) -> None:
    kept = files(here, true_log(PLACE + 1, (OLD,)), "kept")
    with served(true_log()) as url:
        more = (*KEY, "--service-history", files(here, true_log(), "true")["history"], "--url", url)
        assert "not signed" in identity.refused("ledger", "verify", "--history", kept["history"], *more)[0]


LOG_COMMANDS = {
    "audit": ("audit",),
    "audit that needs the service log": ("audit", "--require-service-log"),
    "audit of the logs": ("audit", "--logs"),
    "checkpoint": ("checkpoint",),
}


@pytest.mark.parametrize("command", LOG_COMMANDS.values(), ids=LOG_COMMANDS)
@pytest.mark.parametrize("is_forged", [True, False])
def test_a_compromised_key_counts_for_no_log(
    identity: Commands, here: Path, command: tuple[str, ...], is_forged: bool
) -> None:
    """The kept history names the replacement, which the compromised key did not sign: nothing leads on from it."""
    true = true_log(service=STOLEN)
    shown = thief_log(SERVICE.entries[:1]) if is_forged else true
    history = files(here, true, "true")["history"]
    kept = files(here, shown, "shown")
    more = ("--key", str(OLD.verifier), "--service-history", history)
    with served(shown) as url:
        for source in (("--url", url), ("--dir", kept["folder"])):
            result = identity("ledger", *command, *source, *more)
            assert (result.exit_code, result.stdout) == (1, ""), result.output
            assert "was replaced" in result.stderr
            assert "--service-did" in result.stderr
            followed = identity("ledger", *command, *source, *more, "--service-did", SERVICE_DID)
            assert followed.exit_code == (1 if is_forged else 0), followed.output


THIEF = LogKey(bytes([3]) * 32)


@pytest.mark.parametrize("is_named", [False, True])
def test_a_stolen_key_names_no_successor(identity: Commands, here: Path, is_named: bool) -> None:
    """The thief of the given key signs its replacement by a key of the thief's own, in a log of a DID of the thief's own."""
    forged = replacing_service(THIEF, signing=(OLD, THIEF), owner="mallory")
    mallory = str(forged.state.did)
    shown = ShownLog([leaf(0, DID, 1, HOLDER.entries[0]), *(leaf(index) for index in range(1, 8))], (THIEF,))
    shown.leaves[1], shown.leaves[6] = (leaf(at, mallory, n, forged.entries[n - 1]) for n, at in ((1, 1), (2, 6)))
    kept = files(here, shown, "shown")
    history = replace(
        shown.history(), service_did=mallory, service=tuple(map(shown.recorded, shown.leaves_of(mallory)))
    )
    (here / "history").write_bytes(history.encode())
    (here / "log").write_bytes(HOLDER.entries[0])
    later = ("--service-history", here / "history")
    more = ("--key", str(OLD.verifier), *(("--service-did", SERVICE_DID) if is_named else ()))
    for command in (
        ("ledger", "verify", "--history", here / "history"),
        ("ledger", "verify", kept["proof"], "--policy", policy(here, OLD), *later),
        ("ledger", "checkpoint", "--dir", kept["folder"], *later),
        ("ledger", "audit", "--dir", kept["folder"], *later),
        ("did", "log", "verify", here / "log", "--proof", kept["proof"], *later),
    ):
        says = identity.refused(*command, *more)
        if not is_named:
            assert "was replaced" in says[0]
            assert "--service-did" in says[-1]


def test_a_compromised_key_counts_for_no_entry(identity: Commands, here: Path) -> None:
    history = files(here, true_log(service=STOLEN), "true")["history"]
    more = ("--key", str(OLD.verifier), "--service-history", history)
    for shown in (thief_log(SERVICE.entries[:1]), true_log(service=STOLEN)):
        kept = files(here, shown, "shown")
        (here / "log").write_bytes(b"\n".join(HOLDER.entries[: len(shown.leaves_of(DID))]))
        with served(shown) as url:
            for command in (
                ("ledger", "verify", DID, "--url", url),
                ("ledger", "verify", "--history", kept["history"]),
                ("ledger", "verify", kept["proof"], "--policy", policy(here, OLD)),
                ("did", "log", "verify", here / "log", "--proof", kept["proof"]),
            ):
                assert "was replaced" in identity.refused(*command, *more)[0]


def test_a_longer_forged_service_log_hides_no_replacement(identity: Commands, here: Path) -> None:
    """The service shows a log of its own DID that is longer than the kept one, and names no replacement."""
    overlap = true_log(signers=(NEW, OLD))
    more = ("--key", str(OLD.verifier), "--service-history", files(here, overlap, "true")["history"])
    shown = thief_log(OTHERS.entries)
    history = files(here, shown, "shown")["history"]
    with served(shown) as url:
        for source in ((DID, "--url", url), ("--history", history)):
            assert "two forms" in identity.refused("ledger", "verify", *source, *more)[0]


def test_a_stated_service_did_without_entries_is_no_service_log(identity: Commands) -> None:
    with served(thief_log(())) as url:
        words = ("ledger", "audit", "--url", url, "--key", str(OLD.verifier))
        assert "sound" in identity.ok(*words)
        assert "service's own log is missing" in identity.refused(*words, "--require-service-log")[0]


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of the numbers and times of a history."""
    if isinstance(value, int) or (isinstance(value, str) and path[-1] == "recordedAt"):
        yield path
    elif isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(member, (*path, name))


@pytest.mark.parametrize("at", [SIGNED_SIZE - 1, SIGNED_SIZE, 60])
def test_no_number_of_a_saved_history_makes_a_fork_valid(identity: Commands, here: Path, at: int) -> None:
    """Every unsigned number of both files, each with every value that could move a bound."""
    log = fork(at, 101)
    saved = {"fork": json.loads(log.history().encode()), "later": json.loads(true_log().history().encode())}
    for name, body in saved.items():
        for path in numbers(body):
            for value in (0, 1, SIGNED_SIZE, PLACE, PLACE + 2, 101, 2**53):
                changed = json.loads(json.dumps(saved))
                place = changed[name]
                for step in path[:-1]:
                    place = place[step]
                place[path[-1]] = value if path[-1] != "recordedAt" else f"20{value % 100:02}-01-01T00:00:00.000000Z"
                for one, written in changed.items():
                    (here / one).write_text(json.dumps(written))
                result = identity(
                    "ledger", "verify", "--history", here / "fork", *KEY, "--service-history", here / "later"
                )
                assert result.exit_code in (1, 2), (name, path, value, result.output)
                assert result.stdout == ""


def test_no_number_of_a_true_history_changes_what_is_proven(identity: Commands, here: Path) -> None:
    body = json.loads(true_log().history().encode())
    assert ORIGIN in body["checkpoint"]
    for path in numbers(body):
        for value in (0, 1, PLACE, 101, 2**53):
            changed = json.loads(json.dumps(body))
            place = changed
            for step in path[:-1]:
                place = place[step]
            before = place[path[-1]]
            place[path[-1]] = value if path[-1] != "recordedAt" else f"20{value % 100:02}-01-01T00:00:00.000000Z"
            (here / "kept").write_text(json.dumps(changed))
            result = identity("ledger", "verify", "--history", here / "kept", *KEY)
            assert (result.exit_code == 0) == (place[path[-1]] == before), (path, value, result.output)
