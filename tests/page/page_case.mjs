// SPDX-License-Identifier: Apache-2.0
// What the tests of the page share: traces, pages made of them, and a browser that reports everything the page does.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import path from 'node:path';

const {chromium} = createRequire(path.join(process.env.PAGE_MODULES, 'package.json'))('playwright-core');
const SYNCTRACE = process.env.SYNCTRACE_BIN;
const GOLDEN = process.env.GOLDEN_FOLDER;

export const folder = mkdtempSync(path.join(tmpdir(), 'synctrace-page-'));
const KEPT_IN = {torch_loop: 'torch', 'point_strokes.fps': 'frameworks', 'cifar_resnet.baseline': 'frameworks', 'cifar_resnet.pinned': 'studies', 'ddp_host/rank0': 'jobs', 'ddp_host/rank1': 'jobs'};
export const golden = name => path.join(GOLDEN, KEPT_IN[name] ?? 'h200', `${name}.synctrace`);
export const LOOP = golden('torch_loop');  // a training loop on a real GPU

const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SYNCTRACE_') && name !== 'RANK'));
export const run = (command, ...words) => execFileSync(command, words, {encoding: 'utf8', env: clean, maxBuffer: 1 << 28});
export const synctrace = (...words) => run(SYNCTRACE, ...words);
export const reportOf = trace => JSON.parse(synctrace('report', '--no-symbols', '--format', 'json', trace)).processes[0];

let pages = 0;
export function pageOf(traces, ...options) {
  const file = path.join(folder, `page-${++pages}.html`);
  synctrace('report', '--no-symbols', '--html', file, ...options, ...[traces].flat());
  return file;
}

// A trace written as text.
export function assembled(text) {
  const file = path.join(folder, `trace-${++pages}`);
  writeFileSync(`${file}.txt`, text);
  synctrace('dump', '--assemble', `${file}.txt`, '-o', `${file}.synctrace`);
  return `${file}.synctrace`;
}

let browser;
export async function openBrowser() {
  browser = await chromium.launch({executablePath: process.env.PAGE_BROWSER, args: ['--no-sandbox']});
}
export async function closeBrowser() {
  await browser.close();
  rmSync(folder, {recursive: true});
}

// Runs `look(page)` and sees to it that the page asked for nothing and complained of nothing.
export async function withPage(file, options, look) {
  const context = await browser.newContext({viewport: {width: 1360, height: 900}, reducedMotion: 'reduce', ...options});
  const page = await context.newPage();
  const said = [], asked = [];
  page.on('console', message => said.push(message.text()));
  page.on('pageerror', error => said.push(String(error)));
  page.on('dialog', dialog => { said.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', request => asked.push(request.url()));
  await page.goto(`file://${file}`);
  if (options.javaScriptEnabled !== false) await page.waitForSelector('html[data-ready]', {timeout: 20000, state: 'attached'});
  await look(page);
  await context.close();
  assert.deepEqual(said, []);
  assert.deepEqual(asked.map(url => url.split('#')[0]), [`file://${file.split('#')[0]}`]);
}

// The view of the page's only timeline, or of the one that is named, when it has come to rest.
export async function viewOf(page, place = '.timeline-place') {
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  return page.evaluate(selector => {
    const {view, chosen, selected} = document.querySelector(selector).timeline;
    return {from: view.from, to: view.to, span: view.span, length: view.length, chosen, selected: selected && {item: selected.item, lane: selected.row.lane.label}};
  }, place);
}
