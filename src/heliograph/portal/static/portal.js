// On a phone the navigation is one line, which scrolls sideways: it shows where one is.
for (const here of document.querySelectorAll(".bar nav [aria-current]")) {
  const line = here.closest("nav");
  line.scrollLeft = here.offsetLeft - line.offsetLeft - (line.clientWidth - here.offsetWidth) / 2;
}

// What was just done is said for six seconds. The part is there and empty before it says something:
// else a screen reader keeps silent.
const toast = document.querySelector(".toast");
let saying;
function say(text) {
  clearTimeout(saying);
  toast.textContent = "";
  saying = setTimeout(() => {
    toast.textContent = text;
    saying = setTimeout(() => { toast.textContent = ""; }, 6000);
  }, 100);
}
if (toast.textContent) say(toast.textContent);

// Questions before something final are dialogs. Without scripts they stand below their buttons, or on
// pages of their own. What keeps things as they are has the focus first.
function ask(dialog) {
  dialog.removeAttribute("open");
  dialog.setAttribute("closedby", "any"); // by a click beside it; in the page, one would close it, too
  dialog.showModal();
  const [keeps] = dialog.querySelectorAll("[data-closes]");
  keeps.hidden = false;
  keeps.focus();
}
async function askWhatStandsAt(link) {
  try {
    const answer = await fetch(link.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const question = answer.ok && page.querySelector("[data-question]");
    if (!question) throw new Error("it asks nothing");
    if (document.querySelector("dialog:modal")) return;
    document.querySelector("dialog.fetched")?.remove();
    const dialog = document.createElement("dialog");
    dialog.className = "question fetched";
    dialog.append(question);
    const title = dialog.querySelector("#asked"), why = dialog.querySelector("#asked-why");
    title.id = "asked-now";
    why.id = "why-now";
    dialog.setAttribute("aria-labelledby", title.id);
    dialog.setAttribute("aria-describedby", why.id);
    link.after(dialog);
    ask(dialog);
  } catch {
    location.assign(link.href);
  }
}
document.addEventListener("click", (click) => {
  const asks = click.target.closest(".asks > summary, a[data-asks], dialog:modal [data-closes]");
  const isOrdinary = !(click.ctrlKey || click.metaKey || click.shiftKey || click.altKey);
  if (asks === null || !isOrdinary) return;
  click.preventDefault();
  if ("closes" in asks.dataset) asks.closest("dialog").close();
  else if (asks.localName === "a") askWhatStandsAt(asks);
  else {
    asks.parentElement.open = true;
    ask(asks.nextElementSibling);
  }
});
document.addEventListener("close", (closed) => {
  const details = closed.target.closest(".asks");
  if (details !== null) details.open = false;
}, true);

// A form is sent once by two clicks: else the browser would send it twice, and show the second answer
// only. Who has waited for five seconds may try again.
const AGAIN_MS = 5000;
const sent = new WeakMap();
document.addEventListener("submit", (submit) => {
  const form = submit.target;
  if (form.method !== "post" || submit.defaultPrevented) return;
  if (submit.timeStamp - (sent.get(form) ?? -AGAIN_MS) < AGAIN_MS) submit.preventDefault();
  else sent.set(form, submit.timeStamp);
});

// A page that shows a form again is the answer to that form: who loads it again would be asked whether to
// send the form again. So its place in the history becomes that of the form's page, and keeps
// what was typed, which is filled in when it is loaded again.
const TYPED = "input:not([type=hidden], [type=password], [type=file], [autocomplete=one-time-code]), select, textarea";
const OF_ONE_PAGE = ["form_token", "once", "shown"];
const isTicked = (field) => ["checkbox", "radio"].includes(field.type);

// What was typed into each form, by where the form leads, by its hidden fields, and by its place among
// others like it: what stood in one line of a list is not filled in in another.
function typedFields() {
  const alike = {}, found = [];
  for (const form of document.querySelectorAll("main form[method=post]")) {
    const hidden = [...form.querySelectorAll("[type=hidden]")].filter((field) => !OF_ONE_PAGE.includes(field.name));
    const name = [form.getAttribute("action"), ...hidden.map((field) => field.value)].join(" ");
    alike[name] = (alike[name] ?? 0) + 1;
    found.push({ form, name: `${name} ${alike[name]}`, fields: [...form.elements].filter((field) => field.matches(TYPED)) });
  }
  return found;
}
function keepTyped(address) {
  const typed = {};
  for (const { name, fields } of typedFields()) typed[name] = fields.map((field) => (isTicked(field) ? field.checked : field.value));
  history.replaceState({ ...history.state, typed }, "", address);
}
function fillIn(typed) {
  for (const { form, name, fields } of typedFields()) {
    if (typed[name]?.length !== fields.length) continue;
    fields.forEach((field, place) => { field[isTicked(field) ? "checked" : "value"] = typed[name][place]; });
    form.dispatchEvent(new Event("input", { bubbles: true })); // it is counted or previewed
  }
}
const { pageOfForm } = document.getElementById("main").dataset;
// Who follows a link to the page asks what is stored: a browser keeps the place's state then, too.
const [arrival] = performance.getEntriesByType("navigation");
if (pageOfForm !== undefined) keepTyped(pageOfForm);
else if (history.state?.typed && arrival?.type === "navigate") history.replaceState({ ...history.state, typed: undefined }, "");
else if (history.state?.typed) setTimeout(() => fillIn(history.state.typed)); // htmx listens by then
document.addEventListener("change", () => { if (history.state?.typed) keepTyped(); });

// Whoever types into what belongs to a choice, such as tags, means that choice. It can be chosen otherwise after that.
document.addEventListener("input", ({ target }) => {
  if (target.dataset?.chooses && target.value.trim()) document.getElementById(target.dataset.chooses).checked = true;
});

// Who only looks at the portal of somebody else sees its forms, and cannot fill them in. The server
// refuses them in any case.
function closeForms() {
  for (const form of document.querySelectorAll("main form[method=post]")) form.inert = true;
}
if (document.querySelector(".looking")) {
  closeForms();
  document.addEventListener("htmx:after:swap", closeForms);
}

// Buttons that copy what stands in another element. Without scripts they stay hidden.
for (const button of document.querySelectorAll("button[data-copies]")) {
  const said = button.querySelector("span");
  const label = said.textContent;
  const icon = button.querySelector("use");
  const ordinary = icon.getAttribute("href");
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(source.textContent);
      said.textContent = button.dataset.copied;
      say(button.dataset.copied);
      icon.setAttribute("href", ordinary.replace("#copy", "#check"));
    } catch {
      getSelection().selectAllChildren(source);
      said.textContent = button.dataset.byHand;
    }
    setTimeout(() => {
      said.textContent = label;
      icon.setAttribute("href", ordinary);
    }, 2000);
  });
}

// A language that is chosen for one program is chosen for all, and for /docs, which remembers it under
// the same name.
function choose(language) {
  for (const each of document.querySelectorAll(`input.language[value="${CSS.escape(language)}"]`)) each.checked = true;
}
for (const each of document.querySelectorAll("input.language")) {
  each.addEventListener("change", () => {
    const before = each.getBoundingClientRect().top;
    choose(each.value);
    scrollBy({ top: each.getBoundingClientRect().top - before, behavior: "instant" });
    try { localStorage.setItem("language", each.value); } catch { /* it is chosen again next time */ }
  });
}
try { choose(localStorage.getItem("language") || ""); } catch { /* the first one stays chosen */ }

// The columns that the first line of a chosen file names are offered by the fields that ask for one.
// A file that is too large is not sent: the server would read no more of the form than it may.
for (const file of document.querySelectorAll("input[data-names]")) {
  file.addEventListener("change", async () => {
    const mebibytes = (file.files[0]?.size ?? 0) / 2 ** 20;
    const found = mebibytes.toLocaleString(document.documentElement.lang, { maximumFractionDigits: 2 });
    file.setCustomValidity(mebibytes > file.dataset.mebibytesMax ? `${file.dataset.tooLarge} (${found} MiB)` : "");
    const [first] = (await (file.files[0]?.slice(0, 65536).text() ?? "")).replace(/^\ufeff/, "").split(/\r?\n/, 1);
    const rows = [",", ";", "\t"].map((delimiter) => first.split(delimiter));
    const cells = rows.reduce((most, row) => (row.length > most.length ? row : most));
    const names = cells.map((cell) => cell.trim().replace(/^"|"$/g, "")).filter((name) => name && !/^\+?[0-9 ]+$/.test(name));
    document.getElementById(file.dataset.names).replaceChildren(...names.map((name) => new Option(name, name)));
    const listed = document.getElementById(`${file.dataset.names}-found`);
    if (listed === null) return;
    listed.hidden = names.length === 0;
    listed.querySelector("span").textContent = names.map((name) => `{${name}}`).join(", ");
  });
}

// What is marked as live is looked at for a quarter of an hour at most, and only while it can be seen:
// a session that nobody uses shall end.
const LOOKS = 300; // of each part
const looks = {};
document.addEventListener("htmx:config:request", (asked) => {
  const { live, shown } = asked.detail.ctx.sourceElement.dataset;
  if (live === undefined) return;
  looks[live] ??= LOOKS;
  if (document.hidden || looks[live] === 0) asked.preventDefault();
  else looks[live] -= 1;
  // what it shows already needs no answer; after it has changed, the part says so itself
  asked.detail.ctx.liveAddress = asked.detail.ctx.sourceElement.getAttribute("hx-get");
  asked.detail.ctx.request.headers["Heliograph-Shown"] = shown;
  show("[data-live-over]", looks[live] === 0);
});

function show(which, is_shown) {
  document.querySelectorAll(which).forEach((element) => { element.hidden = !is_shown; });
}

// A live part that gets no answer shows what is old: that is said, until there is an answer again.
document.addEventListener("htmx:after:request", (answered) => {
  const { sourceElement, response } = answered.detail.ctx;
  if (sourceElement.dataset.live !== undefined) show("[data-live-lost]", response.status >= 500);
});
document.addEventListener("htmx:error", (failed) => {
  if (failed.detail.ctx?.sourceElement?.dataset.live !== undefined) show("[data-live-lost]", true);
});

// A list that was filtered meanwhile asks for something else: an answer to what it asked before is dropped.
document.addEventListener("htmx:after:request", (answered) => {
  const { sourceElement, liveAddress } = answered.detail.ctx;
  if (liveAddress !== undefined && sourceElement.getAttribute("hx-get") !== liveAddress) answered.preventDefault();
});

// When a live part is there no more, the whole page has changed: a campaign was completed.
document.addEventListener("htmx:after:request", (answered) => {
  const { sourceElement, response, text } = answered.detail.ctx;
  const live = sourceElement.dataset.live;
  if (live === undefined || response.status !== 200 || text.includes(`data-live="${live}"`)) return;
  answered.preventDefault();
  location.reload();
});
