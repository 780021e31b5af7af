"""Bidirectional controls in texts of others, as Chromium shows them: no text after such a text changes its place (UAX #9)."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from identity_ui.render import _environment
from playwright.sync_api import Browser, Page

# The left edges of the characters of the texts after the first <bdi>, line by line.
EDGES = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), first = document.querySelector("bdi"), lines = {};
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!(first.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) || first.contains(node)) continue;
    for (let at = 0; at < node.length; at += 1) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { left, bottom, width } = range.getBoundingClientRect();
      if (width) (lines[Math.round(bottom)] ||= []).push(left);
    }
  }
  return Object.values(lines);
}"""
OPENING = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"


def is_in_order(page: Page) -> bool:
    lines: list[list[float]] = page.evaluate(EDGES)
    assert sum(map(len, lines)) > 20
    return all(line == sorted(line) for line in lines)


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Page:
    return browser.new_page()


def test_an_element_alone_does_not_isolate(blank: Page) -> None:
    """U+2069 ends the isolate of <bdi>, so an override behind it reaches the text after the element."""
    blank.set_content("<p><bdi>age\u202e</bdi> is at least 18, says the service</p>")
    assert is_in_order(blank)
    blank.set_content("<p><bdi>age\u2069\u202e</bdi> is at least 18, says the service</p>")
    assert not is_in_order(blank)


@pytest.mark.parametrize("control", OPENING, ids=lambda one: f"U+{ord(one):04X}")
@pytest.mark.parametrize("end", ["", "\u202c", "\u2069", "\u2069\u2069"], ids=["open", "PDF", "PDI", "PDI PDI"])
def test_no_name_reorders_the_text_after_it(blank: Page, control: str, end: str) -> None:
    """An attribute that an agent may ask about, in the sentence of the page."""
    action = f"zkp.prove.{quote(f'{end}{control}age', safe='')}.gte.18"
    macros = (
        _environment("en")
        .get_template("macros.html")
        .make_module({"versions": {}, "signed_in": None, "labels": {}, "described": {}})
    )
    blank.set_content(f"<p>{macros.grant(action)} says the service</p>")
    assert is_in_order(blank)
