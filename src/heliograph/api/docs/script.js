// What the page can do beside being read: choose a language, copy code, and search. Without it everything is there but these three.
'use strict';

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function remembered() {
  try { return localStorage.getItem('language'); } catch { return null; }
}

function choose(language) {
  for (const group of all('.samples')) {
    const panels = all('[data-language]', group);
    const shown = panels.some((panel) => panel.dataset.language === language) ? language : panels[0].dataset.language;
    for (const panel of panels) panel.hidden = panel.dataset.language !== shown;
    for (const button of all('[data-choose]', group)) button.setAttribute('aria-pressed', String(button.dataset.choose === shown));
  }
}

for (const tabs of all('.tabs')) tabs.hidden = false;
for (const button of all('[data-choose]')) {
  button.addEventListener('click', () => {
    const before = button.getBoundingClientRect().top;
    choose(button.dataset.choose);
    window.scrollBy({ top: button.getBoundingClientRect().top - before, behavior: 'instant' });
    try { localStorage.setItem('language', button.dataset.choose); } catch { /* then it is chosen again next time */ }
  });
}
choose(remembered() || 'curl');

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch { /* the page is not served by HTTPS, or the browser does not allow it */ }
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

for (const pre of all('figure pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await copy(pre.textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  pre.before(button);
}

// "retry" finds "Safe retries", and "webhook" finds "Webhooks"
function folded(text) {
  return text.toLowerCase().replace(/ies\b/g, 'y').replace(/s\b/g, '');
}

const places = all('main h2[id], main article[id]').map((place) => {
  const title = place.querySelector('h3') || place;
  const where = place.querySelector('.place');
  const section = [];
  for (let next = place.nextElementSibling; place.matches('h2') && next && !next.matches('h2, article'); next = next.nextElementSibling) section.push(next.textContent);
  return {
    id: place.id, title: title.textContent.trim(), where: where ? where.textContent.trim().replace(/\s+/g, ' ') : '',
    text: folded(`${place.textContent} ${section.join(' ')}`),
  };
});
const box = document.querySelector('.search');
const input = box.querySelector('input');
const found = box.querySelector('ul');
box.hidden = false;

function rank(place, words) {
  const title = folded(`${place.title} ${place.where}`);
  return words.every((word) => title.includes(word)) ? 0 : 1;
}

function search() {
  const words = folded(input.value).split(/\s+/).filter(Boolean);
  const hits = words.length ? places.filter((place) => words.every((word) => place.text.includes(word))) : [];
  hits.sort((one, other) => rank(one, words) - rank(other, words));
  found.replaceChildren(...hits.slice(0, 10).map((place) => {
    const item = document.createElement('li');
    const link = document.createElement('a');
    const where = document.createElement('small');
    link.href = `#${place.id}`;
    link.textContent = place.title;
    where.textContent = place.where;
    link.append(where);
    item.append(link);
    return item;
  }));
  if (words.length && !hits.length) {
    const item = document.createElement('li');
    item.className = 'none';
    item.textContent = 'Nothing found';
    found.append(item);
  }
  found.hidden = !words.length;
}

function leave() {
  found.hidden = true;
  input.blur();
}

// From the field into the hits, through them, and back.
function step(by) {
  const stops = [input, ...all('a', found)];
  const next = stops[stops.indexOf(document.activeElement) + by];
  if (next) next.focus();
}

input.addEventListener('input', search);
input.addEventListener('focus', search);
found.addEventListener('click', leave);
document.addEventListener('click', (event) => { if (!box.contains(event.target)) found.hidden = true; });
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !event.target.closest('input, textarea')) {
    event.preventDefault();
    input.focus();
  } else if (event.key === 'Escape') {
    leave();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && box.contains(event.target) && !found.hidden) {
    event.preventDefault();
    step(event.key === 'ArrowDown' ? 1 : -1);
  } else if (event.key === 'Enter' && event.target === input && found.querySelector('a')) {
    found.querySelector('a').click();
  }
});
for (const link of all('.menu a')) link.addEventListener('click', () => { document.querySelector('.menu').open = false; });
