// Creates, replaces and revokes API keys, each with an administrator's key that is typed for this change. The cookie of the session
// cannot: it only reads. The typed key goes to the API in a header and is forgotten.
"use strict";
(() => {
  const dialog = document.querySelector("#change-key"), form = dialog.querySelector("form"), made = document.querySelector("#made");
  const refused = dialog.querySelector("[data-refused]"), field = (name) => form.elements[name];
  let asked = {};

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-key-change]");
    if (!button) return;
    asked = button.dataset;
    for (const each of dialog.querySelectorAll("[data-for]")) {
      each.hidden = each.dataset.for !== asked.keyChange;
      each.disabled = each.hidden;
    }
    for (const each of dialog.querySelectorAll("[data-named]")) each.textContent = asked.named || "";
    refused.hidden = true;
    dialog.showModal();
  });

  // The method, the path below /admin/api-keys and the body of each change.
  const changes = {
    create: () => {
      const scopes = [...form.querySelectorAll("[name=scope]:checked")].flatMap((one) => one.value.split(" "));
      const days = Number(field("days").value), ends = new Date(Date.now() + days * 86400e3).toISOString().replace(/\.\d+/, "");
      const dids = field("targets").value.split(/\s+/).filter(Boolean);
      const allowed = field("admin").checked ? { admin: true } : { scopes, allowedTargets: dids.length ? dids : null };
      return ["POST", "", { name: field("name").value.trim(), ...allowed, ...(days ? { expiresAt: ends } : {}) }];
    },
    replace: () => ["POST", `/${encodeURIComponent(asked.key)}/rotate`, { graceSeconds: Number(field("hours").value) * 3600 }],
    revoke: () => ["DELETE", `/${encodeURIComponent(asked.key)}`],
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [method, path, body] = changes[asked.keyChange]();
    const headers = { "X-API-Key": field("administrator").value.trim(), ...(body ? { "Content-Type": "application/json" } : {}) };
    field("administrator").value = "";
    let answer = null, value = {};
    try {
      answer = await fetch(`/api/v1/admin/api-keys${path}`, { method, headers, body: body && JSON.stringify(body), credentials: "omit", redirect: "error" });
      value = await answer.json();
    } catch {
      value = {};
    }
    if (!answer || !answer.ok) {
      refused.hidden = false;
      refused.querySelector("span").textContent = value.error ? value.error.message : refused.dataset.refused;
      return;
    }
    dialog.close();
    if (!value.apiKey) {
      location.reload();
      return;
    }
    made.hidden = false;
    made.querySelector("code").textContent = value.apiKey;
    made.querySelector("[data-copy]").dataset.copy = value.apiKey;
    made.querySelector("b bdi").textContent = value.record.name;
    made.focus();
  });
})();
