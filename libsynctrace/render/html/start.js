// SPDX-License-Identifier: Apache-2.0
// Puts the timelines into the page, and the switch between light and dark.

function buttons(timeline) {
  const button = (text, title, act) => element('button', {type: 'button', title, onclick: act}, text);
  timeline.search = element('input', {type: 'search', placeholder: 'name, or file:line', 'aria-label': 'search the timeline', maxlength: 200,
    oninput: () => search(timeline, timeline.search.value),
    onkeydown: event => {
      if (event.key === 'Enter') nextMatch(timeline);
      if (event.key === 'Escape') { timeline.search.value = ''; search(timeline, ''); timeline.canvas.focus(); }
    }});
  timeline.found = element('output', {class: 'found', 'aria-live': 'polite'});
  timeline.gap = element('span', {'aria-live': 'polite'});
  timeline.walk = element('span', {class: 'walk'}, timeline.gap, button('‹ previous', 'P', () => walkGaps(timeline, -1)),
                          button('next ›', 'N', () => walkGaps(timeline, 1)), button('clear', 'Escape', () => choose(timeline, null)));
  timeline.walk.hidden = true;
  const {view} = timeline;
  const zoom = factor => { const middle = (view.from + view.to) / 2; view.glide(middle - factor * view.span / 2, middle + factor * view.span / 2); };
  return element('div', {class: 'tools'}, timeline.search, timeline.found, timeline.walk, element('span', {class: 'spread'}),
                 button('−', 'zoom out (S)', () => zoom(2)), button('+', 'zoom in (W)', () => zoom(0.5)), button('steps', 'typical steps (T)', () => showSteps(timeline)), button('all', 'the whole run (0)', () => view.glide(0, view.length)), linkButton(timeline));
}

// What the picture does not hold, in words.
function leftOut({slices, items, lanes_left_out: lanes, lanes: shown, stretches}) {
  const coarse = shown.flatMap(lane => lane.rows).filter(row => row.exact_from_ns > 0);
  const words = [];
  if (coarse.length > 0) {
    const worst = Math.max(...coarse.map(row => row.exact_from_ns));
    words.push(`The recording has ${countText(slices)} slices; ${countText(items)} items stand for them. On busy rows slices shorter than ${durationText(worst)} (on some less) are bundled` +
               `${stretches.length > 0 ? ', except in the stretches marked above the rows, which are complete' : ''}. The time that they cover is exact everywhere.`);
  }
  if (lanes > 0) words.push(`${countText(lanes)} rows with the fewest slices are left out.`);
  return words.join(' ');
}

function makeTimeline(place, data, opened) {
  const timeline = {place, data, opened, ratio: devicePixelRatio || 1, hovered: null, selected: null, chosen: null, matches: null, keyLane: 0, frames: 0};
  data.lanes.forEach(lane => lane.rows.forEach(buildLevels));
  timeline.height = layOut(data, AXIS + 4);
  timeline.causeOf = (kind, device, row) => data.devices[device][kind][row] || {name: 'another cause'};
  timeline.view = new View(data.length_ns, () => timeline.redraw());
  timeline.label = name => {
    const [kind, text, row] = data.names[name];
    if (kind === 'rank-wait') return `waits for ${row ? rankTitle(row) : 'another rank'}`;
    if (kind !== 'idle' && kind !== 'copying') return text;
    const cause = timeline.causeOf(kind, text, row);
    return cause.where ? `${cause.name}  ${cause.where}` : cause.name;
  };
  // Fades what the search, or the choice of a cause, does not mean.
  timeline.strength = name => {
    const {matches, chosen} = timeline;
    if (matches) return matches[name] ? 1 : 0.15;
    if (!chosen) return 1;
    const [kind, device, row] = data.names[name];
    if (kind !== 'idle' && kind !== 'copying') return 1;
    return kind === chosen.kind && device === chosen.device && row === chosen.row ? 1 : 0.25;
  };
  timeline.redraw = () => {
    if (timeline.waiting) return;
    timeline.waiting = true;
    requestAnimationFrame(() => {
      timeline.waiting = false;
      ++timeline.frames;
      drawTimeline(timeline);
    });
  };
  timeline.view.width = Math.max(place.clientWidth, 320);
  setOpening(timeline);
  putInto(place, timeline);
  return timeline;
}

// A few typical steps of the process that is looked at first, as wide as they need to be. A run without steps is shown as a whole.
function openingOf({data, opened}) {
  const {opening} = data.groups.find(({process}) => process === opened);
  if (opening.length === 0) return [0, data.length_ns];
  const margin = (opening[1] - opening[0]) / 40;
  return [opening[0] - margin, opening[1] + margin];
}

const setOpening = timeline => timeline.view.set(...openingOf(timeline));
const showSteps = timeline => timeline.view.glide(...openingOf(timeline));

function putInto(place, timeline) {
  const {data} = timeline;
  timeline.canvas = element('canvas', {class: 'timeline', tabindex: 0, role: 'application', 'aria-label': `Timeline of ${data.lanes.length} rows. ${HELP}`});
  timeline.overview = element('canvas', {class: 'overview', 'aria-hidden': 'true'});
  timeline.tip = element('div', {class: 'tip', role: 'presentation'});
  timeline.tip.hidden = true;
  timeline.status = element('p', {class: 'status', 'aria-live': 'polite'});
  const words = leftOut(data);
  timeline.root = element('div', {class: 'timeline-block'}, buttons(timeline), ...foldButtons(timeline), timeline.overview,
                          element('div', {class: 'picture'}, timeline.canvas, timeline.tip), timeline.status,
                          element('p', {class: 'help'}, `Click the picture, then: wheel zooms · drag moves · ${HELP}. Ctrl + wheel zooms at once.`),
                          ...(words ? [element('p', {class: 'left-out'}, words)] : []));
  place.replaceChildren(timeline.root);
  timeline.context = timeline.canvas.getContext('2d');
  readColours(timeline);
  new ResizeObserver(() => resize(timeline)).observe(timeline.root);
  resize(timeline);
  listen(timeline);
}

function resize(timeline) {
  const width = Math.max(timeline.root.clientWidth, 320);
  timeline.ratio = devicePixelRatio || 1;
  timeline.view.width = width;
  for (const [canvas, height] of [[timeline.canvas, timeline.height], [timeline.overview, 34]]) {
    canvas.width = width * timeline.ratio;
    canvas.height = height * timeline.ratio;
    canvas.style.height = `${height}px`;
  }
  drawTimeline(timeline);  // at once: a canvas that has a new size is empty
}

const timelines = () => [...document.querySelectorAll('.timeline-place')].map(place => place.timeline).filter(Boolean);

function recolour() {
  for (const timeline of timelines()) {
    readColours(timeline);
    timeline.redraw();
  }
}

const drawNow = () => timelines().forEach(drawTimeline);

// The style has one rule for dark colours: the switch says when it holds. Paper is light.
function themeSwitch() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const rule = [...document.styleSheets[0].cssRules].find(one => one instanceof CSSMediaRule && one.media.mediaText.includes('prefers-color-scheme'));
  let dark = system.matches;
  const use = on => { rule.media.mediaText = on ? 'screen' : 'not all'; recolour(); };
  const button = element('button', {type: 'button', class: 'theme', onclick: () => { dark = !dark; use(dark); say(); }});
  const say = () => { button.textContent = dark ? 'light' : 'dark'; button.setAttribute('aria-label', `switch to ${button.textContent} colours`); };
  system.addEventListener('change', () => { dark = system.matches; use(dark); say(); });
  addEventListener('beforeprint', () => { use(false); drawNow(); });
  addEventListener('afterprint', () => use(dark));
  say();
  document.querySelector('.top').append(button);
}

// A link to a folded process opens it.
function connectProcesses() {
  for (const link of document.querySelectorAll('.overview a')) {
    link.addEventListener('click', () => {
      for (const fold of document.querySelectorAll(`[data-process="${link.hash.replace('#process-', '')}"] > details`)) fold.open = true;
    });
  }
}

async function start() {
  themeSwitch();
  connectStacks();
  connectCopies();
  connectSwitches();
  for (const place of document.querySelectorAll('.timeline-place')) {
    const numbers = text => text.split(' ').map(Number);
    const processes = numbers(place.dataset.processes), offsets = numbers(place.dataset.offsets), rates = numbers(place.dataset.rates);
    const parts = await Promise.all(processes.map(async (process, i) => {
      const {title, rank} = document.getElementById(`process-${process}`).dataset;
      return {process, title, rank, offset: offsets[i], rate: rates[i], data: await readPayload(document.getElementById(`timeline-${process}`))};
    }));
    place.timeline = makeTimeline(place, joined(parts), +place.dataset.opened);
    connectCauses(place.timeline);
    connectMoments(place.timeline);
  }
  connectProcesses();
  connectLinks();
  document.documentElement.dataset.ready = 'yes';
}

start();
