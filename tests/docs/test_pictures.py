"""The pictures of the site show what they are drawn from, and nothing sticks out or is cut off."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.generate.document import load
from docs.generate.pictures import CHARACTER, ROOT, Diagram, floors_picture, pictures, read_sequence, sequence_picture

SOURCES = sorted((ROOT / "docs" / "explanation").glob("*.sequence"))
DIAGRAMS = {path.stem: read_sequence(path.read_text(encoding="utf-8")) for path in SOURCES}
SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [str(one.text) for one in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", DIAGRAMS)
def test_sequence_shows_who_takes_part_and_each_message_in_order(name: str) -> None:
    diagram = DIAGRAMS[name]
    assert texts(pictures()[f"{name}.svg"]) == [*diagram.participants, *(one.text for one in diagram.messages)]


@pytest.mark.parametrize("name", DIAGRAMS)
def test_client_calls_are_operations_of_document(name: str) -> None:
    operations = {one.id for one in load().operations()}
    inside = {"Service", "Ledger", "Store", "Prover"}
    sent = [one.text for one in DIAGRAMS[name].messages if one.receiver == "Service" and one.sender not in inside]
    assert sent
    assert {text.partition(",")[0] for text in sent} <= operations


def test_picture_has_all_layers_and_packages() -> None:
    rooms = {path.stem for path in (ROOT / "identity_core").iterdir() if (path / "__init__.py").exists()}
    files = {path.stem for path in (ROOT / "identity_core").glob("*.py")} - {"__init__", "__main__"}
    shown = texts(floors_picture())
    assert sorted(shown) == sorted(rooms | files)
    assert shown.index("cli") < shown.index("api") < shown.index("domain") < shown.index("errors")


@pytest.mark.parametrize("name", ["floors", *DIAGRAMS])
def test_nothing_sticks_out(name: str) -> None:
    picture = ElementTree.fromstring(pictures()[f"{name}.svg"])
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    for text in picture.iter(f"{SVG}text"):
        wide, x = len(str(text.text)) * CHARACTER, float(text.attrib["x"])
        left = x - wide / 2 if text.get("text-anchor") == "middle" else x
        assert left >= 0
        assert left + wide <= width
        assert 0 < float(text.attrib["y"]) < height


def test_every_picture_is_on_a_page() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    shown = re.findall(r"\{image\} \.\./reference/generated/(\S+)\n:alt: \S", page)
    assert sorted(shown) == sorted(pictures())


@pytest.mark.parametrize("line", ["A -> C: hello", "A > B: hello", "A -> B hello"])
def test_a_line_that_is_no_message_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="no message"):
        read_sequence(f"# A title.\nA, B\n{line}\n")


def test_markup_in_a_message_is_text() -> None:
    diagram = Diagram("<t>", ("A", "B"), (*read_sequence("# t\nA, B\nA -> B: <b>&\n").messages,))
    assert texts(sequence_picture(diagram))[-1] == "<b>&"


def test_the_sources_are_there() -> None:
    assert {Path(one).name for one in SOURCES} == {"did-change.sequence", "proof-steps.sequence", "proof.sequence"}
