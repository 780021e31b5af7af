"""Questions about several credentials on the command line: the file with one, and the content of a proof of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click
from identity_bound_credentials.domain.presented import PresentedPresentation
from identity_verification.domain.expected import AnyPresented

from identity_codec.strict_json import JsonValue
from identity_core.cli.output import format_value

question_option: Final = click.option(
    "--question",
    type=click.File("rb"),
    metavar="FILE",
    help="File with a question about several credentials or with a pseudonym: a JSON object of credentials, same, either, pseudonym.",
)


def question_of(presented: AnyPresented) -> JsonValue:
    """Return the proven question about several credentials, alternatives, equal attributes or a pseudonym; None for any other
    proof."""
    if not isinstance(presented, PresentedPresentation) or presented.is_of_one_credential:
        return None
    # Importing the wire types takes longer than most commands.
    from identity_verification.answers import shown_question

    from identity_codec.structs import plain

    found: JsonValue = plain(shown_question(presented))
    return found


def proven(body: Mapping[str, Any]) -> list[str]:
    """Return the lines about the content of a proof; ``body`` has ``predicates`` and ``question``."""
    question = body.get("question")
    if question is None:
        return [f"proves     {_predicate(one)}" for one in body["predicates"]]
    either = {number: group for group in question["either"] for number in group}
    lines, number = [], 0
    for place, credential in enumerate(question["credentials"]):
        lines.append(f"credential {place}: {credential['schemaId']} of {credential['issuerDid']}")
        for one in credential["predicates"]:
            others = ", ".join(str(each) for each in either.get(number, ()) if each != number)
            suffix = f" (or {others})" if others else ""
            lines.append(f"  {number} {_predicate(one)}{suffix}")
            number += 1
    for together in question["same"]:
        names = " = ".join(f"{one['attributeName']} of {one['credential']}" for one in together)
        lines.append(f"same       {names}")
    if question["pseudonym"] is not None:
        lines.append(f"pseudonym  {question.get('pseudonymValue') or 'one'} for {question['pseudonym']}")
    return lines


def _predicate(one: Mapping[str, Any]) -> str:
    return f"{one['attributeName']} {one['type']} {format_value(one['value'])}"
