"""What a soak says of what it saw, and its plots."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from identity_codec.values import replace
from tools.bench.bench_soak import Sample
from tools.bench.plots import plot
from tools.soak.__main__ import MEBIBYTE, grown, unexpected
from tools.soak.load import Told
from tools.soak.report import Fault, page

CALM = Sample(0, 100 * MEBIBYTE, 0, 20, 10, 0, 0, 0, 0)
SAMPLES = [replace(CALM, second=second, requests=10 * second) for second in range(1, 91)]
FAULTS = [Fault("killed", 30, 35), Fault("clock step", 60, 70)]


def paths(svg: str) -> list[str]:
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")
    return [one.attrib["d"] for one in found if one.attrib["stroke"] != "#ccc"]


def test_a_failure_outside_of_a_window_is_told() -> None:
    told = Told()
    for moment, what in (
        (1030.5, "createDid 503"),
        (1036.0, "createDid 503"),
        (1061.0, "read no answer"),
        (1062.0, "probe late"),
    ):
        told.failures.append((moment, what))
    found = unexpected(told, FAULTS, 1000.0)
    assert found == ["36.0 s: createDid 503", "61.0 s: read no answer"], "a step of the clock must have no effect"


def test_a_read_that_is_refused_is_told() -> None:
    told = Told()
    for what, status in (("read", 200), ("read", 400), ("createDid", 400)):
        told.note(what, status)
    assert [what for _, what in told.failures] == ["read 400"]


def test_memory_and_files_that_grow_are_told() -> None:
    assert grown(SAMPLES, FAULTS) == []
    # What a process that has just ended or begun has is not a measure, and neither is what a fault costs.
    restarted = [replace(one, anonymous=0) if one.second == 36 else one for one in SAMPLES]
    during = [replace(one, anonymous=900 * MEBIBYTE, files=900) if 60 <= one.second <= 70 else one for one in restarted]
    assert grown(during, FAULTS) == []
    leaking = [
        replace(one, anonymous=CALM.anonymous + int(one.second) * MEBIBYTE, files=20 + int(one.second))
        for one in SAMPLES
    ]
    assert [line.split(" grew")[0] for line in grown(leaking, FAULTS)] == ["memory", "open files"]


def test_the_page_says_what_is_wrong_and_loads_nothing() -> None:
    told = Told({"did:ids:a": "x"}, {"did:ids:a": 2}, failures=[(1030.5, "createDid 503")])
    told.answers["createDid", 201] = 1
    well = page(90, told, FAULTS, SAMPLES, 1000.0, [])
    assert "Nothing was lost" in well
    wrong = page(90, told, FAULTS, SAMPLES, 1000.0, ["lost: <did>"])
    assert "Something is wrong" in wrong
    assert "lost: &lt;did&gt;" in wrong
    for text in (well, wrong):
        assert text.count("<svg") == 4
        assert "<script" not in text
        assert "src=" not in text


def test_a_plot_has_its_lines_in_its_frame() -> None:
    svg = plot(
        "A <title>",
        "s",
        {"one": [(0, 0), (5, 7), (10, 10)], "two": [(0, 1), (1, float("nan")), (2, 2)]},
        [(2, 3, "x & y")],
    )
    one, two = paths(svg)
    assert one == "M62.0 190.0L385.0 75.2L708.0 26.0"
    assert two.count("M") == 2, "what is not known is a gap"
    assert "x &amp; y" in svg
    assert "A &lt;title&gt;" in svg


def test_a_plot_of_nothing_is_one() -> None:
    for values in ([], [(0.0, 0.0)], [(0.0, float("inf"))]):
        assert len(paths(plot("t", "u", {"none": values}))) == 1
