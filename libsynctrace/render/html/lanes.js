// SPDX-License-Identifier: Apache-2.0
// Rows in levels of detail: eight items, or nodes of the level below, are one node, with the time that they cover and the
// name that most of it has. So a picture of any stretch costs what its pixels cost.

const GROUP = 8;
const HEIGHTS = {steps: 14, idle: 26, exchange: 18, stream: 18, ranges: 16, thread: 18};
const LANE_GAP = 6;
const TITLE = 20;
const ROW_GAP = 1;

function buildLevels(row) {
  row.levels = [{begin: row.begin, end: row.end, busy: row.busy, name: row.name}];
  for (let below = row.levels[0]; below.begin.length > GROUP; below = row.levels[row.levels.length - 1]) {
    row.levels.push(nodesOf(below));
  }
}

function nodesOf(below) {
  const length = Math.ceil(below.begin.length / GROUP);
  const level = {begin: new Float64Array(length), end: new Float64Array(length), busy: new Float64Array(length), name: new Uint32Array(length)};
  for (let i = 0; i < length; ++i) {
    const first = i * GROUP, last = Math.min(first + GROUP, below.begin.length);
    level.begin[i] = below.begin[first];
    const shares = new Map();
    for (let k = first; k < last; ++k) {
      level.end[i] = Math.max(level.end[i], below.end[k]);
      level.busy[i] += below.busy[k];
      const share = (shares.get(below.name[k]) || 0) + below.busy[k];
      shares.set(below.name[k], share);
      if (share >= shares.get(level.name[i]) || k === first) level.name[i] = below.name[k];
    }
  }
  return level;
}

// Where each row lies; the height of all. If there are several processes, each has its name above its rows.
function layOut({groups}, top) {
  let y = top;
  for (const group of groups) {
    group.y = y;
    if (groups.length > 1) y += TITLE;
    let section = '';
    for (const lane of group.lanes) {
      lane.shown = isShown(lane);
      if (!lane.shown) continue;
      const of = lane.kind === 'steps' ? 'steps' : lane.kind === 'idle' || lane.kind === 'exchange' || lane.kind === 'stream' ? `device ${lane.device}` : 'threads';
      if (section !== '' && section !== of) y += LANE_GAP;
      section = of;
      lane.y = y;
      for (const row of lane.rows) {
        row.lane = lane;
        row.y = y;
        row.height = HEIGHTS[lane.kind];
        y += row.height + ROW_GAP;
      }
      lane.height = y - lane.y;
      y += LANE_GAP / 2;
    }
    group.height = y - group.y;
    if (groups.length > 1) y += LANE_GAP;
  }
  return y;
}

// The first item that ends after `time`; rows are disjoint but for the last of a crowded lane.
function firstAfter(row, time) {
  let low = 0, high = row.begin.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.end[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
