"""The log key of a running service is stolen and replaced: no write is refused meanwhile, and what the thief writes from then on no reader
takes, neither the service nor a command on a file."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from identity_commands.verify_log import verify
from identity_did_ids.chain import Chain
from identity_did_ids.evolution import Rules
from identity_transparency.domain.history import LoggedHistory
from identity_transparency.rotation import log_key_rotation
from identity_transparency.use_cases.rotate_log_key import Rotation

from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_core.cli import main
from identity_core.domain.dids.changes import AddService, Authorization, NewService, Update
from identity_core.domain.dids.logs import fold, signer_of
from identity_core.settings import load
from identity_tlog.proofs import TlogProof
from tests.attack.log_thief import STOLEN_SEED, appended, make_the_key
from tests.attack.stranger import PREFIX, Holder, public, service
from tests.fault.creators import PAUSE_SECONDS
from tests.fault.service_process import Running, eventually
from tests.fault.service_process import service as running_service

STOLEN = ed25519.generate(STOLEN_SEED)
FIRST = multikey.encode_public(multikey.ED25519, STOLEN.public)
IDS = Chain("ids", Rules())


async def rotated(folder: Path, **how: Any) -> Rotation:
    """The command of the operator, which waits as long for what is on its way as a test has."""
    settings = load(environment={}, overrides={"data_dir": str(folder)})
    async with log_key_rotation(settings) as rotate:
        return await replace(rotate, settle_seconds=1.0)(**how)


def forged(thief: Holder) -> bytes:
    """The next entry of a DID of the thief's own, asked for by its controller and signed by the stolen key: by the log alone it is good."""
    (state,) = fold(IDS.apply, thief.log().splitlines())
    challenge = thief.challenge("update")
    authorization = Authorization("DIDAuth", public(thief.key), challenge, thief.key.sign(challenge.encode()).signature)
    change = Update((AddService(NewService("LinkedDomains", "https://thief.example/", "t")),), authorization)
    draft = IDS.draft(state, change, datetime.now(UTC), signer=FIRST)
    return draft.sealed(STOLEN.sign(draft.signing_input))


def command(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["ledger", *map(str, words)], prog_name="identity")
    return result.exit_code, result.output


def write_on(running: Running, holder: Holder, stop: threading.Event, statuses: list[int]) -> None:
    """Creates and changes DIDs until it is told to stop."""
    try:
        count = 0
        while not stop.wait(PAUSE_SECONDS):
            statuses.append(running.stranger.create({"method": "ids", "keyType": "Ed25519", "options": {}}).status)
            statuses.append(holder.act("update", service(f"s{count}") if count == 0 else _moved(count)).status)
            count += 1
    finally:
        running.wire.close()


def _moved(count: int) -> dict[str, Any]:
    one = {"id": "s0", "type": "LinkedDomains", "serviceEndpoint": f"https://hana.example/{count}"}
    return {"operation": "updateService", "service": one}


def test_replaced_stolen_log_key_is_useless(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    asyncio.run(make_the_key(folder))
    with running_service(folder, "--workers", "2", environment={"IDENTITY_DID_WRITES_PER_HOUR": "100000"}) as running:
        thief, idle = running.stranger.holder(strictEvidence=False), running.stranger.holder()
        holders = [running.stranger.holder() for _ in range(3)]
        stop, statuses = threading.Event(), [list[int]() for _ in holders]
        writers = [
            threading.Thread(target=write_on, args=(running, holder, stop, said), daemon=True)
            for holder, said in zip(holders, statuses, strict=True)
        ]
        for writer in writers:
            writer.start()
        try:
            eventually(lambda: all(len(said) > 4 for said in statuses), "every writer writes")
            done = asyncio.run(rotated(folder, compromised=True))
            before = [len(said) for said in statuses]
            eventually(
                lambda: all(len(said) > old + 4 for said, old in zip(statuses, before, strict=True)), "they go on"
            )
        finally:
            stop.set()
            for writer in writers:
                writer.join(60)
        assert {status for said in statuses for status in said} == {200, 201}
        assert (done.generation, done.retired, done.waiting) == (2, (FIRST,), 0)
        for holder in holders:
            assert [signer_of(line) for line in holder.log().splitlines()][-1] == done.multikey
            assert not verify(holder.log()).deactivated

        key = running.wire.call("GET", f"{PREFIX}/ledger/key").json
        assert key["serviceDid"] == done.service_did
        url, given = running.wire.url, ("--key", key["verifierKey"])
        kept = tmp_path / "kept.json"
        assert command("verify", idle.did, "--url", url, *given, "--save", kept)[0] == 0
        assert json.loads(kept.read_bytes())["service"]["did"] == done.service_did

        line = forged(thief)
        assert verify(thief.log() + line).versions == 2, "no reader of the log alone can tell"
        transactions = asyncio.run(appended(folder, thief.did, line))
        eventually(lambda: _withheld(thief), "the service refuses the entry")
        assert idle.act("update", service()).status == 200
        code, said = command("verify", thief.did, "--url", url, *given)
        # A process that found it sound before shows what was so; none shows the thief's entry.
        assert code != 0 or "proven: 1 version" in said, said
        code, said = command("audit", "--logs", "--no-index", "--json", "--url", url, *given)
        findings = json.loads(said)["findings"]
        assert (code, [one["where"] for one in findings]) == (1, [thief.did])
        assert "retired key" in findings[0]["says"]
        offline(tmp_path, running, thief.did, transactions, key, kept)
    assert "retired key" in running.log.read_text()


def _withheld(holder: Holder) -> bool:
    refused = (503, "DID_QUARANTINED")
    # A process that has met the entry refuses the challenge already; one that has not gives it, and refuses the change.
    if holder.ask("update").outcome == refused:
        return True
    try:
        return holder.act("update", service(f"n{os.urandom(4).hex()}")).outcome == refused
    except RuntimeError as met_between:
        return refused[1] in str(met_between)


def offline(
    folder: Path, running: Running, did: str, transactions: list[str], key: dict[str, Any], honest: Path
) -> None:
    """A file with everything in it that the thief's entry needs: proofs, checkpoint, and the service's own log."""
    from identity_transparency.cli.ledger import _recorded
    from identity_transparency.cli.sources import read_transaction

    from identity_client import Session
    from identity_tlog.note import Checkpoint, Note

    note = running.wire.call("GET", f"{PREFIX}/ledger/checkpoint").body
    size = Checkpoint.parse(Note.parse(note).text).size
    with Session(running.wire.url) as http:
        paths = [f"/ledger/transactions/{transaction}" for transaction in transactions]
        found = [read_transaction(http.call("GET", path, signed_in=False)) for path in paths]
        own = [one.leaf for one in LoggedHistory.parse(honest.read_bytes()).service]
        service_log = tuple(_recorded(http, leaf, size) for leaf in own)
        history = LoggedHistory(
            did, note, tuple(_recorded(http, leaf, size) for leaf in found), key["serviceDid"], service_log
        )
    file, given = folder / "forged.json", ("--key", key["verifierKey"])
    assert command("export", folder / "exported", "--url", running.wire.url)[0] == 0
    for known in (("--service-history", honest), ("--service-did", key["serviceDid"])):
        code, said = command("audit", "--logs", "--json", "--dir", folder / "exported", *given, *known)
        assert (code, [one["where"] for one in json.loads(said)["findings"]]) == (1, [did])
    file.write_bytes(history.encode())
    code, said = command("verify", "--history", file, *given)
    assert code == 1, said
    assert "retired key" in said
    code, said = command("verify", "--history", file, *given, "--service-history", honest)
    assert (code, "retired key" in said) == (1, True)
    # Who leaves the service's log out is refused by anyone who knows which it is.
    file.write_bytes(replace(history, service_did=None, service=()).encode())
    assert command("verify", "--history", file, *given, "--service-did", key["serviceDid"])[0] == 1
    # A service's log that was cut is good by itself, as every log is; who kept a later one does not take it.
    for cut in (replace(history, service=service_log[:1]), replace(history, service_did=None, service=())):
        file.write_bytes(cut.encode())
        assert command("verify", "--history", file, *given)[0] == 0
        code, said = command("verify", "--history", file, *given, "--service-history", honest)
        assert (code, "retired key" in said) == (1, True)
    places(folder, history, honest, given)
    again = ("--service-did", key["serviceDid"], "--service-history", honest)
    assert command("verify", "--history", honest, *given, *again)[0] == 0
    broken = LoggedHistory.parse(honest.read_bytes())
    file.write_bytes(replace(broken, service=broken.service[1:]).encode())
    assert command("verify", "--history", file, *given)[0] == 1


def places(folder: Path, forged: LoggedHistory, honest: Path, given: tuple[str, str]) -> None:
    """A log and the places of its entries, of which the thief's is the last: with them `did log verify` sees the retirement."""
    log, known = folder / "did.jsonl", ("--service-history", str(honest), *given)
    proofs = []
    for number, one in enumerate(forged.entries):
        path = folder / f"{number}.tlog-proof"
        path.write_bytes(TlogProof(one.leaf.index, one.hashes, forged.checkpoint, one.leaf.encode()).encode())
        proofs.append(f"--proof={path}")

    def verified(count: int, *more: str) -> tuple[int, str]:
        log.write_bytes(b"".join(one.leaf.entry + b"\n" for one in forged.entries[:count]))
        result = CliRunner().invoke(main, ["did", "log", "verify", str(log), *more], prog_name="identity")
        return result.exit_code, result.output

    assert verified(2)[0] == 0
    for more, says in (
        (known, "nothing places it"),
        ((*known, proofs[0]), "nothing places it"),
        ((*known, proofs[1]), "nothing places it"),
        ((*known, *proofs), "it is leaf"),
    ):
        code, said = verified(2, *more)
        assert (code, "signed by a retired key" in said, says in said) == (1, True, True), said
    # What the key signed while it counted stays good, where that is shown.
    assert verified(1, *known)[0] == 1
    assert verified(1, *known, proofs[0])[0] == 0
    code, said = verified(1, *known, proofs[1])
    assert (code, "not one of these" in said) == (1, True)
    assert verified(1, proofs[0])[0] == 2
    assert verified(1, *known[:2], proofs[0])[0] == 1
