"""Edited, spliced and random bytes for every parser of ``parsers.py``."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.parsers import PARSERS, Parser

ROUNDS: Final = int(os.environ.get("IDENTITY_ROUNDS", "50"))
SEEDS: Final = Path(__file__).with_name("seeds")
# A stranger's bytes come in headers of 32 KiB and bodies of 256 KiB; a parser that needs longer than this for less is a lever.
CPU_SECONDS: Final = 0.25
PIECES: Final = (
    *(
        b"\x00",
        b"\x7f",
        b"\xff",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xae",
        b"\r\n",
        b"\n",
        b"\t",
        b" ",
    ),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b":",
        b",",
        b".",
        b"..",
        b"/",
        b"%",
        b"%00",
        b"#",
        b"?",
        b"+",
        b"-",
    ),
    *(
        b"0",
        b"00",
        b"-0",
        b"1e309",
        b"1e-400",
        b"NaN",
        b"9" * 30,
        b"18446744073709551616",
        b"null",
        b"true",
        b"z",
        b"u",
        b"=",
        b"==",
    ),
    *(
        b"A" * 300,
        b"1" * 5000,
        b"[" * 40,
        b'{"a":' * 40,
        b"did:",
        b"did:ids:",
        b"did:key:z",
        "ä".encode(),
        "١".encode(),
        b"\xe2\x80\x94 ",
    ),
)


@st.composite
def edited(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """A valid input with up to six edits: cuts, repeats, flips, inserted pieces, and parts of another input."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 24)))
        match draw(st.integers(0, 5)):
            case 0:
                del data[at:end]
            case 1:
                data[at:at] = draw(st.sampled_from(PIECES))
            case 2:
                data[at:end] = draw(st.binary(max_size=24))
            case 3:
                data[at:at] = data[at:end] * draw(st.integers(1, 50))
            case 4:
                data[at:] = draw(st.sampled_from(seeds))[draw(st.integers(0, 60)) :]
            case _:
                if data:
                    data[at % len(data)] ^= 1 << draw(st.integers(0, 7))
    return bytes(data)


def check(parser: Parser, data: bytes) -> None:
    # A collection of the garbage of earlier examples takes up to a second, and is not a parser's.
    gc.disable()
    began = time.thread_time()
    try:
        value = parser.call(data)
    except parser.raises:
        return
    finally:
        seconds = time.thread_time() - began
        gc.enable()
        assert seconds < CPU_SECONDS, f"{len(data)} bytes took too long"
    if parser.write is not None and value is not None:
        assert parser.write(value) == data, "another text means the same"


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_slow_collection_of_garbage_is_not_counted() -> None:
    def collect(phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            burn(2 * CPU_SECONDS)

    gc.callbacks.append(collect)
    try:
        check(Parser(lambda _octets: gc.isenabled() and gc.collect(0), (), ()), b"")
    finally:
        gc.callbacks.remove(collect)


def test_slow_parser_is_an_error() -> None:
    with pytest.raises(AssertionError, match="took too long"):
        check(Parser(lambda _octets: burn(2 * CPU_SECONDS), (), ()), b"")


@pytest.mark.parametrize("name", PARSERS)
def test_earlier_failures_and_valid_inputs(name: str) -> None:
    parser = PARSERS[name]
    kept = sorted((SEEDS / name).glob("*")) if (SEEDS / name).is_dir() else []
    for data in (*parser.seeds, *(path.read_bytes() for path in kept), b""):
        check(parser, data)


@pytest.mark.parametrize("name", PARSERS)
def test_edited_octets(name: str) -> None:
    parser = PARSERS[name]

    @settings(
        max_examples=ROUNDS,
        deadline=None,
        database=None,
        derandomize="IDENTITY_ROUNDS" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(edited(parser.seeds) | st.binary(max_size=200))
    def run(data: bytes) -> None:
        check(parser, data)

    run()


def test_every_kept_seed_belongs_to_a_parser() -> None:
    assert {path.name for path in SEEDS.iterdir() if path.is_dir()} <= PARSERS.keys()
