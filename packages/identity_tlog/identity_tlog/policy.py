"""The signatures that make a checkpoint valid: C2SP tlog-policy.

A policy names logs, witnesses, groups of them, and the quorum: the witness or group that must have cosigned. Names are bytes; they are
text here, with surrogates instead of bytes that are not UTF-8, so that two are equal when their bytes are.

Where a witness has two lines in one policy it has two keys, and two names. Left out: logs that sign with anything but Ed25519.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from identity_tlog.note import LOG, Checkpoint, Note, SignedCheckpoint, VerifierKey, cosigned_at, open_checkpoint
from identity_tlog.tree import Malformed, Refuted

NONE: Final = "none"
MAX_POLICY: Final = 512 * 1024
"""Bytes: 256 witnesses with keys of ML-DSA-44 fit."""
MAX_LINES: Final = 4_096
MOST: Final = 256
"""Logs, witnesses and groups each."""

_FORBIDDEN: Final = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_BLANKS: Final = re.compile(r"[ \t]+")
_THRESHOLD: Final = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)


def label(name: str) -> str:
    """Return a printable name, in which bytes that are not UTF-8 are replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class PolicyLog:
    """A log whose checkpoints count."""

    key: VerifierKey
    url: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyWitness:
    """A witness, under its name in the policy. ``url`` is its submission prefix."""

    name: str
    key: VerifierKey
    url: str | None = None


@dataclass(frozen=True, slots=True)
class WitnessGroup:
    """At least ``threshold`` of the ``members``, witnesses and groups of before."""

    name: str
    threshold: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WitnessPolicy:
    """Groups stand after their members. ``quorum`` is a name, or ``none``."""

    logs: tuple[PolicyLog, ...]
    witnesses: tuple[PolicyWitness, ...]
    groups: tuple[WitnessGroup, ...]
    quorum: str
    _logs_by_name: Mapping[str, tuple[VerifierKey, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[str, tuple[VerifierKey, ...]] = {}
        for log in self.logs:
            by_name[log.key.name] = (*by_name.get(log.key.name, ()), log.key)
        object.__setattr__(self, "_logs_by_name", by_name)

    @classmethod
    def parse(cls, data: bytes) -> WitnessPolicy:
        """Parse a policy file. Raises ``Malformed`` with the number of the line."""
        if len(data) > MAX_POLICY or data.count(b"\n") > MAX_LINES:
            raise Malformed("the policy is too large")
        found = _Reader()
        for number, line in enumerate(data.split(b"\n"), 1):
            if _FORBIDDEN.search(line):
                raise Malformed(f"line {number} of the policy has a control character")
            words = [word for word in _BLANKS.split(line.decode("utf-8", "surrogateescape")) if word]
            if words and not words[0].startswith("#"):
                try:
                    found.read(words)
                except Malformed as error:
                    raise Malformed(f"line {number} of the policy: {error}") from error
        if found.quorum is None:
            raise Malformed("the policy has no quorum line")
        return cls(tuple(found.logs), tuple(found.witnesses), tuple(found.groups), found.quorum)

    @classmethod
    def of_logs_alone(cls) -> WitnessPolicy:
        """Return a policy without witnesses and logs, for checkpoints of logs that are given beside it."""
        return cls((), (), (), NONE)

    def is_met(self, names: Collection[str]) -> bool:
        """Return whether the witnesses of these names are a quorum."""
        met = {*names, NONE}
        for group in self.groups:
            if sum(member in met for member in group.members) >= group.threshold:
                met.add(group.name)
        return self.quorum in met

    def met_at(self, times: Mapping[str, datetime]) -> datetime | None:
        """Return the time at which the quorum was complete, by the times of the cosignatures; None without a quorum, or if none is
        required."""
        names: list[str] = []
        for name, at in sorted(times.items(), key=lambda item: item[1]):
            names.append(name)
            if self.is_met(names):
                return None if self.quorum == NONE else at
        return None

    def cosigned(self, note: Note) -> dict[str, datetime]:
        """Return the time at which each witness cosigned the note, by its name in the policy. Raises ``Refuted``: for an invalid
        cosignature."""
        times = ((one.name, cosigned_at(note, one.key)) for one in self.witnesses)
        return {name: at for name, at in times if at is not None}

    def open(self, data: bytes, *, logs: Iterable[VerifierKey] = ()) -> SignedCheckpoint:
        """Return the checkpoint that one of the logs has signed and a quorum has cosigned. ``logs`` are known beside those of the policy.

        Raises ``Malformed``; ``Refuted`` for a log that is unknown, a wrong signature and a quorum that is not there.
        """
        note = Note.parse(data)
        origin = Checkpoint.parse(note.text).origin
        keys = (*self._logs_by_name.get(origin, ()), *(key for key in logs if key.name == origin))
        if not keys:
            raise Refuted(f"the policy knows no log that is called {origin}")
        # A log that changes its key signs with both.
        for key in [key for key in keys if note.find_signature(key) is not None] or keys[:1]:
            signed = open_checkpoint(data, key)
        cosigned = self.cosigned(note)
        if not self.is_met(cosigned):
            raise Refuted(f"{len(cosigned)} witnesses have cosigned the checkpoint, and they are not a quorum")
        return SignedCheckpoint(signed.checkpoint, data, cosigned)


class _Reader:
    """The parsed content of the lines so far."""

    def __init__(self) -> None:
        self.logs: list[PolicyLog] = []
        self.witnesses: list[PolicyWitness] = []
        self.groups: list[WitnessGroup] = []
        self.quorum: str | None = None
        self._names: set[str] = set()
        self._members: set[str] = set()
        self._keys: set[tuple[bool, bytes]] = set()

    def read(self, words: list[str]) -> None:
        """Read one line. Raises ``Malformed``."""
        match words:
            case ["log", vkey, *url] if len(url) <= 1:
                key = self._key(vkey, is_log=True)
                self.logs.append(PolicyLog(key, _url(url)))
            case ["witness", name, vkey, *url] if len(url) <= 1:
                self._define(name)
                self.witnesses.append(PolicyWitness(name, self._key(vkey, is_log=False), _url(url)))
            case ["group", name, threshold, *members] if members:
                self._group(name, threshold, members)
            case ["quorum", name]:
                if self.quorum is not None:
                    raise Malformed("a second quorum")
                if name != NONE and name not in self._names:
                    raise Malformed("the quorum is not defined before it")
                self.quorum = name
            case _:
                raise Malformed("neither log, witness, group nor quorum, each with what belongs to it")
        if max(len(self.logs), len(self.witnesses), len(self.groups)) > MOST:
            raise Malformed(f"more than {MOST} of a kind")

    def _define(self, name: str) -> None:
        if name == NONE or name in self._names:
            raise Malformed("the name is taken")
        self._names.add(name)

    def _key(self, text: str, *, is_log: bool) -> VerifierKey:
        key = VerifierKey.parse(text)
        if (key.kind == LOG) != is_log:
            raise Malformed("the key is of the kind of a log where a witness stands, or the other way round")
        if (is_log, key.public) in self._keys:
            raise Malformed("the key was there before")
        self._keys.add((is_log, key.public))
        return key

    def _group(self, name: str, threshold: str, members: list[str]) -> None:
        for member in members:
            if member not in self._names:
                raise Malformed("a member is not defined before its group")
            if member in self._members:
                raise Malformed("a member is one of two groups, or twice of one")
            self._members.add(member)
        self._define(name)
        words = {"all": len(members), "any": 1}
        least = words.get(threshold) or (int(threshold) if _THRESHOLD.fullmatch(threshold) else 0)
        if not 1 <= least <= len(members):
            raise Malformed("the threshold is neither all, any nor a number from 1 to that of the members")
        self.groups.append(WitnessGroup(name, least, tuple(members)))


def _url(words: list[str]) -> str | None:
    return words[0] if words else None
