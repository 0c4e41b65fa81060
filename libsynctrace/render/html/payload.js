// SPDX-License-Identifier: Apache-2.0
// The timeline's data: base64 of gzip of [length of the JSON, 4 bytes][JSON][packed rows]. payload.cpp writes it.

async function readPayload(script) {
  const coded = atob(script.textContent);
  script.textContent = '';
  const zipped = new Uint8Array(coded.length);
  for (let i = 0; i < coded.length; ++i) zipped[i] = coded.charCodeAt(i);
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const data = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  for (const lane of data.lanes) {
    for (const row of lane.rows) {
      Object.assign(row, readRow(bytes, at, row.items));
      at += row.bytes;
    }
  }
  return data;
}

// Columns of the items of a row: begin, end, name, count of slices, and the time that they cover.
function readRow(bytes, at, items) {
  const begin = new Float64Array(items), end = new Float64Array(items), busy = new Float64Array(items);
  const name = new Uint32Array(items), count = new Float64Array(items);
  const next = () => {
    let value = 0;
    for (let scale = 1;; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  let time = 0;
  for (let i = 0; i < items; ++i) {
    time += next();
    const length = next();
    begin[i] = time;
    end[i] = time + length;
    name[i] = next();
    count[i] = 1 + next();
    busy[i] = count[i] > 1 ? next() : length;
  }
  return {begin, end, name, count, busy};
}
