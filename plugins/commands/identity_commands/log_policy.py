"""The keys of logs and the policies that options name."""

from __future__ import annotations

from pathlib import Path

import click

from identity_commands.options import FILE_THERE
from identity_core.cli.output import fail, failing
from identity_core.files import read_regular
from identity_tlog.note import VerifierKey
from identity_tlog.policy import WitnessPolicy
from identity_tlog.tree import Malformed

policy_option = click.option(
    "--policy", type=FILE_THERE, help="File (tlog-policy) with the accepted logs and witnesses, and their quorum."
)


def read_policy(path: Path) -> WitnessPolicy:
    """Read the policy in a file. End the command for a malformed one."""
    with failing((Malformed, OSError), str(path), "see c2sp.org/tlog-policy", what="this is not a policy"):
        return WitnessPolicy.parse(read_regular(path))


def verifier_key(text: str | None) -> VerifierKey:
    """Return the key in the option, or in the file that it names. End the command without one."""
    if not text:
        fail(
            "the log's key is missing", "--key", "get it from a place that you trust (`identity ledger key` prints it)"
        )
    named, remedy = Path(text), "it has the form name+id+key, see `identity ledger key`"
    if "+" not in text and not named.is_file():
        fail("this is neither a verifier key nor a file with one", text, remedy)
    with failing((Malformed, OSError, UnicodeDecodeError), text, remedy, what="this is not a verifier key"):
        try:
            return VerifierKey.parse(text)
        except Malformed:
            return VerifierKey.parse(named.read_text() if named.is_file() else text)
