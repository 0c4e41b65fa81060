// SPDX-License-Identifier: Apache-2.0
// From the table of causes to the timeline: a click shows a cause's gaps, from the longest on, and walks along them. From a
// change to the timeline: its link shows a typical gap of its dearest line.

// The elements of the timeline's processes.
const elementsOf = (timeline, selector) => [...document.querySelectorAll(selector)].filter(one => groupOf(timeline, processOf(one)));
const processOf = one => +one.closest('[data-process]').dataset.process;
const deviceOf = (timeline, one) => groupOf(timeline, processOf(one)).devices + +one.dataset.device;

function choose(timeline, cause) {
  timeline.chosen = cause;
  for (const row of elementsOf(timeline, 'tbody.cause')) {
    const is = cause !== null && row.dataset.kind === cause.kind && deviceOf(timeline, row) === cause.device && +row.dataset.row === cause.row;
    row.classList.toggle('chosen', is);
    const button = row.querySelector('button.show');
    if (button) button.setAttribute('aria-pressed', is);
  }
  timeline.walk.hidden = cause === null;
  sayGap(timeline);
  timeline.redraw();
}

// A stretch that a link names by itself, as times of its process.
function stretchOf(timeline, {dataset}) {
  if (dataset.begin === undefined) return null;
  const {on} = groupOf(timeline, +dataset.process);
  return [on(+dataset.begin), on(+dataset.end)];
}

// What is known of the cause that an element names; undefined where it has no gaps to show.
function factsOf(timeline, one) {
  const facts = timeline.data.devices[deviceOf(timeline, one)][one.dataset.kind][+one.dataset.row];
  return facts && facts.spans.length > 0 ? facts : undefined;
}

function chooseGap(timeline, one, facts, at) {
  const {device, kind, row} = one.dataset;
  choose(timeline, {kind, device: deviceOf(timeline, one), row: +row, spans: facts.spans, total: facts.total, name: facts.name, where: facts.where, at,
                    id: `p${processOf(one)}-d${device}-${kind}-${row}`});
}

// `at`: the number of a gap in the list.
function showGap(timeline, row, at) {
  const facts = factsOf(timeline, row);
  if (!facts || !(2 * at < facts.spans.length && at >= 0)) return;
  chooseGap(timeline, row, facts, at);
  timeline.root.scrollIntoView({block: 'nearest'});
  timeline.view.show(facts.spans[2 * at], facts.spans[2 * at + 1]);
}

function chooseRow(timeline, row) {
  const facts = factsOf(timeline, row);
  if (!facts) return;
  const {spans} = facts;
  let longest = 0;
  for (let i = 1; i < spans.length / 2; ++i) {
    if (spans[2 * i + 1] - spans[2 * i] > spans[2 * longest + 1] - spans[2 * longest]) longest = i;
  }
  showGap(timeline, row, longest);
  enter(gapName(timeline.chosen));
}

// A gap by itself says little: as much of its step is shown as makes it wide enough to be seen.
function showMoment(timeline, link) {
  const stretch = stretchOf(timeline, link);
  if (stretch) {
    timeline.root.scrollIntoView({block: 'start'});
    timeline.view.show(...stretch);
    enter(`p${link.dataset.process}-time-${link.dataset.begin}-${link.dataset.end}`);
    return true;
  }
  const facts = factsOf(timeline, link);
  if (!facts || facts.typical.length === 0) return false;
  const [begin, end] = facts.typical;
  chooseGap(timeline, link, facts, facts.spans.findIndex((time, i) => i % 2 === 0 && time === begin) / 2);
  enter(gapName(timeline.chosen));
  const length = end - begin;
  const span = Math.max(Math.min(20 * length, groupOf(timeline, processOf(link)).step_ns || Infinity), 3 * length);
  timeline.root.scrollIntoView({block: 'start'});
  timeline.view.glide((begin + end - span) / 2, (begin + end + span) / 2);
  return true;
}

function connectMoments(timeline) {
  for (const link of elementsOf(timeline, 'a.to-timeline')) {
    link.addEventListener('click', event => { if (showMoment(timeline, link)) event.preventDefault(); });
  }
}

function walkGaps(timeline, step) {
  const {chosen, view} = timeline;
  if (!chosen) return;
  const count = chosen.spans.length / 2;
  chosen.at = (chosen.at + step + count) % count;
  sayGap(timeline);
  stayAt(gapName(chosen));
  view.show(chosen.spans[2 * chosen.at], chosen.spans[2 * chosen.at + 1]);
}

function sayGap(timeline) {
  const {chosen} = timeline;
  if (!chosen) return;
  const listed = chosen.spans.length / 2;
  const of = listed < chosen.total ? `the ${countText(listed)} listed of ${countText(chosen.total)}` : countText(listed);
  timeline.gap.textContent = `${chosen.name}${chosen.where ? ` ${chosen.where}` : ''}: gap ${countText(chosen.at + 1)} of ${of}, ` +
                             durationText(chosen.spans[2 * chosen.at + 1] - chosen.spans[2 * chosen.at]);
}

function connectCauses(timeline) {
  for (const row of elementsOf(timeline, 'tbody.cause')) {
    if (!factsOf(timeline, row)) continue;
    const button = element('button', {class: 'show', type: 'button', 'aria-pressed': 'false', title: 'show its gaps on the timeline',
                                      onclick: event => { event.stopPropagation(); chooseRow(timeline, row); }}, 'show');
    row.rows[1].cells[0].append(button);
    row.rows[0].addEventListener('click', event => { if (!String(getSelection()) && !event.target.closest('a')) chooseRow(timeline, row); });
  }
}
