"""A checker of histories: what clients called and were answered, compared with the versions that were recorded in the end.

Times are seconds of one clock. A DID is a register whose value is its version, and each change adds one marker to it, which no
other change adds. The checker calls a history good if one order of all changes and reads explains it (linearizability): the order
of versions is known, so no search is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Literal

Outcome = Literal["done", "refused", "unknown"]


@dataclass(frozen=True)
class Change:
    """A change that a client sent, with all its retries. ``began`` is the first call. ``ended`` is the return of the answer, infinite while
    the outcome is unknown. ``version`` is the answer's, where it has one. Changes of one ``signature`` share it."""

    client: int
    did: str
    marker: str
    began: float
    ended: float = inf
    outcome: Outcome = "unknown"
    version: int | None = None
    signature: str | None = None


@dataclass(frozen=True)
class Read:
    """A resolution. ``version`` is 0 for a DID that was not found; ``markers`` are those of the document, None where none came."""

    client: int
    did: str
    began: float
    ended: float
    version: int
    markers: frozenset[str] | None = None


# The markers that each version of a DID added, from version 1.
Recorded = Mapping[str, Sequence[frozenset[str]]]


def problems(changes: Sequence[Change], reads: Sequence[Read], recorded: Recorded) -> list[str]:
    """Return a line for each contradiction; none for a good history."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for did, versions in recorded.items():
        for version, markers in enumerate(versions, 1):
            for marker in markers:
                places[did, marker].append(version)
    found = [*_recorded_once(changes, places, recorded), *_used_once(changes, places)]
    versions_of: dict[str, list[tuple[Change, int]]] = defaultdict(list)
    for change in changes:
        for version in places[change.did, change.marker][:1]:
            versions_of[change.did].append((change, version))
    for did, made in versions_of.items():
        found += _in_order(did, made)
    reads_of: dict[str, list[Read]] = defaultdict(list)
    for read in reads:
        reads_of[read.did].append(read)
    for did, of_did in reads_of.items():
        found += _read(of_did, versions_of[did], recorded.get(did, ()))
    return found


def _recorded_once(
    changes: Sequence[Change], places: Mapping[tuple[str, str], Sequence[int]], recorded: Recorded
) -> Iterator[str]:
    sent = {(change.did, change.marker) for change in changes}
    for did, versions in recorded.items():
        for version, markers in enumerate(versions, 1):
            if len(markers) != 1:
                yield f"{did} version {version} has {len(markers)} changes"
            for marker in markers:
                if (did, marker) not in sent:
                    yield f"{did} version {version}: no client sent {marker}"
    for change in changes:
        at, name = places.get((change.did, change.marker), ()), f"{change.did} {change.marker}"
        if len(at) > 1:
            yield f"repeated change: {name} at versions {[*at]}"
        if change.outcome == "refused" and at:
            yield f"refused change was made: {name}"
        if change.outcome == "done" and not at:
            yield f"lost change: {name}"
        if change.outcome == "done" and at and change.version not in (None, at[0]):
            yield f"{name} was answered as version {change.version} and is version {at[0]}"


def _used_once(changes: Sequence[Change], places: Mapping[tuple[str, str], Sequence[int]]) -> Iterator[str]:
    by_signature: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        if change.signature is not None:
            by_signature[change.signature].append(change)
    for signature, of_it in by_signature.items():
        made = [change.marker for change in of_it if places.get((change.did, change.marker))]
        if len(made) > 1:
            yield f"signature {signature} made several changes: {made}"


def _in_order(did: str, made: Sequence[tuple[Change, int]]) -> Iterator[str]:
    for (one, its), (other, others) in combinations(made, 2):
        if (one.ended < other.began and its > others) or (other.ended < one.began and others > its):
            yield f"{did}: {one.marker} (version {its}) and {other.marker} (version {others}) are in the wrong order"


def _read(
    reads: Sequence[Read], made: Sequence[tuple[Change, int]], versions: Sequence[frozenset[str]]
) -> Iterator[str]:
    for read in reads:
        name = f"client {read.client} read {read.did} version {read.version}"
        if read.version > len(versions):
            yield f"{name}, which is not recorded"
        elif read.markers is not None and read.markers != frozenset().union(*versions[: read.version]):
            yield f"{name} with another content"
        for change, version in made:
            if change.ended < read.began and version > read.version:
                own = "its own change" if change.client == read.client else "a change"
                yield f"stale read: {name} after {own} {change.marker} was acknowledged as version {version}"
            if read.ended < change.began and version <= read.version:
                yield f"{name} before {change.marker} was sent"
    for one, other in combinations(reads, 2):
        earlier, later = (one, other) if one.ended < other.began else (other, one)
        if earlier.ended < later.began and earlier.version > later.version:
            who = "the same client" if earlier.client == later.client else "another client"
            yield f"reads of {one.did} go back from version {earlier.version} to {later.version}, by {who}"
