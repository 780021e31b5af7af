"""The checks of ``identity doctor`` about the witnesses of the log: whether their policy can be met, and how far the last quorum is
behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

from identity_codec import times
from identity_core.database import DatabaseError
from identity_core.extension.declaration import Diagnosis, ok, warn
from identity_core.settings import Settings
from identity_tlog.note import Checkpoint, Note
from identity_tlog.policy import WitnessPolicy, label
from identity_tlog.tree import Malformed, Refuted

LATE_SECONDS = 600.0


def witnesses(settings: Settings) -> Iterator[Diagnosis]:
    """Check the witness policy, if there is one. Raises ``StartError``: for a policy with which the service would not start."""
    from identity_transparency.witnesses import read_witnesses

    policy = read_witnesses(settings)
    if policy is None:
        return
    silent = [label(one.name) for one in policy.witnesses if one.url is None]
    if silent:
        yield warn(f"witnesses without a URL are not asked: {', '.join(silent)}", "add their submission prefixes")
    try:
        size, note = asyncio.run(_stored(settings))
    except DatabaseError:
        # Other checks report that.
        return
    yield _compared(policy, size, note)


async def _stored(settings: Settings) -> tuple[int, bytes | None]:
    """Return how many entries the log has, and the last note that a quorum has cosigned."""
    from identity_core.store import Store
    from identity_transparency.cosigned import StoredCosignedCheckpoints
    from identity_transparency.tree import TransparencyTree

    store = Store.open(settings.data_dir, settings.database_url, read_only=True)
    try:
        return (await TransparencyTree(store.database).frontier()).size, await StoredCosignedCheckpoints(
            store.database
        ).newest()
    finally:
        await store.close()


def _compared(policy: WitnessPolicy, size: int, note: bytes | None) -> Diagnosis:
    remedy = "the log of the service says why each witness does not cosign; metric identity_witness_lag_seconds"
    if note is None:
        says = f"no quorum has cosigned anything yet; the log has {size} entries"
        return warn(says, remedy) if size else ok(says)
    try:
        parsed = Note.parse(note)
        checkpoint = Checkpoint.parse(parsed.text)
        at = policy.met_at(policy.cosigned(parsed))
    except (Malformed, Refuted) as error:
        return warn(f"the last cosigned checkpoint cannot be read: {error}", remedy)
    said = "" if at is None else f" at {times.printed(at)}"
    behind = size - checkpoint.size
    late = at is not None and (datetime.now(UTC) - at).total_seconds() > LATE_SECONDS
    if behind > 0 and late:
        return warn(f"the last quorum cosigned{said}, and {behind} entries came since", remedy)
    return ok(f"a quorum has cosigned {checkpoint.size} of {size} entries{said}")
