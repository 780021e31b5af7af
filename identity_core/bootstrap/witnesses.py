"""The newest checkpoint that the witnesses of a policy have cosigned."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from identity_codec.values import value_class
from identity_core.domain.ledger.checkpoint_keys import CheckpointKeys, SignedByAnother
from identity_core.ports.witnesses import WitnessFailed
from identity_core.settings import StartError
from identity_tlog.note import Note, cosigned_at
from identity_tlog.policy import NONE, PolicyWitness, WitnessPolicy, label
from identity_tlog.tree import Malformed, Refuted


def is_prefix(url: str) -> bool:
    """Return whether it is the submission prefix of a witness."""
    try:
        parts = urlsplit(url.encode().decode())
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0 and not parts.query
    except ValueError:
        return False


@value_class
class SeenByWitnesses:
    """By the names of a policy: the checkpoint that each witness has ``cosigned`` last, None where it has none of this log; and why the
    ``silent`` ones did not say."""

    cosigned: Mapping[str, bytes | None] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)


async def ask_witnesses(policy: WitnessPolicy, keys: CheckpointKeys) -> SeenByWitnesses:
    """The newest that the witnesses of the policy have cosigned of the log with these keys.

    Raises ``StartError`` where those who did not say are a quorum: together they may have cosigned something newer."""
    import httpx

    from identity_core.client.witness import DEADLINE_SECONDS, HttpWitness

    async with httpx.AsyncClient(timeout=DEADLINE_SECONDS, trust_env=False, verify=httpx.create_ssl_context()) as http:

        async def latest(one: PolicyWitness) -> bytes | None:
            if one.url is None:
                raise WitnessFailed("the policy has no URL of it")
            if not is_prefix(one.url):
                raise WitnessFailed("its URL in the policy is none")
            note = await HttpWitness(http, one.url).latest(keys.present.name)
            if note is None:
                return None
            try:
                keys.open(note)
                if cosigned_at(Note.parse(note), one.key) is not None:
                    return note
            except (Malformed, Refuted) as error:
                raise WitnessFailed(f"what it shows is no checkpoint of this log: {error}") from error
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
