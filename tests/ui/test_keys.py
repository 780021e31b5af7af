"""A holder narrows a delegation, rotates her key, recovers her DID and takes everything with her, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from identity_client import Session
from tests.servers import run
from tests.ui.visiting import Open, Site, arrives, examine, give_delegation, has_states, issue, sign_in, sign_out


def keys_of(file: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(file.read_text())
    return value


def saved(page: Page, selector: str, file: Path) -> Path:
    with page.expect_download() as downloading:
        page.click(selector)
    downloading.value.save_as(file)
    return file


def signs_in(page: Page, site: Site, file: Path) -> None:
    page.goto(f"{site.url}/ui/sign-in")
    page.set_input_files("#keys", file)
    page.click("#sign-in button")
    arrives(page, f"{site.url}/ui/home")


def test_a_narrower_delegation_takes_the_place_of_the_wider(site: Site, open_window: Open) -> None:
    page, watched = open_window()
    sign_in(page, site, "nora", keep=True)
    give_delegation(page, site, "wide", actions="zkp.prove.age.gte.18\nzkp.prove.age.gte.21", uses=5)
    has_states(page, "Active")
    page.click("form.narrow >> xpath=../summary")
    page.uncheck("form.narrow [value='zkp.prove.age.gte.21']")
    page.fill("form.narrow [name=uses]", "2")
    watched.look(page)
    examine(page)
    page.click("form.narrow button")
    narrow = page.locator(".cards article")
    expect(narrow).to_contain_text("2 of 2 uses")
    assert narrow.locator("form.narrow code").all_text_contents() == ["zkp.prove.age.gte.18"]
    page.goto(f"{site.url}/ui/agents?state=ended")
    has_states(page, "Ended for good")
    page.goto(f"{site.url}/ui/agents")
    page.click("form.narrow >> xpath=../summary")
    page.uncheck("form.narrow [name=action]")
    page.click("form.narrow button")
    expect(page.locator("[data-message=nothing]")).to_be_visible()
    # More uses than are left the browser does not send.
    page.check("form.narrow [name=action]")
    page.fill("form.narrow [name=uses]", "3")
    page.click("form.narrow button")
    assert not page.eval_on_selector("form.narrow [name=uses]", "(field) => field.validity.valid")


def test_page_says_if_old_key_cannot_be_revoked(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    sign_in(page, site, "olga", keep=True)
    give_delegation(page, site, "wide")
    # The page that stands: a route that is set while another is on its way may miss its requests.
    has_states(page, "Active")
    page.route("**/revoke", lambda route: route.fulfill(status=503, json={"error": {"code": "TRIED", "message": ""}}))
    page.click("form.narrow >> xpath=../summary")
    page.click("form.narrow button")
    expect(page.locator("[data-message=halfway]")).to_contain_text("TRIED")
    page.reload()
    has_states(page, "Active", "Active")


def test_key_is_rotated_and_file_that_was_saved_before_serves(site: Site, open_window: Open, tmp_path: Path) -> None:
    page, watched = open_window()
    sign_in(page, site, "rita", keep=True, to="keys")
    before = keys_of(site.keys("rita"))
    page.set_input_files("#wallet", site.keys("rita"))
    page.click("[data-renewal] button")
    expect(page.locator("#renewal-file")).to_be_focused()
    expect(page.locator("#renewal-send")).to_be_hidden()
    watched.look(page)
    examine(page)
    file = saved(page, "#renewal-file", tmp_path / "rita.json")
    fresh = keys_of(file)["pending"]["keys"]["new"]
    watched.secrets = (*watched.secrets, fresh["privateKey"], before["keys"]["authentication"]["privateKey"])
    page.click("#renewal-send")
    expect(page.locator("#renewed")).to_be_visible()
    # The session continues, and the browser keeps its key.
    page.click("#renewed a")
    row = page.locator("tbody tr").filter(has=page.locator(f"[data-key='{fresh['publicKey']}']"))
    expect(row).to_contain_text("In use now")
    expect(page.locator(f"[data-key='{before['keys']['authentication']['publicKey']}']")).to_have_count(0)
    give_delegation(page, site, "by the new key")
    has_states(page, "Active")
    sign_out(page, site)
    signs_in(page, site, file)
    # The command line understands the file too; a browser saves it for everybody to read.
    file.chmod(0o600)
    used = run("did", "rotate", "--keys", file, "--url", site.url)
    assert used.returncode == 0, used.stderr
    after = keys_of(file)
    assert "pending" not in after
    assert {fresh["keyId"], before["keys"]["authentication"]["keyId"]} <= {
        one["keyId"] for one in after["keys"]["retired"]
    }


def test_unused_saved_file_still_has_old_key(site: Site, open_window: Open, tmp_path: Path) -> None:
    page, _ = open_window()
    sign_in(page, site, "sara", to="keys")
    page.set_input_files("#wallet", site.keys("sara"))
    page.click("[data-renewal] button")
    file = saved(page, "#renewal-file", tmp_path / "sara.json")
    signs_in(page, site, file)
    page.goto(f"{site.url}/ui/keys")
    # And it rotates; the key that was not taken is kept.
    page.set_input_files("#wallet", file)
    page.click("[data-renewal] button")
    again = keys_of(saved(page, "#renewal-file", tmp_path / "again.json"))
    assert again["keys"]["retired"] == [keys_of(file)["pending"]["keys"]["new"]]
    # The file of another holder does not.
    page.set_input_files("#wallet", site.keys("tara"))
    page.click("[data-renewal] button")
    expect(page.locator("[data-message=other]")).to_be_visible()


def test_a_did_is_recovered_by_its_recovery_key_alone(site: Site, open_window: Open, tmp_path: Path) -> None:
    lost = keys_of(site.keys("vera"))
    page, watched = open_window()
    page.goto(f"{site.url}/ui/sign-in")
    page.get_by_role("link", name="I lost my key").click()
    arrives(page, f"{site.url}/ui/recover")
    alone = tmp_path / "alone.json"
    alone.write_text(json.dumps({"did": lost["did"], "keys": {"recovery": lost["keys"]["recovery"]}}))
    page.set_input_files("#wallet", alone)
    page.click("[data-renewal] button")
    file = saved(page, "#renewal-file", tmp_path / "vera.json")
    made = keys_of(file)["pending"]["keys"]
    secrets = [one["privateKey"] for one in (*made.values(), *lost["keys"].values())]
    watched.secrets = (*watched.secrets, *secrets)
    watched.look(page)
    examine(page)
    page.click("#renewal-send")
    expect(page.locator("#renewed")).to_be_visible()
    page.click("#renewed a")
    expect(page.locator("[data-key]")).to_have_count(1)
    expect(page.locator("[data-key]")).to_have_attribute("data-key", made["authentication"]["publicKey"])
    sign_out(page, site)
    signs_in(page, site, file)
    with Session(site.url) as client:
        history = client.history(lost["did"])["items"]
    assert history[-1]["operation"] == "recovered"
    # The old recovery key is spent.
    page.goto(f"{site.url}/ui/recover")
    page.set_input_files("#wallet", alone)
    page.click("[data-renewal] button")
    saved(page, "#renewal-file", tmp_path / "late.json")
    page.click("#renewal-send")
    expect(page.locator("[data-message=refused]")).to_be_visible()


def test_an_export_is_of_everything_and_takes_her_key(site: Site, open_window: Open, tmp_path: Path) -> None:
    with Session(site.url, api_key=site.api_key) as client:
        issued = issue(client, site.did("wilma"), age=37, income=5_213_774, country="Wakanda")
    page, _ = open_window()
    sign_in(page, site, "wilma", keep=True)
    give_delegation(page, site, "to be taken along")
    has_states(page, "Active")
    page.goto(f"{site.url}/ui/keys")
    examine(page)
    page.click("#export button")
    expect(page.locator("#export-file")).to_be_focused()
    value = keys_of(saved(page, "#export-file", tmp_path / "export.json"))
    assert value["did"] == value["didDocument"]["id"] == site.did("wilma")
    assert [one["versionId"] for one in value["history"]] == [1]
    assert [one["purpose"] for one in value["delegations"]] == ["to be taken along"]
    assert [one["id"] for one in value["credentials"]] == [issued]
    assert value["credentials"][0]["credential"]["proof"]["proofValue"]
    assert {"delegation.created", "credential.issued"} <= {one["kind"] for one in value["timeline"]}


def test_holder_erases_records_and_deactivates_the_did(site: Site, open_window: Open) -> None:
    page, watched = open_window()
    sign_in(page, site, "dora", keep=True, to="keys")
    page.on("dialog", lambda dialog: dialog.accept())
    watched.look(page)
    # The page is loaded again after the answer.
    with page.expect_navigation(), page.expect_response("**/api/v1/dashboard/records") as erased:
        page.get_by_role("button", name="Erase…").click()
    assert erased.value.status == 200
    page.get_by_role("button", name="Deactivate…").click()
    expect(page).to_have_url(f"{site.url}/ui")
    page.goto(f"{site.url}/ui/did/{site.did('dora')}")
    expect(page.locator("#deactivated")).to_be_visible()
