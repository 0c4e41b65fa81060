// SPDX-License-Identifier: Apache-2.0
// Search by name or line: what does not match fades, Enter goes to the next match.

function searchText(timeline, [kind, text, row]) {
  if (kind === 'rank-wait') return `${text} waits for rank ${row}`;
  if (kind !== 'idle' && kind !== 'copying') return text;
  const cause = timeline.causeOf(kind, text, row);
  return `${cause.rule || ''} ${cause.name} ${cause.where || ''} ${cause.call || ''}`;
}

function search(timeline, wanted) {
  const {data} = timeline;
  const needle = wanted.trim().toLowerCase();
  timeline.matches = needle ? data.names.map(name => searchText(timeline, name).toLowerCase().includes(needle)) : null;
  let slices = 0, covered = 0;
  for (const lane of timeline.matches ? data.lanes.filter(({shown}) => shown) : []) {
    for (const row of lane.rows) {
      for (let i = 0; i < row.begin.length; ++i) {
        if (!timeline.matches[row.name[i]]) continue;
        slices += row.count[i];
        covered += row.busy[i];
      }
    }
  }
  timeline.found.textContent = !needle ? '' : slices === 0 ? 'nothing' : `${countText(slices)} slices, ${durationText(covered)}`;
  timeline.redraw();
}

// The next match after the selection, or after the left edge; around the end to the beginning.
function nextMatch(timeline) {
  if (!timeline.matches) return;
  const {selected, view} = timeline;
  const after = selected && timeline.matches[selected.row.name[selected.item]] ? selected.row.begin[selected.item] : view.from - 1;
  let best = null, first = null;
  const sooner = (a, b) => !b || a.row.begin[a.item] < b.row.begin[b.item];
  for (const lane of timeline.data.lanes.filter(({shown}) => shown)) {
    for (const row of lane.rows) {
      for (let item = 0; item < row.begin.length; ++item) {
        if (!timeline.matches[row.name[item]]) continue;
        const one = {row, item};
        if (sooner(one, first)) first = one;
        if (row.begin[item] <= after) continue;
        if (sooner(one, best)) best = one;
        break;
      }
    }
  }
  const found = best || first;
  if (!found) return;
  timeline.keyLane = timeline.data.lanes.indexOf(found.row.lane);
  select(timeline, found);
  view.show(found.row.begin[found.item], found.row.end[found.item]);
}
