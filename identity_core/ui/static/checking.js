// A log that was pasted, checked in this page: the log of a DID, or the place of an entry in the ledger's log (C2SP tlog-proof). Nothing is sent.
"use strict";
(() => {
  const { base58, base58Of, canonical } = window.identity;
  const { Unmet, checkSigned, demand, joined, opened, policyOf, same, sha256, unpacked, utf8, verifies } = window.identityNotes;
  const HASH = /^Qm[1-9A-HJ-NP-Za-km-z]{44}$/;
  const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
  const MEMBERS = "parameters,proof,state,versionId,versionTime";
  const MOST_CHARACTERS = 16 * 1024; // of an entry
  const MOST_DIGITS = 128; // of base58: more would only cost time
  const FIRST_LINE = "c2sp.org/tlog-proof@v1";
  const MOST_HASHES = 63;
  const ASKED = ["key", "method", "policy", "signed", "cosigned", "quorum"]; // shown only where they were checked, or are not met
  const LEAF = /^identity-ledger-leaf\/v1\nsequence ([1-9]\d{0,18})\ntransaction ([0-9a-f]{64})\nblock ([1-9]\d{0,18})\nrecorded (\S+)\nversion ([1-9]\d{0,18})\ndid ([^\n]+)\n\n/;
  const multihash = async (text) => base58Of([0x12, 0x20, ...(await sha256(utf8(text)))]);

  const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  const isTexts = (value) => Array.isArray(value) && value.length <= 10 && new Set(value).size === value.length && value.every((one) => typeof one === "string");

  // ``count`` octets from base58btc in its one form, or null.
  function decoded(text, count) {
    if (typeof text !== "string" || text[0] !== "z" || text.length > MOST_DIGITS || /[^1-9A-HJ-NP-Za-km-z]/.test(text)) return null;
    const found = base58(text.slice(1));
    const octets = [...Array(Math.max(count - found.length, 0)).fill(0), ...found];
    return octets.length === count && base58Of(octets) === text.slice(1) ? Uint8Array.from(octets) : null;
  }

  function read(line) {
    demand(line.length <= MOST_CHARACTERS, "form");
    // Half of a surrogate pair has no canonical form, and JSON.stringify writes one.
    const whole = (text) => demand(!/\p{Cs}/u.test(text), "form");
    let entry, written;
    try {
      entry = JSON.parse(line, (name, value) => { whole(name); if (typeof value === "string") whole(value); return value; });
      written = canonical(entry);
    } catch {
      throw new Unmet("form");
    }
    // Whatever could be read in two ways, two members of one name or a number that does not fit, is written differently.
    demand(written === line && isObject(entry) && Object.keys(entry).sort().join() === MEMBERS, "form");
    demand(isObject(entry.parameters) && isObject(entry.state) && Array.isArray(entry.proof) && isObject(entry.proof[0]), "form");
    demand(typeof entry.versionId === "string" && typeof entry.versionTime === "string", "form");
    return entry;
  }

  // The state after the entry ``line``; ``before`` is null for the first.
  async function next(before, line) {
    const { proof: proofs, ...body } = read(line), { parameters, state, versionTime: time } = body;
    const [, number, hash] = /^([1-9]\d{0,9})-(.+)$/.exec(body.versionId) || [];
    demand(Number(number) === (before ? before.number : 0) + 1, "order");
    demand(TIME.test(time) && !Number.isNaN(Date.parse(time)) && (!before || time > before.time), "order");
    demand(!before || !before.deactivated, "order");
    const did = before ? before.did : await born(body);
    demand(state.id === did, "identifier");
    const predecessor = before ? before.versionId : did.slice(did.lastIndexOf(":") + 1);
    demand((await multihash(canonical({ ...body, versionId: predecessor }))) === hash, "hash");
    const keys = await keysOf(before, parameters);
    await checkProof(proofs, body, before && before.nextKeyHashes.length === 0 ? before.updateKeys : keys.updateKeys);
    return { number: Number(number), versionId: body.versionId, time, did, ...keys, deactivated: parameters.deactivated === true };
  }

  // The DID, which is the hash of its first entry with a placeholder wherever the identifier stands.
  async function born(body) {
    const { method, scid } = body.parameters, [, prefix] = /^(did:[a-z0-9]+):1\.0$/.exec(method) || [];
    demand(prefix, "method");
    demand(HASH.test(scid) && typeof scid === "string", "identifier");
    demand((await multihash(canonical({ ...body, versionId: scid }).replaceAll(scid, "{SCID}"))) === scid, "identifier");
    return `${prefix}:${scid}`;
  }

  // Which keys may sign (did:webvh 1.0, "Authorized Keys" and "Pre-Rotation Key Hash Generation and Verification").
  async function keysOf(before, parameters) {
    const rotates = before !== null && before.nextKeyHashes.length > 0;
    const says = "updateKeys" in parameters || "nextKeyHashes" in parameters;
    if (before !== null && !rotates && (!says || "deactivated" in parameters)) return { updateKeys: before.updateKeys, nextKeyHashes: before.nextKeyHashes };
    const { updateKeys, nextKeyHashes = [] } = parameters;
    demand(isTexts(updateKeys) && isTexts(nextKeyHashes) && updateKeys.length > 0, "keys");
    demand(!rotates || "nextKeyHashes" in parameters, "keys");
    for (const key of rotates ? updateKeys : []) demand(before.nextKeyHashes.includes(await multihash(key)), "keys");
    return { updateKeys, nextKeyHashes };
  }

  // eddsa-jcs-2022 (VC Data Integrity EdDSA 1.0 §3.3) by a did:key.
  async function checkProof(proofs, body, signers) {
    const { proofValue, ...config } = proofs[0];
    const right = config.type === "DataIntegrityProof" && config.cryptosuite === "eddsa-jcs-2022" && config.proofPurpose === "assertionMethod";
    demand(proofs.length === 1 && right && config.created === body.versionTime, "signature");
    const signer = signers.find((key) => config.verificationMethod === `did:key:${key}#${key}`);
    demand(signer !== undefined, "keys");
    const key = decoded(signer, 34), signature = decoded(proofValue, 64);
    demand(key !== null && key[0] === 0xed && key[1] === 0x01, "keys");
    demand(signature !== null, "signature");
    const message = joined(await sha256(utf8(canonical(config))), await sha256(utf8(canonical(body))));
    demand(await verifies(key.slice(2), message, signature), "signature");
  }

  async function checkLog(text) {
    let state = null;
    for (const [index, line] of text.split("\n").entries()) {
      try {
        state = await next(state, line);
      } catch (error) {
        error.line = index + 1;
        throw error;
      }
    }
    return { did: state.did, versions: state.number, versionId: state.versionId, time: state.time, deactivated: state.deactivated, checked: [] };
  }

  const node = (left, right) => sha256(joined([1], left, right));

  // RFC 9162 §2.1.3.2; ``index`` and ``size`` are of BigInt.
  async function rootOf(leaf, index, size, hashes) {
    demand(index < size, "path");
    let place = index, last = size - 1n, hash = leaf;
    for (const sibling of hashes) {
      demand(last > 0n, "path");
      if (place & 1n || place === last) {
        hash = await node(sibling, hash);
        while (!(place & 1n) && place) [place, last] = [place >> 1n, last >> 1n];
      } else {
        hash = await node(hash, sibling);
      }
      [place, last] = [place >> 1n, last >> 1n];
    }
    demand(last === 0n, "path");
    return hash;
  }

  // What ``identity ledger prove`` writes: the entry itself is in ``extra``.
  // ``policy`` is null where nobody said whose checkpoints count.
  async function checkPlace(text, policy) {
    const end = text.indexOf("\n\n"), lines = text.slice(0, Math.max(end, 0)).split("\n");
    demand(end > 0 && lines[0] === FIRST_LINE, "place");
    const [, packed] = /^extra (\S+)$/.exec(lines[1]) || [], [, index] = /^index (0|[1-9]\d{0,18})$/.exec(lines[2]) || [];
    demand(packed && index && lines.length - 3 <= MOST_HASHES, "place");
    const extra = unpacked(packed, "place"), hashes = lines.slice(3).map((line) => unpacked(line, "place"));
    demand(hashes.every((hash) => hash.length === 32), "place");
    const [, sequence, transaction, , recorded, version, did] = LEAF.exec(new TextDecoder().decode(extra)) || [];
    demand(sequence && TIME.test(recorded), "place");
    demand(BigInt(sequence) - 1n === BigInt(index), "path");
    const checkpoint = opened(text.slice(end + 2));
    demand(same(await rootOf(await sha256(joined([0], extra)), BigInt(index), checkpoint.size, hashes), checkpoint.root), "path");
    const signed = policy === null ? { checked: [] } : await checkSigned(checkpoint, policy);
    return { did, version, transaction, time: recorded, index, size: String(checkpoint.size), origin: checkpoint.origin, ...signed };
  }

  // Shows of the page's own words those that apply. ``kind`` is ``log`` or ``place``.
  function show(kind, verdict, found, unmet) {
    const result = document.querySelector("#log-result");
    for (const each of result.querySelectorAll("[data-verdict]")) each.hidden = each.dataset.verdict !== verdict;
    for (const each of result.querySelectorAll("[data-kind]")) each.hidden = each.dataset.kind !== kind || verdict === "unable";
    for (const each of result.querySelectorAll("[data-requirement]")) {
      const name = each.dataset.requirement;
      each.hidden = verdict === "fails" ? name !== unmet.message : ASKED.includes(name) && !(found && found.checked.includes(name));
      each.className = verdict;
    }
    for (const each of result.querySelectorAll("[data-unchecked]")) each.hidden = verdict !== "holds" || found.checked.includes(each.dataset.unchecked);
    for (const each of result.querySelectorAll("[data-found]")) {
      const value = found && found[each.dataset.found];
      each.hidden = value === undefined || value === null;
      each.querySelector("dd, span").textContent = each.hidden ? "" : String(value);
    }
    const line = result.querySelector("#log-line");
    line.hidden = !(unmet && unmet.line);
    line.querySelector("span").textContent = unmet && unmet.line ? unmet.line : "";
    for (const each of result.querySelectorAll("[data-deactivated]")) each.hidden = !(found && found.deactivated);
    result.hidden = false;
  }

  const form = document.querySelector("#check-log");
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = form.querySelector("#log").value.trim(), given = form.querySelector("#log-key").value.trim();
    const kind = text.startsWith("c2sp.org/") ? "place" : "log";
    try {
      if (!isSecureContext || !crypto.subtle) throw new Error("no WebCrypto here");
      const found = kind === "place" ? checkPlace(`${text}\n`, given === "" ? null : await policyOf(given)) : checkLog(text);
      show(kind, "holds", await found, null);
    } catch (error) {
      show(kind, error instanceof Unmet ? "fails" : "unable", null, error);
    }
  });
})();
