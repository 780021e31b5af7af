"""The examples of this extension are what their command writes, to the byte."""

from __future__ import annotations

from openapi.write_examples import path_of, text_of
from plugins.oauth.openapi.write_examples import COMMAND, tell


def test_examples_are_what_the_command_writes() -> None:
    assert path_of("oauth").read_text("utf-8") == text_of("oauth", tell(), COMMAND), f"run python -m {COMMAND}"
