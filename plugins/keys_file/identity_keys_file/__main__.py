"""``python -m identity_keys_file NAME``: makes a key, writes its entry to the output and its text to the error stream."""

from __future__ import annotations

import argparse
import json
import re
import secrets
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TextIO

from identity_core.domain import callers as key_text
from identity_keys_file.entries import FileInvalid, parse_file


def entry(
    name: str, text: str, *, scopes: Sequence[str] | None, rate: float | None, burst: int | None, now: datetime
) -> str:
    """Return the TOML table for a key. Raises ``FileInvalid`` when the store would not read it. ``scopes`` None is admin."""
    lines = [f'[keys."{name}"]', f'sha256 = "{key_text.digest_of(text)}"']
    lines.append("admin = true" if scopes is None else f"scopes = {_array(scopes)}")
    lines += [f"requests_per_second = {rate}"] if rate is not None else []
    lines += [f"burst = {burst}"] if burst is not None else []
    lines.append(f"created_at = {now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    made = "\n".join(lines) + "\n"
    parse_file(made.encode(), modified_ns=0)
    return made


def _array(texts: Sequence[str]) -> str:
    """Return a TOML array of texts, which is JSON but for two escapes: TOML has no surrogates and no bare DEL."""
    return json.dumps(list(texts), ensure_ascii=False).replace("\x7f", "\\u007f")


def _rate(text: str) -> float:
    """Read a decimal number; ``float`` also takes ``inf``, ``1_0`` and digits of other scripts."""
    if re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,15})?", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 12 or 0.5")
    return float(text)


def _burst(text: str) -> int:
    if re.fullmatch(r"[0-9]{1,15}", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number such as 12")
    return int(text)


def main(
    arguments: Sequence[str], *, output: TextIO, errors: TextIO, now: datetime, random: Callable[[int], bytes]
) -> int:
    """Run the command; the exit code is 0, or 2 for arguments that make no entry."""
    parser = argparse.ArgumentParser("python -m identity_keys_file", description="Make an API key and its entry.")
    parser.add_argument("name")
    rights = parser.add_mutually_exclusive_group(required=True)
    rights.add_argument("--admin", action="store_true", help="the key may do everything")
    rights.add_argument("--scope", action="append", dest="scopes", metavar="SCOPE", help="what it may do; repeatable")
    parser.add_argument("--rate", type=_rate, help="requests a second")
    parser.add_argument("--burst", type=_burst, help="requests at once")
    given = parser.parse_args(arguments)
    text = key_text.mint(random(key_text.RANDOM_BYTES))
    try:
        output.write(entry(given.name, text, scopes=given.scopes, rate=given.rate, burst=given.burst, now=now))
    except FileInvalid as error:
        errors.write(f"{error}\n")
        return 2
    errors.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(
        main(sys.argv[1:], output=sys.stdout, errors=sys.stderr, now=datetime.now(UTC), random=secrets.token_bytes)
    )
