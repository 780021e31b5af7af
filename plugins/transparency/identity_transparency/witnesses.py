"""The witnesses that the settings or a policy name: feeding them, and the newest checkpoint that they have cosigned."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from msgspec import Struct, field

from identity_core.database.files import FileLock
from identity_core.files import read_regular
from identity_core.ports.clock import Clock
from identity_core.settings import Settings, SettingsError, StartError
from identity_tlog.note import Note, cosigned_at
from identity_tlog.policy import NONE, PolicyWitness, WitnessPolicy, label
from identity_tlog.tree import Malformed, Refuted
from identity_transparency.cosigned import StoredCosignedCheckpoints
from identity_transparency.domain.checkpoint_keys import CheckpointKeys, SignedByAnother
from identity_transparency.use_cases.feed import CosignedLog, FedWitness, WitnessFailed, WitnessFeeder
from identity_transparency.use_cases.project import TransparencyLog

LOCK = "witnesses.lock"


def read_witnesses(settings: Settings) -> WitnessPolicy | None:
    """Return the policy of ``ledger.witnesses``; None if there is none. Raises ``SettingsError``: for an invalid file, and for a
    quorum that no checkpoint can reach."""
    path = settings.ledger.witnesses
    if path is None:
        return None
    try:
        policy = WitnessPolicy.parse(read_regular(path))
    except (OSError, Malformed) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise _wrong(
            settings,
            f"The policy of the witnesses cannot be read: {what}.",
            "write it as c2sp.org/tlog-policy has it, or unset ledger.witnesses",
        ) from error
    for one in policy.witnesses:
        if one.url is not None and not is_prefix(one.url):
            says = f"The URL of the witness {label(one.name)} is invalid."
            raise _wrong(settings, says, "write its submission prefix, such as https://witness.example.org/prefix")
    if not policy.is_met([one.name for one in policy.witnesses if one.url is not None]):
        says = "The witnesses that have a URL are not a quorum: no checkpoint would ever be valid."
        raise _wrong(settings, says, "give the witnesses of the quorum their submission prefixes")
    return policy


def _wrong(settings: Settings, what: str, fix: str) -> SettingsError:
    return SettingsError(what, f"{settings.ledger.witnesses} ({settings.origin('ledger.witnesses')})", fix)


async def feed_witnesses(
    settings: Settings, logged: TransparencyLog, kept: StoredCosignedCheckpoints, clock: Clock, stack: AsyncExitStack
) -> WitnessFeeder | None:
    """Start the job that feeds the witnesses, and return it; None if the settings name none. Raises ``SettingsError``."""
    policy = read_witnesses(settings)
    if policy is None:
        return None
    # httpx takes a tenth of a second to import, and only who has witnesses needs it.
    import httpx

    from identity_transparency.http_witness import DEADLINE_SECONDS, HttpWitness

    http = await stack.enter_async_context(
        httpx.AsyncClient(timeout=DEADLINE_SECONDS, trust_env=False, verify=httpx.create_ssl_context())
    )
    fed = [FedWitness(one, HttpWitness(http, one.url)) for one in policy.witnesses if one.url is not None]
    lock = FileLock(settings.data_dir / LOCK)
    stack.callback(lock.close)
    cosigned = CosignedLog(policy, logged.signer, kept)
    feeder = WitnessFeeder(cosigned, fed, logged, clock, lock.try_acquire)
    await cosigned.refresh()
    return await stack.enter_async_context(feeder)


def is_prefix(url: str) -> bool:
    """Return whether it is the submission prefix of a witness."""
    try:
        parts = urlsplit(url.encode().decode())
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0 and not parts.query
    except ValueError:
        return False


class SeenByWitnesses(Struct, frozen=True):
    """The last checkpoints of the witnesses, by their names in a policy.

    ``cosigned``: the checkpoint, None if the witness has none of this log. ``silent``: why the other witnesses did not answer.
    """

    cosigned: Mapping[str, bytes | None] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)


async def ask_witnesses(policy: WitnessPolicy, keys: CheckpointKeys) -> SeenByWitnesses:
    """Return the newest checkpoints that the witnesses of the policy cosigned of the log with these keys.

    Raises ``StartError``: when the witnesses without an answer form a quorum, because together they may have cosigned a newer one.
    """
    import httpx

    from identity_transparency.http_witness import DEADLINE_SECONDS, HttpWitness

    async with httpx.AsyncClient(timeout=DEADLINE_SECONDS, trust_env=False, verify=httpx.create_ssl_context()) as http:

        async def latest(one: PolicyWitness) -> bytes | None:
            if one.url is None:
                raise WitnessFailed("the policy has no URL of it")
            if not is_prefix(one.url):
                raise WitnessFailed("its URL in the policy is invalid")
            note = await HttpWitness(http, one.url).latest(keys.present.name)
            if note is None:
                return None
            try:
                keys.open(note)
                if cosigned_at(Note.parse(note), one.key) is not None:
                    return note
            except (Malformed, Refuted) as error:
                raise WitnessFailed(f"what it shows is not a checkpoint of this log: {error}") from error
            raise WitnessFailed("it shows a checkpoint that it has not cosigned")

        answers = await asyncio.gather(*map(latest, policy.witnesses), return_exceptions=True)
    cosigned, silent = {}, {}
    for one, answer in zip(policy.witnesses, answers, strict=True):
        if isinstance(answer, WitnessFailed):
            silent[one.name] = str(answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            cosigned[one.name] = answer
    if policy.quorum == NONE or policy.is_met(silent):
        what = (
            "no quorum is asked for in the policy" if policy.quorum == NONE else "too few witnesses say what they saw"
        )
        said = "; ".join(f"{label(name)}: {why}" for name, why in silent.items())
        fix = "those who do not say may have cosigned a newer checkpoint: try again, or give the newest yourself (--checkpoint)"
        if any(isinstance(one, WitnessFailed) and isinstance(one.__cause__, SignedByAnother) for one in answers):
            fix = "where the key of checkpoints was replaced after the backup was made, restore a backup of after that"
        raise StartError(f"{what}: {said}".removesuffix(": "), keys.present.name, fix)
    return SeenByWitnesses(cosigned, silent)
