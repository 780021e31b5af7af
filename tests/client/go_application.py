"""A program in Go that uses the generated client, and nothing else."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from openapi import clients

HERE = Path(__file__).parent / "go"
USED = f"""module application

go 1.19

require identity-service-client v1.0.0

replace identity-service-client => ../{clients.GO_CLIENT}
"""


def make_application(folder: Path) -> None:
    """Make the package and, in the folder ``app``, a program that uses it and that of the README, compiled."""
    package = clients.build_go_client(folder)
    app = folder / "app"
    shutil.copytree(HERE, app / "jobs")
    (app / "first").mkdir()
    program = first_screen(package)
    for literal, argument in (('"http://127.0.0.1:8080"', "os.Args[1]"), ('"idk_…"', "os.Args[2]")):
        assert program.count(literal) == 1
        program = program.replace(literal, argument)
    (app / "first" / "main.go").write_text(program.replace('"fmt"\n', '"fmt"\n\t"os"\n'), encoding="utf-8")
    (app / "go.mod").write_text(USED)
    clients.run_go(app, "build", "-o", "bin/", "./...")


def first_screen(package: Path) -> str:
    found: str = re.findall(r"```go\n(.*?)```", (package / "README.md").read_text("utf-8"), re.DOTALL)[0]
    return found
