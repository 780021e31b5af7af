"""The keys that may sign the entries of a log, and their successors (did:webvh 1.0, "Authorized Keys" and "Pre-Rotation Key Hash
Generation and Verification").

A log pre-rotates once an entry states ``nextKeyHashes``. Each later entry then states ``updateKeys`` and ``nextKeyHashes``, and one
of its own ``updateKeys`` signs it. The entry before must have committed to the hash of each of these keys, also of those that stay.
Both of this service's methods draft and read by these rules, and ``webvh`` reads foreign logs by them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final

from identity_codec.values import replace
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import Change, Create, Deactivate, Expire, OfLogKey, RetireLogKey, RotateLogKey
from identity_core.domain.dids.keys import PublicKey
from identity_core.domain.dids.logs import NEXT_KEY_HASHES, UPDATE_KEYS, LogKeys, key_hash
from identity_core.domain.dids.state import DidState, LogInvalid, digest
from identity_core.errors import InvalidDocument
from identity_did_ids.entry import HASH

MAX_KEYS: Final = 10


def read_current_keys(state: DidState) -> LogKeys:
    """Return the log keys of the newest entry, which an entry without a key change states again."""
    return LogKeys(state.update_keys, state.next_key_hashes)


def drafted(state: DidState | None, change: Change, next_keys: LogKeys | None) -> LogKeys | None:
    """Return the log keys that the entry of ``change`` must state; None if it states none."""
    if isinstance(change, Create):
        return next_keys or LogKeys(change.update_keys)
    if state is None or not (state.next_key_hashes or next_keys):
        return None
    keys = next_keys or read_current_keys(state)
    if not isinstance(change, Deactivate):
        return keys
    # A log that does not pre-rotate and ends has no use for keys; one that does still names the key that ends it.
    return LogKeys(keys.update_keys) if state.next_key_hashes else None


def read_stated_keys(state: DidState | None, parameters: Mapping[str, Any]) -> LogKeys | None:
    """Return the log keys that the ``parameters`` of a later entry state; None if they state none.

    The last entry of a log without pre-rotation states that there are no keys. Raises ``LogInvalid``.
    """
    ends = state is not None and not state.next_key_hashes and "deactivated" in parameters
    return None if ends else read(state, parameters)


def keyed(state: DidState | None, change: Change, after: DidState, said: LogKeys | None) -> DidState:
    """Return ``after`` with the keys that the entry of ``change`` states.

    Raises ``InvalidDocument``: for keys without a commitment, and for a log that begins to pre-rotate without its controller or
    stops before its end.
    """
    if isinstance(change, RotateLogKey | RetireLogKey):
        _check_taken_over(state, change, said)
    if said is None:
        return after
    require_committed(state, said)
    if isinstance(change, Create):
        if said.update_keys != change.update_keys:
            raise InvalidDocument("The first entry names the keys that create it.")
        return replace(after, next_key_hashes=said.next_key_hashes)
    if not said.update_keys or bool(said.next_key_hashes) == isinstance(change, Deactivate):
        raise InvalidDocument("A log that pre-rotates names its keys and the next ones until it ends.")
    if isinstance(change, Deactivate):
        return replace(after, next_key_hashes=())
    if isinstance(change, Expire) and state is not None:
        _check_alone(state, said)
    if said == read_current_keys(after):
        return after
    gone = () if state is None else tuple(digest(key) for key in state.update_keys if key not in said.update_keys)
    retired = after.retired_keys + gone if isinstance(change, RotateLogKey) else after.retired_keys
    return replace(after, update_keys=said.update_keys, next_key_hashes=said.next_key_hashes, retired_keys=retired)


def _check_alone(state: DidState, said: LogKeys) -> None:
    """Require, of an entry without a controller, that it repeats the log keys or replaces all of them by committed ones.

    Otherwise the log key alone could hand the log on to any key. Raises ``InvalidDocument``.
    """
    if not state.next_key_hashes:
        raise InvalidDocument("A log begins to pre-rotate with a change that its controller asked for.")
    if said != read_current_keys(state) and not set(state.update_keys).isdisjoint(said.update_keys):
        raise InvalidDocument(
            "Without its controller a log keeps its keys and the next ones, or leaves every key of before."
        )


def _check_taken_over(state: DidState | None, change: OfLogKey, said: LogKeys | None) -> None:
    """Require a log that pre-rotates. A rotation must replace all log keys, and a retirement must keep all. Raises
    ``InvalidDocument``."""
    if state is None or said is None or not state.next_key_hashes:
        raise InvalidDocument("Only a log that pre-rotates continues under another key by itself.")
    kept = set(state.update_keys) & set(said.update_keys)
    if kept if isinstance(change, RotateLogKey) else said != read_current_keys(state):
        raise InvalidDocument("A rotation of the log key leaves every key of before; a retirement leaves all as it is.")


def require_committed(before: DidState | None, after: LogKeys) -> None:
    """Require well-formed keys, to all of which the entry before committed if it committed to any. Raises ``InvalidDocument``."""
    _require_well_formed(after)
    if before is not None and not is_committed(before.next_key_hashes, after.update_keys):
        raise InvalidDocument("The entry before did not commit to a key of updateKeys.")


# Of the few keys of the service, for every entry again.
@lru_cache(maxsize=256)
def _require_well_formed(said: LogKeys) -> None:
    for texts in (said.update_keys, said.next_key_hashes):
        if len(texts) > MAX_KEYS or len(set(texts)) != len(texts):
            raise InvalidDocument(
                "The keys that may sign entries, or the hashes of the next ones, are too many or there twice."
            )
    for key in said.update_keys:
        PublicKey.parse(keys.ED25519.name, key)
    if any(HASH.fullmatch(one) is None for one in said.next_key_hashes):
        raise InvalidDocument("A hash of nextKeyHashes is not a multihash of SHA-256 in base58btc.")


def is_committed(next_key_hashes: Collection[str], update_keys: Collection[str]) -> bool:
    """Return whether the hash of every key is among ``next_key_hashes``; always true of a log without pre-rotation."""
    return not next_key_hashes or all(key_hash(key) in next_key_hashes for key in update_keys)


def may_sign(before: DidState | None, after: LogKeys) -> tuple[str, ...]:
    """Return the keys that may sign an entry: its own if it is the first or the log pre-rotates, else those of the entry before."""
    return after.update_keys if before is None or before.next_key_hashes else before.update_keys


def read(before: DidState | None, said: Mapping[str, Any]) -> LogKeys | None:
    """Return the log keys that the ``parameters`` of an entry state, or None if they state none, as a log without
    pre-rotation may do. Raises ``LogInvalid``."""
    if before is not None and not {UPDATE_KEYS, NEXT_KEY_HASHES} & said.keys():
        if before.next_key_hashes:
            raise LogInvalid("With pre-rotation every entry says updateKeys and nextKeyHashes.")
        return None
    if UPDATE_KEYS not in said or (before is not None and before.next_key_hashes and NEXT_KEY_HASHES not in said):
        raise LogInvalid("With pre-rotation every entry says updateKeys and nextKeyHashes.")
    return LogKeys(read_texts(said, UPDATE_KEYS), read_texts(said, NEXT_KEY_HASHES) if NEXT_KEY_HASHES in said else ())


def read_texts(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a member of parameters that is a list of texts. Raises ``LogInvalid``."""
    value = said.get(name)
    if type(value) is not list or not all(type(text) is str for text in value):
        raise LogInvalid(f"{name} is not a list of texts.")
    return tuple(value)
