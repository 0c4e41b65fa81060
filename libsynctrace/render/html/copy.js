// SPDX-License-Identifier: Apache-2.0
// Copying: what is to be typed for a change, and addresses.

// Without the clipboard of today (another origin, an older browser, no permission) the old way still works: a selection.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* the old way */ }
  const before = document.activeElement, box = element('textarea', {class: 'copied', readonly: '', 'aria-hidden': 'true'});
  box.value = text;
  document.body.append(box);
  box.select();
  let done = false;
  try { done = document.execCommand('copy'); } catch { /* neither */ }
  box.remove();
  before?.focus({preventScroll: true});
  return done;
}

// Says for a while what came of it.
function sayOn(button, words) {
  button.says ??= button.textContent;
  button.textContent = words;
  clearTimeout(button.silence);
  button.silence = setTimeout(() => { button.textContent = button.says; }, 2000);
}

function connectCopies() {
  for (const block of document.querySelectorAll('p.type')) {
    const lines = [...block.querySelectorAll('code')];
    const title = block.closest('.remedy').querySelector('h4').textContent;
    const button = element('button', {type: 'button', class: 'copy', 'aria-label': `copy what to type: ${title}`, onclick: async () => {
      const done = await copyText(lines.map(line => line.textContent).join('\n'));
      if (!done) getSelection().setBaseAndExtent(lines[0], 0, lines.at(-1), lines.at(-1).childNodes.length);
      sayOn(button, done ? 'copied' : 'press Ctrl + C');
      spoken.textContent = done ? 'copied' : 'selected: press Ctrl + C';
    }}, 'copy');
    const spoken = element('span', {class: 'spoken', 'aria-live': 'polite'});
    block.append(button, spoken);
  }
}
