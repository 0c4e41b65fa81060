// SPDX-License-Identifier: Apache-2.0
// From the table of causes to the timeline: a click shows a cause's gaps, from the longest on, and walks along them.

function choose(timeline, cause) {
  timeline.chosen = cause;
  for (const row of timeline.section.querySelectorAll('tbody.cause')) {
    const is = cause !== null && row.dataset.kind === cause.kind && +row.dataset.device === cause.device && +row.dataset.row === cause.row;
    row.classList.toggle('chosen', is);
    const button = row.querySelector('button.show');
    if (button) button.setAttribute('aria-pressed', is);
  }
  timeline.walk.hidden = cause === null;
  sayGap(timeline);
  timeline.redraw();
}

function chooseRow(timeline, row) {
  const {kind} = row.dataset, device = +row.dataset.device, number = +row.dataset.row;
  const facts = timeline.data.devices[device][kind][number];
  if (!facts || facts.spans.length === 0) return;
  const {spans} = facts;
  let longest = 0;
  for (let i = 1; i < spans.length / 2; ++i) {
    if (spans[2 * i + 1] - spans[2 * i] > spans[2 * longest + 1] - spans[2 * longest]) longest = i;
  }
  choose(timeline, {kind, device, row: number, spans, total: facts.total, name: facts.name, where: facts.where, at: longest});
  timeline.root.scrollIntoView({block: 'nearest'});
  timeline.view.show(spans[2 * longest], spans[2 * longest + 1]);
}

function walkGaps(timeline, step) {
  const {chosen, view} = timeline;
  if (!chosen) return;
  const count = chosen.spans.length / 2;
  chosen.at = (chosen.at + step + count) % count;
  sayGap(timeline);
  view.show(chosen.spans[2 * chosen.at], chosen.spans[2 * chosen.at + 1]);
}

function sayGap(timeline) {
  const {chosen} = timeline;
  if (!chosen) return;
  const listed = chosen.spans.length / 2;
  const of = listed < chosen.total ? `the ${countText(listed)} longest of ${countText(chosen.total)}` : countText(listed);
  timeline.gap.textContent = `${chosen.name}${chosen.where ? ` ${chosen.where}` : ''}: gap ${countText(chosen.at + 1)} of ${of}, ` +
                             durationText(chosen.spans[2 * chosen.at + 1] - chosen.spans[2 * chosen.at]);
}

function connectCauses(timeline) {
  for (const row of timeline.section.querySelectorAll('tbody.cause')) {
    const facts = timeline.data.devices[+row.dataset.device][row.dataset.kind][+row.dataset.row];
    if (!facts || facts.spans.length === 0) continue;
    const button = element('button', {class: 'show', type: 'button', 'aria-pressed': 'false', title: 'show its gaps on the timeline',
                                      onclick: event => { event.stopPropagation(); chooseRow(timeline, row); }}, 'show');
    row.rows[1].cells[0].append(button);
    row.rows[0].addEventListener('click', () => { if (!String(getSelection())) chooseRow(timeline, row); });
  }
}
