"""How large the pages for people are, how long the service takes for each, and how long a holder waits from signing in to her first page.

    python -m tools.bench.bench_ui [--folder DIR] [--dids 100000] [--rows 1000000] [--requests 300] [--sign-ins 20]

One server process, not pinned, on SQLite; one client that asks for a page after another on one connection, so a time is that of the
service and of loopback. The DIDs are those of ``seeding``; rows of the timeline are written with SQL, half of them about the holder
whose pages are asked for, one in a hundred of them about proofs. Bytes are of the page and of all that it loads, packed by the
browser's encodings where the service does so. The paint is that of Chromium, headless: from the click to first-contentful-paint.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from identity_ui.session import body_of

from identity_client import Signer
from identity_client.challenge import hash_body
from identity_core.domain.dids.did import Did
from identity_core.store.records import row_id
from tools.bench.parties import gather
from tools.bench.seeding import dids_in, fill
from tools.bench.servers import UNLIMITED, Server, running

KEY = "bench-ui-" + "k" * 40
OWN = {"Sec-Fetch-Site": "same-origin", "Accept-Encoding": "gzip, deflate, br"}
ANYBODY = ("", "/verify", "/check-log", "/recover", "/did/{did}")
HOLDER = (
    "/home",
    "/agents",
    "/agents/new",
    "/activity",
    "/credentials",
    "/keys",
    "/issued",
    "/types",
    "/issue",
    "/results",
    "/ask",
    "/consent",
)
OPERATOR = tuple(
    f"/operator{place}"
    for place in ("", "/dids", "/ledger", "/verifications", "/api-keys", "/plugins", "/audit", "/settings", "/doctor")
)
CLICKED = """document.querySelector("#sign-in").addEventListener(
  "submit", () => sessionStorage.setItem("at", performance.timeOrigin + performance.now()), true)"""
PAINT = "performance.timeOrigin + performance.getEntriesByName('first-contentful-paint')[0].startTime"


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "identity_core", "serve", "--port", "{port}", "--data-dir", str(folder)]
    environment = UNLIMITED | {"API_KEY": KEY, "IDENTITY_KEY_STORES": "env,sql"}
    with running(command, environment, "/ready", status=200, pin=False) as server:
        yield server


def fill_timeline(folder: Path, holder: str, count: int) -> None:
    """Rows of the last years, one in a hundred about a proof; every second is the holder's."""
    others, now = dids_in(folder), datetime.now(UTC)
    columns = "id, at, kind, outcome, code, actor, holder, agent, issuer, delegation_id, credential_id, proof_id"
    with contextlib.closing(sqlite3.connect(folder / "identity.sqlite")) as database, database:
        database.executemany(
            f"INSERT INTO timeline ({columns}) VALUES (?, ?, ?, 'done', NULL, ?, ?, ?, NULL, ?, NULL, ?)",
            (
                (
                    row_id(at, os.urandom),
                    int(at.timestamp() * 1_000_000),
                    "proof.generated" if number % 100 == 0 else "delegation.suspended",
                    holder,
                    holder if number % 2 == 0 else others[number % len(others)],
                    others[-1],
                    f"d{number}",
                    f"p{number}" if number % 100 == 0 else None,
                )
                for number in range(count)
                for at in [now - timedelta(seconds=60 * (count - number))]
            ),
        )
        database.execute("ANALYZE")


def session_of(server: Server, hana: Signer, http: httpx.Client) -> None:
    """Signs Hana in, as the page does."""
    digest = hash_body({**body_of(Did.parse(hana.did))})
    wanted = {"did": hana.did, "purpose": "read", "bodyHash": digest, "named": "true"}
    text = http.get("/auth/challenge", params=wanted).json()["challenge"]
    header = hana.header(text, purpose="read", digest=digest, origin=server.url, named=True)
    answer = http.post("/ui/session", headers={"Authorization": header})
    if answer.status_code != 204:
        raise SystemExit(f"the sign-in failed: {answer.status_code} {answer.text}")


def octets_of(http: httpx.Client, answer: httpx.Response) -> int:
    """Those of the page and of the files that it loads, as they come over the wire."""
    total = int(answer.num_bytes_downloaded)
    for path in set(re.findall(r'(?:src|href)="(/ui/static/[^"#]+)', answer.text)):
        total += http.get(path).num_bytes_downloaded
    return total


def measure(http: httpx.Client, path: str, count: int) -> None:
    times: list[float] = []
    answer = http.get(path)
    for _ in range(count):
        began = time.perf_counter()
        answer = http.get(path)
        times.append((time.perf_counter() - began) * 1000)
        if answer.status_code != 200:
            raise SystemExit(f"{path} is not a page: {answer.status_code}")
    times.sort()
    kilobytes, page = octets_of(http, answer) / 1000, answer.num_bytes_downloaded / 1000
    print(
        f"{path[:40]:<40} median {statistics.median(times):6.1f} ms   p99 {times[int(len(times) * 0.99) - 1]:6.1f} ms   "
        f"{page:5.1f} kB, with its files {kilobytes:5.1f} kB",
        flush=True,
    )


def measure_paint(server: Server, hana: Signer, count: int) -> None:
    """From the click on the sign-in page to the first paint of Home, each in a browser that has seen neither."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is not installed")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, sync_playwright() as playwright:
        json.dump({"did": hana.did, "keys": {"authentication": {"privateKey": hana.secret}}}, file)
        file.flush()
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        times = []
        for _ in range(count):
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"{server.url}/ui/sign-in")
            page.set_input_files("#keys", file.name)
            page.evaluate(CLICKED)
            page.click("#sign-in button")
            page.wait_for_url("**/ui/home")
            while not page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
                page.wait_for_timeout(5)  # wait_for_function would need unsafe-eval
            times.append(page.evaluate(f"{PAINT} - Number(sessionStorage.getItem('at'))"))
            context.close()
        browser.close()
    times.sort()
    print(f"sign-in to first paint: median {statistics.median(times):.0f} ms, slowest {times[-1]:.0f} ms of {count}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--folder", type=Path, help="one that seeding filled and no other run used, or where to seed one"
    )
    parser.add_argument("--dids", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--sign-ins", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary) / "data"
        if not (folder / "identity.sqlite").exists():
            fill(folder, arguments.dids, 1)
        with served(folder) as server:
            hana = gather(server, KEY).hana
        fill_timeline(folder, hana.did, arguments.rows)
        with served(folder) as server:
            for name, paths in (("anybody", ANYBODY), ("holder", HOLDER), ("operator", OPERATOR)):
                with httpx.Client(base_url=server.url, headers=OWN, trust_env=False, timeout=60) as http:
                    if name == "holder":
                        session_of(server, hana, http)
                    if name == "operator":
                        http.post("/ui/operator/session", data={"key": KEY})
                    for path in paths:
                        measure(http, f"/ui{path.replace('{did}', hana.did)}", arguments.requests)
            measure_paint(server, hana, arguments.sign_ins)


if __name__ == "__main__":
    main()
