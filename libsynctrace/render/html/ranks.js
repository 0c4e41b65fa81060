// SPDX-License-Identifier: Apache-2.0
// Ranks of a job: from a rank that waits to the one that it waited for.

// Where a waiting slice ends is when the other rank had come: that moment on the other's row, or null where it is not drawn.
function waitedFor(timeline, {row, item}) {
  const {data} = timeline;
  const [kind, , rank] = data.names[row.name[item]];
  if (kind !== 'rank-wait' || row.count[item] > 1 || !rank) return null;
  const group = data.groups.find(one => one.rank === rank);
  const lane = group && group.lanes.find(one => one.kind === 'exchange' && one.shown);
  return lane ? {group, lane, row: lane.rows[0], time: row.end[item]} : null;
}

function drawWaitedFor(timeline, found) {
  const to = waitedFor(timeline, found);
  if (!to) return;
  const {context, view, theme} = timeline;
  const x = Math.round(view.x(to.time)) + 0.5;
  const from = found.row.y + found.row.height / 2, end = to.row.y + to.row.height / 2;
  const down = end > from ? 1 : -1;
  context.strokeStyle = context.fillStyle = theme.accent;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x, from);
  context.lineTo(x, end - 6 * down);
  context.stroke();
  context.beginPath();
  context.moveTo(x, end);
  context.lineTo(x - 5, end - 8 * down);
  context.lineTo(x + 5, end - 8 * down);
  context.fill();
  context.strokeRect(GUTTER, to.group.y + 0.5, view.width - GUTTER - 1, to.group.height - 1);
}

// Words about a slice of an operation that ranks do together.
function exchangeWords(timeline, found, [kind, operation, rank]) {
  if (kind === 'transfer') return [operation, 'moves data: all ranks have come'];
  if (kind === 'exchange') return [operation, 'waiting or moving data: it is not known which'];
  const whom = !rank ? 'a rank that is not known' : rankTitle(rank);
  const is_drawn = !rank || timeline.data.groups.some(group => group.rank === rank);
  return [`waits for ${whom}`, `in ${operation}`, ...(is_drawn ? [] : [`${whom} is not drawn`])];
}

const rankTitle = rank => rank.startsWith('process') ? rank : `rank ${rank}`;
