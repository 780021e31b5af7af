"""``identity proof import``: proofs from before anchoring existed."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import click

from identity_core.cli.anchor import in_office
from identity_core.cli.options import of_installation
from identity_core.cli.output import as_json, fail, show
from identity_core.codec import strict_json
from identity_core.domain.proof_record import NotARecord, ProofRecord
from identity_core.settings import Settings

if TYPE_CHECKING:
    from identity_core.bootstrap import AnchorOffice

MAX_LINE_OCTETS = 1 << 20


@click.command(name="import")
@click.argument("file", type=click.File("rb"))
@of_installation
@as_json
def import_(settings: Settings, file: Any, json_output: bool) -> None:
    """Bring in proofs that were made before proofs were anchored: FILE has one JSON object a line, as `identity proof get --json` prints
    it, without an anchor; `-` is standard input. All of them or none; what is there already stays as it is.

    They show the anchor status `pre-phase7`; `identity anchor backfill` has them anchored.
    """
    from identity_core.use_cases.anchoring.import_proofs import ImportProofs

    records = _records(file)

    async def job(office: AnchorOffice) -> int:
        from identity_core.bootstrap import SystemClock

        bring_in = ImportProofs(office.store.proofs, office.store.audit, SystemClock(), secrets.token_bytes)
        return await bring_in(records)

    body = {"given": len(records), "imported": in_office(settings, job)}
    show(body, json_output=json_output, text=lambda told: f"{told['imported']} of {told['given']} imported")


def _records(file: Any) -> list[ProofRecord]:
    records = []
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            if len(line) > MAX_LINE_OCTETS:
                raise NotARecord("it is too long")
            records.append(ProofRecord.parse(strict_json.loads(line.strip())))
        except (strict_json.JsonRefused, NotARecord) as error:
            remedy = "nothing was imported; correct the line and do it again"
            fail(f"line {number} is no proof record: {error}", getattr(file, "name", "standard input"), remedy)
    return records
