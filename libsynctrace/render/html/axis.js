// SPDX-License-Identifier: Apache-2.0
// Several processes on one axis: their lanes below each other, their times counted from the axis's begin. Each of several can be
// folded to what its GPUs did.

// parts: [{data, process, title, rank, offset, rate}], in the order in which they are shown. rate: how fast the axis runs by a part's clock.
function joined(parts) {
  const all = {length_ns: 0, slices: 0, items: 0, lanes_left_out: 0, stretches: [], lanes: [], names: [], devices: [], groups: []};
  for (const {data, process, title, rank, offset, rate} of parts) {
    const names = all.names.length, devices = all.devices.length;
    const on = time => offset + time * rate;
    const later = times => times.map(on);
    const span = cause => ({...cause, typical: later(cause.typical), spans: later(cause.spans)});
    const group = {process, title, rank, on, offset, rate, devices, opened: parts.length === 1, windows: later(data.windows), lanes: data.lanes, begin: offset, end: on(data.length_ns),
                   opening: later(data.opening), step_ns: data.step_ns};
    all.length_ns = Math.max(all.length_ns, group.end);
    for (const sum of ['slices', 'items', 'lanes_left_out']) all[sum] += data[sum];
    all.stretches.push(...later(data.stretches));
    for (const lane of data.lanes) {
      Object.assign(lane, {group, device: lane.device + devices});
      lane.rows.forEach(row => moveRow(row, on, names));
    }
    all.lanes.push(...data.lanes);
    all.names.push(...data.names.map(([kind, text, row]) => kind === 'idle' || kind === 'copying' ? [kind, text + devices, row] : [kind, text, row]));
    all.devices.push(...data.devices.map(device => ({...device, group, idle: device.idle.map(span), copying: device.copying.map(span)})));
    all.groups.push(group);
  }
  return all;
}

function moveRow(row, on, names) {
  for (let i = 0; i < row.begin.length; ++i) {
    row.begin[i] = on(row.begin[i]);
    row.end[i] = on(row.end[i]);
    row.name[i] += names;
  }
}

// A folded process does not show the host's threads.
const isShown = lane => lane.group.opened || lane.kind === 'steps' || lane.kind === 'idle' || lane.kind === 'exchange' || lane.kind === 'stream';

function foldButtons(timeline) {
  const {groups} = timeline.data;
  if (groups.length === 1) return [];
  return [element('div', {class: 'folds'}, 'Host threads of: ', ...groups.map(group => {
    const button = element('button', {type: 'button', class: 'fold', 'aria-pressed': group.opened, onclick: () => {
      group.opened = !group.opened;
      button.setAttribute('aria-pressed', group.opened);
      timeline.height = layOut(timeline.data, AXIS + 4);
      resize(timeline);
    }}, group.title);
    return button;
  }))];
}

const groupOf = (timeline, process) => timeline.data.groups.find(group => group.process === process);
