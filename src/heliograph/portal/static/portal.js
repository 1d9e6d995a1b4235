// On a phone the navigation is one line, which scrolls sideways: it shows where one is.
for (const here of document.querySelectorAll(".bar nav [aria-current]")) {
  const line = here.closest("nav");
  line.scrollLeft = here.offsetLeft - line.offsetLeft - (line.clientWidth - here.offsetWidth) / 2;
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
for (const file of document.querySelectorAll("input[data-names]")) {
  file.addEventListener("change", async () => {
    const [first] = (await (file.files[0]?.slice(0, 65536).text() ?? "")).replace(/^\ufeff/, "").split(/\r?\n/, 1);
    const rows = [",", ";", "\t"].map((delimiter) => first.split(delimiter));
    const cells = rows.reduce((most, row) => (row.length > most.length ? row : most));
    const names = cells.map((cell) => cell.trim().replace(/^"|"$/g, "")).filter((name) => name && !/^\+?[0-9 ]+$/.test(name));
    document.getElementById(file.dataset.names).replaceChildren(...names.map((name) => new Option(name, name)));
    const found = document.getElementById(`${file.dataset.names}-found`);
    if (found === null) return;
    found.hidden = names.length === 0;
    found.querySelector("span").textContent = names.map((name) => `{${name}}`).join(", ");
  });
}

// What is marked as live is looked at for a quarter of an hour at most, and only while it can be seen:
// a session that nobody uses shall end.
let looksLeft = 300;
document.addEventListener("htmx:config:request", (asked) => {
  if (asked.detail.ctx.sourceElement.dataset.live === undefined) return;
  if (document.hidden || looksLeft === 0) asked.preventDefault();
  else looksLeft -= 1;
});

// When a live part is there no more, the whole page has changed: a campaign was completed.
document.addEventListener("htmx:after:request", (answered) => {
  const { sourceElement, response, text } = answered.detail.ctx;
  const live = sourceElement.dataset.live;
  if (live === undefined || response.status !== 200 || text.includes(`data-live="${live}"`)) return;
  answered.preventDefault();
  location.reload();
});
