"""The pages that are made for the site: everything that they are about stands there, once, with an anchor."""

from __future__ import annotations

import re

import click
import pytest
from identity_commands.options import installed_plugins

from docs.generate import pages
from docs.generate.document import load
from identity_core.cli import main
from identity_core.errors import CODES
from identity_core.settings import Settings
from identity_core.settings.fields import keys_of, variable

DOCUMENT = load()


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return pages()


def anchors(page: str) -> list[str]:
    return re.findall(r"^\((\S+)\)=$", page, re.MULTILINE)


def words(command: click.Command, path: tuple[str, ...]) -> list[str]:
    context = click.Context(command)
    found = ["-".join(path)]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            found += words(below, (*path, name))
    return found


def test_every_operation_has_a_section_on_the_page_of_its_tag(written: dict[str, str]) -> None:
    for tag in DOCUMENT.body["tags"]:
        expected = [f"operation-{one.id}" for one in DOCUMENT.operations() if one.body["tags"] == [tag["name"]]]
        assert anchors(written[f"{tag['name']}.md"]) == expected
    assert len([*DOCUMENT.operations()]) > 60


def test_every_schema_and_each_of_its_members_stands_there(written: dict[str, str]) -> None:
    page = written["schemas.md"]
    schemas = DOCUMENT.body["components"]["schemas"]
    assert sorted(anchors(page)) == sorted(f"schema-{name}" for name in schemas)
    for name, schema in schemas.items():
        section = page.partition(f"(schema-{name})=")[2].partition("\n(schema-")[0]
        assert re.findall(r"^\| `(\S+)` \|", section, re.MULTILINE) == [*schema.get("properties", {})]
        assert not re.search(r"\|\s*\|$", section, re.MULTILINE), f"{name} has a member without a meaning"


def test_every_code_that_an_answer_can_carry_has_an_anchor(written: dict[str, str]) -> None:
    catalogue = DOCUMENT.body["x-error-catalogue"]
    assert anchors(written["errors.md"]) == [*catalogue]
    assert CODES.keys() >= catalogue.keys()


def test_a_code_shows_its_remedy_and_who_answers_it(written: dict[str, str]) -> None:
    section = written["errors.md"].partition("(CREDENTIAL_NOT_FOUND)=")[2].partition("\n(")[0]
    assert "[getCredential](#operation-getCredential)" in section
    assert "[createDid]" not in section
    for code, entry in DOCUMENT.body["x-error-catalogue"].items():
        section = written["errors.md"].partition(f"\n({code})=")[2].partition("\n(")[0]
        assert f"**{entry['status']}**: {entry['message']}" in section
        assert entry["remedy"] in section
        assert all(text in section for text in entry.get("reasons", {}).values())


def test_every_command_stands_there_with_its_options(written: dict[str, str]) -> None:
    page = written["commands.md"]
    assert anchors(page) == words(main, ("identity",))
    assert "--grace-hours" in page.partition("(identity-did-rotate)=")[2].partition("\n(identity")[0]


def test_every_setting_stands_there_with_its_variable(written: dict[str, str]) -> None:
    page = written["settings.md"]
    keys = keys_of(Settings, "")
    for name, kinds in installed_plugins(Settings()).settings_tables().items():
        keys += [key for kind in kinds for key in keys_of(kind, f"plugins.{name}")]
    shown = re.findall(r"^\| `\w+`<br>`(\w+)` \|", page, re.MULTILINE)
    assert sorted(shown) == sorted(map(variable, keys))


def test_no_row_of_a_table_is_cut_by_a_bar_of_its_text(written: dict[str, str]) -> None:
    for name, page in written.items():
        width = 0
        for line in re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL).splitlines():
            bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            assert not (width and bars) or bars == width, f"{name}: {line}"
            width = bars
