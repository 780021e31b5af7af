// Rotation and recovery: the new keys are made here, and are in a file of hers before the service hears of them. And the export.
"use strict";
(() => {
  const { Refusal, answered, base58Of, begin, change, doing, inSeconds, keep, kept, patiently, signerFor, signerOf, walletOf } = window.identity;
  const PUBLIC = [0xed, 0x01], SECRET = [0x80, 0x26]; // multicodec ed25519-pub, ed25519-priv
  const TYPES = ["Ed25519VerificationKey2020", "Ed25519"];
  const PKCS8_HEAD = 16;

  // Extractable for as long as the file is written, and as the file has it.
  async function freshKey(did) {
    const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
    const open = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    const secret = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
    const publicKey = `z${base58Of([...PUBLIC, ...open])}`;
    const privateKey = `z${base58Of([...SECRET, ...secret.slice(PKCS8_HEAD)])}`;
    secret.fill(0);
    return { keyId: `${did}#${publicKey}`, type: TYPES[0], publicKey, privateKey };
  }

  const publicHalf = ({ type, publicKey }) => ({ type, publicKeyMultibase: publicKey });
  const file = (value, type) => URL.createObjectURL(new Blob([`${JSON.stringify(value, null, 2)}\n`], { type }));

  // What is pending in the file, and what is sent once the file is saved.
  const WISHES = {
    rotate: async (form, { did, keys }) => {
      const old = keys.authentication;
      if (!old || !TYPES.includes(old.type) || typeof old.keyId !== "string") throw new Refusal("file");
      const fresh = await freshKey(did), hours = Number(form.elements.grace.value);
      const body = { oldKeyId: old.keyId, newKeyType: TYPES[0], newPublicKeyMultibase: fresh.publicKey };
      if (hours > 0) body.revokeOldAfter = inSeconds(Date.now() + hours * 3600e3);
      return { body, pending: { operation: "rotate", keys: { new: fresh }, oldKeyId: old.keyId } };
    },
    recover: async (form, { did }) => {
      const fresh = { authentication: await freshKey(did), recovery: await freshKey(did) };
      const body = {
        newAuthenticationKey: publicHalf(fresh.authentication),
        newRecoveryKey: publicHalf(fresh.recovery),
        revokeAllExistingKeys: form.elements.all.checked,
      };
      if (form.elements.version.value) body.restoreVersion = Number(form.elements.version.value);
      return { body, pending: { operation: "recover", keys: fresh, revokeAll: body.revokeAllExistingKeys } };
    },
  };
  const SENT = {
    rotate: { key: "authentication", path: "keys/rotate", scheme: "DIDAuth" },
    recover: { key: "recovery", path: "recover", scheme: "RecoveryKey" },
  };

  const section = document.querySelector("#renewal");
  const link = document.querySelector("#renewal-file"), send = document.querySelector("#renewal-send");
  let waiting = null;

  const form = document.querySelector("[data-renewal]");
  if (form) {
    const operation = form.dataset.renewal, { key, path, scheme } = SENT[operation];
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      doing(async () => {
        const wallet = await walletOf(form.elements.wallet.files[0]);
        const signedIn = document.querySelector("#signed-in");
        if (operation === "rotate" && signedIn.textContent !== wallet.did) throw new Refusal("other");
        const signer = await signerOf(wallet, key);
        const { body, pending } = await WISHES[operation](form, wallet);
        if (link.href) URL.revokeObjectURL(link.href);
        link.href = file({ ...wallet, pending }, "application/json");
        waiting = { signer, body, pending };
        section.hidden = false;
        send.hidden = true;
        link.focus();
      });
    });
    link.addEventListener("click", () => { send.hidden = false; });
    send.addEventListener("click", () => doing(async () => {
      const { signer, body, pending } = waiting, { did } = signer;
      await change(signer, `/api/v1/dids/${encodeURIComponent(did)}/${path}`, operation, body, scheme);
      form.hidden = section.hidden = true;
      // The session was of the old key, and so was what the browser keeps. What fails here undoes nothing.
      try {
        const fresh = pending.keys.new || pending.keys.authentication;
        const successor = await signerOf({ did, keys: { authentication: fresh } }, "authentication");
        const found = await kept();
        if (found && found.did === did) await keep(successor);
        await begin(successor);
      } finally {
        const done = document.querySelector("#renewed");
        done.hidden = false;
        done.focus();
      }
    }));
  }

  // With a token of her own, which this page forgets: the session may not read a credential's signature.
  async function everything(url, headers) {
    const items = [];
    let cursor = null;
    do {
      const place = url + (cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`);
      const answer = await patiently(() => answered(place, { headers }));
      items.push(...answer.items);
      cursor = answer.nextCursor;
    } while (cursor !== null);
    return items;
  }

  const gather = document.querySelector("#export");
  if (gather) {
    gather.addEventListener("submit", (event) => {
      event.preventDefault();
      doing(async () => {
        const signer = await signerFor(document.querySelector("#signed-in").textContent);
        if (signer === null) return;
        const { access_token: token } = await change(signer, "/api/v1/auth/token", "token", {});
        const headers = { Authorization: `Bearer ${token}` }, did = encodeURIComponent(signer.did);
        const { didDocument } = await answered(`/api/v1/dids/${did}`);
        const value = { did: signer.did, exportedAt: inSeconds(Date.now()), didDocument };
        value.history = await everything(`/api/v1/dids/${did}/history?limit=200`, {});
        value.delegations = await everything("/api/v1/delegations?limit=200", headers);
        value.credentials = [];
        for (const { id } of await everything("/api/v1/credentials?limit=200", headers)) {
          value.credentials.push(await patiently(() => answered(`/api/v1/credentials/${encodeURIComponent(id)}`, { headers })));
        }
        value.timeline = await everything("/api/v1/dashboard/timeline?limit=200", headers);
        const saved = document.querySelector("#export-file");
        if (saved.href) URL.revokeObjectURL(saved.href);
        saved.href = file(value, "application/json");
        document.querySelector("#exported").hidden = false;
        saved.focus();
      });
    });
  }
})();
