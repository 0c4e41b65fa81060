// SPDX-License-Identifier: Apache-2.0
// What lies under the pointer, or under the keyboard's selection, in words: what caused it, for idle time.

function rowAt(timeline, y) {
  for (const lane of timeline.data.lanes.filter(({shown}) => shown)) {
    for (const row of lane.rows) if (y >= row.y && y < row.y + row.height + ROW_GAP) return row;
  }
  return null;
}

// The item at a point, with two pixels of patience.
function itemAt(timeline, x, y) {
  const row = rowAt(timeline, y);
  if (!row || x < GUTTER) return null;
  const {view} = timeline;
  const patience = 2 / view.scale;
  const item = firstAfter(row, view.time(x) - patience);
  if (item >= row.begin.length || row.begin[item] > view.time(x) + patience) return null;
  return {row, item};
}

const KIND_WORDS = {step: 'step', kernel: 'kernel', copy: 'copy on the GPU', memset: 'memset on the GPU', graph: 'CUDA graph', call: 'CUDA call',
                    wait: 'CUDA call that waited for the GPU', launch: 'launch', sleep: 'sleep outside of CUDA', range: 'NVTX range'};
const EXCHANGES = ['rank-wait', 'transfer', 'exchange'];

// Lines of text about an item, the first as its title.
function wordsOf(timeline, {row, item}) {
  const length = row.end[item] - row.begin[item], count = row.count[item];
  const [kind, text, causeRow] = timeline.data.names[row.name[item]];
  const lines = [];
  if (kind === 'idle' || kind === 'copying') {
    const cause = timeline.causeOf(kind, text, causeRow);
    lines.push(`${kind === 'idle' ? 'GPU idle' : 'GPU only copies'}: ${cause.name}`);
    lines.push(cause.where ? `caused by: ${cause.where}` : cause.call ? `caused by: ${cause.call}` : 'no line is known');
    if (cause.rule) lines.push(`rule ${cause.rule}, ${durationText(cause.idle_ns)} in all`);
  } else if (EXCHANGES.includes(kind)) {
    lines.push(...exchangeWords(timeline, {row, item}, [kind, text, causeRow]));
  } else {
    lines.push(text);
    lines.push(KIND_WORDS[kind]);
  }
  if (count > 1) {
    lines[0] = `mostly ${lines[0]}`;
    lines.push(`${countText(count)} slices bundled, shorter than ${durationText(row.exact_from_ns)} each; they cover ${shareText(row.busy[item], length)}`);
  }
  lines.push(`${durationText(length)}, from ${timeText(row.begin[item], length)}  ·  ${timeline.data.groups.length > 1 ? `${row.lane.group.title}, ` : ''}${row.lane.label}`);
  return lines;
}

function showTip(timeline, found, x, y) {
  const {tip} = timeline;
  if (!found) {
    tip.hidden = true;
    return;
  }
  const [title, ...lines] = wordsOf(timeline, found);
  tip.replaceChildren(element('b', {}, title), ...lines.map(line => element('div', {}, line)));
  tip.hidden = false;
  const box = timeline.canvas.getBoundingClientRect();
  const left = clamp(x + 14, 0, Math.max(box.width - tip.offsetWidth - 4, 0));
  const top = y + 18 + tip.offsetHeight > box.height + 60 ? y - tip.offsetHeight - 10 : y + 18;
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}

// The selection is read out, and stays in words below the picture.
function select(timeline, found) {
  timeline.selected = found;
  timeline.status.textContent = found ? wordsOf(timeline, found).join(' — ') : '';
  timeline.redraw();
}
