"""The log of a service's own DID, which lists the generations of its log key: each entry of it is signed by the generation that it
names, which the one before committed to, and says which of those before are retired, and from which index of the transparency log on.
Its document lists the keys that were replaced beside it, of tokens and of checkpoints (``service_keys``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from identity_codec.values import value_class
from identity_core.domain.dids.logs import Apply, fold, signer_of
from identity_core.domain.dids.service_keys import Replacement, read_replacements
from identity_core.domain.dids.state import LOG_KEY_RETIRED, LogInvalid


@value_class
class LogKeyHistory:
    """The content of a service log. ``generations`` are multikeys, the first first and the present last;
    ``next_key_hashes`` are those of ``log_keys.key_hash`` that may follow; ``retired`` has the tree size from which on
    entries of a key count no more. ``replaced`` are the keys of tokens and of checkpoints that took the place of
    others, in the order of the log."""

    did: str
    generations: tuple[str, ...]
    next_key_hashes: tuple[str, ...]
    retired: Mapping[str, int]
    replaced: tuple[Replacement, ...] = ()


def check_not_retired(retired: Mapping[str, int], entry: bytes, index: int) -> None:
    """Raise ``LogInvalid`` for an ``entry`` of any log that a retired key has signed and that stands at ``index`` (from 0) of the
    transparency log, where that is at or past the tree size of the retirement. ``retired`` are tree sizes by multikey."""
    if not retired:
        return
    size = retired.get(signer_of(entry) or "")
    if size is not None and index >= size:
        raise LogInvalid(
            f"The entry is signed by a retired key: it is leaf {index} of the log, and the key counts for leaves below {size}."
        )


def read(lines: Sequence[bytes], apply: Apply) -> LogKeyHistory:
    """Return the content of the whole log, one entry at least, oldest first.

    ``apply`` is that of the method of the DID. Raises ``LogInvalid`` for one that does not hold, or is another DID's."""
    states = list(fold(apply, lines))
    generations: list[str] = []
    retired: dict[str, int] = {}
    for state, line in zip(states, lines, strict=True):
        if len(state.update_keys) != 1 or not state.next_key_hashes:
            raise LogInvalid("The log is not one of the generations of a log key.")
        if state.update_keys[0] not in generations:
            generations.append(state.update_keys[0])
        if state.operation == LOG_KEY_RETIRED:
            # The method has checked the form.
            said = orjson.loads(line)["parameters"]["change"]["retired"]
            key, size = said["multikey"], said["treeSize"]
            # Said twice, the earlier holds: nothing that was refused once counts again.
            retired[key] = min(size, retired.get(key, size))
    newest = states[-1]
    return LogKeyHistory(
        str(newest.did), tuple(generations), newest.next_key_hashes, retired, read_replacements(states)
    )
