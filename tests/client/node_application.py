"""An application in Node that has installed the packed TypeScript client, and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from openapi import clients

HERE = Path(__file__).parent / "typescript"

WRONG_TYPES = """import { createIdentity, verifyLog } from "identity-service-client";
const id = createIdentity({ url: "http://127.0.0.1" });
// @ts-expect-error - a method is needed
id.createDid({ body: {} });
// @ts-expect-error - there is no such parameter
id.listDids({ size: 1 });
// @ts-expect-error - whose history
id.listDidHistory();
// @ts-expect-error - it has one answer
id.each("getHealth", {});
export const log: Promise<string> = id.getDidLog({ did: "did:ids:x" });
export const tile: Promise<Uint8Array> = id.getLedgerTile({ level: "0", tile: "000" });
export const unset = createIdentity({ url: "http://127.0.0.1", apiKey: undefined as string | undefined, retries: undefined });
void verifyLog("", { did: undefined as string | undefined, now: undefined });
export const status: Promise<"ok"> = id.getHealth().then((health) => health.status);
"""


def make_application(folder: Path, tools: Path) -> None:
    """Make the application in the folder ``app`` below ``folder``, with the README's programs, compiled under strict types."""
    package = clients.build_typescript_client(folder, tools)
    app = folder / "app"
    shutil.copytree(HERE, app)
    (app / "package.json").write_text('{"type": "module", "private": true}')
    _npm(package, "pack", "--pack-destination", str(folder))
    (packed,) = folder.glob("*.tgz")
    _npm(app, "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", str(packed))
    first, offline = shown_programs(package)
    (app / "first.ts").write_text(first, encoding="utf-8")
    (app / "offline.ts").write_text(first + offline, encoding="utf-8")
    (app / "wrong.ts").write_text(WRONG_TYPES, encoding="utf-8")
    options = ("--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--typeRoots", app / "none")
    strict = ("--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--verbatimModuleSyntax")
    try:
        clients.run_node_tool(tools, "tsc", *strict, *options, *(app / f"{name}.ts" for name in NAMES))
    except subprocess.CalledProcessError as error:
        # What it wrote in spite of it runs; the test of types tells.
        (app / "refused").write_text(error.stdout, encoding="utf-8")


NAMES = ("first", "offline", "wrong")


def _npm(folder: Path, *arguments: str) -> None:
    subprocess.run(["npm", *arguments], cwd=folder, check=True, capture_output=True, timeout=300)


def shown_programs(package: Path) -> tuple[str, str]:
    """Return the program of the README, and what it appends to verify the proof without the service."""
    first, offline = re.findall(r"```ts\n(.*?)```", (package / "README.md").read_text("utf-8"), re.DOTALL)
    return first, offline


def run_node(application: Path, *arguments: str, said: str = "") -> str:
    done = subprocess.run(
        ["node", "--no-warnings", *arguments],
        cwd=application,
        input=said,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
