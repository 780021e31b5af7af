// Behaviour that every page shares. It writes text and attributes and no markup, so Trusted Types need no policy for it.
"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const toast = document.querySelector("#toast");
  let timer = 0;
  const show = (text) => {
    toast.textContent = text;
    toast.hidden = false;
    clearTimeout(timer);
    timer = setTimeout(() => { toast.hidden = true; }, 4000);
  };

  // The attribute of a copy button has the whole text. Beside a name it is empty, and the title of the name has the text.
  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]"), open = event.target.closest("[data-opens]");
    if (copy) {
      try { await navigator.clipboard.writeText(copy.dataset.copy || copy.parentElement.querySelector("[title]").title); show(toast.dataset.copied); } catch { show(toast.dataset.failed); }
    }
    const close = event.target.closest("[data-closes]");
    if (close) document.getElementById(close.dataset.closes).close();
    if (open) document.getElementById(open.dataset.opens).showModal();
  });

  // Times are relative in the reader's language, and the title keeps UTC. Without scripts the text of the server stays.
  const lang = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;
  const near = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "short" });
  const date = new Intl.DateTimeFormat(lang, { dateStyle: "medium" });
  const far = new Intl.DateTimeFormat(lang, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const clock = new Intl.DateTimeFormat(lang, { timeStyle: "short" });
  const year = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
  const today = (time) => {
    const days = Math.round((Date.parse(time.slice(0, 10)) - Date.parse(new Date().toISOString().slice(0, 10))) / 86400000);
    const text = days > -2 ? new Intl.RelativeTimeFormat(lang, { numeric: "auto" }).format(days, "day") : date.format(new Date(time));
    return text[0].toUpperCase() + text.slice(1);
  };
  const relative = (from) => {
    for (const each of all("time[data-live]", from)) {
      const time = new Date(each.dateTime), seconds = (time - Date.now()) / 1000, size = Math.abs(seconds), kind = each.dataset.live;
      each.title ||= each.dateTime.replace("T", " ").replace("Z", " UTC");
      const whole = time.getFullYear() === new Date().getFullYear() ? far : year;
      each.textContent = kind === "day" ? today(each.dateTime) : kind === "date" ? date.format(time) : kind === "clock" && time.toDateString() === new Date().toDateString() ? clock.format(time) : kind === "clock" ? whole.format(time) : size < 30 ? near.format(0, "second") : size < 3600 ? near.format(Math.round(seconds / 60), "minute") : size < 86400 ? near.format(Math.round(seconds / 3600), "hour") : whole.format(time);
    }
  };
  relative(document);
  // Where no element can stand, such as in an option, the day is a part of the text.
  for (const each of all("[data-date]")) each.textContent = each.textContent.replace(each.dataset.date, date.format(new Date(each.dataset.date)));
  document.addEventListener("htmx:after:swap", () => relative(document));

  // Light or dark is stored in this browser alone. Without storage the choice is that of the device.
  const stored = (value) => {
    try {
      if (value !== undefined) localStorage.setItem("theme", value);
      return localStorage.getItem("theme") || "";
    } catch { return value || ""; }
  };
  for (const each of all("[name=theme]")) {
    each.checked = each.value === stored();
    each.addEventListener("change", () => { document.documentElement.dataset.theme = stored(each.value); });
  }
  document.documentElement.dataset.theme = stored();

  // The sentence of a new permission is a template of the page, filled from the form. `data-say` names the part.
  const form = document.querySelector("[data-sentence]"), sentence = document.querySelector("#sentence");
  if (form && sentence) {
    const field = (name) => form.elements[name];
    const chosen = (name) => (field(name).selectedOptions ? field(name).selectedOptions[0].textContent.trim() : field(name).value.trim());
    const short = (did) => did.replace(/^(did:(?!web)[a-z0-9]+:)(.{4}).{6,}(.{4})$/, "$1$2…$3");
    const update = () => {
      const free = field("choice").value === "free", one = field("who").value === "one", ask = field("autonomy")[0];
      const lines = field("actions").value.trim().split(/\s+/).join(", ");
      // A value that the agent chooses takes a level that acts without asking.
      ask.disabled = free;
      if (free && ask.checked) field("autonomy")[1].checked = true;
      const words = form.dataset;
      const parts = { agent: short(chosen("agent")) || words.agent, attribute: lines || chosen("attribute") || words.attribute, relation: lines ? "" : chosen("relation"), value: lines ? "" : free ? words.free : field("value").value || "…", credential: chosen("credential"), verifier: one ? chosen("verifier") || words.verifier : words.anyone, uses: field("uses").value || words.unlimited, days: field("days").value, autonomy: form.querySelector("[name=autonomy]:checked + span b").textContent.toLowerCase() };
      for (const each of all("[data-say]", form)) each.textContent = parts[each.dataset.say];
      for (const each of all("[data-when]")) each.hidden = !({ free, pinned: !free && !lines, one, any: !one, lines })[each.dataset.when];
      const { type, minimum, maximum, allowedThresholds: allowed, unit } = JSON.parse(words.attributes)[field("attribute").value.trim()] || {};
      const outside = (text) => Number(text) < minimum || Number(text) > maximum;
      const range = minimum === undefined && maximum === undefined ? "" : `${minimum ?? "…"} – ${maximum ?? "…"}`;
      document.querySelector("#value-hint").textContent = `${allowed ? allowed.join(", ") : range} ${unit || ""}`.trim();
      field("value").setCustomValidity(!free && type === "integer" && field("value").value.split(",").some(outside) ? words.outside : "");
      field("value").required = !free && !lines;
      field("attribute").required = !lines;
      field("verifier").required = one;
    };
    form.addEventListener("input", update);
    update();
  }

  // A slider of versions opens the version where it stops.
  for (const each of all("input[data-go]")) each.addEventListener("change", () => each.form.requestSubmit());

  // A file may be dropped beside its button.
  for (const each of all(".drop")) {
    const over = (isOver) => (event) => { event.preventDefault(); each.classList.toggle("over", isOver); };
    each.addEventListener("dragover", over(true));
    each.addEventListener("dragleave", over(false));
    each.addEventListener("drop", (event) => {
      over(false)(event);
      const input = each.querySelector("input"), { files } = event.dataTransfer;
      if (files.length === 0) return;
      input.files = files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }

  // A file that is dropped or chosen is read into the text beside it.
  for (const each of all("input[type=file][data-into]")) each.addEventListener("change", async () => {
    const target = document.getElementById(each.dataset.into);
    target.value = each.files[0] ? await each.files[0].text() : "";
    target.dispatchEvent(new Event("input", { bubbles: true }));
  });
})();
