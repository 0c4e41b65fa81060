// SPDX-License-Identifier: Apache-2.0
// Words and elements. Every text that comes from the trace goes through textContent, never through markup.
'use strict';

function durationText(ns) {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 999950) return `${(ns / 1e3).toFixed(1)} us`;
  if (ns < 999950000) return `${(ns / 1e6).toFixed(1)} ms`;
  return `${(ns / 1e9).toFixed(3)} s`;
}

// A point in time, with as many digits as a distance of `step` can be told by.
function timeText(ns, step) {
  if (step >= 1e9) return `${(ns / 1e9).toFixed(0)} s`;
  if (step >= 1e6) return `${(ns / 1e9).toFixed(step >= 1e8 ? 1 : step >= 1e7 ? 2 : 3)} s`;
  if (step >= 1e3) return `${(ns / 1e6).toFixed(step >= 1e5 ? 1 : step >= 1e4 ? 2 : 3)} ms`;
  return `${(ns / 1e3).toFixed(step >= 100 ? 1 : 2)} us`;
}

const countText = count => Math.round(count).toLocaleString('en-US');
const shareText = (part, whole) => whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : '–';

// element('button', {class: 'x', onclick: f}, 'text', child...)
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
