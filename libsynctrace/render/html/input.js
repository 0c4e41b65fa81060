// SPDX-License-Identifier: Apache-2.0
// Wheel, drag and keys on the picture. Without the focus the plain wheel scrolls the page: nobody is caught in a picture.

const HELP = 'W S zoom · A D move · arrows walk along slices · Enter zooms to one · N P next and previous gap of a cause · T typical steps · 0 all · / search';

function listen(timeline) {
  const {canvas, view} = timeline;
  let drag = null;
  const point = event => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return view.pan((event.deltaX || event.deltaY) * unit / view.width);
    view.zoom(Math.exp(clamp(event.deltaY * unit, -200, 200) / 400), view.time(Math.max(point(event)[0], GUTTER)));
  }, {passive: false});
  canvas.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    drag = {x: event.clientX, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    const [x, y] = point(event);
    if (drag) {
      drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
      if (drag.moved) view.pan((drag.x - event.clientX) / (view.width - GUTTER));
      if (drag.moved) drag.x = event.clientX;
      return showTip(timeline, null);
    }
    timeline.hovered = itemAt(timeline, x, y);
    canvas.style.cursor = timeline.hovered ? 'pointer' : x > GUTTER ? 'grab' : 'default';
    showTip(timeline, timeline.hovered, x, y);
    timeline.redraw();
  });
  canvas.addEventListener('pointerup', event => {
    const moved = drag && drag.moved;
    drag = null;
    if (!moved) clickAt(timeline, ...point(event));
  });
  canvas.addEventListener('pointerleave', () => {
    timeline.hovered = null;
    showTip(timeline, null);
    timeline.redraw();
  });
  canvas.addEventListener('dblclick', event => {
    const found = itemAt(timeline, ...point(event));
    if (found) view.show(found.row.begin[found.item], found.row.end[found.item]);
  });
  canvas.addEventListener('keydown', event => onKey(timeline, event));
  listenToOverview(timeline);
}

function clickAt(timeline, x, y) {
  const found = itemAt(timeline, x, y);
  select(timeline, found);
  timeline.keyLane = found ? timeline.data.lanes.indexOf(found.row.lane) : timeline.keyLane;
}

function onKey(timeline, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const {view} = timeline;
  const middle = (view.from + view.to) / 2;
  const zoom = factor => view.glide(middle - factor * view.span / 2, middle + factor * view.span / 2);
  const move = share => view.glide(view.from + share * view.span, view.to + share * view.span);
  const actions = {
    w: () => zoom(0.5), '+': () => zoom(0.5), '=': () => zoom(0.5), s: () => zoom(2), '-': () => zoom(2), a: () => move(-0.3), d: () => move(0.3),
    t: () => showSteps(timeline), 0: () => view.glide(0, view.length), home: () => view.glide(0, view.length), n: () => walkGaps(timeline, 1), p: () => walkGaps(timeline, -1),
    arrowright: () => walkSlices(timeline, 1), arrowleft: () => walkSlices(timeline, -1), arrowdown: () => walkLanes(timeline, 1), arrowup: () => walkLanes(timeline, -1),
    enter: () => { const at = timeline.selected; if (at) view.show(at.row.begin[at.item], at.row.end[at.item]); },
    escape: () => { choose(timeline, null); select(timeline, null); }, '/': () => timeline.search.focus(),
  };
  const action = actions[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
}

// Along the items of the selection's row; without one, from the first that is seen in the lane of the keyboard.
function walkSlices(timeline, step) {
  const {view, data, selected} = timeline;
  const row = selected ? selected.row : (data.lanes[timeline.keyLane] || data.lanes[0]).rows[0];
  if (!row) return;
  const item = clamp(selected ? selected.item + step : firstAfter(row, view.from), 0, row.begin.length - 1);
  select(timeline, {row, item});
  const length = row.end[item] - row.begin[item];
  if (!view.contains(row.begin[item], row.end[item])) {
    const span = Math.max(view.span, 1.5 * length), middle = (row.begin[item] + row.end[item]) / 2;
    view.glide(middle - span / 2, middle + span / 2);
  }
}

function walkLanes(timeline, step) {
  const {data, view, selected} = timeline;
  const time = selected ? (selected.row.begin[selected.item] + selected.row.end[selected.item]) / 2 : (view.from + view.to) / 2;
  let lane = timeline.keyLane;
  do lane += step; while (data.lanes[lane] && !(data.lanes[lane].shown && data.lanes[lane].rows.some(row => row.begin.length > 0)));
  if (!data.lanes[lane]) return;
  timeline.keyLane = lane;
  const row = data.lanes[lane].rows[0];
  select(timeline, {row, item: clamp(firstAfter(row, time), 0, row.begin.length - 1)});
}

function listenToOverview(timeline) {
  const {overview, view} = timeline;
  const go = event => {
    if (event.buttons !== 1) return;
    const share = (event.clientX - overview.getBoundingClientRect().left - GUTTER) / (view.width - GUTTER);
    const middle = clamp(share, 0, 1) * view.length;
    view.set(middle - view.span / 2, middle + view.span / 2);
  };
  overview.addEventListener('pointerdown', event => { overview.setPointerCapture(event.pointerId); go(event); });
  overview.addEventListener('pointermove', go);
}
