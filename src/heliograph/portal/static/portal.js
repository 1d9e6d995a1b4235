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

// Parts of a page that change by themselves. Without scripts the page is loaded again.
const LIVE_EVERY_MS = 2000;
for (const part of document.querySelectorAll("[data-live]")) {
  setInterval(async () => {
    if (document.hidden) return;
    const answer = await fetch(part.dataset.live);
    if (!answer.ok) return;
    const text = await answer.text();
    if (part.textContent !== new DOMParser().parseFromString(text, "text/html").body.textContent) {
      part.innerHTML = text;
    }
  }, LIVE_EVERY_MS);
}
