// SPDX-License-Identifier: Apache-2.0
// The page of large traces: how long it takes to make, how large it is, when a browser first paints it, and how long a frame
// takes while it is zoomed.
//
//   PAGE_MODULES=build/release/tests/page node page_bench.mjs FOLDER [RECORDS...]   FOLDER: the programs of a build
//
// PAGE_MODULES is a folder with playwright-core (tests/page/run_page_test.py makes one); default 1 and 10 million records.
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const {chromium} = createRequire(path.join(path.resolve(process.env.PAGE_MODULES), 'package.json'))('playwright-core');
const [folder, ...given] = process.argv.slice(2);
const sizes = given.length > 0 ? given.map(Number) : [1e6, 1e7];
const RUNS = 3;
const rows = fileURLToPath(new URL('../support/measured_rows.py', import.meta.url));  // adds to MEASURED_ROWS, if that is set
const scratch = mkdtempSync(path.join(tmpdir(), 'synctrace-page-bench-'));

// Seconds of the fastest of a few runs.
function fastest(...words) {
  let best = Infinity;
  for (let i = 0; i < RUNS; ++i) {
    const began = performance.now();
    const {status} = spawnSync(path.join(folder, 'synctrace'), words, {stdio: ['ignore', 'ignore', 'inherit']});
    if (status !== 0) throw new Error(`synctrace ${words.join(' ')} ended with ${status}`);
    best = Math.min(best, (performance.now() - began) / 1000);
  }
  return best;
}

// Zooms from the whole run into a moment and back, a little with each frame, and notes frames and the time to draw them.
async function zoomed() {
  const {timeline} = document.querySelector('.timeline-place');
  const {view} = timeline;
  const frames = [], drawn = [];
  const draw = drawTimeline;
  drawTimeline = one => { const began = performance.now(); draw(one); drawn.push(performance.now() - began); };
  view.set(0, view.length);
  const around = timeline.data.stretches.length > 0 ? timeline.data.stretches[0] : view.length / 2;
  let last = 0;
  for (let i = 0; i < 240; ++i) {
    const now = await new Promise(requestAnimationFrame);
    if (last > 0) frames.push(now - last);
    last = now;
    view.zoom(i < 120 ? 0.92 : 1 / 0.92, around);
  }
  drawTimeline = draw;
  return {frames, drawn};
}

const share = (values, part) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))].toFixed(1);

async function opened(file) {
  const browser = await chromium.launch({executablePath: process.env.PAGE_BROWSER || '/usr/bin/chromium', args: ['--no-sandbox']});
  const page = await browser.newPage({viewport: {width: 1600, height: 1000}});
  await page.goto(`file://${file}`);
  await page.waitForSelector('html[data-ready]', {state: 'attached', timeout: 60000});
  const times = await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done({
    ready: performance.now(), paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN}))))) ;
  const {frames, drawn} = await page.evaluate(zoomed);
  await browser.close();
  return {...times, frames, drawn};
}

console.log('records | file, MB | text report, s | page, s | page, MB | first paint, ms | timeline drawn, ms | frame p50 / p95 / max, ms | drawing p50 / p95 / max, ms');
for (const records of sizes) {
  const trace = path.join(scratch, 'training.synctrace'), file = path.join(scratch, 'page.html');
  execFileSync(path.join(folder, 'training_trace'), [String(records), trace]);
  const text = fastest('report', '--no-symbols', trace);
  const page = fastest('report', '--no-symbols', '--html', file, trace);
  const {ready, paint, frames, drawn} = await opened(file);
  const three = values => [0.5, 0.95, 1].map(part => share(values, part)).join(' / ');
  console.log([records.toLocaleString('en-US'), (statSync(trace).size / 1e6).toFixed(1), text.toFixed(2), page.toFixed(2), (statSync(file).size / 1e6).toFixed(2),
               paint.toFixed(0), ready.toFixed(0), three(frames), three(drawn)].join(' | '));
  const size = (statSync(file).size / 1e6).toFixed(2);
  for (const [column, value, unit] of [['text report', text.toFixed(2), 's'], ['page made', page.toFixed(2), 's'], ['page', size, 'MB'],
                                       ['first paint', paint.toFixed(0), 'ms'], ['timeline drawn', ready.toFixed(0), 'ms'], ['frame, 95 %', share(frames, 0.95), 'ms']])
    execFileSync('python3', ['-B', rows, 'page', 'page', `${records / 1e6} M records: ${column}`, value, unit]);
}
rmSync(scratch, {recursive: true});
