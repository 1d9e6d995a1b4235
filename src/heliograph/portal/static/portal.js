// On a phone the navigation is one line, which scrolls sideways: it shows where one is.
for (const here of document.querySelectorAll(".bar nav [aria-current]")) {
  const line = here.parentElement;
  line.scrollLeft = here.offsetLeft - line.offsetLeft - (line.clientWidth - here.offsetWidth) / 2;
}

// Buttons that copy what stands in another element. Without scripts they stay hidden.
for (const button of document.querySelectorAll("button[data-copies]")) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
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

// Forms whose text is counted while it is typed. Without scripts a button counts.
const COUNT_AFTER_MS = 250;
for (const form of document.querySelectorAll("form[data-counts]")) {
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const body = new URLSearchParams(new FormData(form));
      const answer = await fetch(form.dataset.counts, { method: "POST", body });
      if (answer.ok) document.getElementById("count").innerHTML = await answer.text();
    }, COUNT_AFTER_MS);
  });
}

// What is marked as live is fetched anew every three seconds, for a quarter of an hour at most: a
// session that nobody uses shall end. When what it says it is has changed, the page is loaded anew.
const LOOK_MS = 3000;
async function look(looksLeft) {
  const live = document.querySelector("[data-live]");
  if (live === null || looksLeft === 0) return;
  try {
    const answer = document.hidden ? null : await fetch(location.href);
    if (answer !== null && answer.ok) {
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-live]");
      if (found === null || found.dataset.live !== live.dataset.live) return location.replace(location.href);
      live.replaceWith(found);
    }
  } catch {
    // the service is away for a moment
  }
  setTimeout(look, LOOK_MS, looksLeft - 1);
}
setTimeout(look, LOOK_MS, 300);

// Forms that search while somebody types. Without scripts their button does.
const PAUSE_MS = 250;
for (const form of document.querySelectorAll("form[data-finds]")) {
  let asked = 0;
  form.addEventListener("input", () => {
    const number = ++asked;
    const isOutdated = () => number !== asked;
    setTimeout(async () => {
      if (isOutdated()) return;
      const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
      let answer, text;
      try {
        answer = await fetch(address);
        text = await answer.text();
      } catch {
        return; // the button says what is wrong
      }
      if (isOutdated()) return;
      if (!answer.ok) {
        location.assign(address);
        return;
      }
      const found = new DOMParser().parseFromString(text, "text/html");
      document.getElementById(form.dataset.finds).replaceWith(found.getElementById(form.dataset.finds));
      history.replaceState(null, "", address);
    }, PAUSE_MS);
  });
  form.addEventListener("submit", () => { asked += 1; });
}

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
