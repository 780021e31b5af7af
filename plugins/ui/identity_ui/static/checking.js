// A log that was pasted, checked in this page: the log of a DID, the place of an entry in the ledger's log, or that this only grew. Nothing is sent.
import { LogInvalid, verifyLog } from "./client/log.js";
import { Unmet } from "./client/entry.js";
import { policyOf } from "./notes.js";
import { checkGrowth, checkPlace } from "./places.js";

const MOST_CHARACTERS = 16 * 1024 * 1024; // what is larger is for the command line
const MOST_SHOWN = 200; // entries
// Shown only where they were checked, or are not met.
const ASKED = ["key", "method", "controller", "change", "witnesses", "policy", "signed", "cosigned", "quorum", "service", "retired"];

// The keys that a request left to the service to make, with the versions that brought them: whoever has the log key may have put in their own.
function unnamedOf(text) {
  const found = text.split("\n").flatMap((line, place) => {
    const { newKey, recoveryKey, authorization } = JSON.parse(line).parameters.change;
    if (newKey === undefined) return [];
    const { newPublicKeyMultibase, newAuthenticationKey, newRecoveryKey } = authorization.body;
    const named = [newPublicKeyMultibase, ...[newAuthenticationKey, newRecoveryKey].map((key) => key && key.publicKeyMultibase)];
    return [newKey.publicKeyMultibase, recoveryKey].filter((key) => key && !named.includes(key)).map((key) => `${key} (${place + 1})`);
  });
  return found.length > 0 ? found.join(", ") : null;
}

async function checkLog(text, witnesses, entries) {
  const found = await verifyLog(text, { witnesses: witnesses || undefined, onEntry: (entry) => entries.push(entry) });
  const isWebvh = found.did.startsWith("did:webvh:"), { change } = JSON.parse(text.split("\n", 1)[0]).parameters;
  const isBound = isWebvh || found.unboundChanges === 0;
  const checked = [...(isWebvh ? ["witnesses", "points"] : ["controller", "change", "site"]), ...(isBound ? ["bound"] : [])];
  // Entries show what was asked for from the first one on, or only later.
  const unnamed = !isWebvh && change.strictEvidence === true ? unnamedOf(text) : null;
  const { did, versions, versionId, updated: time, deactivated, unboundChanges } = found;
  return { did, versions, versionId, time, deactivated, unnamed, unbound: unboundChanges || null, checked };
}

const result = document.querySelector("#log-result");
const date = new Intl.DateTimeFormat(document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang, { dateStyle: "medium" });

// The entries, as far as they were found to hold, and the one that does not.
function showEntries(entries, unmet) {
  const list = result.querySelector("#log-entries"), row = result.querySelector("#log-entry"), isLater = unmet && unmet.requirement === "witnesses";
  // Whether witnesses approved is asked at last, and of all entries.
  const rows = (isLater ? entries.filter(({ line }) => line === unmet.line) : entries).slice(-MOST_SHOWN).map((entry) => ({ ...entry, holds: !isLater }));
  if (unmet && !isLater && unmet.line) rows.push({ line: unmet.line, holds: false });
  list.replaceChildren(...rows.map(({ line, versionTime, operation, isAsked, holds }) => {
    const item = row.content.firstElementChild.cloneNode(true), place = (name) => item.querySelector(`[data-part="${name}"]`);
    item.className = holds ? "holds" : "fails";
    item.value = place("line").textContent = line;
    place("when").hidden = !versionTime;
    if (versionTime) Object.assign(place("time"), { textContent: date.format(new Date(versionTime)), title: versionTime, dateTime: versionTime });
    const said = operation || (line === 1 ? "create" : "update");
    for (const each of item.querySelectorAll("[data-operation]")) each.hidden = !versionTime || each.dataset.operation !== said;
    place("asked").hidden = !isAsked;
    return item;
  }));
  list.hidden = rows.length === 0;
  result.querySelector("#log-more").hidden = rows.length === 0 || rows[0].line === 1;
}

// Shows of the page's own words those that apply. ``kind`` is ``log``, ``place`` or ``growth``.
function show(kind, verdict, found, unmet, entries) {
  for (const each of result.querySelectorAll(":scope > [data-verdict]")) each.hidden = each.dataset.verdict !== verdict;
  for (const each of result.querySelectorAll("[data-kind]")) each.hidden = !each.dataset.kind.split(" ").includes(kind) || verdict === "unable";
  if (verdict !== "holds") for (const each of result.querySelectorAll("[data-newer]")) each.hidden = true;
  result.querySelector(".card").hidden = verdict === "unable";
  result.querySelector("#log-not").hidden = verdict !== "holds";
  result.querySelector("#log-checks").open = verdict === "fails";
  for (const each of result.querySelectorAll("[data-requirement]")) {
    const name = each.dataset.requirement;
    each.hidden = verdict === "fails" ? name !== unmet.requirement : ASKED.includes(name) && !(found && found.checked.includes(name));
    each.className = verdict;
  }
  for (const each of result.querySelectorAll("[data-unchecked]")) each.hidden = verdict !== "holds" || found.checked.includes(each.dataset.unchecked);
  for (const each of result.querySelectorAll("[data-found]")) {
    const value = found && found[each.dataset.found];
    each.hidden = value === undefined || value === null;
    each.querySelector("dd, span").textContent = each.hidden ? "" : String(value);
  }
  const said = unmet instanceof LogInvalid ? unmet : null, line = result.querySelector("#log-line"), reason = result.querySelector("#log-reason");
  line.hidden = reason.hidden = said === null;
  line.querySelector("span").textContent = said ? said.line : "";
  reason.textContent = said ? said.message.replace(/^line \d+: /, "") : "";
  showEntries(verdict === "unable" ? [] : entries, said);
  for (const each of result.querySelectorAll("[data-deactivated]")) each.hidden = !(found && found.deactivated);
  result.hidden = false;
  result.scrollIntoView({ block: "start" });
}

const form = document.querySelector("#check-log"), button = form.querySelector("button");
// A text that looks like another kind than that of the tab is checked as what it is.
const kindOf = (text) => (text.startsWith("c2sp.org/") ? "place" : /^\{\s*"(?:first|second|hashes)/.test(text) ? "growth" : form.dataset.kind);

async function checked(kind, text, given, beside, serviceDid, entries) {
  if (text.length + beside.length > MOST_CHARACTERS) throw new Unmet("form", "too large");
  if (kind === "log") return checkLog(text, beside, entries);
  const policy = given === "" ? null : await policyOf(given);
  return kind === "place" ? checkPlace(`${text}\n`, policy, beside, serviceDid) : checkGrowth(text, policy, beside === "" ? "" : `${beside}\n`);
}

let newest = 0; // a verdict is of the text that stands there

form.hidden = false;
form.addEventListener("input", () => {
  newest += 1;
  result.hidden = true;
  button.removeAttribute("aria-busy");
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const number = (newest += 1), say = (...all) => number === newest && show(...all);
  const [text, given, beside, serviceDid] = ["#log", "#log-key", "#log-beside", "#log-service-did"].map((name) => form.querySelector(name)?.value.trim() ?? "");
  const kind = kindOf(text), entries = [];
  button.setAttribute("aria-busy", "true");
  try {
    if (!isSecureContext || !crypto.subtle) throw new Error("no WebCrypto here");
    say(kind, "holds", await checked(kind, text, given, beside, serviceDid, entries), null, entries);
  } catch (error) {
    const isUnmet = error instanceof Unmet || error instanceof LogInvalid;
    say(kind, isUnmet ? "fails" : "unable", null, isUnmet ? error : null, entries);
  } finally {
    if (number === newest) button.removeAttribute("aria-busy");
  }
});
