"""Every command and program that the pages of the site show is run, and prints what they say."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from identity_commands.local_server import LocalServer

from openapi import clients
from tests.client import go_application
from tests.client.conftest import node_tools  # noqa: F401  (a fixture)
from tests.client.node_application import make_application
from tests.docs.blocks import ForkedCommands, fits, run, steps
from tests.made_once import once
from tests.servers import local_server

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for folder in ("tutorial", "roles", "how-to", "explanation")
    for path in sorted((DOCS / folder).glob("*.md"))
}
# A rotation of the log key waits for what is on its way to the ledger: twice this deadline.
SHORT = {"how-to/rotate.md": {"IDENTITY_LEDGER_DEADLINE_SECONDS": "2"}}
# The page says how many entries came after the backup, and the log also records status lists, some time after credentials were issued:
# no other page uses its service.
ALONE = {"how-to/restore.md"}
# tests/tutorial runs the tutorial, and looks at what comes of it in the browser.
RUN = {
    name: page
    for name, text in PAGES.items()
    if not name.startswith("tutorial/") and (page := steps(text, (DOCS / name).parent))
}


@pytest.mark.parametrize("name", RUN)
def test_page_that_calls_a_service_states_how_to_start_one(name: str) -> None:
    calls = any("IDENTITY_URL" in step.command or "identity did create" in step.command for step in RUN[name])
    assert not calls or "tutorial/first-proof" in PAGES[name] or "identity serve" in PAGES[name]


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalServer]:
    with local_server(environment={"IDENTITY_A2A_ENABLED": "true"}) as running:
        yield running


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    if request.getfixturevalue("name") not in ALONE:
        yield request.getfixturevalue("shared")
        return
    with local_server() as running:
        yield running


@pytest.fixture
def packages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a page that uses the packages of TypeScript and Go: their folders, and a cache for what Go compiles."""
    if not request.getfixturevalue("name").startswith("roles/"):
        return {}
    tools = request.getfixturevalue("node_tools")
    # Those of tests/client.
    typescript = once(tmp_path_factory, "typescript", lambda folder: make_application(folder, tools))
    go = once(tmp_path_factory, "go", go_application.make_application)
    return {
        "TYPESCRIPT_CLIENT": str(typescript / clients.TYPESCRIPT_CLIENT),
        "GO_CLIENT": str(go / clients.GO_CLIENT),
        "GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache" / "go-build")),
        "GOPROXY": "off",
        "GOFLAGS": "-mod=mod",
    }


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedCommands]:
    made = ForkedCommands(tmp_path_factory.mktemp("bin"))
    yield made
    made.close()


@pytest.mark.parametrize("name", RUN)
def test_a_page_does_what_it_says(
    name: str, server: LocalServer, commands: ForkedCommands, packages: dict[str, str], tmp_path: Path
) -> None:
    environment = {
        "PATH": os.pathsep.join([str(commands.folder), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "IDENTITY_URL": server.url,
        "IDENTITY_API_KEY": server.api_key,
        "IDENTITY_DATA_DIR": str(server.data_dir),
    }
    environment |= SHORT.get(name, {}) | packages
    assert run(RUN[name], tmp_path, environment) == []


def test_the_pages_that_teach_are_run() -> None:
    assert {name for name in PAGES if name.startswith("tutorial/")} == {"tutorial/first-proof.md"}
    assert {name for name in RUN if name.startswith("roles/")} == {
        f"roles/{role}.md" for role in ("verifier", "agent-developer", "issuer", "holder")
    }


# The runner itself, on pages that are wrong.

GOOD = """
```{code-block} text
:caption: a.txt

one
two
```

```console
$ X=$(head -n 1 a.txt)
$ echo "$X" &&
> echo three
one
three
$ echo error: no; false
error: no
```
"""


def _run(text: str, folder: Path) -> list[str]:
    return run(steps(text), folder, {"PATH": os.environ["PATH"]})


def test_a_right_page_has_no_fault(tmp_path: Path) -> None:
    assert _run(GOOD, tmp_path) == []
    assert [step.line for step in steps(GOOD)] == [3, 10, 11, 15]


@pytest.mark.parametrize(
    ("right", "wrong", "found"),
    [
        ("one\nthree\n", "one\nfour\n", "line 11"),
        ("; false", "", "line 15"),
        ("head -n 1 a.txt", "head -n 1 b.txt", "line 10"),
        ("X=$(head -n 1 a.txt)", "exit 3", "before its last command"),
    ],
)
def test_a_wrong_page_is_told_with_its_line(tmp_path: Path, right: str, wrong: str, found: str) -> None:
    faults = _run(GOOD.replace(right, wrong, 1), tmp_path)
    assert found in "\n".join(faults)


@pytest.mark.parametrize("text", ["```console\nno prompt\n```\n", "```{code-block} json\n{}\n```\n"])
def test_a_block_that_cannot_be_run_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        steps(text)


@pytest.mark.parametrize(
    ("printed", "expected", "fit"),
    [
        ("a b c", "a … c", True),
        ("a\nb\nc\n", "a\n…", True),
        ("ab", "a", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
    ],
)
def test_omitted_output_matches_anything(printed: str, expected: str, fit: bool) -> None:
    assert fits(printed, expected) is fit
