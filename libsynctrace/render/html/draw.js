// SPDX-License-Identifier: Apache-2.0
// The picture. Nodes narrower than two pixels are drawn as one block, the stronger the more of its time is covered.

const AXIS = 22;
const KINDS = ['step', 'kernel', 'copy', 'memset', 'graph', 'call', 'wait', 'launch', 'sleep', 'range', 'rank-wait', 'transfer', 'exchange'];

function readColours(timeline) {
  const style = getComputedStyle(document.documentElement);
  const colour = name => style.getPropertyValue(name).trim();
  const causes = [...Array(10).keys()].map(i => colour(`--c${i}`));
  const kinds = Object.fromEntries(KINDS.map(kind => [kind, colour(`--${kind}`)]));
  const kernels = [0, 1, 2, 3].map(i => colour(`--kernel${i}`));
  timeline.theme = {text: colour('--text'), soft: colour('--soft'), line: colour('--line'), back: colour('--back'), lane: colour('--lane'),
                    accent: colour('--accent'), onSlice: colour('--on-slice'), font: `11px ${colour('--sans')}`};
  timeline.colours = timeline.data.names.map(([kind, text, row]) => {
    if (kind === 'idle' || kind === 'copying') return timeline.causeOf(kind, text, row).edge ? colour('--edge') : causes[row] || colour('--other');
    if (kind === 'kernel') return kernels[hashOf(text) % kernels.length];
    return kinds[kind];
  });
}

function hashOf(text) {
  let hash = 7;
  for (let i = 0; i < text.length; ++i) hash = (hash * 31 + text.charCodeAt(i)) >>> 0;
  return hash;
}

function drawRow(context, row, view, look, y = row.y, height = row.height) {
  const {levels} = row;
  const visit = (level, i) => {
    const nodes = levels[level];
    const begin = nodes.begin[i], end = nodes.end[i];
    if (end < view.from || begin > view.to) return;
    const width = (end - begin) * view.scale;
    if (level > 0 && width >= 2) {
      const last = Math.min((i + 1) * GROUP, levels[level - 1].begin.length);
      for (let k = i * GROUP; k < last; ++k) visit(level - 1, k);
      return;
    }
    const x = Math.max(view.x(begin), GUTTER - 2);
    const right = Math.min(view.x(end), view.width + 2);
    const name = nodes.name[i];
    const share = end > begin ? Math.min(nodes.busy[i] / (end - begin), 1) : 1;
    context.fillStyle = look.colours[name];
    context.globalAlpha = look.strength(name) * (0.3 + 0.7 * share);
    const bundled = level === 0 && row.count[i] > 1 && width > 3;
    if (bundled) drawBundle(context, x, y, right - x, height, share);
    else context.fillRect(x, y, Math.max(right - x - (width > 4 ? 0.5 : 0), 0.8), height);
    if (level === 0 && right - x > 34) drawLabel(context, look, row, i, x, y, right - x, height, bundled);
  };
  const top = levels.length - 1;
  for (let i = 0; i < levels[top].begin.length; ++i) visit(top, i);
  context.globalAlpha = 1;
}

// A bundle has no details to show. Its height is the share of time that its slices cover.
function drawBundle(context, x, y, width, height, share) {
  const strength = context.globalAlpha;
  context.globalAlpha = strength * 0.35;
  context.fillRect(x, y, width, height);
  context.globalAlpha = strength;
  const covered = Math.max(height * share, 1);
  context.fillRect(x, y + height - covered, width, covered);
}

function drawLabel(context, look, row, i, x, y, width, height, bundled) {
  const text = bundled ? `${countText(row.count[i])}×  ${look.label(row.name[i])}` : look.label(row.name[i]);
  const most = Math.floor((width - 8) / 6);
  if (most < 3) return;
  context.fillStyle = bundled ? look.theme.text : look.theme.onSlice;
  context.globalAlpha = Math.max(look.strength(row.name[i]), 0.35);
  context.fillText(text.length > most ? `${text.slice(0, most - 1)}…` : text, x + 4, y + height / 2 + 4);
}

function drawTimeline(timeline) {
  const {context, view, theme, data} = timeline;
  const width = view.width, height = timeline.height;
  context.setTransform(timeline.ratio, 0, 0, timeline.ratio, 0, 0);
  context.font = theme.font;
  context.clearRect(0, 0, width, height);
  context.save();
  context.beginPath();
  context.rect(GUTTER, 0, width - GUTTER, height);
  context.clip();
  drawAxis(timeline);
  for (const lane of data.lanes.filter(({shown}) => shown)) {
    context.fillStyle = theme.lane;
    context.fillRect(GUTTER, lane.y, width - GUTTER, lane.height);
    for (const row of lane.rows) drawRow(context, row, view, timeline);
  }
  drawUnrecorded(timeline);
  drawMarks(timeline);
  context.restore();
  drawLabels(timeline);
  drawOverview(timeline);
}

function tickStep(view) {
  const least = 110 / view.scale, power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find(factor => power * factor >= least);
}

function drawAxis({context, view, theme, height}) {
  const step = tickStep(view);
  context.lineWidth = 1;
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    const x = Math.round(view.x(time)) + 0.5;
    context.strokeStyle = theme.line;
    context.beginPath();
    context.moveTo(x, 14);
    context.lineTo(x, height);
    context.stroke();
    context.fillStyle = theme.soft;
    context.fillText(timeText(time, step), x + 4, 13);
  }
}

// Outside of the recorded windows nothing is known, which is not the same as nothing; before a process and after it there is nothing.
function drawUnrecorded({context, view, theme, data}) {
  context.fillStyle = theme.back;
  for (const {windows, begin, end, y, height} of data.groups) {
    const gap = (from, to, strength) => {
      context.globalAlpha = strength;
      if (to > from) context.fillRect(view.x(from), y, (to - from) * view.scale, height);
    };
    let last = begin;
    for (let i = 0; i < windows.length; i += 2) {
      gap(last, windows[i], 0.6);
      last = windows[i + 1];
    }
    if (windows.length > 0) gap(last, end, 0.6);
    gap(0, begin, 1);
    gap(end, view.length, 1);
  }
  context.globalAlpha = 1;
}

// The slice that is looked at, across all lanes; the gaps of the cause that was chosen; the stretches kept slice by slice.
function drawMarks(timeline) {
  const {context, view, theme, height, data} = timeline;
  context.fillStyle = theme.accent;
  for (let i = 0; i < data.stretches.length; i += 2) {
    context.fillRect(view.x(data.stretches[i]), AXIS - 5, Math.max((data.stretches[i + 1] - data.stretches[i]) * view.scale, 1.5), 2);
  }
  const band = (begin, end, strength) => {
    context.globalAlpha = strength;
    context.fillRect(view.x(begin), AXIS - 3, Math.max((end - begin) * view.scale, 1), height);
    context.globalAlpha = 1;
  };
  const marked = timeline.hovered || timeline.selected;
  if (marked) band(marked.row.begin[marked.item], marked.row.end[marked.item], 0.1);
  if (marked) drawWaitedFor(timeline, marked);
  const {chosen} = timeline;
  if (!chosen) return;
  for (let i = 0; i < chosen.spans.length; i += 2) {
    if (chosen.spans[i + 1] < view.from || chosen.spans[i] > view.to) continue;
    band(chosen.spans[i], chosen.spans[i + 1], i === 2 * chosen.at ? 0.15 : 0.05);
  }
}

function drawLabels({context, theme, data, view, keyLane}) {
  if (data.groups.length > 1) data.groups.forEach(group => drawTitle(context, theme, view, group));
  context.textAlign = 'right';
  data.lanes.forEach((lane, i) => {
    if (lane.rows.length === 0 || !lane.shown) return;
    context.fillStyle = i === keyLane ? theme.accent : lane.kind === 'idle' ? theme.text : theme.soft;
    const text = lane.label.length > 25 ? `${lane.label.slice(0, 24)}…` : lane.label;
    context.fillText(text, GUTTER - 10, lane.y + lane.rows[0].height / 2 + 4);
  });
  context.textAlign = 'left';
}

function drawTitle(context, theme, view, {title, y}) {
  context.fillStyle = theme.line;
  context.fillRect(0, y, view.width, 1);
  context.fillStyle = theme.text;
  const most = Math.floor((view.width - 20) / 6);
  context.fillText(title.length > most ? `${title.slice(0, most - 1)}…` : title, 8, y + 14);
}

// All of the recording in one strip, and which part of it is shown.
function drawOverview(timeline) {
  const {overview, view, theme, ratio, data} = timeline;
  const context = overview.getContext('2d');
  const whole = Object.assign(Object.create(View.prototype), {from: 0, to: view.length, length: view.length, width: view.width});
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = theme.font;
  context.clearRect(0, 0, view.width, 34);
  const shown = data.lanes.filter(lane => lane.kind === 'idle').slice(0, Math.max(2, data.groups.length));
  const rows = (shown.length > 0 ? shown : data.lanes.slice(0, 1)).flatMap(lane => lane.rows.slice(0, 1));
  const high = 26 / rows.length;
  rows.forEach((row, i) => drawRow(context, row, whole, {...timeline, label: () => ''}, 4 + i * high, high > 4 ? high - 1 : high));
  context.clearRect(0, 0, GUTTER, 34);
  const left = whole.x(view.from), right = whole.x(view.to);
  context.fillStyle = theme.back;
  context.globalAlpha = 0.65;
  context.fillRect(GUTTER, 0, left - GUTTER, 34);
  context.fillRect(right, 0, view.width - right, 34);
  context.globalAlpha = 1;
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  context.strokeRect(clamp(left, GUTTER, view.width - 3), 1.5, Math.max(right - left - 1, 2), 31);
  context.textAlign = 'right';
  context.fillStyle = theme.soft;
  context.fillText(`${data.groups.length > 1 ? 'all of them' : 'whole run'}, ${durationText(view.length)}`, GUTTER - 10, 21);
  context.textAlign = 'left';
}
