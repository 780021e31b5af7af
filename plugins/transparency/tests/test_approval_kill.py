"""A service that is killed between the approval of a witness and its answer, line by line: the approval and its line of the audit log are
both there, or neither is; and the witness that sends it again is told what is published."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

from identity_records.audit import audit_of
from identity_transparency import store as witness_files
from identity_transparency import wire
from identity_transparency.store import StoredWitnessFiles
from identity_transparency.use_cases import approvals as witnessed
from identity_transparency.wire import DidApprovals

from identity_codec.structs import convert
from identity_codec.values import replace
from identity_core.domain.activity import OPERATOR, RequestContext
from identity_core.domain.dids.did import Did
from plugins.did_webvh.tests.test_webvh_log import first
from plugins.transparency.tests.test_approvals import Site, approvals, witness_list
from tests.attack.stranger import rounds
from tests.events import audit_rows
from tests.fault.killed_before_a_line import KilledBeforeALine

STEP = max(1, 4 // rounds(1))
TRACED = {witnessed.__file__, witness_files.__file__}
ENTRY = first(witness=witness_list(0))
ASKED = json.loads(approvals((0, ENTRY)))[0]
WISH = {"versionId": ASKED["versionId"], "proof": ASKED["proof"][0]}


def open_site(folder: Path) -> Site:
    folder.mkdir(exist_ok=True)
    site = Site(folder, ENTRY)
    site.of = Did.parse(ENTRY["state"]["id"])
    site.ledger.did = str(site.of)
    return site


async def approve(site: Site) -> DidApprovals:
    return await site.approvals.approve(
        site.of, convert(WISH, wire.ApproveDidVersionRequest), RequestContext("approveDidVersion", OPERATOR)
    )


async def count_rows(site: Site) -> tuple[int, int]:
    """How many lines the audit log has, and whether the approval is published."""
    lines = await audit_rows(audit_of(site.store), after=0, limit=10)
    return len(lines), int(await site.files.find(str(site.of)) is not None)


class Traced:
    """The files, and what has the lines counted from the moment on in which something is kept."""

    def __init__(self, files: StoredWitnessFiles, trace: KilledBeforeALine) -> None:
        self.find, self._files, self._trace = files.find, files, trace

    async def replace(self, *given: Any) -> bool:
        # The writer has a thread of its own.
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        return await self._files.replace(*given)


def in_a_child(folder: Path, kill_at: int | None) -> int | None:
    """Forks a process that takes the approval and is killed before a line of what does so. How many lines it came by at its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        trace = KilledBeforeALine(TRACED, kill_at)

        async def story() -> None:
            site = open_site(folder)
            files = Traced(site.files, trace)
            site.approvals = replace(site.approvals, files=files)
            await approve(site)
            sys.settrace(None)
            await site.store.close()

        try:
            asyncio.run(story())
            os.write(writing, str(trace.seen).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        lines = said.read()
    os.waitpid(child, 0)
    return int(lines) if lines else None


def test_an_approval_and_its_line_are_both_there_or_neither(tmp_path: Path) -> None:
    asyncio.run(open_site(tmp_path / "empty").store.close())
    lines = in_a_child(shutil.copytree(tmp_path / "empty", tmp_path / "whole"), None)
    assert lines is not None
    found = set()
    for kill_at in range(1, lines + 1, STEP):
        folder = shutil.copytree(tmp_path / "empty", tmp_path / str(kill_at))
        in_a_child(folder, kill_at)

        async def story(folder: Path = folder) -> None:
            site = open_site(folder)
            after = await count_rows(site)
            found.add(after)
            assert (await approve(site)).published_versions == 1
            assert await count_rows(site) == (1, 1)
            await site.store.close()

        asyncio.run(story())
    assert found == {(0, 0), (1, 1)}
