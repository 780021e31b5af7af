// Signing in the page: DIDAuth over a challenge that was checked first. The private key is imported non-extractable and never sent.
"use strict";
(() => {
  const PKCS8 = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]; // RFC 8410 §7, before the 32 octets
  const ED25519_SECRET = [0x80, 0x26]; // multicodec ed25519-priv
  const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  const STORE_MILLISECONDS = 5000;
  const utf8 = (text) => new TextEncoder().encode(text);

  class Refusal extends Error {
    constructor(name, detail) { super(name); this.name = name; this.detail = detail; }
  }

  function say(name, detail) {
    for (const each of document.querySelectorAll("#messages [data-message]")) each.hidden = each.dataset.message !== name;
    const place = document.querySelector(`#messages [data-message="${name}"] span`);
    if (place) place.textContent = detail || "";
  }

  function base58(text) {
    let number = 0n;
    for (const letter of text) {
      const digit = BASE58.indexOf(letter);
      if (digit < 0) throw new Refusal("file");
      number = number * 58n + BigInt(digit);
    }
    const octets = [];
    for (; number > 0n; number >>= 8n) octets.unshift(Number(number & 255n));
    return octets;
  }

  function base58Of(octets) {
    let number = octets.reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n), text = "";
    for (; number > 0n; number /= 58n) text = BASE58[Number(number % 58n)] + text;
    for (const octet of octets) { if (octet !== 0) break; text = BASE58[0] + text; }
    return text;
  }

  const base64 = (octets) => btoa(String.fromCharCode(...new Uint8Array(octets)));
  const base64url = (octets) => base64(octets).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

  // RFC 8785 for what these pages send: objects, arrays, text, booleans, null and integers.
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
  }

  const sha256 = async (text) => base64url(await crypto.subtle.digest("SHA-256", utf8(text)));
  const hashOf = async (body) => sha256(canonical(body));

  const isFiled = (key) => typeof key === "object" && key !== null && typeof key.privateKey === "string" && key.privateKey[0] === "z";

  // The file that the command line writes: {did, keys: {authentication: {privateKey, …}, …}}, settled.
  async function walletOf(file) {
    if (!isSecureContext || !crypto.subtle) throw new Refusal("context");
    let wallet;
    try {
      wallet = JSON.parse(await file.text());
      if (typeof wallet.did !== "string" || typeof wallet.keys !== "object" || wallet.keys === null) throw new Refusal("file");
    } catch {
      throw new Refusal("file");
    }
    return settled(wallet);
  }

  // A file that was saved before a rotation or recovery was sent: whether its new key stands in the document tells what became of it.
  async function settled({ did, keys, pending }) {
    if (!pending) return { did, keys };
    const fresh = pending.keys;
    if (!["rotate", "recover"].includes(pending.operation) || !fresh || !Object.values(fresh).every(isFiled)) throw new Refusal("pending");
    const { didDocument } = await answered(`/api/v1/dids/${encodeURIComponent(did)}`);
    const taken = (didDocument.verificationMethod || []).some((method) => method.publicKeyMultibase === Object.values(fresh)[0].publicKey);
    const retired = [...(keys.retired || [])];
    if (!taken) return { did, keys: { ...keys, retired: [...retired, ...Object.values(fresh)] } };
    const kept = {};
    for (const [purpose, filed] of Object.entries(keys)) {
      if (purpose === "retired") continue;
      const stays = (key) => {
        const goes = pending.operation === "rotate" ? key.keyId === pending.oldKeyId : pending.revokeAll || purpose in fresh && filed === key;
        if (goes) retired.push(key);
        return !goes;
      };
      if (Array.isArray(filed)) kept[purpose] = filed.map((key) => (stays(key) ? key : fresh.new)).filter(Boolean);
      else if (stays(filed)) kept[purpose] = filed;
      else if (pending.operation === "rotate") kept[purpose] = fresh.new;
    }
    return { did, keys: { ...kept, ...(pending.operation === "recover" ? fresh : {}), retired } };
  }

  async function keyOf(file) {
    return signerOf(await walletOf(file), "authentication");
  }

  // The key of ``purpose`` of a settled file, as WebCrypto has it: to sign, and not to be exported.
  async function signerOf({ did, keys }, purpose) {
    if (!isFiled(keys[purpose])) throw new Refusal("file");
    const octets = base58(keys[purpose].privateKey.slice(1));
    if (octets.length !== 34 || octets[0] !== ED25519_SECRET[0] || octets[1] !== ED25519_SECRET[1]) throw new Refusal("file");
    const encoded = new Uint8Array([...PKCS8, ...octets.slice(2)]);
    octets.fill(0);
    const key = await crypto.subtle.importKey("pkcs8", encoded, { name: "Ed25519" }, false, ["sign"]);
    encoded.fill(0);
    return { did, key };
  }

  async function answered(url, options) {
    let answer;
    try {
      answer = await fetch(url, { credentials: "same-origin", redirect: "error", ...options });
    } catch {
      throw new Refusal("network");
    }
    const value = answer.status === 204 ? null : await answer.json().catch(() => null);
    if (!answer.ok) {
      const error = (value && value.error) || { code: String(answer.status), message: "" };
      const refusal = new Refusal("refused", `${error.message} (${error.code})`);
      if (answer.status === 429) refusal.seconds = Number(answer.headers.get("Retry-After")) || 1;
      throw refusal;
    }
    return value;
  }

  // The hash of the path below /api/v1, with each segment in the one form that the service hashes.
  function hashOfTarget(url) {
    const escape = (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
    const encoded = (text) => encodeURIComponent(decodeURIComponent(text)).replace(/[!'()*]/g, escape);
    return sha256(url.replace(/^\/api\/v1/, "").split("/").map(encoded).join("/"));
  }

  // didauth:v1 <origin>#<target hash> <did> <purpose> <body hash> <nonce> <expiry>: signed only if it says what we mean, here and now.
  async function authorization(signer, url, purpose, bodyHash, scheme = "DIDAuth") {
    const wanted = new URLSearchParams({ did: signer.did, purpose, target: url, named: "true" });
    if (bodyHash !== null) wanted.set("bodyHash", bodyHash);
    const { challenge } = await answered(`/auth/challenge?${wanted}`);
    const said = String(challenge).split(" ");
    const expected = ["didauth:v1", `${location.origin}#${await hashOfTarget(url)}`, signer.did, purpose, bodyHash === null ? "-" : bodyHash];
    if (said.length !== 7 || expected.some((each, place) => said[place] !== each)) throw new Refusal("challenge");
    const signature = await crypto.subtle.sign({ name: "Ed25519" }, signer.key, utf8(challenge));
    return `${scheme} ${base64(utf8(`${challenge}.${base64url(signature)}`))}`;
  }

  // IndexedDB keeps the CryptoKey, never its octets. One database, one store, one entry. It settles whatever the browser does: some throw
  // inside of the events, some abort without an error, and some call nothing at all.
  function stored(mode, work) {
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(new DOMException("IndexedDB did not answer.", "TimeoutError")), STORE_MILLISECONDS);
      const opening = indexedDB.open("identity", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("signer");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const database = opening.result;
        try {
          const transaction = database.transaction("signer", mode);
          const asked = work(transaction.objectStore("signer"));
          transaction.oncomplete = () => { database.close(); resolve(asked.result); };
          transaction.onabort = transaction.onerror = () => {
            database.close();
            reject(transaction.error || new DOMException("The browser stopped the transaction.", "AbortError"));
          };
        } catch (error) {
          database.close();
          reject(error);
        }
      };
    });
  }
  const keep = (signer) => stored("readwrite", (store) => store.put(signer, "signer"));
  // A key that cannot be read is none: the page asks for the file instead.
  const kept = () => stored("readonly", (store) => store.get("signer")).catch(() => null);
  const forget = () => stored("readwrite", (store) => store.delete("signer"));

  // Storing or deleting the key must not keep her from signing in or out. The page that comes next shows the message.
  async function tried(work) {
    try {
      await work();
    } catch {
      try { sessionStorage.setItem("message", "unkept"); } catch { /* A browser without any storage: the page asks for the file at each change. */ }
    }
  }

  try {
    if (sessionStorage.getItem("message") === "unkept" && document.querySelector("#messages")) {
      say("unkept");
      sessionStorage.removeItem("message");
    }
  } catch { /* Without storage there is no message of the page before. */ }

  async function doing(work) {
    const buttons = document.querySelectorAll("button:not(dialog button)");
    for (const button of buttons) button.disabled = true;
    say("");
    try {
      await work();
    } catch (error) {
      if (error instanceof Refusal) say(error.name, error.detail);
      else say("browser", `${error.name}: ${error.message}`);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  async function begin(signer) {
    const bodyHash = await hashOf({ did: signer.did, session: "dashboard" });
    const header = await authorization(signer, "/ui/session", "read", bodyHash);
    await answered("/ui/session", { method: "POST", headers: { Authorization: header } });
  }

  const signIn = document.querySelector("#sign-in");
  if (signIn) {
    signIn.addEventListener("submit", (event) => {
      event.preventDefault();
      doing(async () => {
        const signer = await keyOf(document.querySelector("#keys").files[0]);
        await begin(signer);
        await tried(() => (document.querySelector("#keep").checked ? keep(signer) : forget()));
        location.assign(signIn.dataset.to + location.hash);
      });
    });
  }

  // The key that the browser keeps, or the one of the file that is chosen now; null for a change that was cancelled.
  async function signerFor(did) {
    const found = await kept();
    if (found && found.did === did) return found;
    const dialog = document.querySelector("#signing"), files = document.querySelector("#change-keys");
    files.value = "";
    dialog.returnValue = "";
    dialog.showModal();
    await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
    if (dialog.returnValue !== "sign") return null;
    if (files.files.length !== 1) throw new Refusal("file");
    const signer = await keyOf(files.files[0]);
    if (signer.did !== did) throw new Refusal("other");
    return signer;
  }

  const signedIn = () => document.querySelector("#signed-in").textContent;

  // Each change has a challenge of its own, bound to its purpose and its body.
  async function change(signer, url, purpose, body, scheme, method = "POST") {
    const header = await authorization(signer, url, purpose, body === null ? null : await hashOf(body), scheme);
    const headers = { Authorization: header };
    if (body !== null) headers["Content-Type"] = "application/json";
    return answered(url, { method, headers, body: body === null ? undefined : JSON.stringify(body) });
  }

  const inSeconds = (milliseconds) => new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");

  // ``work``, at the pace that the service allows.
  async function patiently(work) {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!error.seconds) throw error;
        await new Promise((resolve) => setTimeout(resolve, error.seconds * 1000));
      }
    }
  }

  // All of them: one that is refused must not keep the others from being stopped.
  async function changes(signer, urls, purpose, body) {
    let first = null;
    for (const url of urls) {
      try {
        await patiently(() => change(signer, url, purpose, body));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        first = first || error;
      }
    }
    if (first) throw first;
  }

  for (const button of document.querySelectorAll("[data-change]")) {
    button.addEventListener("click", () => doing(async () => {
      if (button.dataset.confirm && !confirm(button.dataset.confirm)) return;
      const signer = await signerFor(signedIn());
      if (signer === null) return;
      const body = button.dataset.body ? JSON.parse(button.dataset.body) : null;
      if (button.dataset.method) await change(signer, button.dataset.change, button.dataset.purpose, body, undefined, button.dataset.method);
      else await changes(signer, button.dataset.change.trim().split(/ +/), button.dataset.purpose, body);
      if (button.dataset.then) location.assign(button.dataset.then);
      else location.reload();
    }));
  }

  // A nickname of a DID, which only the signer reads; an empty one is deleted.
  const nickname = document.querySelector("#nickname");
  if (nickname) {
    nickname.addEventListener("submit", (event) => {
      event.preventDefault();
      doing(async () => {
        const signer = await signerFor(signedIn()), label = nickname.elements.label.value.trim();
        if (signer === null) return;
        const url = `/api/v1/dashboard/labels/${encodeURIComponent(nickname.dataset.did)}`;
        await (label ? change(signer, url, "label", { label }, undefined, "PUT") : change(signer, url, "erase", null, undefined, "DELETE"));
        location.reload();
      });
    });
  }

  // The value of a question as the type of its attribute has it; of an unknown attribute what looks like a whole number is one.
  function valueOf(form) {
    const kind = (JSON.parse(form.dataset.attributes)[form.elements.attribute.value.trim()] || {}).type;
    const one = (text) => (kind === "boolean" ? text === "true" : kind === "integer" || (!kind && /^-?\d{1,15}$/.test(text)) ? Number(text) : text);
    const text = form.elements.value.value.trim();
    return form.elements.relation.value === "set_member" ? text.split(",").map((part) => one(part.trim())) : one(text);
  }

  const create = document.querySelector("#create-delegation");
  if (create) {
    create.addEventListener("submit", (event) => {
      event.preventDefault();
      doing(async () => {
        const field = (name) => create.elements[name].value.trim();
        const free = field("choice") === "free", lines = field("actions");
        const body = {
          holderDid: signedIn(),
          agentDid: field("agent"),
          autonomyLevel: Number(field("autonomy")),
          expiresAt: inSeconds(Date.now() + Number(field("days")) * 86400e3),
        };
        if (lines) body.actions = lines.split(/\s+/);
        else if (free) body.actions = [`zkp.prove.${encodeURIComponent(field("attribute")).replace(/[.!'()*~]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll("%2F", "/")}.${field("relation")}`];
        else body.predicates = [{ attributeName: field("attribute"), type: field("relation"), values: [valueOf(create)] }];
        if (free) body.maxRefusals = Number(field("wrong"));
        if (field("who") === "one") body.verifiers = [website(field("verifier"))];
        if (field("credential")) body.credentialIds = [field("credential")];
        if (field("uses")) body.maxUses = Number(field("uses"));
        if (field("purpose")) body.purpose = field("purpose");
        const signer = await signerFor(signedIn());
        if (signer === null) return;
        await change(signer, "/api/v1/delegations", "delegate", body);
        location.assign("/ui/agents");
      });
    });
  }

  // Forms whose body is signed and sent, and the page that comes next.
  function signs(selector, url, purpose, bodyOf, next) {
    const form = document.querySelector(selector);
    if (!form) return;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      form.closest("dialog")?.close();
      doing(async () => {
        const body = bodyOf(form, (name) => form.elements[name].value.trim()), signer = await signerFor(signedIn());
        if (signer !== null) location.assign(next(await change(signer, url, purpose, body)));
      });
    });
  }

  const website = (text) => (text.includes(":") ? text : `https://${text}`);
  const filled = (members) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== "" && value !== undefined));
  const number = (text) => (text === undefined || text === "" ? "" : Number(text));

  signs("#ask", "/api/v1/verifier-requests", "prove", (form, field) => filled({
    domain: website(field("domain")),
    predicates: [{ attributeName: field("attribute"), type: field("relation"), value: valueOf(form) }],
    requires: [...form.querySelectorAll("[name=requires]:checked")].map((box) => box.value),
    issuerDid: field("issuer"),
    purpose: field("purpose"),
    reference: field("reference"),
  }), ({ id }) => `/ui/request/${id}`);

  signs("#new-type", "/api/v1/credential-schemas", "credential", (form, field) => ({
    title: field("title"),
    attributes: field("attributes").split("\n").filter((line) => line.trim()).map((line) => {
      const [name, type, minimum, maximum] = line.split(",").map((part) => part.trim());
      return filled({ name, type, minimum: type === "integer" ? number(minimum) : minimum, maximum: type === "integer" ? number(maximum) : maximum });
    }),
  }), ({ id }) => `/ui/issue?type=${encodeURIComponent(id)}`);

  const typed = { integer: Number, boolean: (text) => text === "true" };
  signs("#issue", "/api/v1/credentials", "credential", (form, field) => filled({
    issuerDid: signedIn(),
    holderDid: field("holder"),
    schemaId: form.dataset.schema,
    attributes: Object.fromEntries([...form.querySelectorAll("[data-value]")].map((input) => [input.dataset.value, input.value === "" ? null : (typed[input.dataset.kind] || String)(input.value)])),
    validUntil: field("until") && `${field("until")}T00:00:00Z`,
  }), () => "/ui/issued");

  // The narrower one first: where it is refused nothing has changed, and where the old one then cannot be revoked both are shown.
  for (const form of document.querySelectorAll("form.narrow")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      doing(async () => {
        const field = (name) => form.elements[name].value;
        const actions = [...form.querySelectorAll("[name=action]:checked")].map((box) => box.value);
        if (actions.length === 0) throw new Refusal("nothing");
        const body = {
          ...JSON.parse(form.dataset.terms),
          actions,
          maxUses: field("uses") ? Number(field("uses")) : null,
          autonomyLevel: Number(field("autonomy")),
          expiresAt: inSeconds(Date.parse(`${field("until")}Z`)),
        };
        const signer = await signerFor(signedIn());
        if (signer === null) return;
        await change(signer, "/api/v1/delegations", "delegate", body);
        try {
          await change(signer, `/api/v1/delegations/${form.dataset.id}/revoke`, "delegate", {});
        } catch (error) {
          if (error instanceof Refusal) throw new Refusal("halfway", error.detail);
          throw error;
        }
        location.reload();
      });
    });
  }

  // A token of the holder's, for one use: the signature covers its RFC 8785 form without proofValue.
  async function token(signer, agent, action, delegation, now, end) {
    const unsigned = {
      id: `urn:uuid:${crypto.randomUUID()}`,
      type: "InvocationBoundCapabilityToken",
      invoker: signer.did,
      target: agent,
      action,
      delegationRef: delegation,
      nonce: base64url(crypto.getRandomValues(new Uint8Array(16))),
      issuedAt: inSeconds(now),
      expiresAt: inSeconds(end),
    };
    const signature = await crypto.subtle.sign({ name: "Ed25519" }, signer.key, utf8(canonical(unsigned)));
    return { ...unsigned, proofValue: base58Of([...new Uint8Array(signature)]) };
  }

  // What an agent put behind the # of its link stays in this browser until the form is sent.
  const consent = document.querySelector("#consent");
  if (consent && location.hash) {
    try {
      const octets = Uint8Array.from(atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
      consent.querySelector("#request").value = new TextDecoder("utf-8", { fatal: true }).decode(octets);
      history.replaceState(null, "", location.pathname);
      // The request opens read once htmx listens: a form that the browser sends itself would be sent again by Back.
      if (consent.dataset.htmxPowered) consent.requestSubmit();
      else consent.addEventListener("htmx:after:init", () => consent.requestSubmit(), { once: true });
    } catch {
      say("link");
    }
  }

  // One delegation for what was asked, and a token for each time.
  async function answersOf(signer, approve) {
    const asked = JSON.parse(approve.dataset.request);
    const [times, hours] = (approve.dataset.reply ? "1 1" : approve.querySelector("[name=term]:checked").value).split(" ").map(Number);
    const now = Date.now(), end = now + hours * 3600e3;
    const terms = {
      holderDid: signer.did,
      agentDid: asked.agentDid,
      actions: asked.actions,
      credentialIds: [approve.querySelector("#credential").value],
      autonomyLevel: 2,
      maxUses: times,
      expiresAt: inSeconds(end),
    };
    if (asked.purpose) terms.purpose = asked.purpose;
    if (asked.domain) terms.verifiers = [asked.domain];
    const { id } = await change(signer, "/api/v1/delegations", "delegate", terms);
    const answers = [];
    for (let count = 0; count < times; count++) {
      const answer = {
        holderDid: signer.did,
        agentDid: asked.agentDid,
        credentialId: terms.credentialIds[0],
        ...(asked.predicates.length === 1 && asked.predicates[0].type !== "neq" ? { predicate: asked.predicates[0] } : { predicates: asked.predicates }),
        ibct: await token(signer, asked.agentDid, asked.actions.join(" "), id, now, end),
      };
      if (asked.domain) answer.domain = asked.domain;
      answers.push(answer);
    }
    document.querySelector("#stop-approved").value = id;
    return answers;
  }

  // Where the agent fetches the answer it is kept for it, and nothing is handed over.
  async function reply(approve, answer) {
    await answered("/ui/consent/reply", { method: "POST", body: new URLSearchParams({ reply: approve.dataset.reply, answer: JSON.stringify(answer) }) });
    showDone(answer === null ? "#declined" : "#told", answer !== null);
    for (const { firstChild: number, parentElement } of document.querySelectorAll("a > .count")) {
      number.data = String(Number(number.data) - 1);
      parentElement.querySelector(".count").hidden = number.data === "0";
    }
  }

  // The request and its form are replaced by what was agreed.
  function showDone(selector, isApproved) {
    document.querySelector("#open").hidden = true;
    document.querySelector("#approved").hidden = !isApproved;
    for (const each of document.querySelectorAll("#asked [data-before]")) each.hidden = true;
    const title = document.querySelector("#asks");
    title.textContent = isApproved ? title.dataset.approved : title.dataset.declined;
    const done = document.querySelector(selector);
    done.hidden = false;
    done.focus();
  }

  document.addEventListener("click", (event) => {
    if (event.target.id === "decline") doing(() => reply(event.target.form, null));
  });

  // The form comes into the page when the request has been read.
  document.addEventListener("submit", (event) => {
    const approve = event.target;
    if (approve.id !== "approve") return;
    event.preventDefault();
    doing(async () => {
      const signer = await signerFor(signedIn());
      if (signer === null) return;
      const answers = await answersOf(signer, approve);
      if (approve.dataset.reply) return reply(approve, answers[0]);
      const shown = document.querySelector("#answer");
      shown.value = answers.map((answer) => JSON.stringify(answer)).join("\n");
      document.querySelector("#handed").hidden = document.querySelector("#hand").hidden = false;
      showDone("#answer", true);
    });
  });

  // A program that asks by OAuth. What is signed are the parameters of its request, as the page shows them; then it gets its code.
  const authorize = document.querySelector("#authorize");
  if (authorize) {
    // Another page may put this one under a click that was meant for itself: nothing is approved before it was in front for a second.
    const approve = authorize.querySelector("button");
    let due;
    const look = () => {
      clearTimeout(due);
      approve.disabled = true;
      if (document.hasFocus()) due = setTimeout(() => { approve.disabled = false; }, 1000);
    };
    addEventListener("focus", look);
    addEventListener("blur", look);
    look();
    kept().then((found) => {
      if (!found) return;
      document.querySelector("#as span").textContent = found.did;
      document.querySelector("#as").hidden = false;
    });
    authorize.addEventListener("submit", (event) => {
      event.preventDefault();
      doing(async () => {
        const file = document.querySelector("#keys").files[0], signer = file ? await keyOf(file) : await kept();
        if (!signer) throw new Refusal("file");
        const asked = JSON.parse(authorize.dataset.request);
        const header = await authorization(signer, "/oauth/authorize", "authorize", await hashOf(asked));
        const { redirect_to } = await answered("/oauth/authorize", { method: "POST", headers: { Authorization: header }, body: new URLSearchParams(asked) });
        location.assign(redirect_to);
      });
    });
  }

  const signOut = document.querySelector("#sign-out");
  if (signOut) {
    signOut.addEventListener("submit", (event) => {
      event.preventDefault();
      tried(forget).then(() => signOut.submit());
    });
  }

  window.identity = Object.freeze({ Refusal, answered, base58, base58Of, begin, canonical, change, doing, inSeconds, keep, kept, patiently, signerFor, signerOf, walletOf });
})();
