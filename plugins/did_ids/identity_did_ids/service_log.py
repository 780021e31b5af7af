"""The log of a service's own DID, which lists the generations of its log key.

Each entry is signed by the generation that it names and to which the one before committed. It states which earlier ones are
retired, and from which index of the transparency log on. The document also lists the replaced keys of tokens and checkpoints
(``service_keys``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

import orjson
from msgspec import Struct

from identity_core.domain.dids.logs import Apply, fold
from identity_core.domain.dids.state import LOG_KEY_RETIRED, LogInvalid
from identity_did_ids import change_json
from identity_did_ids.chain import Chain
from identity_did_ids.entry import method_of, parse
from identity_did_ids.evolution import Rules
from identity_did_ids.service_keys import Replacement, read_replacements

SERVICE_METHOD: Final = "ids"
"""The logs of this method state what happened to a key, for which those of did:webvh have no place."""


class LogKeyHistory(Struct, frozen=True):
    """The content of a service log.

    - ``generations``: multikeys, oldest first, the current one last.
    - ``next_key_hashes``: hashes (``log_keys.key_hash``) of the keys that may follow.
    - ``retired``: the tree size from which on entries of a key are invalid, by multikey.
    - ``replaced``: the keys of tokens and of checkpoints that replaced others, in the order of the log.
    """

    did: str
    generations: tuple[str, ...]
    next_key_hashes: tuple[str, ...]
    retired: Mapping[str, int]
    replaced: tuple[Replacement, ...] = ()


@runtime_checkable
class FollowedServiceLog(Protocol):
    """The service log as a running service polls it. ``history`` is None until the log has begun."""

    @property
    def history(self) -> LogKeyHistory | None: ...

    async def now(self) -> None:
        """Read the log. Raises ``LedgerUnavailable``; ``StorageMismatch``: when it is not the log of the custodian's keys."""

    async def tell(self, hearer: Callable[[LogKeyHistory], Awaitable[None]]) -> None:
        """Call ``hearer`` with the history, now and whenever it has grown. Raises what ``hearer`` raises."""


def read(lines: Sequence[bytes]) -> LogKeyHistory:
    """Return the content of the whole log, oldest entry first. Raises ``LogInvalid``: for an invalid log, or one of another DID."""
    states = list(fold(_apply_of(lines), lines))
    generations: list[str] = []
    retired: dict[str, int] = {}
    for state, line in zip(states, lines, strict=True):
        if len(state.update_keys) != 1 or not state.next_key_hashes:
            raise LogInvalid("The log is not one of the generations of a log key.")
        if state.update_keys[0] not in generations:
            generations.append(state.update_keys[0])
        if state.operation == LOG_KEY_RETIRED:
            said = change_json.read_retired(orjson.loads(line)["parameters"]["change"]["retired"])
            # Said twice, the earlier holds: nothing that was refused once counts again.
            retired[said.multikey] = min(said.tree_size, retired.get(said.multikey, said.tree_size))
    newest = states[-1]
    return LogKeyHistory(
        str(newest.did), tuple(generations), newest.next_key_hashes, retired, read_replacements(states)
    )


def _apply_of(lines: Sequence[bytes]) -> Apply:
    """Return the ``apply`` of the method that the first entry of a log names; the fold checks that the DID is one of it. Raises
    ``LogInvalid``: when the log is empty, or names no method."""
    method = method_of(parse(lines[0]).parameters) if lines else None
    if method is None:
        raise LogInvalid("The log has no first entry that names its method.")
    return Chain(method, Rules()).apply
