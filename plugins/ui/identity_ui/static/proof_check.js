// A proof that was pasted, verified in this page. The proof is not sent: the service is asked for the issuers' logs, which are verified too, and
// for registered credential types. What cannot be checked here, such as an issuer whose log is elsewhere, goes to the service as without scripts.
"use strict";
const MOST_CHARACTERS = 1024 * 1024;
const REQUIRED = { holder: "holder", validity: "credentialValidity", status: "credentialStatus" };
const PREDICATE = /^\s*(\S+)\s+(\S+)\s+([^]*\S)\s*$/;

const form = document.querySelector("#check-proof"), parts = document.querySelector("#proof-result").content;

// The verifier is larger than the page, so it is loaded when the form is first used.
let loading;
const load = () => (loading ??= Promise.all([import("./client/proofs/verify.js"), import("./client/log.js")]));

// The service has to answer: the input is malformed, or a log is not here.
class NotHere extends Error {}

const field = (name) => form.elements[name].value.trim();
const copy = (selector) => parts.querySelector(selector).cloneNode(true);

// A value is JSON, and otherwise a text, as the service reads the form.
function predicateOf(line) {
  const [, attributeName, type, text] = PREDICATE.exec(line) ?? [];
  if (text === undefined) throw new NotHere();
  try {
    return { attributeName, type, value: JSON.parse(text) };
  } catch {
    return { attributeName, type, value: text };
  }
}

function expectation() {
  const first = field("attribute") === "" ? [] : [["attribute", "relation", "value"].map(field).join(" ")];
  const predicates = [...first, ...field("predicates").split("\n")].filter((line) => line.trim() !== "").map(predicateOf);
  const requires = Object.keys(REQUIRED).filter((name) => form.elements[name].checked).map((name) => REQUIRED[name]);
  const given = { challenge: form.elements.challenge.value, domain: form.elements.domain.value, issuerDid: form.elements.issuer.value };
  const named = Object.fromEntries(Object.entries(given).filter(([, text]) => text !== ""));
  const compared = { ...(predicates.length > 0 ? { predicates } : {}), ...(requires.length > 0 ? { requires } : {}), ...named };
  // The page shows what was not compared.
  return { ...compared, allowUnbound: true };
}

async function fetched(path) {
  const answer = await fetch(`/api/v1${path}`, { credentials: "omit" });
  if (!answer.ok) throw new NotHere();
  return answer;
}

// The example that fills the form: its proof has ended long ago, and its issuer is of no service. Its file has the log, the type and the time.
let example;
const isExample = () => example?.fields.proof === form.elements.proof.value;
const exampleButton = form.querySelector("#example");
exampleButton.hidden = false;
exampleButton.addEventListener("click", async () => {
  example ??= await (await fetch(exampleButton.dataset.from, { credentials: "omit" })).json();
  for (const [name, text] of Object.entries(example.fields)) form.elements[name].value = text;
  form.querySelector("#example-note").hidden = false;
  form.dispatchEvent(new Event("input", { bubbles: true }));
  form.requestSubmit();
});

// A website may be written as pages show it, without its scheme.
async function checked() {
  const found = await checkedFor(expectation()), domain = `https://${form.elements.domain.value}`;
  const isMeant = found.checks.some((one) => one.check === "domain" && one.found === domain);
  return isMeant ? checkedFor({ ...expectation(), domain }) : found;
}

async function checkedFor(expect) {
  const text = form.elements.proof.value;
  if (text.length > MOST_CHARACTERS || !isSecureContext || !crypto.subtle) throw new NotHere();
  let proof;
  try {
    proof = JSON.parse(text);
  } catch {
    throw new NotHere();
  }
  if (typeof proof !== "object" || proof === null) throw new NotHere();
  // The answer that made it has it as a member.
  if (typeof proof.proof === "object" && proof.proof !== null) proof = proof.proof;
  const [{ verify }, { LogInvalid }] = await load();
  if (isExample()) return verify(proof, { expect, logs: example.logs, schemas: example.schemas, now: new Date(example.now) });
  // Says whose log is needed; nothing is computed yet.
  const claimed = await verify(proof, { expect });
  if (claimed.issuerDid === null) return claimed;
  const logs = [await (await fetched(`/dids/${encodeURIComponent(claimed.issuerDid)}/log`)).text()];
  const schema = await fetch(`/api/v1/credential-schemas/${encodeURIComponent(claimed.schemaId)}`, { credentials: "omit" });
  const schemas = schema.ok ? [await schema.json()] : [];
  try {
    return await verify(proof, { expect, logs, schemas });
  } catch (error) {
    if (error instanceof LogInvalid) return claimed;
    throw error;
  }
}

const kindOf = ({ verdict, missing }) =>
  verdict !== "unbound" ? verdict : missing.includes("challenge") || missing.includes("domain") ? "replay" : missing.includes("issuerDid") ? "issuer" : "question";
const answerOf = (ok) => (ok === true ? "yes" : ok === false ? "no" : "none");

function line(name, ok) {
  const item = copy(`[data-answer=${answerOf(ok)}]`);
  item.lastElementChild.textContent = parts.querySelector(`[data-line="${name} ${answerOf(ok)}"]`)?.textContent ?? name;
  return item;
}

function statementOf(predicates) {
  return predicates.flatMap(({ attributeName, type, value }, place) => {
    const said = copy("[data-part=said]"), [name, operand] = said.querySelectorAll("bdi");
    said.querySelector("span").textContent = form.querySelector(`option[value="${type}"]`).textContent;
    name.textContent = attributeName;
    operand.textContent = Array.isArray(value) ? value.join(", ") : String(value);
    return place === 0 ? [said] : [", ", said];
  });
}

function fill(part, { predicates, issuerDid }) {
  for (const each of part.querySelectorAll("[data-part=statement]")) each.replaceChildren(...statementOf(predicates));
  for (const each of part.querySelectorAll("[data-part=issuer]")) {
    each.textContent = issuerDid.replace(/^(did:[a-z0-9]+:)(.{4}).{6,}(.{4})$/, "$1$2…$3");
    each.title = issuerDid;
    if (!isExample()) each.href = `/ui/did/${encodeURIComponent(issuerDid)}`;
  }
  return part;
}

function checkLine({ check, ok, code, expected, found }) {
  const item = line(check, ok);
  item.dataset.check = check;
  if (code === null && expected === null && found === null) return item;
  const hint = copy("[data-part=hint]");
  hint.querySelector("code").textContent = code ?? "";
  for (const [name, text] of Object.entries({ expected, found })) {
    const part = hint.querySelector(`[data-part=${name}]`);
    if (text === null) part.remove();
    else part.querySelector("bdi").textContent = text;
  }
  item.lastElementChild.append(hint);
  return item;
}

function show(found) {
  const headline = fill(copy(`[data-headline=${kindOf(found)}]`), found), card = copy("[data-part=card]"), part = (name) => card.querySelector(`[data-part=${name}]`);
  const wrong = found.checks.find(({ ok }) => ok === false), reason = headline.querySelector("[data-part=reason]");
  if (reason && wrong) reason.textContent = `: ${line(wrong.check, false).textContent.trim()}`;
  const says = found.verdict !== "invalid" && found.predicates.length > 0 ? [fill(copy("[data-line=says]"), found)] : [];
  const issuer = found.issuerDid === null ? [] : [fill(copy("[data-line=issuer]"), found)];
  part("checks").replaceChildren(...says, ...issuer, ...found.checks.filter(({ check, ok }) => check !== "form" || !ok).map(checkLine));
  part("missing").replaceChildren(...found.unchecked.map((name) => {
    const item = line(name, null);
    item.dataset.missing = name;
    return item;
  }));
  part("asked").hidden = isExample();
  part("warnings").hidden = found.warnings.length === 0;
  part("warnings").querySelector("span").textContent = found.warnings.join(", ");
  part("proof-id").textContent = found.proofId ?? "–";
  part("schema").textContent = found.schemaId ?? "–";
  // The service's answers replace this element.
  const result = document.querySelector("#result");
  result.replaceChildren(...headline.children, card);
  result.scrollIntoView({ block: "start" });
}

let newest = 0; // a verdict is of what stands in the form
let goesToService = false;

// What every proof needs is made while the form is filled, a part at a time, so that the page stays responsive.
async function prepare() {
  const [{ prepare: make }] = await load();
  for (let elements = 4; elements <= 96; elements += 4) {
    await new Promise((resolve) => { setTimeout(resolve, 20); });
    make(elements);
  }
}

let isPrepared = false;
form.addEventListener("input", () => {
  newest += 1;
  if (isPrepared) return;
  isPrepared = true;
  prepare().catch(() => { [loading, isPrepared] = [undefined, false]; });
});
form.addEventListener("submit", async (event) => {
  if (goesToService) {
    goesToService = false;
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
  const number = (newest += 1);
  form.setAttribute("aria-busy", "true");
  try {
    const found = await checked();
    if (number === newest) show(found);
  } catch (error) {
    // A runtime without Ed25519, an expectation that the service explains, a log that is not here.
    console.info("The service checks this proof.", error);
    if (number !== newest) return;
    goesToService = true;
    // A form cannot be submitted while its event is still under way.
    setTimeout(() => form.requestSubmit());
  } finally {
    form.removeAttribute("aria-busy");
  }
}, true);
