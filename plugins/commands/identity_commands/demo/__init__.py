"""``identity demo``: the life of a credential, step by step, at an own or a running server.

``chapters``, ``aftermath`` and ``bound`` are its chapters, ``story`` runs and prints a step, ``participants`` has the persons, and
``place`` starts the service. A step with an unexpected result ends the demo. Administration of keys, plugins and logs is left out
on purpose, because it has commands of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import click

from identity_commands.demo import aftermath, bound, chapters
from identity_commands.demo.participants import Participants
from identity_commands.demo.place import LEDGERS, somewhere
from identity_commands.demo.story import Story
from identity_commands.remote import api_key_option
from identity_core.cli.output import Command, fail, prints_json, show

CHAPTERS: Final[tuple[tuple[str, Callable[[Story, Participants], None]], ...]] = (
    ("A DID, and what its keys may do", chapters.a_did),
    ("A credential", chapters.a_credential),
    ("A delegation, and a token for one use", chapters.a_delegation),
    ("A proof, obtained by the agent", chapters.a_proof),
    ("The proof, checked", aftermath.checked),
    ("What the agent cannot get", aftermath.out_of_reach),
    ("Who can see what happened", aftermath.show_records),
    ("Revoked", aftermath.taken_back),
    ("Bound, and revoked", bound.revoked),
    ("The end of the DID", aftermath.ended),
)
_PEOPLE: Final = """\
Hana holds a credential that Ivo issued. Vera sells from 18 and wants to know no more than that. Aki, Hana's agent, gets her
the proof. Mallory takes what she can.
"""


@click.command(name="demo", cls=Command)
@click.option("--url", help="URL of a running service, to which the demo writes. Profiles do not apply.")
@api_key_option
@click.option("--ledger", type=click.Choice(LEDGERS), default="sql", help="Ledger of the demo's server.")
@click.option("--show", "shown", is_flag=True, help="Show each request and its answer.")
def command(url: str | None, api_key: str | None, ledger: str, shown: bool) -> None:
    """Run a complete example: a DID, a credential, a delegation, a proof by an agent, its verification, and its
    revocation.

    Without --url the demo starts a server and deletes it at the end. `--ledger evm` needs anvil on the PATH, or the
    settings of a chain in IDENTITY_PLUGINS_EVM_….
    """
    if url is not None and ledger != "sql":
        fail("--url and --ledger exclude each other", "the options", "a running service has its ledger", status=2)
    began = time.perf_counter()
    with somewhere(url, api_key, ledger) as (session, exchanges):
        started = time.perf_counter()
        story = Story(exchanges, is_quiet=prints_json(), is_shown=shown)
        story.say(f"A service listens at {session.url}.\n\n{_PEOPLE}")
        people = Participants(session)
        for title, tell in CHAPTERS:
            story.chapter(title)
            tell(story, people)
        seconds, waited = time.perf_counter() - began, started - began
    summary = {"url": session.url, "anchoring": people.is_anchored, "steps": story.steps, "seconds": round(seconds, 2)}
    of_it = "" if url is not None else f", {waited:.1f} s of them to start the service"
    show(summary, text=lambda _: f"\n{len(story.steps)} steps in {seconds:.1f} s{of_it}, all as promised.")
