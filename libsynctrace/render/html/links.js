// SPDX-License-Identifier: Apache-2.0
// Addresses within the page: #ID is a row or a change, #ID.7 the gap number 7 of a cause on the timeline, #p0-time-BEGIN-END a stretch of a
// process's own time in ns. Each is an entry of the browser's history, so back and forward lead through them.

const fragment = () => location.hash.slice(1);
const enter = name => { if (name !== fragment()) history.pushState(null, '', `#${name}`); };
const stayAt = name => history.replaceState(null, '', `#${name}`);

const gapName = ({id, at}) => `${id}.${at + 1}`;

function stretchName({data, opened, view}) {
  const {offset, rate} = groupOf({data}, opened);
  const own = time => Math.max(0, Math.round((time - offset) / rate));
  return `p${opened}-time-${own(view.from)}-${own(view.to)}`;
}

// Everything that hides it is opened.
function reveal(target) {
  for (let fold = target.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
  for (const fold of target.querySelectorAll(':scope > details.process')) fold.open = true;
  target.scrollIntoView({block: 'center'});
}

function follow() {
  const name = fragment();
  const stretch = name.match(/^p(\d{1,9})-time-(\d{1,18})-(\d{1,18})$/), gap = name.match(/^(p(\d{1,9})-d\d{1,9}-(?:idle|copying)-\d{1,9})\.(\d{1,9})$/);
  if (stretch || gap) {
    const timeline = timelines().find(one => groupOf(one, +(stretch ? stretch[1] : gap[2])));
    const row = gap && document.getElementById(gap[1]);
    if (stretch && timeline) showStretch(timeline, stretch.slice(1).map(Number));
    if (row && timeline) showGap(timeline, row, +gap[3] - 1);
    return;
  }
  if (name === '') return timelines().forEach(timeline => { choose(timeline, null); setOpening(timeline); });
  const target = document.getElementById(name);
  if (target && !target.matches('script')) reveal(target);
}

function showStretch(timeline, [process, begin, end]) {
  const {on} = groupOf(timeline, process);
  choose(timeline, null);
  timeline.root.scrollIntoView({block: 'start'});
  timeline.view.glide(on(begin), on(end));
}

function linkButton(timeline) {
  const button = element('button', {type: 'button', title: 'puts what is shown into the address, and copies that', onclick: async () => {
    enter(stretchName(timeline));
    sayOn(button, await copyText(location.href) ? 'link copied' : 'in the address');
  }}, 'link');
  return button;
}

function connectLinks() {
  addEventListener('hashchange', follow);
  if (location.hash) follow();
}
