"""The places and colours of the parts of some pages, as they were reviewed: a change of style is seen as a change of a file.

The pictures of two machines differ in fonts and in the smoothing of edges, so that a snapshot of pixels would either fail elsewhere
or tolerate what a reader sees. Compared are boxes and colours of the shell and of the parts: left edge and width in pixels, colours,
borders, padding and sizes of type. Heights depend on where a font wraps and are left out. ``UPDATE_SNAPSHOTS=1`` writes the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.scenes import Scene
from tests.ui.visiting import WAIT_MILLISECONDS, Site, Watched, operator_signs_in, sign_in

FOLDER = Path(__file__).parent / "snapshots"
TOLERANCE_PIXELS = 3
PAGES = (
    ("anybody", ""),
    ("anybody", "/verify"),
    ("hana", "/home"),
    ("hana", "/agents"),
    ("hana", "/consent?id={consent}"),
    ("hana", "/keys"),
    ("city", "/issued"),
    ("vera", "/results"),
    ("olu", "/operator"),
)
# Blocks have places that do not depend on the width of a text.
BOXES = """() => {
  const parts = "header.top, nav.side, nav.bar, main, .head, h1, .card, .note, .grid, dl.kv, .feed, .tabs, table, form.stack, .field, "
    + "input, select, textarea";
  return [...document.querySelectorAll(parts)].filter((one) => one.checkVisibility()).map((one) => {
    const box = one.getBoundingClientRect(), css = getComputedStyle(one);
    return { part: [one.tagName.toLowerCase(), ...one.classList].join("."), left: Math.round(box.left),
      width: one.tagName === "H1" ? 0 : Math.round(box.width), color: css.color, background: css.backgroundColor,
      border: `${css.borderTopWidth} ${css.borderTopColor}`, radius: css.borderTopLeftRadius, padding: css.padding,
      type: `${css.fontSize} ${css.fontWeight}` };
  });
}"""


@pytest.fixture(scope="module")
def scene(site: Site) -> Scene:
    return Scene(site)


@pytest.fixture(scope="module")
def windows(scene: Scene, browser: Browser) -> Iterator[dict[str, Page]]:
    expect.set_options(timeout=WAIT_MILLISECONDS)
    contexts = {who: browser.new_context(reduced_motion="reduce") for who in ("anybody", "hana", "city", "vera", "olu")}
    pages = {who: context.new_page() for who, context in contexts.items()}
    for who in ("hana", "city", "vera"):
        sign_in(pages[who], scene.site, who, keep=True)
    operator_signs_in(pages["olu"], Watched(scene.site.url), scene.site)
    yield pages
    for context in contexts.values():
        context.close()


def compare(found: list[dict[str, Any]], kept: list[dict[str, Any]]) -> list[str]:
    """Return what differs, part by part."""
    if [one["part"] for one in found] != [one["part"] for one in kept]:
        return [f"parts: {[one['part'] for one in kept]} became {[one['part'] for one in found]}"]
    faults = []
    for one, before in zip(found, kept, strict=True):
        for name, value in one.items():
            near = isinstance(value, int) and abs(value - before[name]) <= TOLERANCE_PIXELS
            if value != before[name] and not near:
                faults.append(f"{one['part']}: {name} {before[name]} became {value}")
    return faults


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(("who", "path"), PAGES)
def test_page_looks_as_reviewed(windows: dict[str, Page], scene: Scene, who: str, path: str, width: int) -> None:
    page, found = windows[who], {}
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{scene.site.url}/ui{path.format(**scene.named)}")
    page.wait_for_load_state()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found[scheme] = page.evaluate(BOXES)
    name = path.partition("?")[0].strip("/").replace("/", "-") or "front"
    file = FOLDER / f"{name}-{width}.json"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        lines = {scheme: ",\n".join(json.dumps(one) for one in boxes) for scheme, boxes in found.items()}
        file.write_text("{" + ",\n".join(f'"{scheme}": [\n{text}\n]' for scheme, text in lines.items()) + "}\n")
    kept = json.loads(file.read_text())
    assert {scheme: compare(boxes, kept[scheme]) for scheme, boxes in found.items()} == {"light": [], "dark": []}


def test_comparison_reports_a_changed_colour_and_a_moved_box() -> None:
    part = {"part": "div.card", "left": 16, "width": 358, "color": "rgb(0, 0, 0)"}
    assert compare([part | {"left": 18}], [part]) == []
    assert compare([part | {"left": 24}], [part]) == ["div.card: left 16 became 24"]
    assert compare([part | {"color": "rgb(9, 0, 0)"}], [part]) == ["div.card: color rgb(0, 0, 0) became rgb(9, 0, 0)"]
    assert compare([], [part]) == ["parts: ['div.card'] became []"]
